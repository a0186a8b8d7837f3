"""The earlier names of torch.library for operators of a program."""

from ._inert import declare_unsupported

__all__ = declare_unsupported(
    globals(), "torch.library.custom_op() defines operators", "custom_op impl impl_abstract impl_backward impl_save_for_backward"
)
