"""Settings of PyTorch's compiler, which are kept and change nothing."""

import sys
from types import ModuleType
from typing import Any

from .._inert import Settings

suppress_errors = capture_scalar_outputs = capture_dynamic_output_shape_ops = capture_func_transforms = verbose = disable = False
dynamic_shapes = assume_static_by_default = automatic_dynamic_shapes = inline_inbuilt_nn_modules = specialize_int = True
optimize_ddp = allow_unspec_int_on_nn_module = force_parameter_static_shapes = cache_size_limit_changed = False
cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
log_level = None
patch: Any  # of the class of the module


class Config(ModuleType, Settings):
    """The settings as a module, with patch()."""

    __init__ = ModuleType.__init__


sys.modules[__name__].__class__ = Config
