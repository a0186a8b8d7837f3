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

// cpuModel is a vendor and a family of CPUs.
type cpuModel struct {
	vendor string
	family int
}

// widening lists the CPUs with instructions for bfloat16 by whether products are faster in float32: vdpbf16ps has half the rate of vfmadd
// on Intel's, and the same rate, with twice the products, on AMD's.
var widening = map[cpuModel]bool{
	{"GenuineIntel", 6}:  true,
	{"AuthenticAMD", 25}: false, // Zen 4
	{"AuthenticAMD", 26}: false, // Zen 5
}

// currentModel returns the model of this CPU.
func currentModel() cpuModel {
	var vendor [12]C.char
	family := int(C.lt_cpu_family(&vendor[0]))
	return cpuModel{C.GoStringN(&vendor[0], C.int(len(vendor))), family}
}

// WidensBFloat16 reports whether products of bfloat16 are faster in float32 than with the CPU's instructions for bfloat16.
func WidensBFloat16() bool { return widening[currentModel()] }
