// A program in Go over the engine itself, without the shared library: finds the slope and the offset of a line by steps down a gradient.
//
//	go run ./examples/go
//
// From another tree the engine is a module like others: go get github.com/libtensor/libtensor. It needs cgo, which is there where gcc and
// g++ are (CGO_ENABLED=1), since the inner loops are C++; no flags have to be set. go compiles the loops once, which takes minutes, and
// keeps them in its cache. Products of matrices and linear algebra open an OpenBLAS when they are called first: libopenblas.so.0 of the
// system, or the file that LIBTENSOR_OPENBLAS names.
package main

import (
	"fmt"
	"os"

	"github.com/libtensor/libtensor/engine/autograd"
	"github.com/libtensor/libtensor/engine/build"
	_ "github.com/libtensor/libtensor/engine/composite" // operators that are written with others
	_ "github.com/libtensor/libtensor/engine/conjugate" // conjugated and negated views
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The calls of this program are recorded, unless they are made with `plain`.
var (
	recorded = dispatch.With(&dispatch.Modes{Device: device.Host, Grad: true})
	plain    = recorded.Recorded(false)
)

// descend goes a step down the gradient of the squared error of y = slope x + offset.
func descend(x, y, slope, offset *tensor.Tensor) (err error) {
	b := build.New(recorded, "descend") // owns the results of its operators; the first error ends the function
	defer b.Close(&err)
	miss := b.Sub(b.Add(b.Mul(x, slope), offset), y)
	loss := b.Mean(b.Square(miss), nil, false)
	b.Check(autograd.Backward(recorded, []*tensor.Tensor{loss}, []*tensor.Tensor{nil}, ops.NoBool, false, nil))
	for _, leaf := range []*tensor.Tensor{slope, offset} {
		gradient := b.Track(autograd.Grad(recorded, leaf))
		b.CheckWritten(plain.Add(leaf, leaf, gradient, dtype.FloatScalar(-0.5))) // the first argument is the output
		b.Check(autograd.SetGrad(recorded, leaf, nil))
	}
	return nil
}

// fit learns the line through points of y = 3 x - 2.
func fit(rounds int) (slope, offset float64, err error) {
	b := build.New(plain, "fit")
	defer b.Close(&err)
	x := b.LinspaceWith(dtype.IntScalar(-1), dtype.IntScalar(1), 21, dtype.Float64, tensor.Strided, device.Host)
	y := b.Sub(b.Mul(x, b.IntNumber(3)), b.IntNumber(2))
	leaves := [2]*tensor.Tensor{}
	for i := range leaves {
		leaves[i] = b.ZerosWith(nil, dtype.Float64, tensor.Strided, device.Host)
		b.Check(autograd.SetRequiresGrad(recorded, leaves[i], true))
	}
	for range rounds {
		b.Check(descend(x, y, leaves[0], leaves[1]))
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
