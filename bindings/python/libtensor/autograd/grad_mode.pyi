from .._core.modes import enable_grad as enable_grad
from .._core.modes import inference_mode as inference_mode
from .._core.modes import no_grad as no_grad
from .._core.modes import set_grad_enabled as set_grad_enabled
from .._core.modes import set_multithreading_enabled as set_multithreading_enabled
