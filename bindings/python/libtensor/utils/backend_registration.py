"""Names of backends for other devices, which are not supported."""

from .._inert import refuse as _refuse

__all__ = _refuse(
    globals(),
    "other devices cannot be registered",
    "generate_methods_for_privateuse1_backend rename_privateuse1_backend",
)
