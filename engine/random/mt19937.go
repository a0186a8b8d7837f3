package random

// #cgo CFLAGS: -std=c11 -O3 -Wall -Wextra -Werror
// #cgo LDFLAGS: -lm
// #cgo noescape random_twist
// #cgo nocallback random_twist
// #cgo noescape random_temper
// #cgo nocallback random_temper
// #include "transform.h"
import "C"

const words = 624

// mt19937 is the Mersenne Twister of Matsumoto and Nishimura (1998), seeded as in 2002, 624 draws at a time.
type mt19937 struct {
	state [words]uint32
	out   [words]uint32 // state, tempered
	next  int           // the next draw's place in out; words when out is used up
	fresh bool          // seeded and not drawn from: out is unset
}

func (e *mt19937) seed(seed uint32) {
	e.state[0] = seed
	for i := 1; i < words; i++ {
		last := e.state[i-1]
		e.state[i] = 1812433253*(last^last>>30) + uint32(i)
	}
	e.next, e.fresh = words, true
}

func (e *mt19937) refill() {
	C.random_twist((*C.uint32_t)(&e.state[0]))
	e.temper()
	e.next, e.fresh = 0, false
}

func (e *mt19937) temper() {
	C.random_temper((*C.uint32_t)(&e.state[0]), (*C.uint32_t)(&e.out[0]))
}

func (e *mt19937) uint32() uint32 {
	if e.next == words {
		e.refill()
	}
	v := e.out[e.next]
	e.next++
	return v
}

// take is the next draws, at least one and at most n > 0 of them. The slice is good until the next draw.
func (e *mt19937) take(n int) []uint32 {
	if e.next == words {
		e.refill()
	}
	v := e.out[e.next:min(e.next+n, words)]
	e.next += len(v)
	return v
}

// uint64 takes its high half first.
func (e *mt19937) uint64() uint64 {
	high := e.uint32()
	return uint64(high)<<32 | uint64(e.uint32())
}

// float32 is uniform in [0, 1), a multiple of 2^-24.
func (e *mt19937) float32() float32 { return unit32(e.uint32()) }

func unit32(v uint32) float32 { return float32(int32(v&(1<<24-1))) * 0x1p-24 }

// float64 is uniform in [0, 1), a multiple of 2^-53.
func (e *mt19937) float64() float64 { return unit64(e.uint32(), e.uint32()) }

func unit64(high, low uint32) float64 {
	return float64(int64(uint64(high)<<32|uint64(low))&(1<<53-1)) * 0x1p-53
}
