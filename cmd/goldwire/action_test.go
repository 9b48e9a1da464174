package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// TestActionIsWhole holds that the composite action is one: each input reaches
// the script, under the name by which the script reads it, and what it gives
// out is given by the script. A script in testdata runs it.
func TestActionIsWhole(t *testing.T) {
	const dir = "../../.github/actions/check/"
	text, err := os.ReadFile(dir + "action.yml")
	require.NoError(t, err)
	var action struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
		Inputs      map[string]struct {
			Description string  `yaml:"description"`
			Default     *string `yaml:"default"`
		} `yaml:"inputs"`
		Outputs map[string]struct {
			Description string `yaml:"description"`
			Value       string `yaml:"value"`
		} `yaml:"outputs"`
		Runs struct {
			Using string `yaml:"using"`
			Steps []struct {
				Name  string            `yaml:"name"`
				ID    string            `yaml:"id"`
				If    string            `yaml:"if"`
				Uses  string            `yaml:"uses"`
				With  map[string]string `yaml:"with"`
				Shell string            `yaml:"shell"`
				Env   map[string]string `yaml:"env"`
				Run   string            `yaml:"run"`
			} `yaml:"steps"`
		} `yaml:"runs"`
	}
	require.NoError(t, yaml.UnmarshalWithOptions(text, &action, yaml.Strict()))
	require.NotEmpty(t, action.Name)
	require.NotEmpty(t, action.Description)
	require.Equal(t, "composite", action.Runs.Using)
	script, err := os.ReadFile(dir + "check.sh")
	require.NoError(t, err)
	last := action.Runs.Steps[len(action.Runs.Steps)-1]
	require.Equal(t, `bash "$GITHUB_ACTION_PATH/check.sh"`, last.Run)
	require.Len(t, last.Env, len(action.Inputs))
	for name, in := range action.Inputs {
		require.NotEmpty(t, in.Description, name)
		require.NotNil(t, in.Default, "%s need not be given", name)
		require.Equal(t, "${{ inputs."+name+" }}", last.Env["INPUT_"+strings.ToUpper(name)])
		loop := regexp.MustCompile(`(?m)^for name in (.*); do$`).FindSubmatch(script)
		require.True(t, strings.Contains(string(script), "INPUT_"+strings.ToUpper(name)) || slices.Contains(strings.Fields(string(loop[1])), name), "the script reads %s", name)
	}
	for name, out := range action.Outputs {
		require.NotEmpty(t, out.Description, name)
		require.Equal(t, "${{ steps."+last.ID+".outputs."+name+" }}", out.Value)
		require.Contains(t, string(script), `echo "`+name+`=`)
	}
	var example []struct {
		Uses string            `yaml:"uses"`
		With map[string]string `yaml:"with"`
	}
	shown := blocks(readme(t), "yaml")
	require.Len(t, shown, 1)
	require.NoError(t, yaml.UnmarshalWithOptions([]byte(shown[0]), &example, yaml.Strict()))
	require.True(t, strings.HasPrefix(example[0].Uses, "goldwire/goldwire/.github/actions/check@"))
	for name := range example[0].With {
		require.Contains(t, action.Inputs, name, "the README uses inputs that there are")
	}
	for _, s := range action.Runs.Steps {
		require.NotContains(t, s.Run, "${{", "%s: an expression in a script is code of who wrote its value", s.Name)
		require.True(t, s.Uses != "" || s.Shell == "bash", "%s: a step that runs something names its shell", s.Name)
	}
}
