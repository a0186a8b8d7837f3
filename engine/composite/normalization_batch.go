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
func (s *scope) checkRunning(r running, used bool) {
	switch {
	case used && (r.mean == nil || r.variance == nil):
		s.Failf("running_mean and running_var are required when not training")
	case (r.mean == nil) != (r.variance == nil):
		s.Check(status.Valuef("%s: running_mean and running_var must be passed together, or neither of them", s.Op))
	case r.mean == nil:
		return
	}
	for i, t := range []*tensor.Tensor{r.mean, r.variance} {
		if used {
			return
		}
		name := []string{"running_mean", "running_var"}[i]
		if wanted, err := dispatch.Autograd.RequiresGrad(s.C, t); err != nil {
			s.Check(err)
		} else if wanted {
			s.Failf("%s is written to, so it must not require grad", name)
		}
		if made, err := dispatch.Autograd.IsInference(s.C, t); err != nil || made && !s.C.Inferring() {
			s.Check(err)
			s.Failf("%s is an inference tensor, which cannot be written to outside of inference mode; clone() it", name)
		}
		if t.Layout() != tensor.Strided {
			s.Check(status.NotImplementedf("%s is not implemented for running statistics of layout %v; convert with to_dense()", s.Op, t.Layout()))
		}
		s.Check(tensoriter.Writable(s.Op, t))
	}
}

// move updates running statistics by those of a batch with the given number of elements. Variances are unbiased.
func (s *scope) move(r running, n *normalized, elements, channels int64) {
	if r.mean == nil {
		return
	}
	d := n.mean.DType()
	toward := func(old, now *tensor.Tensor) *tensor.Tensor {
		flat, now := s.CastTo(s.AsShape(old, channels), d), s.AsShape(now, now.Numel()/channels, channels)
		moved := s.Add(s.Mul(flat, s.FloatNumber(1-r.momentum)), s.Mul(now, s.FloatNumber(r.momentum)))
		moved = s.CastTo(moved, old.DType()) // each example's, as if it were a batch
		moved = s.Mean(moved, []int64{0}, false)
		return s.AsShape(moved, old.Sizes()...)
	}
	n.into, n.moved.mean = r, toward(r.mean, n.mean)
	n.moved.variance = toward(r.variance, s.Mul(n.variance, s.FloatNumber(float64(elements)/float64(elements-1))))
}

// statisticsDType returns parameterDType of the parameters and the running statistics. If mixed is set, running statistics may have any
// floating-point dtype, since only their values are used.
func (s *scope) statisticsDType(self, weight, bias *tensor.Tensor, r running, mixed bool) dtype.DType {
	if !mixed || r.mean == nil || r.variance == nil {
		return s.parameterDType(self, weight, bias, r.mean, r.variance)
	}
	s.Check(floating(s.Op, r.mean))
	s.Check(floating(s.Op, r.variance))
	d := s.parameterDType(self, weight, bias)
	if self.DType().IsReducedFloat() && r.mean.DType() == dtype.Float32 {
		return dtype.Float32
	}
	return d
}

// castIfGiven returns t in dtype d, nil if t is nil.
func (s *scope) castIfGiven(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return s.CastTo(t, d)
}

// batches normalizes channels over all examples: by the statistics of self, to which running ones are to move, or by these.
func (s *scope) batches(self, weight, bias *tensor.Tensor, r running, training bool, eps float64) (n normalized, d dtype.DType) {
	if self.Dim() < 2 {
		s.Check(status.Indexf("%s: self must have shape (N, C, ...), but has sizes %v", s.Op, self.Sizes()))
		return n, d
	}
	s.Check(floating(s.Op, self))
	channels := self.Sizes()[1]
	if self.Numel() == 0 {
		weight, bias = s.castIfGiven(weight, self.DType()), s.castIfGiven(bias, self.DType())
	}
	s.vectors(channels, []string{"running_mean", "running_var", "weight", "bias"}, r.mean, r.variance, weight, bias)
	d = s.statisticsDType(self, weight, bias, r, self.Numel() == 0)
	s.checkRunning(r, !training)
	if training {
		n = s.channels(self, weight, bias, nil, nil, eps, d == self.DType())
		if self.Numel() > 0 {
			s.move(r, &n, self.Numel()/channels, channels)
		}
		return n, d
	}
	mean, variance := s.computed(r.mean, self), s.computed(r.variance, self)
	return s.channels(self, weight, bias, mean, s.Rsqrt(s.Add(variance, s.FloatNumber(eps))), eps, false), d
}

