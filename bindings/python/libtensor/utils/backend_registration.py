"""Names of backends for other devices, which are not supported."""

from .._inert import declare_unsupported as _declare_unsupported

__all__ = _declare_unsupported(
    globals(),
    "other devices cannot be registered",
    "generate_methods_for_privateuse1_backend rename_privateuse1_backend",
)
