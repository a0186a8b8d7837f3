"""Counters of events, which nobody reads."""

from ._inert import declare_unsupported

__all__ = declare_unsupported(
    globals(), "torch.monitor is not supported", "Aggregation Event Stat TensorboardEventHandler data_value_t log_event"
)
__all__ += declare_unsupported(globals(), "torch.monitor is not supported", "register_event_handler")
