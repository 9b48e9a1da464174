package delta_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/delta"
	"github.com/goldwire/goldwire/gen/emit"
	"github.com/goldwire/goldwire/gen/ir"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden pins what is printed of each revision and the one before it.
func TestGolden(t *testing.T) {
	pkgs := all(t)
	for i := 1; i < len(pkgs); i++ {
		older, newer := pkgs[i-1], pkgs[i]
		d, err := delta.Compare(older, newer)
		require.NoError(t, err)
		summary := delta.Summary(older, newer)
		require.Equal(t, d.Summary(), summary)
		got := d.Text() + "\nSUMMARY\n" + strings.Join(summary, "\n") + "\n"
		name := filepath.Join("testdata", newer.Revision+".golden")
		if *update {
			require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
		}
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), got, "run: go test ./gen/delta -update")
	}
}

// TestNothing holds that a revision differs from itself in nothing.
func TestNothing(t *testing.T) {
	for _, p := range all(t) {
		d, err := delta.Compare(p, p)
		require.NoError(t, err)
		require.Empty(t, d.Changes)
		require.Empty(t, d.Summary())
		require.Equal(t, p.Revision+" -> "+p.Revision+"\n\nnothing changed\n", d.Text())
	}
}

// TestBackwards holds that comparing the other way round turns every change
// round: what came went, what breaks one way may not break the other, and the
// classes and the readers change places.
func TestBackwards(t *testing.T) {
	opposite := map[delta.Kind]delta.Kind{
		delta.MethodAdded: delta.MethodRemoved, delta.CapabilityAdded: delta.CapabilityRemoved, delta.TypeAdded: delta.TypeRemoved, delta.MemberAdded: delta.MemberRemoved,
		delta.MadeRequired: delta.MadeOptional, delta.ArmAdded: delta.ArmRemoved, delta.RawAdded: delta.RawRemoved, delta.ValueAdded: delta.ValueRemoved,
		delta.ParamsMadeReq: delta.ParamsMadeOpt, delta.OutcomeAdded: delta.OutcomeRemoved, delta.NeedAdded: delta.NeedRemoved, delta.GateAdded: delta.GateRemoved,
		delta.ErrorAdded: delta.ErrorRemoved, delta.ConstantAdded: delta.ConstantRemoved, delta.Deprecated: delta.Undeprecated, delta.ImplAdded: delta.ImplGone, delta.FlagAdded: delta.FlagRemoved,
	}
	for k, v := range opposite {
		opposite[v] = k
	}
	pkgs := all(t)
	for i := 1; i < len(pkgs); i++ {
		there, err := delta.Compare(pkgs[i-1], pkgs[i])
		require.NoError(t, err)
		back, err := delta.Compare(pkgs[i], pkgs[i-1])
		require.NoError(t, err)
		require.Len(t, back.Changes, len(there.Changes))
		for _, c := range there.Changes {
			kind := c.Kind
			if o := opposite[kind]; o != "" {
				kind = o
			}
			j := slices.IndexFunc(back.Changes, func(b *delta.Change) bool {
				return b.Kind == kind && b.Subject == c.Subject && b.Member == c.Member
			})
			require.GreaterOrEqual(t, j, 0, "%s %s %s", c.Kind, c.Subject, c.Member)
			b := back.Changes[j]
			require.Equal(t, c.Older, b.Newer)
			require.Equal(t, c.Newer, b.Older)
			if c.Group == delta.Types {
				require.Equal(t, c.Up, b.Down, "%s %s %s", c.Kind, c.Subject, c.Member)
				require.Equal(t, c.Down, b.Up, "%s %s %s", c.Kind, c.Subject, c.Member)
				require.Equal(t, c.OldReadsNew, b.NewReadsOld, "%s %s %s", c.Kind, c.Subject, c.Member)
			}
		}
		require.Len(t, back.Conversions, len(there.Conversions))
		for k, c := range there.Conversions {
			require.Equal(t, c.Up, back.Conversions[k].Down)
			require.Equal(t, c.Down, back.Conversions[k].Up)
		}
	}
}

// TestJSON pins the names of the JSON form, on which programs rely.
func TestJSON(t *testing.T) {
	pkgs := all(t)
	d, err := delta.Compare(pkgs[0], pkgs[1])
	require.NoError(t, err)
	for i := range d.Changes {
		if d.Changes[i].Subject == "Tool" {
			d.Changes = d.Changes[i : i+1]
			break
		}
	}
	d.Conversions = d.Conversions[:1]
	d.Older.SHA256, d.Newer.SHA256 = "0", "1"
	got, err := json.MarshalIndent(d, "", "  ")
	require.NoError(t, err)
	require.JSONEq(t, `{
  "older": {"revision": "2024-11-05", "schema": "spec/2024-11-05/schema.json", "sha256": "0", "stateless": false},
  "newer": {"revision": "2025-03-26", "schema": "spec/2025-03-26/schema.json", "sha256": "1", "stateless": false},
  "counts": {
    "typesOlder": 72, "typesNewer": 74, "typesSame": 59, "typesChanged": 13, "typesAdded": 2, "typesRemoved": 0, "typesRenamed": 0,
    "methodsOlder": 24, "methodsNewer": 24, "changesThatBreakCode": 0, "changesThatOldPeersRefuse": 2, "changesThatNewPeersRefuse": 1
  },
  "changes": [{
    "group": "types", "kind": "member-added", "subject": "Tool", "member": "annotations", "newer": "ToolAnnotations", "sender": "server",
    "code": "compiles", "oldReadsNew": "ignores", "newReadsOld": "yes", "up": "=", "down": "L"
  }],
  "conversions": [{"type": "CallToolResult", "up": "=", "down": "X", "nestedDown": true}]
}`, string(got))
}

// TestGoTypes holds that this package knows the Go type of every field as the
// printer prints it: old code compiles or not by that.
func TestGoTypes(t *testing.T) {
	for _, p := range all(t)[3:] {
		files, err := emit.Package(p)
		require.NoError(t, err)
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "types_gen.go", files["types_gen.go"], 0)
		require.NoError(t, err)
		got := map[string]string{}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return false
			}
			for _, field := range s.Fields.List {
				var b strings.Builder
				require.NoError(t, printer.Fprint(&b, fset, field.Type))
				for _, name := range field.Names {
					got[spec.Name.Name+"."+name.Name] = b.String()
				}
			}
			return false
		})
		n := 0
		for _, typ := range p.Types {
			if typ.Kind != ir.Struct {
				continue
			}
			for _, field := range typ.Fields {
				if want := delta.GoField(p, field); want != "" {
					require.Equal(t, want, got[typ.Name+"."+field.Name], "%s.%s", typ.Name, field.Name)
					n++
				}
			}
		}
		require.Greater(t, n, 100)
	}
}
