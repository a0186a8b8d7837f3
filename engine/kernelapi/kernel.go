// Package kernelapi names the kernels: the inner loops that operators choose and devices run. It has what operators need to know
// of a kernel, its operands and its dtypes, and the structures that several devices pass to kernels. The CPU's kernels are in
// engine/kernel, those of CUDA devices in cuda/kernels.
package kernelapi

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// Kernel is a kernel by number. The numbers are those of one build.
type Kernel uint16

// facts describe a kernel.
type facts struct {
	name      string
	signature string // as in abi.h
	operands  string
	outputs   int
	whole     bool
	fixed     uint8
	dtypes    uint32 // bit i: there is a function for dtype.All[i]
}

// Name returns the kernel's name in the sources.
func (k Kernel) Name() string { return table[k].name }

// Signature returns the kernel's signature, which abi.h explains.
func (k Kernel) Signature() string { return table[k].signature }

// Operands returns the letters of the operands of an elementwise kernel, outputs first; "" of other kernels.
func (k Kernel) Operands() string { return table[k].operands }

// Outputs returns the number of operands that an elementwise kernel writes.
func (k Kernel) Outputs() int { return table[k].outputs }

// IsWhole reports whether the outputs of an elementwise kernel may be replaced by a buffer.
func (k Kernel) IsWhole() bool { return table[k].whole }

// Fixed returns a mask of the operands that must be passed in place: bit i for operand i.
func (k Kernel) Fixed() uint8 { return table[k].fixed }

// Has reports whether the kernel has a function for dtype d.
func (k Kernel) Has(d dtype.DType) bool { return table[k].dtypes>>d.Row()&1 != 0 }

// Check returns the error that op has no function for dtype d, if so.
func (k Kernel) Check(op string, d dtype.DType) error {
	if !k.Has(d) {
		return k.Lacks(op, d)
	}
	return nil
}

// Lacks returns the error that op has no function for dtype d.
func (k Kernel) Lacks(op string, d dtype.DType) error {
	if d == dtype.Unpromoted {
		return status.Unpromoted(op)
	}
	if wide := dtype.Complex64; d != wide && d.IsComplex() && k.Has(wide) {
		return status.NotImplementedf("%s: not implemented for dtype %v; convert the operands to %v", op, d, wide)
	}
	return status.NotImplementedf("%s: not implemented for dtype %v", op, d)
}

// Compute returns the dtype in which the kernel computes for d: d itself if it has a function for it, and d.Compute() otherwise.
func (k Kernel) Compute(d dtype.DType) dtype.DType {
	if k.Has(d) {
		return d
	}
	if d.IsFloat8() && k.isExact() {
		return dtype.Float32
	}
	return d.Compute()
}

// isExact reports whether the results of the kernel on eight-bit floats, computed in float32, are exact.
func (k Kernel) isExact() bool {
	switch k {
	case Abs, Differs, Eq, Isfinite, Isinf, Isnan, Ne:
		return true
	}
	return false
}

// Find returns the kernel of a name.
func Find(name string) (Kernel, bool) {
	k, ok := byName[name]
	return k, ok
}

var byName = func() map[string]Kernel {
	m := make(map[string]Kernel, Count)
	for k := None + 1; k < Count; k++ {
		m[table[k].name] = k
	}
	return m
}()
