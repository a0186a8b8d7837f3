// Package named is the layer of tensors whose dimensions have names: it finds the names that the results of a call have, refuses what
// does not go together, and calls the operator past itself. It comes before the layer of gradients, so that histories know nothing of
// names, and a composition's steps see plain tensors.
//
// It is one function of boxed calls (layer.go), which does what the word of the operator's entry says; rules.go has the functions that rules are.
package named

import (
	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/tensor"
)

func init() {
	aten.Register(tensor.Named, &aten.Kind{Name: "named", Instead: "rename(None) gives one without names", Serve: backend})
}
