from .._gradients.anomaly import detect_anomaly as detect_anomaly
from .._gradients.anomaly import set_detect_anomaly as set_detect_anomaly