// NativeBatchNorm normalizes channels over all examples, and returns the statistics of self, where these are used, too.
func NativeBatchNorm(c dispatch.Context, self, weight, bias, mean, variance *tensor.Tensor, training bool, momentum, eps float64) (out, m, rstd *tensor.Tensor, err error) {
	s := newScope(c, "native_batch_norm")
	defer s.Close(&err)
	if training && self.Numel() == 0 {
		s.Failf("self must not be empty when training, but has sizes %v", self.Sizes())
	}
	n, d := s.batches(self, weight, bias, running{mean, variance, momentum}, training, eps)
	if !training {
		none := s.EmptyBeside(self, d, 0)
		n.mean, n.rstd = none, s.EmptyBeside(self, d, 0)
	}
	return s.withStatistics(n.result, n, d, -1)
}

// BatchNorm normalizes channels over all examples.
func BatchNorm(c dispatch.Context, self, weight, bias, mean, variance *tensor.Tensor, training bool, momentum, eps float64, _ bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, "batch_norm")
	defer s.Close(&err)
	n, _ := s.batches(self, weight, bias, running{mean, variance, momentum}, training, eps)
	s.write(n)
	return build.WriteResult(s.Builder, nil, n.result)
}

// NnBatchNorm normalizes channels over all examples, of which one has more than one element where its statistics are used.
func NnBatchNorm(c dispatch.Context, self, mean, variance, weight, bias *tensor.Tensor, training bool, momentum, eps float64) (_ *tensor.Tensor, err error) {
	const op = "nn_batch_norm"
	s := newScope(c, op)
	defer s.Close(&err)
	if training {
		if self.Dim() > 1 && self.Numel() == self.Sizes()[1] && self.Numel() > 0 {
			s.Check(status.Valuef("%s: Expected more than 1 value per channel when training, but self has sizes %v", op, self.Sizes()))
		}
		if !(eps > 0) {
			s.Check(status.Valuef("%s: eps must be positive when training, but is %v", op, eps))
		}
	}
	n, _ := s.batches(self, weight, bias, running{mean, variance, momentum}, training, eps)
	s.write(n)
	return build.WriteResult(s.Builder, nil, n.result)
}

// InstanceNorm normalizes each channel of each example.
func InstanceNorm(c dispatch.Context, self, weight, bias, mean, variance *tensor.Tensor, inputs bool, momentum, eps float64, _ bool) (_ *tensor.Tensor, err error) {
	s := newScope(c, "instance_norm")
	defer s.Close(&err)
	return build.WriteResult(s.Builder, nil, s.instances(self, weight, bias, running{mean, variance, momentum}, inputs, eps))
}

// NnInstanceNorm normalizes each channel of each example, of which one has more than one element where its statistics are used.
func NnInstanceNorm(c dispatch.Context, self, mean, variance, weight, bias *tensor.Tensor, inputs bool, momentum, eps float64) (_ *tensor.Tensor, err error) {
	const op = "nn_instance_norm"
	s := newScope(c, op)
	defer s.Close(&err)
	if inputs && shape.Product(self.Sizes()[min(2, self.Dim()):]) == 1 {
		s.Check(status.Valuef("%s: Expected more than 1 value per channel when training, but self has sizes %v", op, self.Sizes()))
	}
	return build.WriteResult(s.Builder, nil, s.instances(self, weight, bias, running{mean, variance, momentum}, inputs, eps))
}

// castRunning converts running statistics that are read alone to the dtype that batches wants them to have.
func (s *scope) castRunning(self, weight, bias *tensor.Tensor, r running) running {
	if r.mean == nil || r.variance == nil {
		return r
	}
	s.Check(floating(s.Op, r.mean))
	s.Check(floating(s.Op, r.variance))
	d := s.statisticsDType(self, weight, bias, r, true)
	if weight != nil || bias != nil {
		d = s.parameterDType(self, weight, bias)
	}
	return running{s.CastTo(r.mean, d), s.CastTo(r.variance, d), r.momentum}
}

func (s *scope) instances(self, weight, bias *tensor.Tensor, r running, inputs bool, eps float64) *tensor.Tensor {
	if self.Dim() < 2 {
		s.Check(status.Indexf("%s: self must have shape (N, C, ...), but has sizes %v", s.Op, self.Sizes()))
		return nil
	}
	s.Check(floating(s.Op, self))
	if !inputs {
		n, _ := s.batches(self, weight, bias, s.castRunning(self, weight, bias, r), false, eps)
		return s.AsContiguous(n.result)
	}
	examples, channels := self.Sizes()[0], self.Sizes()[1]
	s.vectors(channels, []string{"running_mean", "running_var", "weight", "bias"}, r.mean, r.variance, weight, bias)
	rounded := s.statisticsDType(self, weight, bias, r, true) == self.DType()
	s.checkRunning(r, false)
	n := s.groups(s.AsContiguous(self), weight, bias, examples, channels, 1, eps, true, rounded)
	if self.Numel() > 0 {
		s.move(r, &n, self.Numel()/(examples*channels), channels)
	}
	s.write(n)
	return n.result
}
