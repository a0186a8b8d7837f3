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

const bufferWords = 624

// engine draws 32-bit words, up to 624 at a time.
type engine struct {
	kind    Kind
	out     [bufferWords]uint32
	next    int // the index of the next word in out; bufferWords when out is used up
	twister mt19937
	counter counter
}

func (e *engine) refillWords() {
	if e.kind == Philox {
		e.next = e.counter.refillWords(&e.out)
		return
	}
	e.twister.refillWords(&e.out)
	e.next = 0
}

func (e *engine) drawUint32() uint32 {
	if e.next == bufferWords {
		e.refillWords()
	}
	v := e.out[e.next]
	e.next++
	return v
}

// takeWords returns the next words, at least one and at most n > 0 of them. The slice is valid until the next draw.
func (e *engine) takeWords(n int) []uint32 {
	if e.next == bufferWords {
		e.refillWords()
	}
	v := e.out[e.next:min(e.next+n, bufferWords)]
	e.next += len(v)
	return v
}

// drawUint64 draws 64 bits, the high half first.
func (e *engine) drawUint64() uint64 {
	high := e.drawUint32()
	return uint64(high)<<32 | uint64(e.drawUint32())
}

// drawFloat32 draws a uniform of [0, 1), a multiple of 2^-24.
func (e *engine) drawFloat32() float32 { return float32(int32(e.drawUint32()&(1<<24-1))) * 0x1p-24 }

// drawFloat64 draws a uniform of [0, 1), a multiple of 2^-53.
func (e *engine) drawFloat64() float64 { return float64(int64(e.drawUint64()&(1<<53-1))) * 0x1p-53 }
