package explore

import "example.com/zklock/internal/explore/player"

// The types of worlds and of their results, as package player declares and
// documents them.
type (
	World     = player.World
	Subject   = player.Subject
	Lock      = player.Lock
	Leased    = player.Leased
	Op        = player.Op
	Fault     = player.Fault
	Known     = player.Known
	Facts     = player.Facts
	Kind      = player.Kind
	Violation = player.Violation
	Trace     = player.Trace
	Entry     = player.Entry
	Point     = player.Point
	Run       = player.Run
	Broken    = player.Broken
)

// The calls of a script, and the limits of a world.
const (
	LockOp         = player.LockOp
	TryLockOp      = player.TryLockOp
	UnlockOp       = player.UnlockOp
	RelockOp       = player.RelockOp
	MaxContenders  = player.MaxContenders
	SessionTimeout = player.SessionTimeout
)

// The kinds of fault.
const (
	LoseRequest = player.LoseRequest
	LoseReply   = player.LoseReply
	Cut         = player.Cut
	Expire      = player.Expire
	Stop        = player.Stop
	EndContext  = player.EndContext
	Stall       = player.Stall
	Pause       = player.Pause
	Day         = player.Day
	Remake      = player.Remake
	Refuse      = player.Refuse
	NodeGoes    = player.NodeGoes
	NodeSet     = player.NodeSet

	EndAfterLook  = player.EndAfterLook
	EndAfterLook2 = player.EndAfterLook2
)

// The kinds of violation.
const (
	TwoHolders    = player.TwoHolders
	Hang          = player.Hang
	Endless       = player.Endless
	TokenShrinks  = player.TokenShrinks
	Overtaken     = player.Overtaken
	NodeLeft      = player.NodeLeft
	WatchLeft     = player.WatchLeft
	GoroutineLeft = player.GoroutineLeft
	Failure       = player.Failure
	HidesLoss     = player.HidesLoss
	LateLoss      = player.LateLoss
	ForeignDelete = player.ForeignDelete
	Crash         = player.Crash
	NodeMissing   = player.NodeMissing
	Costly        = player.Costly
	TooLong       = player.TooLong
	Starves       = player.Starves
	SessionLeft   = player.SessionLeft
	LostAddition  = player.LostAddition
	StackGrows    = player.StackGrows
	StaleWrite    = player.StaleWrite
	Outlived      = player.Outlived
)

// AllFaults and Kinds list them, ReadTrace reads the file of Trace.WriteFile, and And and
// AtOnce say what package player does.
var (
	And       = player.And
	AtOnce    = player.AtOnce
	AllFaults = player.AllFaults
	Kinds     = player.Kinds
	ReadTrace = player.ReadTrace
)
