"""Automatic differentiation: the functions and modes of torch.autograd."""

from .._base.extend import publish as _publish
from .._core.modes import enable_grad, inference_mode, no_grad, set_grad_enabled, set_multithreading_enabled
from .._gradients.grad import backward, grad
from .._gradients.nodes import SavedTensor
from . import anomaly_mode, forward_ad, function, functional, grad_mode, graph, variable
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

__all__ = [
    *(
        "Function",
        "SavedTensor",
        "Variable",
        "anomaly_mode",
        "backward",
        "detect_anomaly",
        "enable_grad",
        "forward_ad",
        "function",
        "functional",
        "grad",
        "grad_mode",
    ),
    *("gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled"),
    *("set_multithreading_enabled", "variable"),
]

_publish(globals(), __all__)


def __getattr__(name):
    if name in ("profiler", "profiler_util"):
        from .profiler import profile as _loaded

        return globals()[name]
    raise AttributeError(f"module 'libtensor.autograd' has no attribute '{name}'")
