package transcript

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Header holds the fields of one HTTP message: names in lower case, values
// in the order in which they came.
type Header map[string][]string

// Get returns the first value of a field, or ""; the name in any case.
func (h Header) Get(name string) string {
	if vs := h[strings.ToLower(name)]; len(vs) > 0 {
		return vs[0]
	}
	return ""
}

// HeaderText is the text of a header line: "name: value" with the name in
// lower case, but for the few names that would read as a field of an SSE
// event, which begin with a capital.
func HeaderText(name, value string) string {
	name = strings.ToLower(name)
	if sseField(name) {
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	if value = strings.Trim(value, " \t"); value == "" {
		return name + ":"
	}
	return name + ": " + value
}

// Header splits a header, an SSE field or the header behind a status; ok is
// false when e holds none. A comment of a stream has the empty name.
func (e *Event) Header() (name, value string, ok bool) {
	s := string(e.Data)
	switch e.Kind {
	case KindStatus:
		if len(s) <= 4 {
			return "", "", false
		}
		s = s[4:]
	case KindSSE:
		if strings.HasPrefix(s, ":") {
			return "", strings.TrimPrefix(s[1:], " "), true
		}
	case KindHeader:
	default:
		return "", "", false
	}
	name, value, ok = splitHeader(s)
	if e.Kind != KindSSE {
		name = strings.ToLower(name)
	}
	return name, value, ok
}

// Status is the number of a status line, or 0.
func (e *Event) Status() int {
	if e.Kind != KindStatus || len(e.Data) < 3 {
		return 0
	}
	n, _ := strconv.Atoi(string(e.Data[:3]))
	return n
}

// Request splits a request line; ok is false when e is none.
func (e *Event) Request() (method, target string, ok bool) {
	if e.Kind != KindRequest {
		return "", "", false
	}
	return strings.Cut(string(e.Data), " ")
}

// ExitCode is the code of an exit note; ok is false when e is none.
func (e *Event) ExitCode() (code int64, ok bool) {
	if e.Kind != KindExit {
		return 0, false
	}
	code, err := strconv.ParseInt(string(e.Data), 10, 64)
	return code, err == nil
}

// Closed is the direction that an eof note says was closed, or 0.
func (e *Event) Closed() Dir {
	if e.Kind != KindEOF || len(e.Data) != 1 {
		return 0
	}
	return Dir(e.Data[0])
}

// Exchange is one HTTP request with its response, gathered from the lines
// that carry one exchange number.
type Exchange struct {
	Number         int
	Method, Target string // "" when no request line was recorded
	Header         Header // of the request
	Body           []byte // of the request; nil when it had none
	BodyIndex      int    // of the line with it in Recording.Events; -1 without
	Status         int    // 0 when no response was seen
	ResponseHeader Header
	Messages       []SSEEvent // of a response: its one body, or the events of its stream
	Stream         bool       // the response is text/event-stream
	Retry          string     // a retry field after the last event
	Comments       []string   // comments after the last event
	Ended          bool       // the response was seen to end
	Closed         bool       // the client closed it
	Err            string     // what the carrier said when it broke, or ""
	First, Last    int        // indexes of its first and last line in Recording.Events
}

// SSEEvent is one event of a stream, or the one body of a response (then
// only Data and Index are set).
type SSEEvent struct {
	ID, Event, Retry string
	HasID            bool // an id field was there, perhaps an empty one
	Comments         []string
	Data             []byte
	Index            int // of the line with the data in Recording.Events
}

// Exchanges gathers the HTTP exchanges of a recording, in the order of their
// first lines.
func (r *Recording) Exchanges() iter.Seq[*Exchange] {
	return func(yield func(*Exchange) bool) {
		byNumber := map[int]*Exchange{}
		var order []*Exchange
		next := map[int]*SSEEvent{} // fields that wait for the data of their event
		for i := range r.Events {
			e := &r.Events[i]
			if e.Exchange == 0 {
				continue
			}
			x := byNumber[e.Exchange]
			if x == nil {
				x = &Exchange{Number: e.Exchange, First: i, BodyIndex: -1, Header: Header{}, ResponseHeader: Header{}}
				byNumber[e.Exchange] = x
				order = append(order, x)
				next[e.Exchange] = &SSEEvent{}
			}
			x.Last = i
			x.take(e, i, next[e.Exchange])
		}
		for _, x := range order {
			if n := next[x.Number]; n.Retry != "" || n.Comments != nil {
				x.Retry, x.Comments = n.Retry, n.Comments
			}
			if !yield(x) {
				return
			}
		}
	}
}

// take adds the line e, event i of the recording, to the exchange.
func (x *Exchange) take(e *Event, i int, next *SSEEvent) {
	name, value, named := e.Header()
	switch e.Kind {
	case KindRequest:
		x.Method, x.Target, _ = e.Request()
	case KindStatus, KindHeader:
		h := x.ResponseHeader
		if e.Dir == ToServer {
			h = x.Header
		}
		if e.Kind == KindStatus {
			x.Status = e.Status()
		}
		if named {
			h[name] = append(h[name], value)
			if e.Dir == ToClient && name == "content-type" {
				mediaType, _, _ := strings.Cut(value, ";")
				x.Stream = strings.EqualFold(strings.TrimSpace(mediaType), "text/event-stream")
			}
		}
	case KindSSE:
		switch name {
		case "id":
			next.ID, next.HasID = value, true
		case "event":
			next.Event = value
		case "retry":
			next.Retry = value
		case "":
			next.Comments = append(next.Comments, value)
		}
	case KindEnd:
		if e.Dir == ToServer {
			x.Closed = true
		} else {
			x.Ended = true
		}
	case KindError:
		x.Err = string(e.Data)
	case KindMessage:
		if e.Dir == ToServer {
			x.Body, x.BodyIndex = e.Data, i
			return
		}
		m := *next
		m.Data, m.Index = slices.Clip(e.Data), i
		x.Messages = append(x.Messages, m)
		*next = SSEEvent{}
	}
}
