package named

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// backend returns the kernels of operators on named tensors, except composite operators that use their decomposition.
func newBackend() dispatch.Backend {
	b := dispatch.BoxedBackend(serve, func(o *dispatch.Operator) bool { return o.Names() != "steps" })
	b.Equal, b.Rot90, b.ViewAsComplex = namedEqual, namedRot90, namedViewAsComplex
	b.IndexSet, b.IndexGet = namedIndexSet, namedIndexGet
	b.TensordotDims, b.Cdist, b.Meshgrid = namedTensordotDims, namedCdist, namedMeshgrid
	return b
}

// serve computes the names of a call's results by the rule of its operator, and runs the call below the layer of names.
func serve(c dispatch.Context, call *dispatch.Call) error {
	past := c.Excluding(tensor.Named)
	switch call.Names() {
	case "own":
		return call.Run(past)
	case "refuse":
		return dispatch.Unsupported(call.Name, tensor.Named)
	case "view":
		return follow(past, call)
	}
	names, err := namesOf(call)
	written := call.Written()
	check, named := fits, give
	if call.Names() == "batch" {
		check, named = fitsLeft, giveLeft
	}
	if reshapes(call) {
		check = func(_ string, _ []string, err error, _ ...*tensor.Tensor) error { return err }
	}
	if err = check(call.Name, names, err, written...); err != nil {
		return err
	}
	err = call.Run(past)
	if len(call.Results) == 0 {
		named(names, err, written...)
	} else {
		named(names, err, call.Made()...)
	}
	return err
}

// reshapes reports whether the in-place form changes the dimensions of the tensor, and so its names.
func reshapes(call *dispatch.Call) bool {
	return call.Category() == "view" && (call.Names() == "insert" || call.Names() == "squeeze")
}

// namesOf returns the names of a call's results.
func namesOf(call *dispatch.Call) ([]string, error) {
	op, operands := call.Name, call.Operands()
	switch call.Names() {
	case "unify":
		return unify(op, operands...)
	case "product":
		return product(op, operands...)
	case "outer":
		return outer(op, operands...)
	case "inner":
		return inner(op, operands[0], operands[1])
	case "insert":
		return insert(op, dispatch.Given(call, "dim", int64(-1)), operands...)
	case "drop":
		return nil, nil
	}
	self := dispatch.Value[*tensor.Tensor](call, call.First())
	switch call.Names() {
	case "reduce":
		return reduce(self, dimsOf(call), dispatch.Given(call, "keepdim", false)), nil
	case "squeeze":
		return squeeze(self, dimsOf(call)), nil
	case "batch":
		return batch(self), nil
	case "resize":
		sizes, ok := call.Args[call.First()+1].(*[]int64)
		if !ok {
			return resize(op, self, operands[1].Sizes())
		}
		return resize(op, self, *sizes)
	}
	return self.Names(), nil
}

// dimsOf returns the dimensions that a call is given: nil for all.
func dimsOf(call *dispatch.Call) []int64 {
	at := max(call.Place("dim"), call.Place("dims"))
	if at < 0 {
		return nil
	}
	switch dim := call.Args[at].(type) {
	case *[]int64:
		return *dim
	case *int64:
		return []int64{*dim}
	case *ops.Int:
		if *dim != ops.NoInt {
			return []int64{int64(*dim)}
		}
	}
	return nil
}

// follow is serve for views: it follows the dimensions of the first tensor through the call, which writes to nothing then.
func follow(past dispatch.Context, call *dispatch.Call) error {
	at := call.First()
	names, err := trace(call.Name, dispatch.Value[*tensor.Tensor](call, at), func(followed *tensor.Tensor) ([]*tensor.Tensor, error) {
		given := call.Put(func(i int, t *tensor.Tensor) *tensor.Tensor {
			switch {
			case i < call.Outs:
				return nil
			case i == at:
				return followed
			}
			return t
		})
		defer given.Restore()
		if err := call.Run(past); err != nil {
			return nil, err
		}
		return call.Made(), nil
	})
	if err != nil {
		return err
	}
	err = call.Run(past)
	giveEach(names, err, call.Made()...)
	return err
}
