package exploretest

// PlayAgain is playAgain.
var PlayAgain = playAgain
