// Package warning reports valid but suspicious calls through the application's warning handler. An operator warns after it has
// checked its arguments and before it changes anything: the handler can return an error, which the call then returns. Warnings are
// issued on the goroutine of the call, without a lock, because the handler may call the library.
package warning

import (
	"sync"
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/inherit"

	"github.com/libtensor/libtensor/engine/status"
)

// Program receives warnings, on the thread of the call.
type Program interface {
	// Listens reports whether anybody does.
	Listens() bool
	// Warn passes a warning to the handler and returns the handler's error.
	Warn(kind, text string) error
}

var program Program

// Serve sets the program, before any call.
func Serve(p Program) { program = p }

// how is the number of times that a warning is reported.
type how uint8

const (
	each        how = iota // every time
	once                   // the first time
	perOperator            // the first time of each operator
)

// Kind is one thing that programs are warned of. docs/warnings.md has a row for each.
type Kind struct {
	Name  string // an identifier of the kind for programs; it never changes
	often how
	given sync.Map // the operators that it was given for, "" for all
}

// Kinds are all of them.
var Kinds []*Kind

func kind(name string, often how) *Kind {
	k := &Kind{Name: name, often: often}
	Kinds = append(Kinds, k)
	return k
}

// The kinds.
var (
	AlignCorners      = kind("align_corners", each)
	ComplexToReal     = kind("complex_to_real", once)
	CreateGraph       = kind("create_graph", once)
	CrossDim          = kind("cross_dim", once)
	CublasMissing     = kind("cublas_missing", once)
	DegreesOfFreedom  = kind("degrees_of_freedom", each)
	Deprecated        = kind("deprecated", perOperator)
	Expanded          = kind("expanded", each)
	GradOfNonLeaf     = kind("grad_of_non_leaf", each)
	LengthBeyond      = kind("length_beyond", once)
	MeshgridIndexing  = kind("meshgrid_indexing", once)
	NoWindow          = kind("no_window", perOperator)
	OutResized        = kind("out_resized", each)
	RandomRange       = kind("random_range", each)
	TargetSize        = kind("target_size", each)
	TransposeNotTwo   = kind("transpose_not_two", once)
	TransposeZeroDims = kind("transpose_zero_dims", perOperator)
	Uint8Mask         = kind("uint8_mask", once)
)

var always atomic.Bool

func init() { inherit.Value(&always) }

// SetAlways sets whether warnings that are otherwise reported once are reported every time.
func SetAlways(on bool) { always.Store(on) }

// Always reports whether they do.
func Always() bool { return always.Load() }

// Of warns about a call of op; the message follows its name. An error of the handler makes the call fail; the warning does not count as
// reported then and is repeated.
func (k *Kind) Of(op, format string, args ...any) error {
	if program == nil || !program.Listens() {
		return nil
	}
	place := ""
	if k.often == perOperator {
		place = op
	}
	if k.often != each {
		if _, was := k.given.LoadOrStore(place, true); was && !Always() {
			return nil
		}
	}
	err := program.Warn(k.Name, op+": "+status.Textf(format, args...))
	if err != nil {
		k.given.Delete(place)
	}
	return err
}
