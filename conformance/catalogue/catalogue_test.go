package catalogue

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/revision"
)

func TestFilesLoad(t *testing.T) {
	require.NoError(t, Load())
	n := map[string]int{}
	for r := range All() {
		era, _, _ := strings.Cut(r.ID, "/")
		n[era]++
	}
	require.Equal(t, map[string]int{"legacy": 350, "modern": 505}, n)
}

func TestEveryEntryIsWellFormed(t *testing.T) {
	id := regexp.MustCompile(`^(legacy|modern)/[a-z0-9]+(-[a-z0-9]+)+$`)
	place := regexp.MustCompile(`^[a-z]+(/[a-z-]+)*(#[A-Za-z0-9_%-]+)?$`)
	for r := range All() {
		require.NoError(t, r.check(), r.ID)
		require.Regexp(t, id, r.ID)
		require.Regexp(t, place, r.Page, r.ID)
		if r.PageSince != "" {
			require.Regexp(t, place, r.PageSince, r.ID)
		}
		stateless := slices.Contains(revision.Stateless(), r.Since)
		require.Equal(t, stateless, strings.HasPrefix(r.ID, "modern/"), r.ID)
		require.Equal(t, stateless, slices.Contains(revision.Stateless(), r.Until), r.ID)
		for _, rev := range append(revision.All(), "") {
			u, err := url.Parse(r.URL(rev))
			require.NoError(t, err, r.ID)
			require.Equal(t, "https", u.Scheme, r.ID)
			require.Contains(t, []string{"modelcontextprotocol.io", "github.com"}, u.Host, r.ID)
			require.NotContains(t, u.Path, "/index", r.ID)
			require.NotContains(t, u.Path, "//", r.ID)
		}
		got, ok := Lookup(r.ID)
		require.True(t, ok)
		require.Equal(t, r, got)
	}
}

func TestURL(t *testing.T) {
	old := Requirement{Since: "2024-11-05", Until: "2025-11-25", Page: "basic/index#requests", PageSince: "basic/messages#requests"}
	schema := Requirement{Since: "2024-11-05", Until: "2025-11-25", Page: "schema#calltoolrequestparams", PageSince: "schema#calltoolrequest"}
	for _, c := range []struct {
		r         Requirement
		rev, want string
	}{
		{old, "", "https://modelcontextprotocol.io/specification/2025-11-25/basic#requests"},
		{old, "2025-11-25", "https://modelcontextprotocol.io/specification/2025-11-25/basic#requests"},
		{old, "2025-03-26", "https://modelcontextprotocol.io/specification/2025-03-26/basic#requests"},
		{old, "2024-11-05", "https://modelcontextprotocol.io/specification/2024-11-05/basic/messages#requests"},
		{old, "2026-07-28", "https://modelcontextprotocol.io/specification/2025-11-25/basic#requests"},
		{schema, "2025-11-25", "https://modelcontextprotocol.io/specification/2025-11-25/schema#calltoolrequestparams"},
		{schema, "2025-06-18", "https://modelcontextprotocol.io/specification/2025-06-18/schema#calltoolrequest"},
		{schema, "2024-11-05", "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema/2024-11-05/schema.ts"},
		{Requirement{Since: "2026-07-28", Until: "2026-07-28", Page: "basic/versioning#top"}, "", "https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning"},
	} {
		require.Equal(t, c.want, c.r.URL(c.rev))
	}
}

func TestApplies(t *testing.T) {
	r := Requirement{Side: Server, Transport: HTTP, Since: "2025-03-26", Until: "2025-06-18"}
	require.True(t, r.Applies("2025-03-26", Server))
	require.True(t, r.Applies("2025-06-18", ""))
	require.True(t, r.Applies("", Both))
	require.False(t, r.Applies("2024-11-05", Server))
	require.False(t, r.Applies("2025-11-25", Server))
	require.False(t, r.Applies("2025-06-18", Client))
	require.False(t, r.Applies("1999-01-01", ""))
	require.True(t, r.Carries(HTTP))
	require.True(t, r.Carries(""))
	require.False(t, r.Carries(Stdio))

	n := 0
	for r := range Select("2026-07-28", Client) {
		require.NotEqual(t, Server, r.Side)
		require.Equal(t, "2026-07-28", r.Until)
		n++
	}
	require.NotZero(t, n)
	for range Select("", "") {
		break
	}
}

func TestWarns(t *testing.T) {
	for _, c := range []struct {
		level Level
		basis Basis
		want  bool
	}{
		{Must, Keyword, false}, {MustNot, Schema, false}, {Must, JSONRPC, false}, {Must, RFC, false},
		{Should, Keyword, true}, {ShouldNot, Keyword, true}, {Must, Implied, true}, {Must, Lowercase, true}, {May, Keyword, false},
	} {
		require.Equal(t, c.want, Requirement{Level: c.level, Basis: c.basis}.Warns(), "%s %s", c.level, c.basis)
	}
	require.Equal(t, "tools", Requirement{ID: "legacy/tools-unknown-tool"}.Area())
}

