package jsonrpc

// maxEarly bounds the cancellations that are remembered for requests which may
// still come.
const maxEarly = 128

// earlyCancels are cancellations that named nothing. They may have overtaken
// their request: over HTTP, where each message has a request of its own, and
// anywhere when the goroutine that read the request was held up and another went
// on reading. Without them that request would run though its caller is gone. The
// oldest gives way.
type earlyCancels struct {
	ids     []ID
	reasons map[ID]string
}

func (e *earlyCancels) add(id ID, reason string) {
	if _, ok := e.reasons[id]; ok || id.IsZero() || id.tooLong() {
		return
	}
	if e.reasons == nil {
		e.reasons = map[ID]string{}
	}
	if len(e.ids) >= maxEarly {
		delete(e.reasons, e.ids[0])
		e.ids = append(e.ids[:0], e.ids[1:]...)
	}
	e.ids = append(e.ids, id)
	e.reasons[id] = clip(reason, maxEcho)
}

// take forgets the cancellation of a request and returns its reason.
func (e *earlyCancels) take(id ID) (reason string, ok bool) {
	if reason, ok = e.reasons[id]; !ok {
		return "", false
	}
	delete(e.reasons, id)
	for i := range e.ids {
		if e.ids[i] == id {
			e.ids = append(e.ids[:i], e.ids[i+1:]...)
			break
		}
	}
	return reason, true
}
