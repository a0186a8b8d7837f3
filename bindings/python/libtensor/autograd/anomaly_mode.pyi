from .._anomaly import detect_anomaly as detect_anomaly
from .._anomaly import set_detect_anomaly as set_detect_anomaly
