package random

// Random draws 32 bits.
func (g *Generator) Random() uint32 { return g.engine.drawUint32() }

// Random64 draws 64 bits.
func (g *Generator) Random64() uint64 { return g.engine.drawUint64() }

// Blocks are n blocks from one on, made at once.
func Blocks(seed, block, round uint64, n int) []uint32 {
	c := counter{seed: seed, block: block, round: round, ahead: n * blockWords}
	var out [bufferWords]uint32
	return out[c.refillWords(&out):]
}
