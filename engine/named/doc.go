// Package named is the backend of the key Named, tensors with named dimensions: it computes the names of the results of a call, returns an
// error for names that do not match, and calls the operator without names. It is dispatched before autograd, so that autograd and the
// intermediate ops of composite operators get unnamed tensors.
//
// It is a boxed fallback (layer.go), which applies the rule in the operator's schema; rules.go implements the rules.
package named

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
)

func init() {
	dispatch.Register(tensor.Named, &dispatch.TensorKind{Name: "named", Instead: "use rename(None) to drop the names", Serve: newBackend})
}
