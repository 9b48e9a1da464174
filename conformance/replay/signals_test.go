package replay

import (
	"os"
	"os/signal"
)

// ignoreSignals makes the process deaf to what asks it to end.
func ignoreSignals() { signal.Ignore(os.Interrupt, terminate) }
