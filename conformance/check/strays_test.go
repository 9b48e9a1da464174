package check_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check/checktest"

	"github.com/goldwire/goldwire/conformance/result"
)

// stringIDs turns the ids of answers into strings.
var stringIDs = server{Output: func(_ *conn, r *request, a string) string {
	if r == nil || strings.HasPrefix(string(r.ID), `"`) {
		return a
	}
	return strings.Replace(a, `"id":`+string(r.ID), `"id":"`+string(r.ID)+`"`, 1)
}}

// TestIDsOfAnotherTypeAreNoSecondAnswers holds that an answer whose id has
// another JSON type is not counted for the request that has that very id.
func TestIDsOfAnotherTypeAreNoSecondAnswers(t *testing.T) {
	v := judge(t, stringIDs, "2025-11-25")
	require.Equal(t, result.Fail, v["id-echo"].Verdict)
	require.Equal(t, result.Pass, v["requests-answered-once"].Verdict, "%s\n%s", v["requests-answered-once"].Observed, frames(v["requests-answered-once"]))
}

// TestSecondAnswerIsShownWithTheFirst holds that a finding about two lines
// shows both.
func TestSecondAnswerIsShownWithTheFirst(t *testing.T) {
	const second = `{"jsonrpc":"2.0","id":9,"result":{"second":true}}`
	for name, s := range map[string]server{
		"at once": {Output: func(c *conn, r *request, a string) string {
			if r != nil && r.Method != "initialize" {
				c.Line(a)
			}
			return a
		}},
		"much later": {Output: func(c *conn, r *request, a string) string {
			if r != nil && string(r.ID) == "20" {
				c.Line(second)
			}
			return a
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge(t, s, "2025-11-25")["requests-answered-once"]
			require.Equal(t, result.Fail, v.Verdict)
			answers := 0
			for _, f := range v.Frames {
				if strings.HasPrefix(f.Text, "<") {
					answers++
				}
			}
			require.GreaterOrEqual(t, answers, 2, frames(v))
			require.Contains(t, frames(v), `"method"`)
		})
	}
}

// TestStrayAnswersAreToldByWhatTheyFollow holds that a response that no request
// asked for is blamed on a notification only where it follows one.
func TestStrayAnswersAreToldByWhatTheyFollow(t *testing.T) {
	const line = `{"jsonrpc":"2.0","id":999,"result":{}}`
	v := judge(t, checktest.Reply("notifications/", line), "2025-11-25")
	require.Equal(t, `a result with id 999, which no request had`, strings.Split(v["notification-unanswered"].Observed, " (and ")[0])
	require.Equal(t, result.Pass, v["id-echo"].Verdict, frames(v["id-echo"]))
	for _, id := range []string{"cancel-crossing", "cancel-unknown-ignored"} {
		require.Equal(t, result.Pass, v[id].Verdict, "%s is told of once: %s", id, v[id].Observed)
	}
	v = judge(t, checktest.Reply("notifications/", `{"jsonrpc":"2.0","id":null,"result":{}}`), "2025-11-25")
	require.Equal(t, result.Fail, v["notification-unanswered"].Verdict)
	for _, id := range []string{"cancel-crossing", "cancel-unknown-ignored"} {
		require.Equal(t, result.Blocked, v[id].Verdict, "%s: %s", id, v[id].Observed)
		require.Equal(t, "the server answers notifications of any kind", v[id].Reason)
	}
	v = judge(t, checktest.Say("tools/list", line), "2025-11-25")
	require.Equal(t, result.Pass, v["notification-unanswered"].Verdict, frames(v["notification-unanswered"]))
	require.Equal(t, result.Warn, v["answers-belong"].Verdict)
}

// TestAnswerWithoutIDIsCalledWhatItIs holds that a result is not called an
// error.
func TestAnswerWithoutIDIsCalledWhatItIs(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":null,"result":{}}`:                           "a result without an id",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}}`: "an error without an id",
	} {
		v := judge(t, checktest.Reply("goldwire_unknown", line), "2025-11-25")["notification-unanswered"]
		require.Contains(t, v.Observed, want)
	}
}
