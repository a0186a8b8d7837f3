"""Names of modules with oneDNN layouts, which are not supported."""

from .._inert import refuse as _refuse

__all__ = _refuse(
    globals(),
    "tensors with the layout of oneDNN are not supported; the module itself computes the same",
    "MkldnnBatchNorm MkldnnConv1d MkldnnConv2d MkldnnConv3d MkldnnLinear MkldnnPrelu to_mkldnn",
)
