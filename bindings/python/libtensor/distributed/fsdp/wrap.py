"""Policies of wrapping modules, which are not supported."""

from ..._inert import declare_unsupported
from .. import WHY

__all__ = declare_unsupported(
    globals(), WHY, "always_wrap_policy lambda_auto_wrap_policy size_based_auto_wrap_policy transformer_auto_wrap_policy enable_wrap"
)
__all__ += declare_unsupported(globals(), WHY, "wrap ModuleWrapPolicy CustomPolicy _recursive_wrap _or_policy _module_wrap_policy")
