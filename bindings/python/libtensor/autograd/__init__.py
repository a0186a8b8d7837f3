"""Gradients: what torch.autograd has of functions and modes."""

from .._grad import backward, grad
from .._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import functional
from .gradcheck import gradcheck, gradgradcheck

__all__ = [
    *("backward", "enable_grad", "functional", "grad", "gradcheck", "gradgradcheck"),
    *("inference_mode", "no_grad", "set_grad_enabled"),
]
