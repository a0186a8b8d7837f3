package random

// #cgo CFLAGS: -std=c11 -O3 -Wall -Wextra -Werror
// #cgo LDFLAGS: -lm
// #cgo noescape random_twist
// #cgo nocallback random_twist
// #cgo noescape random_temper
// #cgo nocallback random_temper
// #include "transform.h"
import "C"

// mt19937 is the Mersenne Twister of Matsumoto and Nishimura (1998), seeded as in 2002, 624 draws at a time.
type mt19937 struct {
	state [bufferWords]uint32
	fresh bool // seeded and not drawn from
}

func (e *mt19937) setSeed(seed uint32) {
	e.state[0] = seed
	for i := 1; i < bufferWords; i++ {
		last := e.state[i-1]
		e.state[i] = 1812433253*(last^last>>30) + uint32(i)
	}
	e.fresh = true
}

func (e *mt19937) refillWords(out *[bufferWords]uint32) {
	C.random_twist((*C.uint32_t)(&e.state[0]))
	e.temperState(out)
	e.fresh = false
}

// temperState writes the draws that the state represents.
func (e *mt19937) temperState(out *[bufferWords]uint32) {
	C.random_temper((*C.uint32_t)(&e.state[0]), (*C.uint32_t)(&out[0]))
}
