package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/status"
)

func TestPanicsBecomeErrors(t *testing.T) {
	for name, value := range map[string]any{
		"of the call":   errors.New("index out of range"),
		"of a worker":   &parallel.Panic{Value: "index out of range"},
		"without error": "index out of range",
	} {
		t.Run(name, func(t *testing.T) {
			var e *status.Error
			require.ErrorAs(t, panicError(value), &e)
			assert.Equal(t, status.Internal, e.Code)
			assert.Contains(t, e.Msg, "internal error: index out of range")
		})
	}
}

// The message of a panic reports where it came from, in this goroutine or in a worker's.
func TestPanicsReportTheirOrigin(t *testing.T) {
	var none []int
	for name, run := range map[string]func(){
		"of the call": func() { none[len(none)]++ },
		"of a worker": func() { parallel.For(1<<20, 1, func(begin, _ int64) { none[begin]++ }) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				assert.Regexp(t, `index out of range .*: capi\.TestPanicsReportTheirOrigin\.func\S*:\d+`, panicError(recover()).Error())
			}()
			run()
		})
	}
}
