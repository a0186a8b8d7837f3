package ops

import (
	"math"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/view"
)

var (
	nextafterBits = newPointwise("nextafter", kernelapi.NextafterBits, promote)
	deg2rad       = newPointwise("deg2rad", kernelapi.Mul, promoteFloat)
	rad2deg       = newPointwise("rad2deg", kernelapi.Mul, promoteFloat)

	frexp = kernelapi.Frexp
	ldexp = newPointwise("ldexp", kernelapi.Ldexp, promote)
)

// Nextafter steps from self to the next number towards other.
func Nextafter(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	d := resultType(self, other)
	if d != dtype.Float16 && d != dtype.BFloat16 {
		return nextafter.runKernel(out, nil, self, other)
	}
	// The next float32 is no 16-bit number, so that the step is one of the bits themselves.
	to := tensoriter.Output{Op: "nextafter", Out: out, DType: d, Exact: true}
	err := to.Broadcast(self, other)
	if err == nil {
		err = nextafterSixteen(to.To, self, other)
	}
	return to.Done(err)
}

// nextafterSixteen steps along the bits of numbers of to's dtype.
func nextafterSixteen(to, self, other *tensor.Tensor) (err error) {
	infinity := int64(0x7c00)
	if to.DType() == dtype.BFloat16 {
		infinity = 0x7f80
	}
	s := newScope("nextafter")
	defer s.Close(&err)
	var bits [3]*tensor.Tensor
	for i, t := range []*tensor.Tensor{to, self, other} {
		t = s.Track(convertDType(s.Op, t, to.DType()))
		bits[i] = s.Track(view.Raw(s.Op, t, t.Sizes(), t.Strides()))
	}
	s.CheckWritten(nextafterBits.runKernel(bits[0], intParams(infinity), bits[1], bits[2]))
	return nil
}

// Heaviside is 0 for negative self, 1 for positive self, values for 0.
func Heaviside(out, self, values *tensor.Tensor) (*tensor.Tensor, error) {
	if self.DType() != values.DType() {
		return nil, status.Runtimef("heaviside: self has dtype %v and values %v; they must agree", self.DType(), values.DType())
	}
	return heaviside.runKernel(out, nil, self, values)
}

// Ldexp computes self * 2^other; of floats and integers rounded once, whether or not 2^other is a number of the dtype.
func Ldexp(out, self, other *tensor.Tensor) (_ *tensor.Tensor, err error) {
	half := other.DType() == dtype.Float16 || other.DType() == dtype.BFloat16
	if self.DType().IsFloatingPoint() && other.DType() == dtype.Bool || self.DType().IsComplex() && half {
		return nil, status.NotImplementedf("ldexp: not implemented for self of dtype %v and other of dtype %v", self.DType(), other.DType())
	}
	s := newScope("ldexp")
	defer s.Close(&err)
	if d := resultType(self, other); self.DType().IsFloatingPoint() && other.DType().Category() < dtype.Floating {
		if d.Compute() == d {
			return ldexp.runIn(d, out, nil, self, other)
		}
		product := s.Track(ldexp.runIn(d.Compute(), nil, nil, self, other)) // 16 bits do not hold every exponent
		product = s.castRowMajor(product, d)
		to := tensoriter.Output{Op: s.Op, Out: out, DType: d}
		err := to.Broadcast(self, other)
		if err == nil {
			err = to.CopyFrom(product)
		}
		return to.Done(err)
	}
	two := s.Number(dtype.FloatScalar(2))
	d := resultType(self, other)
	if d.Category() < dtype.Floating {
		d = dtype.Default()
	}
	power := s.Track(pow.runIn(d, nil, nil, two, other))
	return s.ReturnNew(mul.runIn(d, out, nil, self, power))
}

// Frexp splits floats into a fraction in [1/2, 1) and a power of two.
func Frexp(mantissa, exponent, self *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor, error) {
	d := self.DType()
	if !d.IsFloatingPoint() {
		return nil, nil, status.Runtimef("frexp: only floating dtypes are supported, but self has dtype %v", d)
	}
	m := tensoriter.Output{Op: "frexp", Name: "mantissa", Out: mantissa, DType: d, Exact: true}
	e := tensoriter.Output{Op: "frexp", Name: "exponent", Out: exponent, DType: dtype.Int32, Exact: true}
	err := tensoriter.BroadcastBoth(&m, &e, self)
	if err == nil {
		err = runElementwise("frexp", frexp, d.Compute(), nil, m.To, e.To, self)
	}
	return tensoriter.DoneBoth(&m, &e, err)
}

// NanToNum replaces NaN and infinities.
func NanToNum(out, self *tensor.Tensor, nan, posinf, neginf *float64) (*tensor.Tensor, error) {
	if self.DType().Category() < dtype.Floating {
		return copyOf("nan_to_num", out, self)
	}
	most := dtype.MaxFinite(self.DType())
	or := func(given *float64, otherwise float64) dtype.Scalar {
		if given != nil {
			return dtype.FloatScalar(*given)
		}
		return dtype.FloatScalar(otherwise)
	}
	return nanToNum.runKernel(out, func(_ dtype.DType, p *backend.Params) {
		p.Set(0, dtype.Float64, or(nan, 0))
		p.Set(1, dtype.Float64, or(posinf, most))
		p.Set(2, dtype.Float64, or(neginf, -most))
	}, self)
}

// Deg2rad turns degrees into radians.
func Deg2rad(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return deg2rad.scaleReal(out, self, math.Pi/180)
}

// Rad2deg turns radians into degrees.
func Rad2deg(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return rad2deg.scaleReal(out, self, 180/math.Pi)
}

// scaleReal multiplies reals by a number.
func (p *pointwise) scaleReal(out, self *tensor.Tensor, by float64) (_ *tensor.Tensor, err error) {
	if self.DType().IsComplex() {
		return nil, status.NotImplementedf("%s: is not supported for complex tensors, but self has dtype %v", p.name, self.DType())
	}
	s := newScope(p.name)
	defer s.Close(&err)
	number := s.Number(dtype.FloatScalar(by))
	return s.ReturnNew(p.runIn(self.DType(), out, nil, self, number))
}
