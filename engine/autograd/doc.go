// Package autograd differentiates in reverse: it is the layer of tensors with the key Gradient. While gradients are on, a call
// on such a tensor is recorded as a node of a graph, which holds what the derivatives need; a backward run goes through the
// nodes from the last one to the first. Derivatives call the façade, so that they can be differentiated again.
//
// The backend of an operator is generated from the derivatives in its entry (gen_formulas.go). Nodes and what they save are
// counted, not collected: the bytes of a graph are free the moment its last tensor goes.
package autograd

import (
	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/tensor"
)

func init() {
	tensor.WantGradient = func(t *tensor.Tensor) { track(t).requires = true }
	tensor.HideLeaf = func(t *tensor.Tensor) { variableOf(t).hidden = true }
	aten.Register(tensor.Gradient, &aten.Kind{Name: "differentiated", Instead: "detach() gives one without a history", Backend: formulas})
}
