"""Streams and events of CUDA devices: queues of work, and marks among it."""

from contextlib import suppress

from .._base.device import device as _device
from .._base.entered import entered
from .._base.errors import wrong_type
from .._gen import gen_functions as _f


class Stream:
    """A queue of a device's work, which is done in order and independently of other streams.

    `priority` is 0 or smaller; smaller numbers go first. There are 32 streams of each priority, which are given out in turn. As a context
    manager it is the current one, and its device the current device, in calls of the same thread.
    """

    __slots__ = ("stream_id", "device", "priority")

    def __init__(self, device=None, priority=0, *, stream_id=None):
        if stream_id is None:
            stream_id = _f.stream_new(cuda(device), priority)
        self.stream_id, self.device, self.priority = stream_id, _f.stream_device(stream_id), priority

    device_type = property(lambda self: 1)
    device_index = property(lambda self: self.device.index)

    @property
    def cuda_stream(self):
        """The driver's handle, for other libraries."""
        return _f.stream_handle(self.stream_id)

    native_handle = _as_parameter_ = cuda_stream

    @staticmethod
    def priority_range():
        """The least and the greatest priority, which is the smaller number."""
        return tuple(_f.stream_priorities(_device("cuda")))

    def query(self):
        """Whether all work that the stream was given is done."""
        return _f.stream_query(self.stream_id)

    def synchronize(self):
        """Waits until all work that the stream was given is done."""
        _f.stream_synchronize(self.stream_id)

    def wait_stream(self, stream):
        """Has the work to come wait for all that another stream was given till now."""
        _f.stream_wait_stream(self.stream_id, checked(stream, Stream, "wait_stream", "stream").stream_id)

    def wait_event(self, event):
        """Has the work to come wait for what an event was recorded behind."""
        checked(event, Event, "wait_event", "event").wait(self)

    def record_event(self, event=None):
        """Records an event, a new one unless given, behind all that the stream was given till now."""
        event = Event() if event is None else checked(event, Event, "record_event", "event")
        event.record(self)
        return event

    def is_capturing(self):
        """False: there are no graphs in this version."""
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
    """A stream that another library made, and keeps until the process ends, by the driver's handle."""

    __slots__ = ()

    def __init__(self, stream_ptr, device=None):
        super().__init__(stream_id=_f.stream_external(cuda(device), stream_ptr))


class Event:
    """A mark among the work of streams. With `enable_timing` it has the time for elapsed_time()."""

    __slots__ = ("_id", "_device", "__weakref__")

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        self._id = None
        if interprocess or external:
            raise NotImplementedError("Event(): events of several processes and of graphs are not available in this version")
        self._id, self._device = _f.event_new(_device("cuda"), enable_timing, blocking), None

    def __del__(self, free=_f.event_free):
        if self._id is not None:
            with suppress(RuntimeError):  # of a device that is lost
                free(self._id)

    @property
    def device(self):
        """The device that the event was recorded on; None before."""
        return self._device

    @property
    def cuda_event(self):
        """The driver's handle, for other libraries; 0 before the event is recorded."""
        return _f.event_handle(self._id)

    event_id = _as_parameter_ = cuda_event

    def record(self, stream=None):
        """Sets the event behind all that a stream, the current one unless given, was given till now."""
        stream = current_stream() if stream is None else checked(stream, Stream, "record", "stream")
        _f.event_record(self._id, stream.stream_id)
        self._device = stream.device

    def wait(self, stream=None):
        """Has the work to come of a stream, the current one unless given, wait for the event."""
        stream = current_stream() if stream is None else checked(stream, Stream, "wait", "stream")
        _f.stream_wait_event(stream.stream_id, self._id)

    def query(self):
        """Whether the work before the event is done; true for an event that was not recorded."""
        return _f.event_query(self._id)

    def synchronize(self):
        """Waits for the work before the event."""
        _f.event_synchronize(self._id)

    def elapsed_time(self, end_event):
        """The milliseconds from this event to another. Both have timing, and their work is done."""
        return _f.event_elapsed_time(self._id, checked(end_event, Event, "elapsed_time", "end_event")._id)

    def __repr__(self):
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self._device else "<torch.cuda.Event uninitialized>"


def checked(value, kind, function, argument):
    """A stream or an event that a function was given."""
    if isinstance(value, kind):
        return value
    raise wrong_type(function, argument, f"torch.cuda.{kind.__name__}", value)


def cuda(value=None):
    """The CUDA device that a device, an index, or None for the current one, names."""
    found = _device("cuda") if value is None else _device("cuda", value) if isinstance(value, int) else _device(value)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return found


def current_stream(device=None):
    """The stream in which calls of this thread leave their work for a device."""
    return Stream(stream_id=_f.stream_current(cuda(device)))


def default_stream(device=None):
    """The stream of a device that every thread begins with."""
    return Stream(stream_id=_f.stream_default(cuda(device)))


def set_stream(stream):
    """Makes a stream, and its device, current for calls of this thread; nothing for None."""
    if stream is not None:
        _f.stream_set_current(checked(stream, Stream, "set_stream", "stream").stream_id)
        _f.device_set_current(stream.device)


def get_stream_from_external(data_ptr, device=None):
    """The stream behind a handle of the driver's."""
    return ExternalStream(data_ptr, device)


class StreamContext:
    """Makes a stream current: `with torch.cuda.stream(s):`; nothing for None."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *_):
        if self.stream is not None:
            self.stream.__exit__()


def stream(stream):
    """A context manager in which a stream and its device are current."""
    return StreamContext(stream)


class device:
    """A context manager in which a device is the current one: `with torch.cuda.device(1):`. Nothing for None and negative indices."""

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
    """A context manager in which the device of a tensor or a storage is the current one; nothing for those on the CPU."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else -1)
