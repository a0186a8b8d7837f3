"""Settings of PyTorch's code generator, which are kept and change nothing."""

import sys
from types import ModuleType

from .._inert import Settings

fx_graph_cache = fx_graph_remote_cache = coordinate_descent_tuning = epilogue_fusion = shape_padding = max_autotune = max_autotune_gemm = (
    False
)
force_fuse_int_mm_with_mul = use_mixed_mm = conv_1x1_as_mm = coordinate_descent_check_all_directions = freezing = cpp_wrapper = debug = (
    False
)
compile_threads = 1
triton = Settings(unique_kernel_names=True, cudagraphs=False, cudagraph_trees=True, cudagraph_skip_dynamic_graphs=False)
cuda, cpp, trace = Settings(), Settings(), Settings(enabled=False)


class Config(ModuleType, Settings):
    """The settings as a module, with patch()."""

    __init__ = ModuleType.__init__


sys.modules[__name__].__class__ = Config
