"""Autocast: operators convert their floating-point arguments to another dtype. The library stores the state of CPU and CUDA devices; this
module that of other device types, for each thread.
"""

import functools
import threading
import warnings
from contextlib import contextmanager

from .._base import dtypes as _dtypes
from .._base.direct import function
from .._base.entered import entered
from .._base.warnings import warn

switch, enabled_for = function("_switch_autocast", "set_autocast_enabled"), function("_autocast_enabled", "is_autocast_enabled")
set_dtype, dtype_for = function("_set_autocast_dtype", "set_autocast_dtype"), function("_autocast_dtype", "get_autocast_dtype")
switch_cache, caches = (
    function("_switch_autocast_cache", "set_autocast_cache_enabled"),
    function("_autocast_caches", "is_autocast_cache_enabled"),
)
increment, decrement = function("_enter_autocast", "autocast_increment_nesting"), function("_leave_autocast", "autocast_decrement_nesting")
clear_cache = function("_clear_autocast_cache", "clear_autocast_cache")
count = function("_count_for_autocast", "device_count")

SERVED = ("cpu", "cuda")
OTHERS = ("hpu", "ipu", "maia", "mps", "mtia", "xla", "xpu")
UNSUPPORTED = ("fpga", "hip", "ideep", "lazy", "meta", "mkldnn", "opencl", "opengl", "privateuseone", "ve", "vulkan")


class Kept(threading.local):
    """The state of device types without operators: for each type, whether autocast is enabled, and the dtype."""

    def __init__(self):
        self.state = {}


kept = Kept()


def checked(device_type):
    """Returns the device type without its index. Raises RuntimeError if there is no such type."""
    kind = device_type.partition(":")[0]
    if kind not in SERVED + OTHERS + UNSUPPORTED:
        raise RuntimeError(
            "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, "
            "mtia, "
            f"privateuseone device type at start of device string: {device_type}"
        )
    return kind


def is_autocast_available(device_type):
    """Returns whether autocast is available for a device type, such as "cpu". Raises RuntimeError for an unknown type.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return checked(device_type) not in UNSUPPORTED


def is_autocast_enabled(device_type=None):
    """Returns whether autocast is enabled in the calling thread for devices of a type, "cuda" by default."""
    kind = checked(device_type or "cuda")
    return enabled_for(kind) if kind in SERVED else kept.state.get(kind, (False, None))[0]


def set_autocast_enabled(device_type, enabled=None):
    """Enables or disables autocast in the calling thread for devices of a type. With one argument, a bool, for "cuda"."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    kind = checked(device_type)
    if kind in SERVED:
        switch(kind, enabled)
    elif not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' must be bool, not {type(enabled).__name__}")
    else:
        kept.state[kind] = (enabled, kept.state.get(kind, (False, None))[1])


