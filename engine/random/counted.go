package random

import (
	"math"
	"sync"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// Words are those that a device makes itself for a fill: those of Block(Seed, Block, 0), Block(Seed, Block+1, 0) and so on.
type Words struct{ Seed, Block uint64 }

// Counts returns an error for a generator that does not count, whose numbers only the CPU draws.
func (g *Generator) Counts(op string) error {
	if g.kind == Philox {
		return nil
	}
	return status.Runtimef("%s: mt19937 generators support only the cpu; use Generator(device='cuda'), a philox generator, which supports every device",
		op)
}

// Reserve takes the words of a fill of n elements of a distribution whose elements are drawn one by one. The generator counts.
func (g *Generator) Reserve(n int, to, each dtype.DType, d Distribution) Words {
	at := g.reserveBlocks(n, d.countWords(to, each))
	return Words{at.seed, at.block}
}

// ReserveWords takes words that are drawn one after the other. The generator counts.
func (g *Generator) ReserveWords(n int) Words {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.engine.counter
	g.engine.counter.block += uint64(n+blockWords-1) / blockWords
	return Words{at.seed, at.block}
}

// Ranged are distributions of integers.
type Ranged interface {
	// Range is the smallest integer drawn for a dtype, how many there are, where 0 represents all of 64 bits, and whether each takes two
	// words.
	Range(d dtype.DType) (from int64, n uint64, wide bool)
}

// Range implements Ranged.
func (r Integers) Range(d dtype.DType) (from int64, n uint64, wide bool) {
	from, end := r.computeBounds(d)
	return from, uint64(end) - uint64(from), r.countWords(d, dtype.None) == 2
}

// Range implements Ranged.
func (r IntegersFrom) Range(d dtype.DType) (from int64, n uint64, wide bool) {
	wide = r.countWords(d, dtype.None) == 2
	if r.From == math.MinInt64 {
		return 0, 0, wide
	}
	from, last := r.computeBounds(d)
	return from, last - uint64(from) + 1, wide
}

// Range implements Ranged.
func (r AllIntegers) Range(d dtype.DType) (from int64, n uint64, wide bool) {
	return 0, lastInteger(d) + 1, r.countWords(d, dtype.None) == 2
}

// defaults are the generators of devices, which count, by the devices' indices, and the seed that all were given last.
var defaults struct {
	sync.Mutex
	of     map[int]*Generator
	seed   uint64
	seeded bool
}

// DefaultOf returns the generator of every draw on a device other than the CPU that names none.
func DefaultOf(index int) *Generator {
	defaults.Lock()
	defer defaults.Unlock()
	g := defaults.of[index]
	if g == nil {
		g = New(Philox, defaults.seed)
		g.Device = device.Device{Type: device.CUDA, Index: int16(index)}
		if !defaults.seeded {
			g.Seed()
		}
		if defaults.of == nil {
			defaults.of = map[int]*Generator{}
		}
		defaults.of[index] = g
	}
	return g
}

// SeedDevices reseeds the default generators of all devices other than the CPU, including devices initialized later.
func SeedDevices(seed uint64) {
	defaults.Lock()
	defer defaults.Unlock()
	defaults.seed, defaults.seeded = seed, true
	for _, g := range defaults.of {
		g.ManualSeed(seed)
	}
}
