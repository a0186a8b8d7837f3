package kernel

// #if defined(__x86_64__)
// #include <cpuid.h>
// #include <sys/syscall.h>
// #include <unistd.h>
// #endif
//
// // Whether the CPU has tiles, and products of bfloat16 and of bytes in them.
// static int lt_cpu_amx(void) {
// #if defined(__x86_64__)
//   const unsigned bfloat16 = 1u << 22, tiles = 1u << 24, bytes = 1u << 25, all = bfloat16 | tiles | bytes;
//   unsigned a, b, c, d;
//   return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & all) == all;
// #else
//   return 0;
// #endif
// }
//
// // Asks Linux for permission to use tile registers, for all threads of the process and for its children.
// static int lt_request_amx(void) {
// #if defined(__x86_64__)
//   enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
//   return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
// #else
//   return 0;
// #endif
// }
import "C"

import (
	"os"
	"slices"
	"sync"

	"github.com/libtensor/libtensor/engine/kernelapi"
)

// amxTier names the tier avx512 with the kernels that use the tile registers of AMX, which is the best one.
const amxTier = "amx"

// loadTiles returns the kernels of this CPU with those that use tile registers, if it has them, and without them otherwise. The first call
// requests the permission of Linux.
var loadTiles = sync.OnceValue(func() *table {
	if t := load(); !slices.Contains(usableTiers(), os.Getenv(TierVariable)) && permitsAMX(t.tier) {
		return read(t.tier, true)
	}
	return load()
})

// OfTiles returns the functions of a kernel that uses tile registers, none if it cannot be used. It is called only where tile registers
// would be used, so that the permission, which affects the alternate signal stacks of the process, is not requested before.
func OfTiles(k kernelapi.Kernel) *Kernel { return &loadTiles().kernels[k] }

// CPUTier names the instructions in use: amx, if products use its tile registers, and Tier otherwise.
func CPUTier() string {
	if loadTiles() != load() {
		return amxTier
	}
	return Tier()
}

// permitsAMX reports whether the CPU supports the kernels that use tile registers, this build has those of the given tier, and Linux
// permits them, which it requests. Linux denies them if the alternate signal stack of a thread is too small for the registers.
func permitsAMX(tier string) bool {
	return emulatesAMX || tier == "avx512" && C.lt_cpu_amx() != 0 && C.lt_request_amx() != 0
}
