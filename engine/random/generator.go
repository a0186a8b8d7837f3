package random

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"sync"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/inherit"
	"github.com/libtensor/libtensor/engine/status"
)

// DefaultSeed is the seed of a new generator.
const DefaultSeed = 67280421310721

// Default is the generator for draws without an explicit one. As in PyTorch, its seed differs between processes.
var Default = func() *Generator {
	g := New(MT19937, DefaultSeed)
	g.Seed()
	return g
}()

// Generator is a random stream. It is safe for concurrent use: no two fills are given the same words.
type Generator struct {
	Device device.Device // which it was made for
	kind   Kind
	mu     sync.Mutex
	stream
	initial uint64
}

// stream is the source of random words of the distributions.
type stream struct {
	engine          engine
	cachedNormal    float64 // the second normal of a pair, for the next fill
	hasCachedNormal bool
	floats          [256]float64 // scratch of the fills that draw in float64
	ints            [256]int64
}

// New returns a generator of a kind, seeded with seed.
func New(kind Kind, seed uint64) *Generator {
	g := &Generator{kind: kind, Device: device.Host}
	g.engine.kind = kind
	g.ManualSeed(seed)
	return g
}

// Kind returns the generator's algorithm.
func (g *Generator) Kind() Kind { return g.kind }

// ManualSeed restarts the stream. MT19937 uses the low 32 bits; negative seeds arrive as their two's complement.
func (g *Generator) ManualSeed(seed uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.initial = seed
	if g.kind == Philox {
		g.setCounter(counter{seed: seed})
		return
	}
	g.engine.twister.setSeed(uint32(seed))
	g.engine.next, g.hasCachedNormal = bufferWords, false
}

// Seed restarts the stream from a seed of the operating system's and returns it. It has 53 bits, so that a double holds
// it.
func (g *Generator) Seed() uint64 {
	var b [8]byte
	rand.Read(b[:])
	seed := binary.NativeEndian.Uint64(b[:]) >> 11
	g.ManualSeed(seed)
	return seed
}

// InitialSeed returns the seed of the last ManualSeed, Seed or SetState.
func (g *Generator) InitialSeed() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.initial
}

// Clone returns another generator in the same state.
func (g *Generator) Clone() (*Generator, error) {
	other := New(g.kind, DefaultSeed)
	other.Device = g.Device
	return other, other.SetState(g.State())
}

// State returns the state for SetState, in the layout of PyTorch's get_state: that of its CPU generators for MT19937, that of its Philox
// generators for Philox.
func (g *Generator) State() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kind == Philox {
		return g.engine.counter.encodeState()
	}
	return g.encodeTwisterState()
}

// SetState continues from a State. A state of another size, or one that no generator of the kind has, is a Runtime error and changes
// nothing.
func (g *Generator) SetState(state []byte) error {
	size, set := twisterStateSize, g.setTwisterState
	if g.kind == Philox {
		size, set = counterStateSize, g.setCounterState
	}
	if len(state) != size {
		return status.Runtimef("set_state: expected a state of %s, %d bytes, but found %d", g.kind, size, len(state))
	}
	return set(state)
}

// twisterStateSize is the number of bytes of a state of MT19937.
const twisterStateSize = 5056

// Offsets in a state: PyTorch's CPUGeneratorImplState on a 64-bit little-endian system.
const (
	atSeed      = 0                           // uint64
	atLeft      = 8                           // int32: 1 when the next draw twists
	atSeeded    = 12                          // int32: 1
	atNext      = 16                          // uint64: words already drawn
	atWords     = 24                          // 624 × uint64
	atNormal    = atWords + 8*bufferWords + 8 // float64, between two unused ones
	atNormalSet = atNormal + 16               // int32
)

func (g *Generator) encodeTwisterState() []byte {
	b := make([]byte, twisterStateSize)
	le := binary.LittleEndian
	next, left := g.engine.next, bufferWords+1-g.engine.next
	if g.engine.twister.fresh {
		next = 0
	}
	le.PutUint64(b[atSeed:], g.initial)
	le.PutUint32(b[atLeft:], uint32(left))
	le.PutUint32(b[atSeeded:], 1)
	le.PutUint64(b[atNext:], uint64(next))
	for i, word := range g.engine.twister.state {
		le.PutUint64(b[atWords+8*i:], uint64(word))
	}
	if g.hasCachedNormal {
		le.PutUint64(b[atNormal:], math.Float64bits(g.cachedNormal))
		le.PutUint32(b[atNormalSet:], 1)
	}
	return b
}

// setTwisterState returns an error for a state that was never seeded, or has two positions that contradict each other.
func (g *Generator) setTwisterState(state []byte) error {
	le := binary.LittleEndian
	left, next := le.Uint32(state[atLeft:]), le.Uint64(state[atNext:])
	drawn := next >= 1 && next <= bufferWords && uint64(left) == bufferWords+1-next
	fresh := next == 0 && left == 1
	if le.Uint32(state[atSeeded:]) == 0 || !drawn && !fresh {
		return status.Runtimef("set_state: invalid mt19937 state: seeded=%d, left=%d, next=%d",
			le.Uint32(state[atSeeded:]), left, next)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.initial = le.Uint64(state[atSeed:])
	e := &g.engine
	for i := range e.twister.state {
		e.twister.state[i] = uint32(le.Uint64(state[atWords+8*i:]))
	}
	e.twister.temperState(&e.out)
	e.next, e.twister.fresh = int(next), fresh
	if fresh {
		e.next = bufferWords
	}
	g.hasCachedNormal = le.Uint32(state[atNormalSet:]) != 0
	g.cachedNormal = math.Float64frombits(le.Uint64(state[atNormal:]))
	return nil
}

func init() {
	inherit.Read(&Default, func(parents **Generator) { Default = Inherit(*parents) })
}

// Inherit returns a copy, for a forked child, of old, a generator in the heap of the parent's runtime. The copy continues old's stream.
func Inherit(old *Generator) *Generator {
	g := &Generator{Device: old.Device, kind: old.kind, stream: old.stream, initial: old.initial}
	if next := g.engine.next; next < 0 || next > bufferWords {
		g.engine.next = bufferWords // a thread of the parent was drawing
	}
	return g
}
