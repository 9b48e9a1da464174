package transcript

import "iter"

// Header holds the fields of one HTTP message: names in lower case, as they
// came otherwise; values in order.
type Header map[string][]string

// Get returns the first value of a field, or ""; name in any case.
func (h Header) Get(name string) string { return "" }

// Exchange is one HTTP request with its response, gathered from the lines of
// one exchange number.
type Exchange struct {
	Number         int
	Method, Target string
	Header         Header // of the request
	Body           []byte // of the request; nil when it had none
	Status         int    // 0 when no response was seen
	ResponseHeader Header
	Messages       []SSEEvent // of a response: its one body, or the events of its stream
	Stream         bool       // the response was text/event-stream
	Ended          bool       // the response was seen to end
	Closed         bool       // the client closed it
	Err            string     // what the carrier said when it broke, or ""
	First, Last    int        // indexes of its first and last event in Recording.Events
}

// SSEEvent is one event of a stream, or the one body of a response (then
// only Data and Index are set).
type SSEEvent struct {
	ID, Event, Retry string
	HasID            bool
	Comments         []string
	Data             []byte
	Index            int // of the line with the data in Recording.Events
}

// Exchanges gathers the HTTP exchanges of a recording, in order of their
// first line.
func (r *Recording) Exchanges() iter.Seq[*Exchange] { return func(func(*Exchange) bool) {} }
