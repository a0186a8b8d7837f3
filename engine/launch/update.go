package launch

import (
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Update is what an update of a parameter is told, without the addresses of its tensors.
type Update = kernel.Update

// The kinds of updates.
const (
	SGD     = kernel.SGD
	Adam    = kernel.Adam
	AdamW   = kernel.AdamW
	Adagrad = kernel.Adagrad
)

// Updating updates parameters by their gradients. A row has the tensors of a parameter in the order of Update, nil where there is none: of one
// floating-point dtype, with as many elements at the same places of their memory, without gaps.
type Updating struct {
	Rows  [][5]*tensor.Tensor
	Parts []Update // of each row
}
