"""The instructions that the inner loops use."""

from .._gen.gen_functions import cpu_tier as _cpu_tier

NAMES = {"baseline": "DEFAULT", "avx2": "AVX2", "avx512": "AVX512"}


def get_cpu_capability():
    """AVX512, AVX2 or DEFAULT."""
    return NAMES[_cpu_tier()]
