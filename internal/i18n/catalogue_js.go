package i18n

import _ "embed"

// With GOOS=js, in the lab's page, the catalogue has only the texts of the page's packages. An embed.FS costs 15 kB.
var (
	//go:embed zh/internal-bugs-scenes.po
	bugsScenesTexts string
	//go:embed zh/internal-explore-film.po
	exploreFilmTexts string
	//go:embed zh/internal-explore-player.po
	explorePlayerTexts string
	//go:embed zh/internal-explore-steps.po
	exploreStepsTexts string
	//go:embed zh/internal-i18n.po
	i18nTexts string
	//go:embed zh/internal-lab-engine.po
	labEngineTexts string
	//go:embed zh/internal-lab-lab.po
	labLabTexts string
	//go:embed zh/internal-lab-locks.po
	labLocksTexts string
)

func files() []string {
	return []string{bugsScenesTexts, exploreFilmTexts, explorePlayerTexts, exploreStepsTexts, i18nTexts, labEngineTexts, labLabTexts, labLocksTexts}
}
