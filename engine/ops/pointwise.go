package ops

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/tensor"
)

// rule says how the dtypes that a pointwise operator computes in and returns follow from its promoted operands.
type rule uint8

const (
	promote      rule = iota // compute in and return the promoted dtype
	promoteFloat             // integers and bool count as the default dtype
	compare                  // compute in the promoted dtype, return bool
	realOf                   // return the real counterpart of the promoted dtype (abs of complex)
)

// pointwise is an elementwise operator: a kernel and its rule.
type pointwise struct {
	name   string
	kernel *kernel.Kernel
	rule   rule
}

func newPointwise(name, kernelName string, r rule) *pointwise {
	return &pointwise{name, kernel.Get(kernelName), r}
}

// resultType promotes operands.
func resultType(operands ...*tensor.Tensor) dtype.DType {
	first, same := operands[0], true
	for _, t := range operands[1:] {
		same = same && t.DType() == first.DType()
	}
	if same && !first.IsNumber() {
		return first.DType()
	}
	var r dtype.Result
	for _, t := range operands {
		r.Add(t.DType(), t.Rank())
	}
	return r.DType()
}

// run applies the operator to its inputs. params, when given, fills in kernel parameters once the compute dtype is known.
func (p *pointwise) run(out *tensor.Tensor, params func(dtype.DType, *iter.Params), inputs ...*tensor.Tensor) (*tensor.Tensor, error) {
	common := inputs[0].DType()
	if len(inputs) > 1 {
		common = resultType(inputs...)
	}
	if p.rule == promoteFloat && common.Category() < dtype.Floating {
		common = dtype.Default()
	}
	result := common
	switch p.rule {
	case compare:
		result = dtype.Bool
	case realOf:
		result = common.ToReal()
	}
	sizes, err := iter.Shape(p.name, inputs...)
	if err != nil {
		return nil, err
	}
	dev, err := iter.Device(p.name, inputs...)
	if err != nil {
		return nil, err
	}
	to, err := iter.Output(p.name, out, sizes, result, dev, inputs...)
	if err != nil {
		return nil, err
	}
	if to.IsMeta() {
		return to, nil
	}
	compute := common.Compute()
	var values *iter.Params
	if params != nil {
		values = new(iter.Params)
		params(compute, values)
	}
	var operands [kernel.MaxOperands]*tensor.Tensor
	operands[0] = to
	n := 1 + copy(operands[1:], inputs)
	if err := iter.Run(p.name, p.kernel, compute, 1, operands[:n], values); err != nil {
		if out == nil {
			to.Release()
		}
		return nil, err
	}
	return to, nil
}
