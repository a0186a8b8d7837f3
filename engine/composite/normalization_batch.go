package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// checkRunning returns an error for missing running statistics if they are used, and for read-only ones if they are updated.
func checkRunning(b *build.Builder, r running, used bool) {
	switch {
	case used && (r.mean == nil || r.variance == nil):
		b.Failf("running_mean and running_var are required when not training")
	case (r.mean == nil) != (r.variance == nil):
		b.Check(status.Valuef("%s: running_mean and running_var must be passed together, or neither of them", b.Op))
	case r.mean == nil:
		return
	}
	for i, t := range []*tensor.Tensor{r.mean, r.variance} {
		if used {
			return
		}
		name := []string{"running_mean", "running_var"}[i]
		if wanted, err := dispatch.Autograd.RequiresGrad(b.C, t); err != nil {
			b.Check(err)
		} else if wanted {
			b.Failf("%s is written to, so it must not require grad", name)
		}
		if result, err := dispatch.Autograd.IsInference(b.C, t); err != nil || result && !b.C.Inferring() {
			b.Check(err)
			b.Failf("%s is an inference tensor, which cannot be written to outside of inference mode; clone() it", name)
		}
		if t.Layout() != tensor.Strided {
			b.Check(status.NotImplementedf("%s is not implemented for running statistics of layout %v; convert with to_dense()", b.Op,
				t.Layout()))
		}
		b.Check(tensoriter.Writable(b.Op, t))
	}
}

// updateRunning updates running statistics by those of a batch with the given number of elements. Variances are unbiased.
func updateRunning(b *build.Builder, r running, n *normalized, elements, channels int64) {
	if r.mean == nil {
		return
	}
	d := n.mean.DType()
	toward := func(old, now *tensor.Tensor) *tensor.Tensor {
		flat, now := b.CastTo(b.AsShape(old, channels), d), b.AsShape(now, now.Numel()/channels, channels)
		moved := b.Add(b.Mul(flat, b.FloatNumber(1-r.momentum)), b.Mul(now, b.FloatNumber(r.momentum)))
		moved = b.CastTo(moved, old.DType()) // each batch element's, as if it were a batch
		moved = b.Mean(moved, []int64{0}, false)
		return b.AsShape(moved, old.Sizes()...)
	}
	n.into, n.moved.mean = r, toward(r.mean, n.mean)
	n.moved.variance = toward(r.variance, b.Mul(n.variance, b.FloatNumber(float64(elements)/float64(elements-1))))
}

// statisticsDType returns parameterDType of the parameters and the running statistics. If mixed is set, running statistics may have any
// floating-point dtype, since only their values are used.
func statisticsDType(b *build.Builder, self, weight, bias *tensor.Tensor, r running, mixed bool) dtype.DType {
	if !mixed || r.mean == nil || r.variance == nil {
		return parameterDType(b, self, weight, bias, r.mean, r.variance)
	}
	b.Check(checkFloating(b.Op, r.mean))
	b.Check(checkFloating(b.Op, r.variance))
	d := parameterDType(b, self, weight, bias)
	if self.DType().IsReducedFloat() && r.mean.DType() == dtype.Float32 {
		return dtype.Float32
	}
	return d
}

// castIfGiven returns t in dtype d, nil if t is nil.
func castIfGiven(b *build.Builder, t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return b.CastTo(t, d)
}

// normalizeBatch normalizes channels over the batch: by the statistics of self, which update the running ones, or by the running ones.
func normalizeBatch(b *build.Builder, self, weight, bias *tensor.Tensor, r running, training bool,
	eps float64) (n normalized, d dtype.DType) {
	if self.Dim() < 2 {
		b.Check(status.Indexf("%s: self must have shape (N, C, ...), but has sizes %v", b.Op, self.Sizes()))
		return n, d
	}
	b.Check(checkFloating(b.Op, self))
	channels := self.Sizes()[1]
	if self.Numel() == 0 {
		weight, bias = castIfGiven(b, weight, self.DType()), castIfGiven(b, bias, self.DType())
	}
	checkVectors(b, channels, []string{"running_mean", "running_var", "weight", "bias"}, r.mean, r.variance, weight, bias)
	d = statisticsDType(b, self, weight, bias, r, self.Numel() == 0)
	checkRunning(b, r, !training)
	if training {
		n = normalizeChannels(b, self, weight, bias, nil, nil, eps, d == self.DType())
		if self.Numel() > 0 {
			updateRunning(b, r, &n, self.Numel()/channels, channels)
		}
		return n, d
	}
	mean, variance := castParameter(b, r.mean, self), castParameter(b, r.variance, self)
	return normalizeChannels(b, self, weight, bias, mean, b.Rsqrt(b.Add(variance, b.FloatNumber(eps))), eps, false), d
}

