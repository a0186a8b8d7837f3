"""Names of nested tensors, which are not supported: pad sequences, or pack them (torch.nn.utils.rnn)."""

from .._inert import declare_unsupported

__all__ = declare_unsupported(
    globals(),
    "nested tensors are not supported; torch.nn.utils.rnn.pad_sequence() pads sequences",
    "nested_tensor as_nested_tensor nested_tensor_from_jagged narrow to_padded_tensor masked_select",
)
