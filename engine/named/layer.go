package named

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// backend returns the kernels of operators on named tensors, except composite operators that use their decomposition.
func newBackend() dispatch.Backend {
	b := dispatch.BoxedBackend(callNamed, func(o *dispatch.Operator) bool { return o.Names() != "steps" })
	b.Equal, b.Rot90, b.ViewAsComplex = namedEqual, namedRot90, namedViewAsComplex
	b.IndexSet, b.IndexGet = namedIndexSet, namedIndexGet
	b.TensordotDims, b.Cdist, b.Meshgrid = namedTensordotDims, namedCdist, namedMeshgrid
	return b
}

// callNamed computes the names of a call's results by the rule of its operator, and executes the call below the layer of names.
func callNamed(c dispatch.Context, call *dispatch.Call) error {
	past := c.Excluding(tensor.Named)
	switch call.Names() {
	case "own":
		return call.Run(past)
	case "unsupported":
		return dispatch.Unsupported(call.Name, tensor.Named)
	case "view":
		return callView(past, call)
	}
	names, err := computeNames(call)
	written := call.Written()
	check, named := checkOutputs, setNames
	if call.Names() == "batch" {
		check, named = checkOutputsLeft, setNamesLeft
	}
	if changesDims(call) {
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

// changesDims reports whether the in-place form changes the dimensions of the tensor, and so its names.
func changesDims(call *dispatch.Call) bool {
	return call.Category() == "view" && (call.Names() == "insert" || call.Names() == "squeeze")
}

// computeNames returns the names of a call's results.
func computeNames(call *dispatch.Call) ([]string, error) {
	op, operands := call.Name, call.Operands()
	switch call.Names() {
	case "unify":
		return unifyNames(op, operands...)
	case "product":
		return matmulNames(op, operands...)
	case "outer":
		return outerNames(op, operands...)
	case "inner":
		return innerNames(op, operands[0], operands[1])
	case "insert":
		return insertDim(op, dispatch.Given(call, "dim", int64(-1)), operands...)
	case "drop":
		return nil, nil
	}
	self := dispatch.Value[*tensor.Tensor](call, call.First())
	switch call.Names() {
	case "reduce":
		return removeReduced(self, reducedDims(call), dispatch.Given(call, "keepdim", false)), nil
	case "squeeze":
		return removeSqueezed(self, reducedDims(call)), nil
	case "batch":
		return batchNames(self), nil
	case "resize":
		sizes, ok := call.Args[call.First()+1].(*[]int64)
		if !ok {
			return checkResize(op, self, operands[1].Sizes())
		}
		return checkResize(op, self, *sizes)
	}
	return self.Names(), nil
}

// reducedDims returns the dimensions that a call is given, or nil for all.
func reducedDims(call *dispatch.Call) []int64 {
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

// callView is callNamed for views: it follows the dimensions of the first tensor through the call, which writes to nothing then.
func callView(past dispatch.Context, call *dispatch.Call) error {
	at := call.First()
	names, err := traceDims(call.Name, dispatch.Value[*tensor.Tensor](call, at), func(followed *tensor.Tensor) ([]*tensor.Tensor, error) {
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
	setEachNames(names, err, call.Made()...)
	return err
}
