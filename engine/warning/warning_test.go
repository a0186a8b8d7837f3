package warning

import (
	"errors"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listener receives warnings as a program does.
type listener struct {
	deaf   bool
	heard  []string
	reject error
}

func (l *listener) Listens() bool { return !l.deaf }

func (l *listener) Warn(kind, text string) error {
	l.heard = append(l.heard, kind+" "+text)
	return l.reject
}

func hear(t *testing.T, l *listener) {
	before := program
	Serve(l)
	t.Cleanup(func() { Serve(before) })
}

func TestNumberOfReportsOfAWarning(t *testing.T) {
	for _, c := range []struct {
		often how
		heard int // of two calls of each of two operators
	}{{each, 4}, {once, 1}, {perOperator, 2}} {
		l := new(listener)
		hear(t, l)
		k := &Kind{Name: "kind", often: c.often}
		for _, op := range []string{"add", "mul", "add", "mul"} {
			require.NoError(t, k.Of(op, "of %d", 3))
		}
		assert.Len(t, l.heard, c.heard)
		assert.Equal(t, "kind add: of 3", l.heard[0])
	}
}

func TestAlwaysRepeatsWarnings(t *testing.T) {
	l := new(listener)
	hear(t, l)
	k := &Kind{Name: "kind", often: once}
	SetAlways(true)
	defer SetAlways(false)
	require.NoError(t, errors.Join(k.Of("add", ""), k.Of("add", "")))
	assert.Len(t, l.heard, 2)
	SetAlways(false)
	require.NoError(t, k.Of("add", ""))
	assert.Len(t, l.heard, 2)
}

func TestRejectedWarningsAreRepeated(t *testing.T) {
	rejection := errors.New("no")
	l := &listener{reject: rejection}
	hear(t, l)
	k := &Kind{Name: "kind", often: once}
	assert.Equal(t, rejection, k.Of("add", ""))
	assert.Equal(t, rejection, k.Of("add", ""))
	l.reject, l.deaf = nil, true
	require.NoError(t, k.Of("add", ""))
	assert.Len(t, l.heard, 2)
	l.deaf = false
	require.NoError(t, k.Of("add", ""))
	assert.Len(t, l.heard, 3)
}

func TestTensorKindsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/warnings.md")
	require.NoError(t, err)
	var rows, kinds []string
	line := regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| .* \\| (each time|once|once for each operator) \\|$")
	for _, row := range line.FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, row[1]+" "+row[2])
	}
	for _, k := range Kinds {
		kinds = append(kinds, k.Name+" "+[]string{"each time", "once", "once for each operator"}[k.often])
	}
	assert.Equal(t, kinds, rows, "the table of kinds, in alphabetical order")
}
