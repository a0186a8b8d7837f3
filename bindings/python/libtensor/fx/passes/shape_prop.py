"""ShapeProp runs a graph and stores the shapes and dtypes of the values."""

from typing import Any, NamedTuple

from ... import Tensor, channels_last, channels_last_3d, contiguous_format
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What `meta["tensor_meta"]` of a node says about its tensor."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """Returns the metadata of a tensor."""
    formats = (contiguous_format, channels_last, channels_last_3d)
    ranks = {channels_last: 4, channels_last_3d: 5}
    found = (f for f in formats if result.dim() == ranks.get(f, result.dim()) and result.is_contiguous(memory_format=f))
    memory_format = next(found, None) if include_contiguity else None
    quantization: dict[str, Any] = {}
    if result.is_quantized:
        quantization = {"qscheme": result.qscheme(), "scale": result.q_scale(), "zero_point": result.q_zero_point()}
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), memory_format, result.is_quantized, quantization
    )


class ShapeProp(Interpreter):
    """Runs the graph of a module: `propagate(*args)` stores `meta["tensor_meta"]` and `meta["type"]` of every node."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """Returns the value of a node, and stores its metadata."""
        result = super().run_node(n)
        found = False

        def describe(value: Any) -> Any:
            nonlocal found
            if isinstance(value, Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        described = map_aggregate(result, describe)
        if found:
            n.meta["tensor_meta"] = described
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs the graph with arguments, and returns the result."""
        return super().run(*args)
