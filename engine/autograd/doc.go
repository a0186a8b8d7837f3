// Package autograd implements reverse-mode differentiation: it is the dispatch layer of the key Gradient. In grad mode, an operator
// on a tensor that requires grad adds a node to the autograd graph, which saves the tensors that the derivatives need. A backward pass
// visits the nodes from the last to the first. Derivatives call the dispatcher (engine/dispatch), so that they can be differentiated again.
//
// The backend of an operator is generated from the derivatives in its schema (gen_formulas.go). Nodes and saved tensors are
// reference-counted, not garbage-collected: the memory of a graph is freed with its last tensor.
package autograd

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
)

func init() {
	dispatch.Autograd = dispatch.AutogradFunctions{
		Grad: AutogradGrad, SetRequiresGrad: SetRequiresGrad, RequiresGrad: RequiresGrad, IsLeaf: IsLeaf, IsInference: IsInference,
	}
	tensor.WantGradient = func(t *tensor.Tensor) { ensureMeta(t).requires = true }
	tensor.HideLeaf = func(t *tensor.Tensor) { autogradMetaOf(t).hidden = true }
	dispatch.Register(tensor.Gradient, &dispatch.TensorKind{Name: "differentiated", Instead: "use detach()", Backend: formulas})
}
