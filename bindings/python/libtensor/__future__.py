"""Settings of Module.to() and related methods, which PyTorch has in this module."""

from .nn.modules._state import settings as _settings

__all__ = ["get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion", "set_overwrite_module_params_on_conversion"]
__all__ += ["set_swap_module_params_on_conversion"]


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Sets whether Module.to() makes new parameters instead of changing the memory of the existing ones. Defaults to False."""
    _settings.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Returns whether Module.to() makes new parameters."""
    return _settings.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Sets whether Module.to() exchanges the contents of parameters with `torch.utils.swap_tensors`. Defaults to False."""
    _settings.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Returns whether Module.to() exchanges the contents of parameters."""
    return _settings.swap
