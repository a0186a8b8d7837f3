from collections.abc import Sequence

from .._core.modes import enable_grad as enable_grad
from .._core.modes import inference_mode as inference_mode
from .._core.modes import no_grad as no_grad
from .._core.modes import set_grad_enabled as set_grad_enabled
from .._core.modes import set_multithreading_enabled as set_multithreading_enabled
from .._core.tensor import Tensor
from .._gradients.nodes import GradientEdge
from .._gradients.nodes import SavedTensor as SavedTensor
from . import anomaly_mode as anomaly_mode
from . import forward_ad as forward_ad
from . import function as function
from . import functional as functional
from . import grad_mode as grad_mode
from . import graph as graph
from . import profiler as profiler
from . import profiler_util as profiler_util
from . import variable as variable
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .function import Function as Function
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck
from .variable import Variable as Variable

def backward(
    tensors: Tensor | GradientEdge | Sequence[Tensor | GradientEdge],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    grad_variables: Tensor | Sequence[Tensor | None] | None = ...,
    inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge] | None = ...,
) -> None: ...
def grad(
    outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge],
    inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = ...,
    retain_graph: bool | None = ...,
    create_graph: bool = ...,
    only_inputs: bool = ...,
    allow_unused: bool | None = ...,
    is_grads_batched: bool = ...,
    materialize_grads: bool = ...,
) -> tuple[Tensor, ...]: ...
