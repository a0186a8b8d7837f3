"""Names of modules with oneDNN layouts, which are not supported."""

from .._inert import declare_unsupported as _declare_unsupported

__all__ = _declare_unsupported(
    globals(),
    "tensors with the layout of oneDNN are not supported; the module itself computes the same",
    "MkldnnBatchNorm MkldnnConv1d MkldnnConv2d MkldnnConv3d MkldnnLinear MkldnnPrelu to_mkldnn",
)
