"""Names of torch.func and others under the path that PyTorch has them in, and restore_vmap."""

from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor
from .._gen.gen_functions import vmap_maps
from .._gradients import vmap as _vmap
from .._gradients.function_levels import Batch
from .._gradients.vmap import leaves, refilled, spread
from ..func import vmap
from ..utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from .levels import _add_batch_dim, _remove_batch_dim, is_batchedtensor

__all__ = ["Tensor", "is_batchedtensor", "restore_vmap", "tree_flatten", "tree_unflatten", "vmap"]


def restore_vmap(func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str) -> Callable[..., tuple[Any, Any]]:
    """Returns a function that calls `func` with arguments that are batched along `in_dims`, and returns its results with all batch elements
    and the structure of their batch dimensions, None for results that are not batched."""

    def batched(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        with Batch((batch_size, randomness)) as batch:
            given = batch.wrap(leaves(args), spread(in_dims, args))
            output = func(*refilled(args, given), **kwargs)
            pairs = [batch.unwrap(t) for t in leaves(output)]
        values, dims = ([pair[i] for pair in pairs] for i in range(2))
        return refilled(output, values), refilled(output, dims)

    return batched


def _get_name(func: Callable[..., Any]) -> str:
    """Returns the name of a function for messages."""
    return str(getattr(func, "__name__", repr(func)))


def _maybe_remove_batch_dim(name: str, batched_output: Any, vmap_level: int, batch_size: int, out_dim: int | None) -> Any:
    """Returns a result of vmap: without `out_dim` as it is, which raises ValueError for a batched tensor."""
    if out_dim is None:
        if isinstance(batched_output, Tensor) and vmap_maps(batched_output, vmap_level):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. "
            "Did you mean to set out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _process_batched_inputs(in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]) -> tuple[int, list[Any], list[Any], TreeSpec]:
    """Returns the batch size, the batch dimension of each leaf of the arguments, the leaves, and their structure. Raises ValueError for
    dimensions that do not fit."""
    mapping = _vmap.Mapping(func, in_dims, 0, args)
    return mapping.size, mapping.dims, *tree_flatten(args)


def _create_batched_inputs(flat_in_dims: list[Any], flat_args: list[Any], vmap_level: int, args_spec: TreeSpec) -> Any:
    """Returns the arguments with batched tensors."""
    batched = [t if dim is None else _add_batch_dim(t, dim, vmap_level) for t, dim in zip(flat_args, flat_in_dims, strict=True)]
    return tree_unflatten(batched, args_spec)


def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Callable[..., Any]) -> Any:
    """Returns the results with their batch dimensions."""
    outputs, spec = tree_flatten(batched_outputs)
    single = isinstance(batched_outputs, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1
    dims = _broadcast_to_and_flatten(out_dims[0] if single else out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`"
        )
    name = _get_name(func)
    made = [_maybe_remove_batch_dim(name, t, vmap_level, batch_size, dim) for t, dim in zip(outputs, dims, strict=True)]
    return tree_unflatten(made, spec)


_STEPS = _process_batched_inputs, _create_batched_inputs, _unwrap_batched


def _find_replaced() -> tuple[Callable[..., Any], ...] | None:
    """Returns the functions that vmap consists of, if a package has assigned one of them; None otherwise."""
    steps = _process_batched_inputs, _create_batched_inputs, _unwrap_batched
    return None if steps == _STEPS else steps


_vmap.replaced = _find_replaced
