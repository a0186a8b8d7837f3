package random

// #cgo noescape random_philox
// #cgo nocallback random_philox
// #include "philox.h"
// extern int random_tier;
import "C"

import (
	"encoding/binary"
	"slices"

	"github.com/libtensor/libtensor/engine/status"
)

// SetTier selects the vector instructions: baseline, avx2 or avx512.
func SetTier(tier string) {
	C.random_tier = C.int(slices.Index([]string{"baseline", "avx2", "avx512"}, tier))
}

// A block is the output of Philox for a counter. The words of a fill begin at a multiple of this number, so that no Box-Muller block is
// split.
const (
	blockWords = 4
	fillWords  = 2 * block
	fillBlocks = fillWords / blockWords
)

// counter is the place of a stream of Philox4x32-10 words (J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", 2011). The counter of a block has its number in the lower half and the round in the upper one.
type counter struct {
	seed         uint64 // the key
	block, round uint64 // of the next block
	ahead        int    // words that are still wanted; a guess
	separate     bool   // each element uses separate blocks: those of the rounds

	firsts, firstsEnd uint64 // the elements whose first blocks are at the beginning of out, if elements are separate
}

// refillWords writes blocks to the end of out, and returns where they begin.
func (c *counter) refillWords(out *[bufferWords]uint32) int {
	if c.separate {
		*(*[blockWords]uint32)(out[bufferWords-blockWords:]) = Block(c.seed, c.block, c.round)
		c.round++
		return bufferWords - blockWords
	}
	n := min(max(c.ahead+blockWords-1, blockWords)/blockWords, bufferWords/blockWords)
	at := bufferWords - n*blockWords
	C.random_philox((*C.uint32_t)(&out[at]), C.int64_t(n), C.uint64_t(c.seed), C.uint64_t(c.block), C.uint64_t(c.round))
	c.block += uint64(n)
	c.ahead -= n * blockWords
	return at
}

// Block is Philox4x32-10 of the counter (block, round) and the key seed, the low words first. random_philox makes many.
func Block(seed, block, round uint64) [blockWords]uint32 {
	low, high := uint32(seed), uint32(seed>>32)
	a, b, c, d := uint32(block), uint32(block>>32), uint32(round), uint32(round>>32)
	for range 10 {
		p, q := uint64(a)*0xd2511f53, uint64(c)*0xcd9e8d57
		a, b, c, d = uint32(q>>32)^b^low, uint32(q), uint32(p>>32)^d^high, uint32(p)
		low += 0x9e3779b9
		high += 0xbb67ae85
	}
	return [blockWords]uint32{a, b, c, d}
}

// counterStateSize is the size of a Philox state in bytes: the seed and the offset, in words.
const counterStateSize = 16

// maxOffset is the largest offset that is set; no program draws as many words beyond it.
const maxOffset = 1 << 62

func (c *counter) encodeState() []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, c.seed), c.block*blockWords)
}

func (g *Generator) setCounterState(state []byte) error {
	offset := binary.LittleEndian.Uint64(state[8:])
	if err := checkOffset("set_state", offset); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.initial = binary.LittleEndian.Uint64(state)
	g.setCounter(counter{seed: g.initial, block: offset / blockWords})
	return nil
}

func checkOffset(op string, offset uint64) error {
	if offset%blockWords != 0 || offset > maxOffset {
		return status.Runtimef("%s: expected an offset from 0 to 2^62 that is a multiple of %d, but got %d", op, blockWords, int64(offset))
	}
	return nil
}

// Offset returns the number of words before the next fill's. MT19937 has none.
func (g *Generator) Offset() (int64, error) {
	if err := g.requireCounter("get_offset"); err != nil {
		return 0, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(g.engine.counter.block * blockWords), nil
}

// SetOffset continues from an offset, a multiple of 4.
func (g *Generator) SetOffset(offset int64) error {
	if err := g.requireCounter("set_offset"); err != nil {
		return err
	}
	if err := checkOffset("set_offset", uint64(offset)); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setCounter(counter{seed: g.initial, block: uint64(offset) / blockWords})
	return nil
}

func (g *Generator) requireCounter(op string) error {
	if g.kind != Philox {
		return status.Runtimef("%s: %s generators have no offset; use a philox generator", op, g.kind)
	}
	return nil
}

// setCounter continues from a counter.
func (s *stream) setCounter(c counter) {
	s.engine.counter, s.engine.next, s.hasCachedNormal = c, bufferWords, false
}

// reserveBlocks reserves the blocks for a fill of n elements, each of the given number of words, and returns the counter of the first
// one.
func (g *Generator) reserveBlocks(n, each int) counter {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.engine.counter
	g.engine.counter.block += uint64(n*each+fillWords-1) / fillWords * fillBlocks
	return at
}

// returnUnused returns the blocks that were computed and not used.
func (g *Generator) returnUnused() {
	c := g.engine.counter
	c.block -= uint64((bufferWords - g.engine.next) / blockWords)
	g.setCounter(c)
}

// beginElement begins an element whose number of words is not known: it has a block for each round. The first blocks of several elements
// are computed together, since most elements use no other.
func (e *engine) beginElement() {
	if e.kind != Philox {
		return
	}
	const most = 128
	c := &e.counter
	if c.separate {
		c.block++
	}
	if !c.separate || c.block == c.firstsEnd {
		n := min(max(c.ahead/blockWords, 1), most)
		C.random_philox((*C.uint32_t)(&e.out[0]), C.int64_t(n), C.uint64_t(c.seed), C.uint64_t(c.block), 0)
		c.firsts, c.firstsEnd = c.block, c.block+uint64(n)
		c.ahead -= n * blockWords
	}
	copy(e.out[bufferWords-blockWords:], e.out[(c.block-c.firsts)*blockWords:][:blockWords])
	c.separate, c.round, e.next = true, 1, bufferWords-blockWords
}
