package backend

import (
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Update holds the arguments of a parameter update, without the addresses of its tensors.
type Update = kernelapi.ParameterUpdate

// The kinds of updates.
const (
	SGD     = kernelapi.SGD
	Adam    = kernelapi.Adam
	AdamW   = kernelapi.AdamW
	Adagrad = kernelapi.Adagrad
)

// Updating updates parameters by their gradients. A row has the tensors of one parameter in the order of Update, with nil for unused ones.
// They have one floating-point dtype, and the same dense strides.
type Updating struct {
	Rows  [][5]*tensor.Tensor
	Parts []Update // of each row
}
