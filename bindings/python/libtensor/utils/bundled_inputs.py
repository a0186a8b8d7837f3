"""Names of inputs in TorchScript programs, which are not supported."""

from .._inert import declare_unsupported as _declare_unsupported

__all__ = _declare_unsupported(
    globals(),
    "TorchScript programs are not supported",
    "InflatableArg augment_many_model_functions_with_bundled_inputs augment_model_with_bundled_inputs bundle_inputs bundle_large_tensor "
    "bundle_randn",
)
