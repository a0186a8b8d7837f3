"""Operations of gradient scalers, as functions of tensors."""

from .._base import dtypes as _dtypes
from .._core.modes import no_grad
from .._gen import gen_functions as _f


@no_grad()
def check_and_unscale(grads, found_inf, inv_scale):
    """Multiplies gradients in place by `inv_scale`, and sets `found_inf`, a float32 tensor of one element, to 1 if an element of a gradient
    is not finite.

    Raises RuntimeError for a `found_inf` or `inv_scale` of another size or dtype, NotImplementedError for gradients that are not
    floating-point.
    """
    for name, t in (("inv_scale", inv_scale), ("found_inf", found_inf)):
        if t.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if t.dtype is not _dtypes.float32:
            raise RuntimeError(f"{name} must be a float tensor.")
    for grad in grads:
        if not grad.is_floating_point():
            raise NotImplementedError(f'"_amp_foreach_non_finite_check_and_unscale_" not implemented for {grad.dtype}')
    if any(not bool(_f.isfinite(grad).all()) for grad in grads):
        found_inf.fill_(1.0)
    for grad in grads:
        grad.mul_(inv_scale.to(grad.device))


@no_grad()
def update_scale(self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval):
    """Multiplies the scale `self` in place by the backoff factor if `found_inf` is not 0; otherwise, after `growth_interval` calls, by the
    growth factor unless that overflows. `growth_tracker` (int32) counts the calls since the scale changed. Returns `self`.
    """
    for name, t in (("growth_tracker", growth_tracker), ("current_scale", self), ("found_inf", found_inf)):
        if t.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
    if growth_tracker.dtype is not _dtypes.int32:
        raise RuntimeError("growth_tracker must be an int tensor.")
    if self.dtype is not _dtypes.float32:
        raise RuntimeError("current_scale must be a float tensor.")
    if found_inf.dtype is not _dtypes.float32:
        raise RuntimeError("found_inf must be a float tensor.")
    if found_inf.item():
        self.mul_(scale_backoff_factor)
        growth_tracker.zero_()
    elif growth_tracker.item() + 1 == growth_interval:
        grown = self * scale_growth_factor
        if bool(_f.isfinite(grown).all()):
            self.copy_(grown)
        growth_tracker.zero_()
    else:
        growth_tracker.add_(1)
    return self


check_and_unscale.__name__ = check_and_unscale.__qualname__ = "_amp_foreach_non_finite_check_and_unscale_"
update_scale.__name__ = update_scale.__qualname__ = "_amp_update_scale_"
