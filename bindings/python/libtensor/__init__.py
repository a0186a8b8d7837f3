"""libtensor: PyTorch's tensor model as one small library. `import libtensor as torch`."""

import math as _math

from . import _tensor as _tensor  # first: everything else takes the class that it defines
from . import gen_functions as _functions
from ._create import (
    LEGACY as _LEGACY,
)
from ._create import (
    as_tensor,
    asarray,
    broadcast_shapes,
    from_numpy,
    frombuffer,
    get_default_device,
    is_complex,
    is_floating_point,
    is_storage,
    is_tensor,
    legacy_class,
    numel,
    scalar_tensor,
    set_default_device,
    set_default_dtype,
    set_default_tensor_type,
    tensor,
)
from ._cast import METHODS as _METHODS  # noqa: F401
from ._compose import nonzero as _nonzero
from ._device import device
from ._dlpack import from_dlpack, to_dlpack
from ._dtypes import NAMES as _NAMES
from ._dtypes import dtype, finfo, iinfo, layout, memory_format
from ._library import live_handles as _live_handles
from ._print import get_printoptions, set_printoptions
from ._random import Generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from ._random import default as _default_generator
from ._size import Size
from ._storage import TypedStorage, UntypedStorage
from ._storage import legacy as _legacy_storage
from ._tensor import Tensor
from .gen_functions import *  # noqa: F403

__version__ = "0.1.0"

inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
newaxis = None
nonzero = _nonzero

globals().update(_NAMES)
globals().update({name + "Tensor": legacy_class(name) for name in _LEGACY})
globals().update({name + "Storage": _legacy_storage(name) for name in _LEGACY})
del legacy_class

SUBMODULES = frozenset(("fft", "linalg", "nn", "return_types", "special", "testing"))


def __getattr__(name):
    if name in SUBMODULES:
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'libtensor' has no attribute '{name}'")


def __dir__():
    return sorted(set(globals()) | SUBMODULES)
