package kernel

// #include "update.h"
import "C"

import "unsafe"

// The kinds of updates.
const (
	SGD     = C.LT_SGD
	Adam    = C.LT_ADAM
	AdamW   = C.LT_ADAMW
	Adagrad = C.LT_ADAGRAD
)

// Update is an update of a parameter by its gradient. It mirrors lt_update of update.h.
type Update struct {
	Kind, Maximize                     int32
	Nesterov, First                    int32
	Tensors                            [5]uintptr
	N                                  int64
	Scale, Decay                       float64
	Decoupled, Step, Beta1, Beta2, Eps float64
	Rate                               float64
	Root                               float64
}

// The two must agree to the byte.
var _ [unsafe.Sizeof(Update{}) - C.sizeof_lt_update]struct{}
var _ [C.sizeof_lt_update - unsafe.Sizeof(Update{})]struct{}
