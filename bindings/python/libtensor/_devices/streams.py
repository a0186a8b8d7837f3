"""Streams and events of CUDA devices."""

from contextlib import suppress

from .._base.device import device as _device
from .._base.entered import entered
from .._base.errors import wrong_type
from .._gen import gen_functions as _f


class Stream:
    """A queue of a device, whose operations execute in order and independently of other streams.

    `priority` is 0 or negative; lower numbers have higher priority. A device has 32 streams of each priority, which are assigned in turn.
    As a context manager it is the current stream, and its device the current device, of the calling thread.
    """

    __slots__ = ("stream_id", "device", "priority")

    def __init__(self, device=None, priority=0, *, stream_id=None):
        if stream_id is None:
            stream_id = _f.stream_new(cuda(device), priority)
        self.stream_id, self.device, self.priority = stream_id, _f.stream_device(stream_id), priority

    device_type = property(lambda self: 1, doc="The number of the device type in PyTorch: 1 for CUDA.")
    device_index = property(lambda self: self.device.index, doc="The index of the device.")

    @property
    def cuda_stream(self):
        """The driver's handle (cudaStream_t), for other libraries."""
        return _f.stream_handle(self.stream_id)

    native_handle = _as_parameter_ = cuda_stream

    @staticmethod
    def priority_range():
        """Returns the least and the greatest priority, which is the lower number."""
        return tuple(_f.stream_priorities(_device("cuda")))

    def query(self):
        """Returns whether all submitted operations have completed."""
        return _f.stream_query(self.stream_id)

    def synchronize(self):
        """Waits until all submitted operations have completed."""
        _f.stream_synchronize(self.stream_id)

    def wait_stream(self, stream):
        """Makes future operations wait for the operations that were submitted to another stream."""
        _f.stream_wait_stream(self.stream_id, checked(stream, Stream, "wait_stream", "stream").stream_id)

    def wait_event(self, event):
        """Makes future operations wait for an event."""
        checked(event, Event, "wait_event", "event").wait(self)

    def record_event(self, event=None):
        """Records an event, by default a new one, after the submitted operations, and returns it."""
        event = Event() if event is None else checked(event, Event, "record_event", "event")
        event.record(self)
        return event

    def is_capturing(self):
        """Returns False: CUDA graphs are not supported."""
        return False

    def __enter__(self):
        entered.begin(self, (_f.device_current("cuda"), current_stream(self.device)))
        set_stream(self)
        return self

    def __exit__(self, *_):
        device, before = entered.end(self)
        _f.stream_set_current(before.stream_id)
        _f.device_set_current(_device("cuda", device))

    def __eq__(self, other):
        return isinstance(other, Stream) and self.stream_id == other.stream_id

    def __hash__(self):
        return hash(self.stream_id)

    def __repr__(self):
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library created, from the driver's handle. The other library must keep it until the process ends."""

    __slots__ = ()

    def __init__(self, stream_ptr, device=None):
        super().__init__(stream_id=_f.stream_external(cuda(device), stream_ptr))


class Event:
    """A marker in a stream. With `enable_timing`, elapsed_time() is available."""

    __slots__ = ("_id", "_device", "__weakref__")

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        self._id = None
        if interprocess or external:
            raise NotImplementedError("Event(): interprocess and external events are not supported")
        self._id, self._device = _f.event_new(_device("cuda"), enable_timing, blocking), None

    def __del__(self, free=_f.event_free):
        if self._id is not None:
            with suppress(RuntimeError):  # the context of the device is lost
                free(self._id)

    @property
    def device(self):
        """The device of the stream in which the event was recorded; None before."""
        return self._device

    @property
    def cuda_event(self):
        """The driver's handle (cudaEvent_t), for other libraries; 0 before the event is recorded."""
        return _f.event_handle(self._id)

    event_id = _as_parameter_ = cuda_event

    def record(self, stream=None):
        """Records the event in a stream, by default in the current one, after the submitted operations."""
        stream = current_stream() if stream is None else checked(stream, Stream, "record", "stream")
        _f.event_record(self._id, stream.stream_id)
        self._device = stream.device

    def wait(self, stream=None):
        """Makes future operations of a stream, by default of the current one, wait for the event."""
        stream = current_stream() if stream is None else checked(stream, Stream, "wait", "stream")
        _f.stream_wait_event(stream.stream_id, self._id)

    def query(self):
        """Returns whether the operations before the event have completed; True for an event that was not recorded."""
        return _f.event_query(self._id)

    def synchronize(self):
        """Waits for the operations before the event."""
        _f.event_synchronize(self._id)

    def elapsed_time(self, end_event):
        """Returns the milliseconds from this event to another one. Both require enable_timing and must have completed."""
        return _f.event_elapsed_time(self._id, checked(end_event, Event, "elapsed_time", "end_event")._id)

    def __repr__(self):
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self._device else "<torch.cuda.Event uninitialized>"


def checked(value, kind, function, argument):
    """Returns the stream or event that was passed to a function. Raises TypeError for other values."""
    if isinstance(value, kind):
        return value
    raise wrong_type(function, argument, f"torch.cuda.{kind.__name__}", value)


def cuda(value=None):
    """Returns the CUDA device of a device, an index, or None for the current one."""
    found = _device("cuda") if value is None else _device("cuda", value) if isinstance(value, int) else _device(value)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return found


def current_stream(device=None):
    """Returns the current stream of the calling thread on a device."""
    return Stream(stream_id=_f.stream_current(cuda(device)))


def default_stream(device=None):
    """Returns the default stream of a device, with which every thread starts."""
    return Stream(stream_id=_f.stream_default(cuda(device)))


def set_stream(stream):
    """Sets the current stream, and its device, of the calling thread. None has no effect."""
    if stream is not None:
        _f.stream_set_current(checked(stream, Stream, "set_stream", "stream").stream_id)
        _f.device_set_current(stream.device)


def get_stream_from_external(data_ptr, device=None):
    """Returns the stream of a driver's handle."""
    return ExternalStream(data_ptr, device)


class StreamContext:
    """A context manager in which a stream is current: `with torch.cuda.stream(s):`. None has no effect."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *_):
        if self.stream is not None:
            self.stream.__exit__()


def stream(stream):
    """Returns a context manager in which a stream and its device are current."""
    return StreamContext(stream)


class device:
    """A context manager in which a device is current: `with torch.cuda.device(1):`. None and negative indices have no effect."""

    def __init__(self, device):
        negative = isinstance(device, int) and device < 0
        self.idx = -1 if device is None or negative else _f.device_current("cuda") if cuda(device).index is None else cuda(device).index

    def __enter__(self):
        entered.begin(self, _f.device_current("cuda"))
        self.prev_idx = _f.device_current("cuda")
        if self.idx >= 0:
            _f.device_set_current(_device("cuda", self.idx))

    def __exit__(self, *_):
        before = entered.end(self)
        if self.idx >= 0:
            _f.device_set_current(_device("cuda", before))


class device_of(device):
    """A context manager in which the device of a tensor or a storage is current; CPU tensors have no effect."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else -1)