func TestReadRefuses(t *testing.T) {
	const good = "- id: a-b\n  level: MUST\n  side: both\n  observe: active\n  page: basic\n  text: x\n"
	for _, c := range []struct{ name, text, want string }{
		{"modern-x.yaml", good, ""},
		{"other.yaml", good, "does not start with legacy- or modern-"},
		{"legacy-x.yaml", good + good, "two entries"},
		{"legacy-x.yaml", strings.Replace(good, "MUST", "must", 1), `level "must" is not known`},
		{"legacy-x.yaml", strings.Replace(good, "both", "all", 1), `side "all" is not known`},
		{"legacy-x.yaml", strings.Replace(good, "active", "maybe", 1), `observe "maybe" is not known`},
		{"legacy-x.yaml", good + "  transport: pigeon\n", `transport "pigeon" is not known`},
		{"legacy-x.yaml", good + "  basis: rumour\n", `basis "rumour" is not known`},
		{"legacy-x.yaml", good + "  since: \"2025-11-25\"\n  until: \"2024-11-05\"\n", "no revisions lie between"},
		{"legacy-x.yaml", strings.Replace(good, "  text: x\n", "", 1), "the sentence is missing"},
		{"legacy-x.yaml", strings.Replace(good, "  page: basic\n", "", 1), "the place in the specification is missing"},
		{"legacy-x.yaml", good + "  colour: red\n", "colour"},
		{"legacy-x.yaml", good + "  why: \"a\\nb\"\n", "the reason is not one line"},
		{"legacy-x.yaml", strings.Replace(good, "active", "needs-fixture", 1), "the reason is missing that makes it needs-fixture"},
		{"legacy-x.yaml", strings.Replace(good, "active", "not-observable", 1), "the reason is missing that makes it not-observable"},
		{"legacy-x.yaml", strings.Replace(good, "active", "needs-fixture", 1) + "  why: needs a tool\n", ""},
		{"legacy-x.yaml", strings.Replace(good, "active", "needs-fixture", 1) + "  why: a tool\n", "does not say what it needs"},
	} {
		x := index{byID: map[string]int{}}
		err := x.read(c.name, []byte(c.text))
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
}

// pages that each revision of the specification has, of those that entries
// name. Every revision has those of the first list up to the stateful ones.
var (
	statefulPages = []string{
		"architecture/index", "basic/index", "basic/lifecycle", "basic/transports", "basic/utilities/cancellation", "basic/utilities/ping",
		"basic/utilities/progress", "client/roots", "client/sampling", "schema", "server/prompts", "server/resources", "server/tools",
		"server/utilities/completion", "server/utilities/logging", "server/utilities/pagination",
	}
	pages = map[string][]string{
		"2024-11-05": append([]string{"basic/messages"}, statefulPages...),
		"2025-03-26": append([]string{"basic/authorization"}, statefulPages...),
		"2025-06-18": append([]string{"basic/authorization", "client/elicitation"}, statefulPages...),
		"2025-11-25": append([]string{"basic/authorization", "basic/utilities/tasks", "client/elicitation"}, statefulPages...),
		"2026-07-28": {
			"basic/authorization/authorization-server-discovery", "basic/authorization/client-registration", "basic/authorization/index",
			"basic/authorization/security-considerations", "basic/index", "basic/patterns/cancellation", "basic/patterns/index",
			"basic/patterns/mrtr", "basic/patterns/progress", "basic/patterns/subscriptions", "basic/transports/index", "basic/transports/stdio",
			"basic/transports/streamable-http", "basic/versioning", "changelog", "client/elicitation", "client/roots", "client/sampling",
			"schema", "server/discover", "server/prompts", "server/resources", "server/tools", "server/utilities/caching",
			"server/utilities/completion", "server/utilities/logging", "server/utilities/pagination",
		},
	}
)

// TestURLsNamePagesOfTheirRevision holds that each URL is that of a page which
// the revision has.
func TestURLsNamePagesOfTheirRevision(t *testing.T) {
	used := map[string]bool{}
	for r := range All() {
		for _, rev := range revision.All() {
			if !r.Applies(rev, "") {
				continue
			}
			u, _, _ := strings.Cut(r.URL(rev), "#")
			if u == schemas+rev+"/schema.ts" {
				continue
			}
			page, ok := strings.CutPrefix(u, site+rev+"/")
			require.True(t, ok, "%s: %s", r.ID, u)
			if !slices.Contains(pages[rev], page) {
				page += "/index"
			}
			require.Contains(t, pages[rev], page, "%s: %s", r.ID, u)
			used[rev+"/"+page] = true
		}
	}
	for rev, list := range pages {
		for _, page := range list {
			if page != "schema" {
				require.True(t, used[rev+"/"+page], "no entry names %s/%s", rev, page)
			}
		}
	}
}

// TestCounts holds how many requirements bind each side in each revision, and
// at which level.
func TestCounts(t *testing.T) {
	type count struct{ must, should, may, server, client int }
	got := map[string]count{}
	for _, rev := range revision.All() {
		var n count
		for r := range Select(rev, "") {
			switch r.Level {
			case Must, MustNot:
				n.must++
			case Should, ShouldNot:
				n.should++
			default:
				n.may++
			}
			if r.Applies(rev, Server) {
				n.server++
			}
			if r.Applies(rev, Client) {
				n.client++
			}
		}
		got[rev] = n
	}
	require.Equal(t, map[string]count{
		"2024-11-05": {must: 105, should: 42, may: 5, server: 121, client: 79},
		"2025-03-26": {must: 140, should: 65, may: 13, server: 166, client: 115},
		"2025-06-18": {must: 158, should: 71, may: 14, server: 181, client: 126},
		"2025-11-25": {must: 212, should: 93, may: 16, server: 236, client: 179},
		"2026-07-28": {must: 357, should: 130, may: 18, server: 351, client: 198},
	}, got)
}

// TestFactsAgreeWithTheSource compares levels, sides and the rest with the
// list that the entries were taken from, where that is at hand, and holds
// that no sentence was taken along, nor a good part of one.
func TestFactsAgreeWithTheSource(t *testing.T) {
	dir := os.Getenv("GOLDWIRE_SHARED")
	if dir == "" {
		dir = "../../../shared"
	}
	for era, file := range map[string]string{"legacy": "requirements-legacy.yaml", "modern": "requirements-2026-07-28.yaml"} {
		b, err := os.ReadFile(filepath.Join(dir, "requirements", file))
		if err != nil {
			t.Skipf("the source is not at hand: %v (set GOLDWIRE_SHARED to its folder)", err)
		}
		var source []struct {
			ID        string `yaml:"id"`
			Level     Level  `yaml:"level"`
			Side      Side   `yaml:"side"`
			Transport string `yaml:"transport"`
			Since     string `yaml:"since"`
			Until     string `yaml:"until"`
			Basis     Basis  `yaml:"basis"`
			Observe   string `yaml:"observe"`
			Text      string `yaml:"text"`
			Spec      string `yaml:"spec"`
			SpecSince string `yaml:"spec_since"`
		}
		require.NoError(t, yaml.Unmarshal(b, &source))
		n := 0
		for r := range All() {
			if strings.HasPrefix(r.ID, era+"/") {
				n++
			}
		}
		require.Len(t, source, n, "%s has other entries", file)
		for _, s := range source {
			r, ok := Lookup(era + "/" + s.ID)
			require.True(t, ok, s.ID)
			require.Equal(t, s.Level, r.Level, s.ID)
			require.Equal(t, s.Side, r.Side, s.ID)
			require.Equal(t, s.Transport, string(r.Transport), s.ID)
			want := s.Basis
			if r.ID == "modern/jsonrpc-one-response-per-request" {
				// The page only describes it, but JSON-RPC 2.0, which the protocol
				// adopts as a MUST, demands a response to every request.
				want = JSONRPC
			}
			require.Equal(t, want, r.Basis, s.ID)
			require.True(t, strings.HasPrefix(s.Observe, string(r.Observe)), s.ID)
			if s.Since != "" {
				require.Equal(t, s.Since, r.Since, s.ID)
			}
			if s.Until != "" {
				require.Equal(t, s.Until, r.Until, s.ID)
			}
			require.NotEqual(t, strings.ReplaceAll(s.Text, "`", ""), r.Sentence, s.ID)
			require.Less(t, commonWords(s.Text, r.Sentence), 8, "%s: %s", s.ID, r.Sentence)
			require.Equal(t, place(s.Spec), r.Page, s.ID)
			if s.SpecSince != "" && r.PageSince != "" {
				require.Equal(t, place(s.SpecSince), r.PageSince, s.ID)
			}
		}
	}
}

func TestSentencesStandAlone(t *testing.T) {
	seen := map[string]string{}
	for r := range All() {
		require.True(t, strings.HasSuffix(r.Sentence, "."), r.ID)
		require.LessOrEqual(t, len(r.Sentence), 220, r.ID)
		era, _, _ := strings.Cut(r.ID, "/")
		other, dup := seen[era+r.Sentence]
		require.False(t, dup, "%s says the same as %s", r.ID, other)
		seen[era+r.Sentence] = r.ID
	}
}

// place is a page with its anchor as entries name it.
func place(spec string) string {
	for _, rev := range revision.All() {
		spec = strings.TrimPrefix(spec, rev+"/")
	}
	if file, kind, ok := strings.Cut(spec, "/schema.ts#"); ok && strings.HasPrefix(file, "schema/") {
		return "schema#" + strings.ToLower(kind)
	}
	return spec
}

// commonWords is the length of the longest run of words that two sentences
// share.
func commonWords(a, b string) int {
	words := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789./_-", r)
		})
	}
	x, y := words(a), words(b)
	most := 0
	for i := range x {
		for j := range y {
			n := 0
			for i+n < len(x) && j+n < len(y) && x[i+n] == y[j+n] {
				n++
			}
			most = max(most, n)
		}
	}
	return most
}
