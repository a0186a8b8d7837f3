package kernel

// #include <string.h>
// #if defined(__x86_64__)
// #include <cpuid.h>
// #endif
//
// // Writes the vendor of the CPU, 12 characters, and returns its family, or 0 if it has none.
// static int lt_cpu_family(char *vendor) {
// #if defined(__x86_64__)
//   unsigned a, words[3], family;
//   if (!__get_cpuid(0, &a, &words[0], &words[2], &words[1])) return 0;
//   memcpy(vendor, words, sizeof words);
//   if (!__get_cpuid(1, &a, &words[0], &words[1], &words[2])) return 0;
//   family = a >> 8 & 15;
//   return (int)(family == 15 ? family + (a >> 20 & 255) : family);
// #else
//   (void)vendor;
//   return 0;
// #endif
// }
import "C"

import "math"

// cpuModel is a vendor and a family of CPUs.
type cpuModel struct {
	vendor string
	family int
}

// ProductTraits describes which kernels of matrix products are faster on a model of CPU.
type ProductTraits struct {
	// WidensBFloat16 is true if products of bfloat16 are faster in float32 than with the CPU's instructions for bfloat16: vdpbf16ps has
	// half the rate of vfmadd on Intel's CPUs, and the same rate, with twice the products, on AMD's.
	WidensBFloat16 bool
	// MostAlong is the number of rows up to which dot products along contiguous memory can be faster than packed panels.
	MostAlong int64
}

// productTraits lists the traits of CPUs that differ from defaultTraits, those of AMD's Zen 3 to 5.
var (
	productTraits = map[cpuModel]ProductTraits{{"GenuineIntel", 6}: {WidensBFloat16: true, MostAlong: 16}}
	defaultTraits = ProductTraits{MostAlong: math.MaxInt64}
)

// currentModel returns the model of this CPU.
func currentModel() cpuModel {
	var vendor [12]C.char
	family := int(C.lt_cpu_family(&vendor[0]))
	return cpuModel{C.GoStringN(&vendor[0], C.int(len(vendor))), family}
}

// ProductTraitsOfCPU returns the traits of this CPU.
func ProductTraitsOfCPU() ProductTraits { return traitsOf(currentModel()) }

func traitsOf(model cpuModel) ProductTraits {
	if traits, ok := productTraits[model]; ok {
		return traits
	}
	return defaultTraits
}
