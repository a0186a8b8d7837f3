package random

import "github.com/libtensor/libtensor/engine/status"

// Kind is the algorithm of a generator.
type Kind uint8

// The kinds of generators.
const (
	MT19937 Kind = iota // PyTorch's streams
	Philox              // each element's number from its index
)

var kinds = []string{MT19937: "mt19937", Philox: "philox"}

func (k Kind) String() string { return kinds[k] }

// ParseKind returns the generator kind with a name.
func ParseKind(op, name string) (Kind, error) {
	for k, known := range kinds {
		if name == known {
			return Kind(k), nil
		}
	}
	return 0, status.Runtimef("%s: expected the engine mt19937 or philox, but got %q", op, name)
}

const words = 624

// engine draws 32-bit words, up to 624 at a time.
type engine struct {
	kind    Kind
	out     [words]uint32
	next    int // the next word's place in out; words when out is used up
	twister mt19937
	counter counter
}

func (e *engine) refill() {
	if e.kind == Philox {
		e.next = e.counter.refill(&e.out)
		return
	}
	e.twister.refill(&e.out)
	e.next = 0
}

func (e *engine) uint32() uint32 {
	if e.next == words {
		e.refill()
	}
	v := e.out[e.next]
	e.next++
	return v
}

// take returns the next words, at least one and at most n > 0 of them. The slice is good until the next draw.
func (e *engine) take(n int) []uint32 {
	if e.next == words {
		e.refill()
	}
	v := e.out[e.next:min(e.next+n, words)]
	e.next += len(v)
	return v
}

// uint64 takes its high half first.
func (e *engine) uint64() uint64 {
	high := e.uint32()
	return uint64(high)<<32 | uint64(e.uint32())
}

// float32 is uniform in [0, 1), a multiple of 2^-24.
func (e *engine) float32() float32 { return float32(int32(e.uint32()&(1<<24-1))) * 0x1p-24 }

// float64 is uniform in [0, 1), a multiple of 2^-53.
func (e *engine) float64() float64 { return float64(int64(e.uint64()&(1<<53-1))) * 0x1p-53 }
