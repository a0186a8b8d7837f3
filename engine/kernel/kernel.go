// Package kernel contains the inner loops, C++ templates that are compiled for each CPU tier, and selects the tier when the
// library is initialized.
package kernel

// #include "abi.h"
// #include <stdlib.h>
//
// #cgo noescape lt_call
// #cgo nocallback lt_call
// static void lt_call(uintptr_t fn, uintptr_t args) { ((void (*)(void *))fn)((void *)args); }
//
// static int lt_cpu_tier(void) {
// #if defined(__x86_64__)
//   __builtin_cpu_init();
//   int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
//              __builtin_cpu_supports("f16c");
//   int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
//                __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
//                __builtin_cpu_supports("avx512vl");
//   return avx512 ? 2 : avx2 ? 1 : 0;
// #else
//   return 0;
// #endif
// }
//
// static int lt_cpu_bfloat16(void) {
// #if defined(__x86_64__)
//   __builtin_cpu_init();
//   return __builtin_cpu_supports("avx512bf16");
// #else
//   return 0;
// #endif
// }
//
// static int lt_cpu_bytes(int wide) {
// #if defined(__x86_64__)
//   __builtin_cpu_init();
//   return wide ? __builtin_cpu_supports("avx512vnni") : __builtin_cpu_supports("avxvnni");
// #else
//   return 0;
// #endif
// }
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// TierVariable is the environment variable that forces a CPU tier, if the CPU supports it.
const TierVariable = "LIBTENSOR_CPU"

var tierNames = []string{"baseline", "avx2", "avx512"}

var registered = map[string]unsafe.Pointer{}

func register(tier string, units unsafe.Pointer) { registered[tier] = units }

// MaxOperands of an elementwise kernel.
const MaxOperands = 8

// Loop is one run of an elementwise kernel over strided operands, outputs first, dimension 0 innermost, strides in bytes.
// It mirrors lt_loop of abi.h.
type Loop struct {
	Row                     uintptr
	Operands, Outputs, Ndim int32
	Memory, Compute         [MaxOperands]dtype.DType
	Stream                  bool
	Fixed                   uint8
	Data                    [MaxOperands]uintptr
	Sizes                   [64]int64
	Strides                 [MaxOperands][64]int64
	Params                  [64]byte
}

// The two must agree to the byte.
var _ [unsafe.Sizeof(Loop{}) - C.sizeof_lt_loop]struct{}
var _ [C.sizeof_lt_loop - unsafe.Sizeof(Loop{})]struct{}

// Kernel is a named kernel: one function per dtype, 0 for unsupported ones. Signature is that of abi.h. For elementwise kernels, Operands are the
// letters of the operands, of which the first Outputs are written. Whole is set if outputs may be replaced by a buffer. Bit k of Fixed is set if
// operand k must be passed in place.
type Kernel struct {
	Name      string
	Signature string
	Operands  string
	Outputs   int
	Whole     bool
	Fixed     uint8
	float8    bool                     // eight-bit floats are computed on in float32
	rows      [dtype.Count + 1]uintptr // the last one is for dtypes without kernels
	tiny      [dtype.Count + 1]Tiny
}

// sign reads the signature.
func (k *Kernel) sign(signature string) {
	k.Signature = signature
	at := strings.IndexAny(signature, "=>")
	if at < 0 {
		return
	}
	k.Outputs, k.Whole = at, signature[at] == '>'
	k.Operands = signature[:at] + signature[at+1:]
	for i, letter := range k.Operands {
		if letter == 'X' {
			k.Fixed |= 1 << i
		}
	}
}

// Row returns the function for dtype d, 0 where the kernel has none; Call rejects that.
func (k *Kernel) Row(d dtype.DType) uintptr { return k.rows[d.Row()] }

// For returns the function for dtype d, or the error that op has none.
func (k *Kernel) For(op string, d dtype.DType) (uintptr, error) {
	if !k.Has(d) {
		return 0, k.Lacks(op, d)
	}
	return k.rows[d.Row()], nil
}

// Lacks returns the error that op has no function for dtype d.
func (k *Kernel) Lacks(op string, d dtype.DType) error {
	if d == dtype.Unpromoted {
		return status.Unpromoted(op)
	}
	if wide := dtype.Complex64; d != wide && d.IsComplex() && k.Has(wide) {
		return status.NotImplementedf("%s: not implemented for dtype %v; convert the operands to %v", op, d, wide)
	}
	return status.NotImplementedf("%s: not implemented for dtype %v", op, d)
}

// Compute returns the dtype in which the kernel computes for d: d itself if it has a row for it, and d.Compute() otherwise.
func (k *Kernel) Compute(d dtype.DType) dtype.DType {
	if k.Has(d) {
		return d
	}
	if k.float8 && d.IsFloat8() {
		return dtype.Float32
	}
	return d.Compute()
}

// ofFloat8 are the kernels that operators run on eight-bit floats: their results are exact.
var ofFloat8 = []string{"abs", "differs", "eq", "isfinite", "isinf", "isnan", "ne"}

// Tiny returns the Go form of a binary kernel for a few elements, or nil.
func (k *Kernel) Tiny(d dtype.DType) Tiny { return k.tiny[d.Row()] }

// Has reports whether the kernel serves dtype d.
func (k *Kernel) Has(d dtype.DType) bool { return k.rows[d.Row()] != 0 }

