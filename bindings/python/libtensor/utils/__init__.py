"""Helpers under the names of torch.utils. Modules that take time to import are loaded on first access."""

import importlib as _importlib

from . import checkpoint, deterministic, dlpack, hooks

_LATER = frozenset(
    (
        *(
            "_contextlib",
            "_foreach_utils",
            "_import_utils",
            "_pytree",
            "_python_dispatch",
            "_typing_utils",
            "backcompat",
            "backend_registration",
            "benchmark",
            "bottleneck",
        ),
        *(
            "bundled_inputs",
            "collect_env",
            "cpp_backtrace",
            "cpp_extension",
            "data",
            "flop_counter",
            "mkldnn",
            "mobile_optimizer",
            "model_zoo",
        ),
        *("show_pickle", "tensorboard", "throughput_benchmark", "weak"),
    )
)

__all__ = [
    "checkpoint",
    "deterministic",
    "dlpack",
    "hooks",
    "set_module",
    "swap_tensors",
    *sorted(name for name in _LATER if name[0] != "_"),
]


def set_module(obj, mod):
    """Sets `__module__` of a function or class."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1, t2):
    """Exchanges two tensors in place: their elements, classes, attributes and requires_grad.

    Raises RuntimeError for tensors with a grad_fn.

    >>> a, b = torch.ones(2), torch.zeros(3)
    >>> torch.utils.swap_tensors(a, b)
    >>> a
    tensor([0., 0., 0.])
    """
    for tensor in (t1, t2):
        if tensor.grad_fn is not None:
            raise RuntimeError("swap_tensors: a tensor has a grad_fn; detach() it")
    held, wanted = t1.data, (t1.requires_grad, t2.requires_grad)
    t1.requires_grad_(False), t2.requires_grad_(False)
    t1.data = t2.data
    t2.data = held
    t1.__class__, t2.__class__ = type(t2), type(t1)
    mine, others = dict(t1.__dict__), dict(t2.__dict__)
    t1.__dict__.clear(), t2.__dict__.clear()
    t1.__dict__.update(others), t2.__dict__.update(mine)
    t1.requires_grad_(wanted[1]), t2.requires_grad_(wanted[0])


def __getattr__(name):
    if name in _LATER:
        return _importlib.import_module("." + name, __name__)
    if name in ("generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"):
        return getattr(_importlib.import_module(".backend_registration", __name__), name)
    if name == "ThroughputBenchmark":
        return _importlib.import_module(".throughput_benchmark", __name__).ThroughputBenchmark
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
