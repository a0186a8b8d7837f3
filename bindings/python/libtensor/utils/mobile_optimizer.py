"""Names of the optimizer for mobile devices, which is not supported."""

from .._inert import declare_unsupported as _declare_unsupported

__all__ = _declare_unsupported(
    globals(),
    "TorchScript programs are not supported",
    "LintCode MobileOptimizerType generate_mobile_module_lints optimize_for_mobile",
)
