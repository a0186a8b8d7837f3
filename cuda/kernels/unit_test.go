package kernels

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// declares finds the declarations of PTX, with the parameters and the memory of functions; calls, takes and reads find their uses.
var (
	declares = regexp.MustCompile(`(?:\.[busf]\d+|\.entry|\.func|\))[ \t]+([A-Za-z_$][\w$]*)`)
	calls    = regexp.MustCompile(`call\.uni\s+(?:\([^)]*\),\s*)?([\w$]+),`)
	takes    = regexp.MustCompile(`mov\.u64\s+%\w+, ([A-Za-z_$][\w$]*);`)
	reads    = regexp.MustCompile(`\[([A-Za-z_$][\w$]*)[\]+]`)
)

// each calls f with every unit.
func each(t *testing.T, f func(t *testing.T, name, text string, u *unit)) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(entries), "\n")[1:] {
		name := strings.Fields(line)[0]
		t.Run(name, func(t *testing.T) {
			text, err := readUnit("gen_" + name + ".ptx.gz")
			require.NoError(t, err)
			f(t, name, text, parsePTX(text))
		})
	}
}

func TestUnitsAreWhole(t *testing.T) {
	each(t, func(t *testing.T, _, text string, u *unit) {
		assert.Equal(t, text, u.head+strings.Join(u.parts, ""))
	})
}

// Each entry is cut with all that it calls and uses, and without the others.
func TestCut(t *testing.T) {
	each(t, func(t *testing.T, _, text string, u *unit) {
		symbols := regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`).FindAllStringSubmatch(text, -1)
		require.NotEmpty(t, symbols)
		for i, symbol := range symbols {
			if testing.Short() && i%8 != 0 {
				continue
			}
			cut := u.extractEntry(symbol[1])
			assert.Equal(t, 1, strings.Count(cut, ".entry "), symbol[1])
			known := map[string]bool{}
			for _, found := range declares.FindAllStringSubmatch(cut, -1) {
				known[found[1]] = true
			}
			for _, uses := range []*regexp.Regexp{calls, takes, reads} {
				for _, found := range uses.FindAllStringSubmatch(cut, -1) {
					assert.True(t, known[found[1]], "%s uses %s", symbol[1], found[1])
				}
			}
		}
	})
}

// The stack of a device's thread is too small for recursion.
func TestNoFileDependsOnItself(t *testing.T) {
	each(t, func(t *testing.T, _, _ string, u *unit) {
		done := map[string]bool{}
		var visit func(path []string, name string)
		visit = func(path []string, name string) {
			if slices.Contains(path, name) {
				assert.Fail(t, "recursion", "%s calls itself, by way of %v", name, path)
				return
			}
			if done[name] {
				return
			}
			for _, i := range u.named[name] {
				for _, next := range u.findUsedNames(u.parts[i]) {
					visit(append(path, name), next)
				}
			}
			done[name] = true
		}
		for name := range u.named {
			visit(nil, name)
		}
	})
}
