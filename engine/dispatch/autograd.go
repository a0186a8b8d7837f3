package dispatch

import (
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// AutogradFunctions are functions of engine/autograd for the packages that it imports.
type AutogradFunctions struct {
	Grad func(c Context, outputs, inputs, grads []*tensor.Tensor, retain ops.Bool, create, unused,
		zeros bool) ([]*tensor.Tensor, error)
	SetRequiresGrad func(c Context, self *tensor.Tensor, on bool) error
	RequiresGrad    func(c Context, self *tensor.Tensor) (bool, error)
	IsLeaf          func(c Context, self *tensor.Tensor) (bool, error)
	IsInference     func(c Context, self *tensor.Tensor) (bool, error)
}

// Autograd is set by engine/autograd when the program starts.
var Autograd AutogradFunctions
