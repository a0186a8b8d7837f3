"""Names of the optimizer for mobile devices, which is not supported."""

from .._inert import refuse as _refuse

__all__ = _refuse(
    globals(),
    "TorchScript programs are not supported",
    "LintCode MobileOptimizerType generate_mobile_module_lints optimize_for_mobile",
)
