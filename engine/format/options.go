// Package format prints tensors and storages as in PyTorch, character for character.
package format

import (
	"math"

	"github.com/libtensor/libtensor/engine/status"
)

// Options are PyTorch's print options.
type Options struct {
	Precision int   // digits after the point of floating-point elements
	Threshold int64 // tensors with more elements are summarized
	EdgeItems int64 // elements kept at each end of a summarized dimension
	LineWidth int   // characters on a line before it breaks
	SciMode   *bool // scientific notation: always, never, or nil to decide by the elements
}

// Default returns the profile "default".
func Default() Options { return Options{Precision: 4, Threshold: 1000, EdgeItems: 3, LineWidth: 80} }

// Profile finds a set of options by name: "default", "short" (2 digits, 2 edge items) or "full" (never summarized).
// Another name is a Value error.
func Profile(name string) (Options, error) {
	o := Default()
	switch name {
	case "default":
	case "short":
		o.Precision, o.EdgeItems = 2, 2
	case "full":
		o.Threshold = math.MaxInt64
	default:
		return o, status.Valuef("print options: profile must be \"default\", \"short\" or \"full\", but got %q", name)
	}
	return o, nil
}