// NativeBatchNorm normalizes channels over the batch, and returns the statistics of self, where these are used, too.
func NativeBatchNorm(c dispatch.Context, self, weight, bias, mean, variance *tensor.Tensor, training bool, momentum,
	eps float64) (out, m, rstd *tensor.Tensor, err error) {
	b := build.New(c, "native_batch_norm")
	defer b.Close(&err)
	if training && self.Numel() == 0 {
		b.Failf("self must not be empty when training, but has sizes %v", self.Sizes())
	}
	n, d := normalizeBatch(b, self, weight, bias, running{mean, variance, momentum}, training, eps)
	if !training {
		none := b.EmptyBeside(self, d, 0)
		n.mean, n.rstd = none, b.EmptyBeside(self, d, 0)
	}
	return returnWithStatistics(b, n.result, n, d, -1)
}

// BatchNorm normalizes channels over the batch.
func BatchNorm(c dispatch.Context, self, weight, bias, mean, variance *tensor.Tensor, training bool, momentum, eps float64,
	_ bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "batch_norm")
	defer b.Close(&err)
	n, _ := normalizeBatch(b, self, weight, bias, running{mean, variance, momentum}, training, eps)
	writeRunning(b, n)
	return build.WriteResult(b, nil, n.result)
}

// NnBatchNorm normalizes channels over the batch, of whose elements one has more than one element where its statistics are used.
func NnBatchNorm(c dispatch.Context, self, mean, variance, weight, bias *tensor.Tensor, training bool, momentum,
	eps float64) (_ *tensor.Tensor, err error) {
	const op = "nn_batch_norm"
	b := build.New(c, op)
	defer b.Close(&err)
	if training {
		if self.Dim() > 1 && self.Numel() == self.Sizes()[1] && self.Numel() > 0 {
			b.Check(status.Valuef("%s: Expected more than 1 value per channel when training, but self has sizes %v", op, self.Sizes()))
		}
		if !(eps > 0) {
			b.Check(status.Valuef("%s: eps must be positive when training, but is %v", op, eps))
		}
	}
	n, _ := normalizeBatch(b, self, weight, bias, running{mean, variance, momentum}, training, eps)
	writeRunning(b, n)
	return build.WriteResult(b, nil, n.result)
}

// InstanceNorm normalizes each channel of each batch element.
func InstanceNorm(c dispatch.Context, self, weight, bias, mean, variance *tensor.Tensor, inputs bool, momentum, eps float64,
	_ bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "instance_norm")
	defer b.Close(&err)
	return build.WriteResult(b, nil, normalizeInstances(b, self, weight, bias, running{mean, variance, momentum}, inputs, eps))
}

// NnInstanceNorm normalizes each channel of each batch element, of which one has more than one element where its statistics are used.
func NnInstanceNorm(c dispatch.Context, self, mean, variance, weight, bias *tensor.Tensor, inputs bool, momentum,
	eps float64) (_ *tensor.Tensor, err error) {
	const op = "nn_instance_norm"
	b := build.New(c, op)
	defer b.Close(&err)
	if inputs && shape.Product(self.Sizes()[min(2, self.Dim()):]) == 1 {
		b.Check(status.Valuef("%s: Expected more than 1 value per channel when training, but self has sizes %v", op, self.Sizes()))
	}
	return build.WriteResult(b, nil, normalizeInstances(b, self, weight, bias, running{mean, variance, momentum}, inputs, eps))
}

// castRunning casts running statistics that are only read to the dtype that normalizeBatch requires.
func castRunning(b *build.Builder, self, weight, bias *tensor.Tensor, r running) running {
	if r.mean == nil || r.variance == nil {
		return r
	}
	b.Check(checkFloating(b.Op, r.mean))
	b.Check(checkFloating(b.Op, r.variance))
	d := statisticsDType(b, self, weight, bias, r, true)
	if weight != nil || bias != nil {
		d = parameterDType(b, self, weight, bias)
	}
	return running{b.CastTo(r.mean, d), b.CastTo(r.variance, d), r.momentum}
}

func normalizeInstances(b *build.Builder, self, weight, bias *tensor.Tensor, r running, inputs bool, eps float64) *tensor.Tensor {
	if self.Dim() < 2 {
		b.Check(status.Indexf("%s: self must have shape (N, C, ...), but has sizes %v", b.Op, self.Sizes()))
		return nil
	}
	b.Check(checkFloating(b.Op, self))
	if !inputs {
		n, _ := normalizeBatch(b, self, weight, bias, castRunning(b, self, weight, bias, r), false, eps)
		return b.AsContiguous(n.result)
	}
	batch, channels := self.Sizes()[0], self.Sizes()[1]
	checkVectors(b, channels, []string{"running_mean", "running_var", "weight", "bias"}, r.mean, r.variance, weight, bias)
	rounded := statisticsDType(b, self, weight, bias, r, true) == self.DType()
	checkRunning(b, r, false)
	n := normalizeGroups(b, b.AsContiguous(self), weight, bias, batch, channels, 1, eps, true, rounded)
	if self.Numel() > 0 {
		updateRunning(b, r, &n, self.Numel()/(batch*channels), channels)
	}
	writeRunning(b, n)
	return n.result
}
