"""The structures that the observer of operators receives (tensor_event)."""

from ctypes import POINTER, Structure, c_bool, c_char_p, c_int32, c_int64

__all__ = ["Event"]


class EventTensor(Structure):
    """tensor_event_tensor."""

    _fields_ = [("dtype", c_int32), ("dim", c_int64), ("sizes", POINTER(c_int64)), ("bytes", c_int64)]


class Event(Structure):
    """tensor_event."""

    _fields_ = [
        ("name", c_char_p),
        ("is_end", c_bool),
        ("status", c_int32),
        ("time", c_int64),
        ("nanoseconds", c_int64),
        ("bytes", c_int64),
        ("tensors", POINTER(EventTensor)),
        ("tensor_count", c_int32),
    ]
