"""What removes hooks."""

from .._base.extend import publish as _publish
from .._gradients.hooks import RemovableHandle

__all__ = ["RemovableHandle"]

_publish(globals(), __all__)
