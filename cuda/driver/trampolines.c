// The functions of the CUDA driver, by name: each is a jump through a slot. The first call of any
// of them opens the driver, so that this library loads without one, and fills the slot; without a
// usable driver, every function returns an error. gorgonia.org/cu calls cuInit at the start of a
// program, and ends the program if that fails: here it does nothing.
#include "driver.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  void *target;
  const char *name;
} slot;

enum { OLDEST_VERSION = 12000 };  // required by the PTX of the kernels

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *driver;
static CUresult refusal = CUDA_SUCCESS;
static char absence[512];

static CUresult refused(void) { return refusal; }
static CUresult unknown(void) { return CUDA_ERROR_NOT_FOUND; }

static void refuse(CUresult code, const char *format, const char *first, const char *second) {
  refusal = code;
  snprintf(absence, sizeof absence, format, first, second);
}

// Makes all functions return an error, with the driver's name and description of it.
static void refuse_for(CUresult failed, const char *why) {
  CUresult (*name)(CUresult, const char **) =
      (CUresult (*)(CUresult, const char **))dlsym(driver, "cuGetErrorName");
  CUresult (*text)(CUresult, const char **) =
      (CUresult (*)(CUresult, const char **))dlsym(driver, "cuGetErrorString");
  const char *called = "an error", *says = "?";
  if (name) name(failed, &called);
  if (text) text(failed, &says);
  refuse(failed, why, called, says);
}

static void open_driver(void) {
  driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) {
    const char *why = dlerror();
    if (why && strstr(why, "cannot open shared object file: No such file"))
      refuse(CUDA_ERROR_NO_DEVICE, "no driver: libcuda.so.1 was not found", "", "");
    else
      refuse(CUDA_ERROR_NO_DEVICE, "no driver: libcuda.so.1 could not be loaded (%s)",
             why ? why : "?", "");
    return;
  }
  CUresult (*initialise)(unsigned) = (CUresult (*)(unsigned))dlsym(driver, "cuInit");
  CUresult (*version)(int *) = (CUresult (*)(int *))dlsym(driver, "cuDriverGetVersion");
  if (!initialise || !version) {
    refuse(CUDA_ERROR_NO_DEVICE, "no driver: libcuda.so.1 is not a CUDA driver", "", "");
    return;
  }
  int has = 0;
  CUresult failed = initialise(0);
  if (failed != CUDA_SUCCESS) {
    refuse_for(failed, "initialization of the driver failed: %s, %s");
  } else if ((failed = version(&has)) != CUDA_SUCCESS) {
    refuse_for(failed, "the version of the driver is unknown: %s, %s");
  } else if (has < OLDEST_VERSION) {
    char old[16];
    snprintf(old, sizeof old, "%d.%d", has / 1000, has % 1000 / 10);
    refuse(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
           "the driver is too old: it supports CUDA %s, but 12.0 or newer is required", old, "");
  }
}

const char *lt_driver_absence(void) {
  pthread_once(&once, open_driver);
  return absence;
}

// Returns the target of a slot.
__attribute__((visibility("hidden"), used)) void *lt_driver_find(slot *s) {
  pthread_once(&once, open_driver);
  void *target = refusal == CUDA_SUCCESS ? dlsym(driver, s->name) : (void *)refused;
  __atomic_store_n(&s->target, target ? target : (void *)unknown, __ATOMIC_RELEASE);
  return s->target;
}

__attribute__((visibility("hidden"))) CUresult cuInit(unsigned flags) {
  (void)flags;
  return CUDA_SUCCESS;
}

// lt_driver_bind saves the registers that hold arguments, and calls lt_driver_find.
#if defined(__x86_64__)
__asm__(
    ".text\n"
    "lt_driver_bind:\n"  // r11 is the slot's address
    "  push %rbp\n  mov %rsp, %rbp\n  and $-16, %rsp\n  sub $192, %rsp\n"
    "  mov %rdi, (%rsp)\n  mov %rsi, 8(%rsp)\n  mov %rdx, 16(%rsp)\n  mov %rcx, 24(%rsp)\n"
    "  mov %r8, 32(%rsp)\n  mov %r9, 40(%rsp)\n"
    "  movups %xmm0, 48(%rsp)\n  movups %xmm1, 64(%rsp)\n  movups %xmm2, 80(%rsp)\n  movups %xmm3, "
    "96(%rsp)\n"
    "  mov %r11, %rdi\n  call lt_driver_find\n  mov %rax, %r11\n"
    "  movups 48(%rsp), %xmm0\n  movups 64(%rsp), %xmm1\n  movups 80(%rsp), %xmm2\n  movups "
    "96(%rsp), %xmm3\n"
    "  mov (%rsp), %rdi\n  mov 8(%rsp), %rsi\n  mov 16(%rsp), %rdx\n  mov 24(%rsp), %rcx\n"
    "  mov 32(%rsp), %r8\n  mov 40(%rsp), %r9\n"
    "  leave\n  jmp *%r11\n");
#define JUMP "  mov 1f(%rip), %r11\n  jmp *%r11\n"
#define BIND "2: lea 1f(%rip), %r11\n  jmp lt_driver_bind\n"
#elif defined(__aarch64__)
__asm__(
    ".text\n"
    "lt_driver_bind:\n"  // x17 is the slot's address
    "  stp x29, x30, [sp, #-208]!\n  mov x29, sp\n"
    "  stp x0, x1, [sp, #16]\n  stp x2, x3, [sp, #32]\n  stp x4, x5, [sp, #48]\n  stp x6, x7, [sp, "
    "#64]\n"
    "  stp q0, q1, [sp, #80]\n  stp q2, q3, [sp, #112]\n"
    "  mov x0, x17\n  bl lt_driver_find\n  mov x16, x0\n"
    "  ldp q0, q1, [sp, #80]\n  ldp q2, q3, [sp, #112]\n"
    "  ldp x0, x1, [sp, #16]\n  ldp x2, x3, [sp, #32]\n  ldp x4, x5, [sp, #48]\n  ldp x6, x7, [sp, "
    "#64]\n"
    "  ldp x29, x30, [sp], #208\n  br x16\n");
#define JUMP "  adrp x16, 1f\n  ldr x16, [x16, :lo12:1f]\n  br x16\n"
#define BIND "2: adrp x17, 1f\n  add x17, x17, :lo12:1f\n  b lt_driver_bind\n"
#else
#error "trampolines to the CUDA driver are written for x86-64 and aarch64"
#endif

// A function of the driver: local label 1 is its slot, 2 the initial target of the slot, 3 its
// name.
#define DRIVER_FUNCTION(NAME, PARAMETERS)                                          \
  __asm__(".text\n.balign 16\n.hidden " #NAME "\n.globl " #NAME "\n.type " #NAME   \
          ", %function\n" #NAME ":\n" JUMP BIND                                    \
          ".section .data.rel.local, \"aw\"\n.balign 8\n1: .quad 2b\n  .quad 3f\n" \
          ".section .rodata\n3: .string \"" #NAME "\"\n.text\n");
#include "functions.h"
