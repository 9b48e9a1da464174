package result_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/result"
)

// TestRedactorLeavesOurOwnTexts holds that no text of the checker and of the
// command has a word in it that is taken for a secret.
func TestRedactorLeavesOurOwnTexts(t *testing.T) {
	r := result.NewRedactor(nil)
	seen := 0
	for _, dir := range []string{"..", "../../cmd/goldwire"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "broken" { // what those say is a secret on purpose
				return filepath.SkipDir
			}
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					require.NoError(t, err)
					if seen++; text != r.Text(text) && !strings.Contains(text, "\n") { // help, which is shown as it is
						t.Errorf("%s: %q becomes %q", path, text, r.Text(text))
					}
				}
				return true
			})
			return nil
		}))
	}
	require.Greater(t, seen, 5000)
}
