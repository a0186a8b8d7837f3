package random

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// Permutation is a permutation of 0 ... N-1, of an integer or floating-point dtype. A dtype that does not hold N-1 and all below is a
// Runtime error.
type Permutation struct{ N int64 }

// Check implements Distribution.
func (p Permutation) Check(d, _ dtype.DType) error {
	if !d.IsIntegral() && !d.IsFloatingPoint() {
		return status.NotImplementedf("randperm: not implemented for dtype %s; use an integer or floating-point dtype", d)
	}
	most := lastInteger(d)
	if p.N > 0 && uint64(p.N-1) > most {
		return status.Runtimef("randperm: n=%d is too large for %s, which holds integers up to %d", p.N, d, most)
	}
	return nil
}

func (Permutation) countWords(_, _ dtype.DType) int { return 0 }

func (Permutation) draw(s *stream, dst, _ Span, _ bool) error {
	switch dst.DType {
	case dtype.Uint8, dtype.Int8:
		shuffleIndices(s, spanElements[uint8](dst), func(i int) uint8 { return uint8(i) })
	case dtype.Int16, dtype.Uint16:
		shuffleIndices(s, spanElements[uint16](dst), func(i int) uint16 { return uint16(i) })
	case dtype.Int32, dtype.Uint32:
		shuffleIndices(s, spanElements[uint32](dst), func(i int) uint32 { return uint32(i) })
	case dtype.Int64, dtype.Uint64:
		shuffleIndices(s, spanElements[uint64](dst), func(i int) uint64 { return uint64(i) })
	case dtype.Float16:
		shuffleIndices(s, spanElements[uint16](dst), func(i int) uint16 { return dtype.Float16FromFloat32(float32(i)) })
	case dtype.BFloat16:
		shuffleIndices(s, spanElements[uint16](dst), func(i int) uint16 { return dtype.BFloat16FromFloat32(float32(i)) })
	case dtype.Float32:
		shuffleIndices(s, spanElements[float32](dst), func(i int) float32 { return float32(i) })
	case dtype.Float64:
		shuffleIndices(s, spanElements[float64](dst), func(i int) float64 { return float64(i) })
	}
	return nil
}

func shuffleIndices[T any](s *stream, v []T, value func(i int) T) {
	if len(v) >= math.MaxUint32/20 {
		// 32 bits modulo n would skew noticeably: Fisher-Yates inside out.
		for i := range v {
			j := s.engine.drawUint64() % uint64(i+1)
			v[i] = v[j]
			v[j] = value(i)
		}
		return
	}
	for i := range v {
		v[i] = value(i)
	}
	for i := 0; i < len(v)-1; i++ {
		j := i + int(s.engine.drawUint32()%uint32(len(v)-i))
		v[i], v[j] = v[j], v[i]
	}
}
