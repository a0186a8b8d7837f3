"""Instance normalization."""

from __future__ import annotations

import warnings
from typing import Any

from ..._core.tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

__all__ = [
    *("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"),
    *("LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d"),
]


class _InstanceNorm(_NormBase):
    _dims: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._dims
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def _get_no_batch_dim(self) -> int:
        return self._dims + 1

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        own = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias, own, momentum, self.eps)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.dim() != self._get_no_batch_dim()
        channels = input.shape[1 if batched else 0]
        if channels != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={1 if batched else 0} to match num_features ({self.num_features}), but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={1 if batched else 0} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        return self._apply_instance_norm(input) if batched else self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        # Version 1 tracked running statistics by default; since then `track_running_stats=True` is required.
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                error_msgs.append(
                    "Unexpected running stats buffer(s) "
                    + " and ".join(f'"{prefix}{name}"' for name in found)
                    + f" for {type(self).__name__} with track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this "
                    f"may be "
                    f"expected because {type(self).__name__} does not track running stats by default since 0.4.0. Please remove these keys "
                    "from "
                    "state_dict. If the running stats are actually needed, instead set track_running_stats=True in "
                    f"{type(self).__name__} to enable them. See the documentation of {type(self).__name__} for details."
                )
                for name in found:
                    state_dict.pop(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each sample: `y = (x - mean) / sqrt(var + eps) * weight + bias` (Ulyanov et al., 2016).

    Shapes: input and output (N, C, L) or (C, L) with C = `num_features`. Mean and (biased) variance are those of one channel of one sample;
    with `track_running_stats`, False by default, running statistics are kept as in BatchNorm1d and used in evaluation mode. `weight` and
    `bias` are None unless `affine`. Raises ValueError for inputs with another number of dimensions. Another number of channels raises
    ValueError if `affine`, and otherwise issues a warning.
    """

    _dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalizes each channel of each image: InstanceNorm1d for inputs (N, C, H, W) or (C, H, W)."""

    _dims = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalizes each channel of each volume: InstanceNorm1d for inputs (N, C, D, H, W) or (C, D, H, W)."""

    _dims = 3


class _LazyInstanceNorm(_LazyNormBase, _InstanceNorm):
    def initialize_parameters(self, input: Tensor) -> None:
        """Allocates the parameters and statistics for the channels of `input`."""
        super().initialize_parameters(input if input.dim() != self._get_no_batch_dim() else input.unsqueeze(0))


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """An InstanceNorm1d whose `num_features` is the number of channels of its first input. `affine` and `track_running_stats` default to
    True."""

    _dims, cls_to_become = 1, InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """An InstanceNorm2d whose `num_features` is the number of channels of its first input. `affine` and `track_running_stats` default to
    True."""

    _dims, cls_to_become = 2, InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """An InstanceNorm3d whose `num_features` is the number of channels of its first input. `affine` and `track_running_stats` default to
    True."""

    _dims, cls_to_become = 3, InstanceNorm3d
