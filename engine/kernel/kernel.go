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
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
)

// TierVariable is the environment variable that forces a CPU tier, if the CPU supports it.
const TierVariable = "LIBTENSOR_CPU"

var tierNames = []string{"baseline", "avx2", "avx512"}

var registered = map[string]unsafe.Pointer{}

func register(tier string, units unsafe.Pointer) { registered[tier] = units }

// Kernel is a kernel of a tier: one function per dtype, 0 for unsupported ones.
type Kernel struct {
	kernelapi.Kernel
	rows [dtype.Count + 1]uintptr // the last one is for dtypes without kernels
	tiny [dtype.Count + 1]Tiny
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

// Tiny returns the Go form of a binary kernel for a few elements, or nil.
func (k *Kernel) Tiny(d dtype.DType) Tiny { return k.tiny[d.Row()] }

// Has reports whether the tier has a function for dtype d, which may need more instructions than the CPU has.
func (k *Kernel) Has(d dtype.DType) bool { return k.rows[d.Row()] != 0 }

type table struct {
	tier        string
	kernels     [kernelapi.Count]Kernel
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
	if forced := os.Getenv(TierVariable); slices.Contains(usable, forced) {
		return read(forced, false)
	}
	if len(usable) == 0 { // tables can be read all the same
		usable = compiledTiers()
	}
	return read(usable[len(usable)-1], false)
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

// read gathers the kernels that the units of a tier define, with or without those that use tile registers.
func read(tier string, amx bool) *table {
	t := &table{tier: tier}
	for i := range t.kernels {
		t.kernels[i].Kernel = kernelapi.Kernel(i)
	}
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
			name := C.GoString(entry.name)
			number, ok := kernelapi.Find(name)
			if !ok {
				panic(fmt.Sprintf("kernel %q is not in package kernelapi: run make generate", name))
			}
			k := &t.kernels[number]
			if supported(tier, name, amx) {
				for i := range entry.rows {
					k.rows[i] = uintptr(entry.rows[i])
				}
			}
			k.tiny = tinyKernels[number]
		}
	}
	t.elementwise = t.kernels[kernelapi.Elementwise].rows[0]
	t.copy = t.kernels[kernelapi.Copy].rows[0]
	return t
}

// Tier names the vector instructions in use: baseline, avx2 or avx512.
func Tier() string { return load().tier }

// Of returns the functions of a kernel for this CPU. Kernels that use tile registers have none here: see OfTiles.
func Of(k kernelapi.Kernel) *Kernel { return &load().kernels[k] }

// drivers is set once the tiers, whose files sort before this one, have registered.
var drivers *table

func init() {
	drivers = load()
	kernelapi.CPU.Instructions = CPUTier
	kernelapi.CPU.RoundsProducts = func() bool { return OfTiles(kernelapi.GemmRoundedAmx).Row(0) != 0 }
}

// Elementwise runs l over its operands.
func Elementwise(l *kernelapi.Loop) { Call(drivers.elementwise, unsafe.Pointer(l)) }

// Copy converts operand 1 of l into operand 0.
func Copy(l *kernelapi.Loop) { Call(drivers.copy, unsafe.Pointer(l)) }

// onStack is never true, and escaped never set. The assignment makes escape analysis move the arguments of Call to the heap: a stack may
// grow and move on the way into the call, and results that a kernel wrote to its old address would be lost.
var (
	onStack bool
	escaped unsafe.Pointer
)

// Call runs a kernel with one argument structure, which must not contain Go pointers: its address is passed as a number, which avoids cgo's
// pointer checks.
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
