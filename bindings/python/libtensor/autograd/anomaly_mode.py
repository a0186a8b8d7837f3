"""Anomaly mode."""

from .._base.extend import publish as _publish
from .._gradients.anomaly import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]

_publish(globals(), __all__)
