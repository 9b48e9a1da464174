package broken

// also are the checks that may name a fault of the small server beside the one
// that its name begins with.
var also = map[string][]string{}