type table struct {
	tier        string
	amx         bool // includes the kernels that use the tile registers of AMX
	kernels     map[string]*Kernel
	elementwise uintptr
	copy        uintptr
}

// compiledTiers names the tiers that are in this build, the plainest first: build tags leave some out.
func compiledTiers() []string {
	return slices.DeleteFunc(slices.Clone(tierNames), func(tier string) bool { return registered[tier] == nil })
}

// usableTiers names those of the compiled tiers that the machine can run.
func usableTiers() []string {
	runs := tierNames[:int(C.lt_cpu_tier())+1]
	return slices.DeleteFunc(compiledTiers(), func(tier string) bool { return !slices.Contains(runs, tier) })
}

// Unusable returns the reason why no kernel of this build can run on this CPU, or nil. It must be called before anything is computed.
func Unusable() error { return unusable(compiledTiers(), tierNames[:int(C.lt_cpu_tier())+1]) }

func unusable(compiled, runs []string) error {
	if slices.ContainsFunc(compiled, func(tier string) bool { return slices.Contains(runs, tier) }) {
		return nil
	}
	return status.NotImplementedf("this libtensor.so was built for CPUs with %s, but this CPU supports %s: build it on this machine, or with the kernels of all instruction sets (make lib)",
		strings.Join(compiled, " or "), runs[len(runs)-1])
}

var load = sync.OnceValue(func() *table {
	usable := usableTiers()
	forced := os.Getenv(TierVariable)
	if slices.Contains(usable, forced) {
		return read(forced, false)
	}
	if len(usable) == 0 { // tables can be read all the same
		usable = compiledTiers()
	}
	best := usable[len(usable)-1]
	return read(best, forced == amxTier && permitsAMX(best))
})

// supported reports whether the CPU has the instructions of a kernel that needs more of them than its tier guarantees.
func supported(tier, name string, amx bool) bool {
	switch name {
	case "gemm_bfloat16", "gemm_dots_bfloat16":
		return C.lt_cpu_bfloat16() != 0
	case "convolution_amx", "gemm_amx", "gemm_quantized_amx", "gemm_quantized_amx_pack", "gemm_rounded_amx", "gemm_rounded_amx_pack":
		return amx
	case "gemm_bytes", "gemm_bytes_pack":
		wide := C.int(0)
		if tier == "avx512" {
			wide = 1
		}
		return C.lt_cpu_bytes(wide) != 0
	}
	return true
}

// read gathers the kernels that the units of a tier define.
func read(tier string, amx bool) *table {
	t := &table{tier: tier, amx: amx, kernels: map[string]*Kernel{}}
	units := registered[tier]
	for at := units; ; at = unsafe.Add(at, unsafe.Sizeof(units)) {
		unit := *(*unsafe.Pointer)(at)
		if unit == nil {
			break
		}
		for ; ; unit = unsafe.Add(unit, unsafe.Sizeof(C.lt_kernel{})) {
			entry := (*C.lt_kernel)(unit)
			if entry.name == nil {
				break
			}
			k := &Kernel{Name: C.GoString(entry.name)}
			k.sign(C.GoString(entry.signature))
			if supported(tier, k.Name, amx) {
				for i := range entry.rows {
					k.rows[i] = uintptr(entry.rows[i])
				}
			}
			k.tiny, k.float8 = tinyKernels[k.Name], slices.Contains(ofFloat8, k.Name)
			t.kernels[k.Name] = k
		}
	}
	t.elementwise = t.kernels["elementwise"].rows[0]
	t.copy = t.kernels["copy"].rows[0]
	return t
}

// Tier names the vector instructions in use: baseline, avx2 or avx512.
func Tier() string { return load().tier }

// CPUTier names the instructions in use: amx, if products use its tile registers, and Tier otherwise.
func CPUTier() string {
	if load().amx {
		return amxTier
	}
	return Tier()
}

// Get finds a kernel by name. A name that no unit defines is a defect of the caller and panics.
func Get(name string) *Kernel {
	k := load().kernels[name]
	if k == nil {
		panic(fmt.Sprintf("kernel %q is not defined by any unit of engine/kernel/src", name))
	}
	return k
}

// drivers is set once the tiers, whose files sort before this one, have registered.
var drivers *table

func init() { drivers = load() }

// Elementwise runs l over its operands.
func Elementwise(l *Loop) { Call(drivers.elementwise, unsafe.Pointer(l)) }

// Copy converts operand 1 of l into operand 0.
func Copy(l *Loop) { Call(drivers.copy, unsafe.Pointer(l)) }

// onStack is never true, and escaped never set. The assignment makes escape analysis move the arguments of Call to the heap: a stack may grow and
// move on the way into the call, and results that a kernel wrote to its old address would be lost.
var (
	onStack bool
	escaped unsafe.Pointer
)

// Call runs a kernel with one argument structure, which must not contain Go pointers: its address is passed as a number, which avoids cgo's pointer
// checks.
func Call(fn uintptr, args unsafe.Pointer) {
	if fn == 0 {
		panic("a kernel is called for a dtype that it has no function for")
	}
	if onStack {
		escaped = args
	}
	C.lt_call(C.uintptr_t(fn), C.uintptr_t(uintptr(args)))
	runtime.KeepAlive(args)
}
