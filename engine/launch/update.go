package launch

import (
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Updating updates parameters by their gradients. A row has the tensors of a parameter in the order of kernel.Update, nil where there is none: of one
// floating-point dtype, with as many elements at the same places of their memory, without gaps.
type Updating struct {
	Rows  [][5]*tensor.Tensor
	Parts []kernel.Update // of each row, without its tensors
}
