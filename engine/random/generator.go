package random

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"sync"

	"github.com/libtensor/libtensor/engine/status"
)

// DefaultSeed is the seed of a new generator that nobody seeded.
const DefaultSeed = 67280421310721

// StateSize is the number of bytes of a generator's state.
const StateSize = 5056

// Default is the generator of every draw that names none. Like PyTorch's, it starts from a seed of its own in each
// process.
var Default = func() *Generator {
	g := New(DefaultSeed)
	g.Seed()
	return g
}()

// Generator is a random stream. It is safe for concurrent use: a fill holds the generator until it is complete.
type Generator struct {
	mu      sync.Mutex
	engine  mt19937
	initial uint64
	spare   float64 // the second normal of a pair, for the next NormalSerial
	spared  bool
	floats  [256]float64 // scratch of the fills that draw in float64
	ints    [256]int64
}

// New is a generator seeded with seed.
func New(seed uint64) *Generator {
	g := new(Generator)
	g.ManualSeed(seed)
	return g
}

// ManualSeed restarts the stream. The engine uses the low 32 bits; negative seeds arrive as their two's complement.
func (g *Generator) ManualSeed(seed uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.engine.seed(uint32(seed))
	g.initial, g.spared = seed, false
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

// InitialSeed is the seed of the last ManualSeed, Seed or SetState.
func (g *Generator) InitialSeed() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.initial
}

// Random draws 32 bits.
func (g *Generator) Random() uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.engine.uint32()
}

// Random64 draws 64 bits.
func (g *Generator) Random64() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.engine.uint64()
}

// Offsets in a state: PyTorch's CPUGeneratorImplState on a 64-bit little-endian machine.
const (
	atSeed      = 0                     // uint64
	atLeft      = 8                     // int32: 1 when the next draw twists
	atSeeded    = 12                    // int32: 1
	atNext      = 16                    // uint64: words already drawn
	atWords     = 24                    // 624 × uint64
	atNormal    = atWords + 8*words + 8 // float64, between two unused ones
	atNormalSet = atNormal + 16         // int32
)

// State is the generator's state in the layout of PyTorch's get_state: each accepts the other's.
func (g *Generator) State() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := make([]byte, StateSize)
	le := binary.LittleEndian
	next, left := g.engine.next, words+1-g.engine.next
	if g.engine.fresh {
		next = 0
	}
	le.PutUint64(b[atSeed:], g.initial)
	le.PutUint32(b[atLeft:], uint32(left))
	le.PutUint32(b[atSeeded:], 1)
	le.PutUint64(b[atNext:], uint64(next))
	for i, word := range g.engine.state {
		le.PutUint64(b[atWords+8*i:], uint64(word))
	}
	if g.spared {
		le.PutUint64(b[atNormal:], math.Float64bits(g.spare))
		le.PutUint32(b[atNormalSet:], 1)
	}
	return b
}

// SetState continues from a State. A state of another size, never seeded, or whose two positions contradict each other
// is a Runtime error and changes nothing.
func (g *Generator) SetState(state []byte) error {
	if len(state) != StateSize {
		return status.Runtimef("set_state: expected a state of %d bytes but found %d", StateSize, len(state))
	}
	le := binary.LittleEndian
	left, next := le.Uint32(state[atLeft:]), le.Uint64(state[atNext:])
	drawn := next >= 1 && next <= words && uint64(left) == words+1-next
	fresh := next == 0 && left == 1
	if le.Uint32(state[atSeeded:]) == 0 || !drawn && !fresh {
		return status.Runtimef("set_state: invalid mt19937 state: seeded=%d, left=%d, next=%d",
			le.Uint32(state[atSeeded:]), left, next)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.initial = le.Uint64(state[atSeed:])
	for i := range g.engine.state {
		g.engine.state[i] = uint32(le.Uint64(state[atWords+8*i:]))
	}
	g.engine.temper()
	g.engine.next, g.engine.fresh = int(next), fresh
	if fresh {
		g.engine.next = words
	}
	g.spared = le.Uint32(state[atNormalSet:]) != 0
	g.spare = math.Float64frombits(le.Uint64(state[atNormal:]))
	return nil
}
