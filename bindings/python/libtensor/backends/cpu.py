"""The instruction set of the kernels."""

from .._gen.gen_functions import cpu_tier as _cpu_tier

NAMES = {"baseline": "DEFAULT", "avx2": "AVX2", "avx512": "AVX512", "amx": "AVX512"}


def get_cpu_capability():
    """Returns the CPU tier of the kernels: AVX512, AVX2 or DEFAULT."""
    return NAMES[_cpu_tier()]
