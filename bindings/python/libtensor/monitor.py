"""Counters of events, which nobody reads."""

from ._inert import refuse

__all__ = refuse(globals(), "torch.monitor is not supported", "Aggregation Event Stat TensorboardEventHandler data_value_t log_event")
__all__ += refuse(globals(), "torch.monitor is not supported", "register_event_handler")
