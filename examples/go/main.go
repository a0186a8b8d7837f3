// A program in Go over the engine itself, without the shared library: finds the slope and the offset of a line by steps down a gradient.
//
//	go run ./examples/go
//
// From another tree the engine is a module like others: go get github.com/libtensor/libtensor. It needs cgo, which is there where gcc and g++
// are (CGO_ENABLED=1), since the inner loops are C++; no flags have to be set. go compiles the loops once, which takes minutes, and keeps
// them in its cache. Products of matrices and linear algebra open an OpenBLAS when they are called first: libopenblas.so.0 of the system, or
// the file that LIBTENSOR_OPENBLAS names.
package main

import (
	"fmt"
	"os"

	"github.com/libtensor/libtensor/engine/autograd"
	_ "github.com/libtensor/libtensor/engine/composite" // operators that are written with others
	_ "github.com/libtensor/libtensor/engine/conjugate" // conjugated and negated views
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The calls of this program are recorded, unless they are made with `plain`.
var (
	recorded = dispatch.With(&dispatch.Modes{Device: device.Host, Grad: true})
	plain    = recorded.Recorded(false)
)

// descend goes a step down the gradient of the squared error of y = slope x + offset.
func descend(x, y, slope, offset *tensor.Tensor) error {
	s := steps.Of(recorded, "descend") // owns the results of its steps; after an error they do nothing
	defer s.Close()
	miss := s.Sub(s.Add(s.Mul(x, slope), offset), y)
	loss := s.Div(s.Sum(s.Mul(miss, miss)), s.Int(x.Numel()))
	s.Do(func() error {
		return autograd.Backward(recorded, []*tensor.Tensor{loss}, []*tensor.Tensor{nil}, ops.NoBool, false, nil)
	})
	for _, leaf := range []*tensor.Tensor{slope, offset} {
		gradient := s.Step(func() (*tensor.Tensor, error) { return autograd.Grad(recorded, leaf) })
		s.Do(func() error {
			_, err := plain.Add(leaf, leaf, gradient, dtype.FloatScalar(-0.5)) // the first argument is the output
			return err
		})
		s.Do(func() error { return autograd.SetGrad(recorded, leaf, nil) })
	}
	return s.Err
}

// fit learns the line through points of y = 3 x - 2.
func fit(rounds int) (slope, offset float64, err error) {
	s := steps.Of(plain, "fit")
	defer s.Close()
	x := s.Track(plain.Linspace(nil, dtype.IntScalar(-1), dtype.IntScalar(1), 21, dtype.Float64, tensor.Strided, device.Host))
	y := s.Sub(s.Mul(x, s.Int(3)), s.Int(2))
	leaves := [2]*tensor.Tensor{}
	for i := range leaves {
		leaves[i] = s.Track(plain.Zeros(nil, nil, dtype.Float64, tensor.Strided, device.Host))
		s.Do(func() error { return autograd.SetRequiresGrad(recorded, leaves[i], true) })
	}
	for range rounds {
		s.Do(func() error { return descend(x, y, leaves[0], leaves[1]) })
	}
	if s.Err != nil {
		return 0, 0, s.Err
	}
	return leaves[0].Item().Float(), leaves[1].Item().Float(), nil
}

func main() {
	slope, offset, err := fit(100)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("y = %.4f x %+.4f\n", slope, offset)
}