def get_autocast_dtype(device_type):
    """Returns the dtype of lower precision of autocast for devices of a type: bfloat16 for "cpu" and float16 for "cuda" by default.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    kind = checked(device_type)
    if kind in UNSUPPORTED:
        raise RuntimeError("unsupported scalarType")
    if kind in SERVED:
        return dtype_for(kind)
    return kept.state.get(kind, (False, None))[1] or (_dtypes.bfloat16 if kind in ("hpu", "xla") else _dtypes.float16)


def set_autocast_dtype(device_type, dtype):
    """Sets the dtype of lower precision of autocast in the calling thread for devices of a type."""
    kind = checked(device_type)
    if kind in SERVED:
        set_dtype(kind, dtype)
    elif not isinstance(dtype, _dtypes.dtype):
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    else:
        kept.state[kind] = (kept.state.get(kind, (False, None))[0], dtype)


def is_autocast_cache_enabled():
    """Returns whether autocast keeps the converted copies of parameters until its outermost context ends."""
    return caches()


def set_autocast_cache_enabled(enabled):
    """Sets whether autocast keeps the converted copies of parameters until its outermost context ends."""
    switch_cache(enabled)


def clear_autocast_cache():
    """Releases the converted copies of parameters that autocast keeps."""
    clear_cache()


def autocast_increment_nesting():
    """Counts an autocast context that the calling thread enters. Returns the number of contexts it is in."""
    return increment()


def autocast_decrement_nesting():
    """Counts an autocast context that the calling thread leaves. Returns the number of contexts it is in."""
    return decrement()


def superseded(name, instead, result):
    """Defines a function of one device type, which warns of the function that takes the type."""

    def call(*args):
        warn(f"torch.{name} is deprecated. Please use torch.{instead} instead.", DeprecationWarning)
        return result(*args)

    call.__name__ = call.__qualname__ = name.partition("(")[0]
    call.__doc__ = f"Deprecated: use {instead}."
    return call


SUPERSEDED = [
    superseded("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')", lambda: is_autocast_enabled("cpu")),
    superseded(
        "set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)", lambda enabled: set_autocast_enabled("cpu", enabled)
    ),
]
for _kind, _name in (("cpu", "cpu"), ("cuda", "gpu"), ("ipu", "ipu"), ("xla", "xla")):
    SUPERSEDED += [
        superseded(f"get_autocast_{_name}_dtype()", f"get_autocast_dtype('{_kind}')", functools.partial(get_autocast_dtype, _kind)),
        superseded(
            f"set_autocast_{_name}_dtype(dtype)", f"set_autocast_dtype('{_kind}', dtype)", functools.partial(set_autocast_dtype, _kind)
        ),
    ]
for _kind in ("ipu", "xla"):
    SUPERSEDED += [
        superseded(f"is_autocast_{_kind}_enabled()", f"is_autocast_enabled('{_kind}')", functools.partial(is_autocast_enabled, _kind)),
        superseded(
            f"set_autocast_{_kind}_enabled(enabled)",
            f"set_autocast_enabled('{_kind}', enabled)",
            functools.partial(set_autocast_enabled, _kind),
        ),
    ]


class autocast:
    """A context manager and decorator under which operators on devices of a type choose the dtype that they run in: matrix products,
    convolutions, linear layers and attention convert their floating-point arguments to `dtype` (float16 or bfloat16; by default
    get_autocast_dtype), losses and other operators whose results would be inaccurate convert them to float32. Arguments of float64 keep
    their dtype, and so do those of calls that write to an argument. Converted copies of float32 parameters are kept until the outermost
    context ends, unless `cache_enabled` is False. Contexts nest; enabled=False ends autocast within one.

    >>> weight = torch.ones(2, 2, requires_grad=True)
    >>> with torch.autocast("cpu"):
    ...     y = weight @ weight
    >>> y.dtype
    torch.bfloat16
    >>> y.float().sum().backward()
    >>> weight.grad.dtype
    torch.float32
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.custom_backend_name = "privateuseone"
        self._enabled = enabled and is_supported(device_type.partition(":")[0], self.fast_dtype)
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled

    def __enter__(self):
        before = (is_autocast_cache_enabled(), is_autocast_enabled(self.device), get_autocast_dtype(self.device))
        self.prev_cache_enabled, self.prev, self.prev_fastdtype = before
        entered.begin(self, before)
        set_autocast_enabled(self.device, self._enabled)
        if self.fast_dtype.is_floating_point:
            set_autocast_dtype(self.device, self.fast_dtype)
        autocast_increment_nesting()
        set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, *_):
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        cache_enabled, enabled, dtype = entered.end(self)
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, dtype)
        set_autocast_cache_enabled(cache_enabled)

    def __call__(self, func):
        @functools.wraps(func)
        def decorated(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        decorated.__script_unsupported = "@autocast() decorator is not supported in script mode"
        return decorated


def autocast_state():
    """Returns the state of autocast in the calling thread, for autocast_as()."""
    return {kind: (enabled_for(kind), dtype_for(kind)) for kind in SERVED}, dict(kept.state), caches()


@contextmanager
def autocast_as(state):
    """A context in which the state of autocast is one that autocast_state() returned."""
    before = autocast_state()
    restore_state(state)
    increment()
    try:
        yield
    finally:
        if decrement() == 0:
            clear_cache()
        restore_state(before)


def restore_state(state):
    served, others, keeps_copies = state
    for kind, (enabled, dtype) in served.items():
        switch(kind, enabled)
        set_dtype(kind, dtype)
    kept.state = dict(others)
    switch_cache(keeps_copies)


def is_supported(kind, dtype):
    """Returns whether autocast can be enabled for a device type and a dtype. Warns if not."""
    if kind == "cuda" and count("cuda") == 0:
        warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=3)
        return False
    if dtype not in (_dtypes.bfloat16, _dtypes.float16):
        name = kind.upper()
        warnings.warn(
            f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
            stacklevel=3,
        )
        return False
    return True


FUNCTIONS = [is_autocast_enabled, set_autocast_enabled, get_autocast_dtype, set_autocast_dtype, is_autocast_cache_enabled]
FUNCTIONS += [set_autocast_cache_enabled, clear_autocast_cache, autocast_increment_nesting, autocast_decrement_nesting, *SUPERSEDED]
