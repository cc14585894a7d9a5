// Package house holds the map of the project against the project: the packages,
// what uses them, which way the arrows point, and what the module requires.
//
// It also has the commands that write what is generated, in the order in which
// they depend on each other. The tables of docs/explorer.md and of the foreign suites
// in docs/tests.md are not among them: they take some minutes, and those pages name
// their commands.
package house

//go:generate go test -C ../.. -count=1 ./internal/bugs/scenes -run EachSchedule -update
//go:generate go test -C ../.. -count=1 ./internal/bugs/scenes -run TheFates -update
//go:generate go test -C ../.. -count=1 ./internal/bugs/scenes -run TheOrder -update
//go:generate go test -C ../.. -count=1 ./internal/bugs/examples -run Bug -update
//go:generate go test -C ../../docs/other-locks -count=1 ./sqlrow ./redis -run Bug -update
//go:generate go test -C ../.. -count=1 ./internal/bugs -run "TheCatalogue|EachStepLinks" -update
//go:generate go test -C ../.. -count=1 ./internal/lab/locks -update
//go:generate go test -C ../.. -count=1 ./internal/lab/picture -update
//go:generate go test -C ../.. -count=1 ./cmd/exercises -run Stub -exercises.update
//go:generate go test -C ../.. -count=1 ./cmd/primers -run ThePages -update
//go:generate go test -C ../.. -count=1 ./cmd/book -run ThePlan -update
//go:generate go test -C ../.. -count=1 ./bench -run TheDocsSay -update
//go:generate go test -C ../.. -count=1 ./zklock -run Production -update
//go:generate go test -C ../.. -count=1 ./internal/house -run "TheTable|NoWing|PriceList" -update
//go:generate go test -C ../.. -count=1 ./internal/house -run Edition -edition.update
