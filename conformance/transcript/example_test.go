package transcript_test

import (
	"fmt"
	"io"

	"github.com/goldwire/goldwire/conformance/transcript"
)

func ExampleParse() {
	rec, err := transcript.Parse([]byte(`goldwire-transcript: 1
revision: 2025-11-25
> {"jsonrpc":"2.0","id":1,"method":"ping"}
<@12ms {"jsonrpc":"2.0","id":1,"result":{}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rec.Get(transcript.FieldRevision))
	for _, e := range rec.Events {
		fmt.Println(e.Dir, e.At, len(e.Data))
	}
	// Output:
	// 2025-11-25
	// > 0s 40
	// < 12ms 36
}

func ExampleRecorder() {
	r := transcript.NewRecorder(transcript.RecorderOptions{Untimed: true})
	w := r.Tap(transcript.ToClient)
	_, _ = io.WriteString(w, "{\"jsonrpc\":\"2.0\",\n{\"cut")
	_ = w.Close()
	fmt.Print(r.Recording())
	// Output:
	// goldwire-transcript: 1
	// < {"jsonrpc":"2.0",
	// <~ {"cut
	// ! eof <
}
