"""Custom operators: functions of tensors with a schema, kernels for devices, derivatives, and rules for vmap and autocast."""

from . import shared as _shared  # registers the operators of other languages
from .checks import OpCheckError, opcheck
from .custom import (
    CustomOpDef,
    Library,
    custom_op,
    define,
    fallthrough_kernel,
    get_ctx,
    get_kernel,
    impl,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
    triton_op,
    wrap_triton,
)
from .schemas import infer_schema

__all__ = [
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
]
__all__ += [
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
]
__all__ += ["register_vmap", "triton_op", "wrap_triton"]
