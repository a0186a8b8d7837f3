from collections.abc import Callable, Iterable
from typing import Any

from .._core.tensor import Tensor

class GradcheckError(RuntimeError): ...

def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Iterable[Any],
    *,
    eps: float = ...,
    atol: float = ...,
    rtol: float = ...,
    raise_exception: bool = ...,
    nondet_tol: float = ...,
    check_undefined_grad: bool = ...,
    check_grad_dtypes: bool = ...,
    check_batched_grad: bool = ...,
    check_batched_forward_grad: bool = ...,
    check_forward_ad: bool = ...,
    check_backward_ad: bool = ...,
    fast_mode: bool = ...,
    masked: bool | None = ...,
) -> bool: ...
def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Iterable[Any],
    grad_outputs: Tensor | Iterable[Tensor] | None = ...,
    *,
    eps: float = ...,
    atol: float = ...,
    rtol: float = ...,
    gen_non_contig_grad_outputs: bool = ...,
    raise_exception: bool = ...,
    nondet_tol: float = ...,
    check_undefined_grad: bool = ...,
    check_grad_dtypes: bool = ...,
    check_batched_grad: bool = ...,
    check_fwd_over_rev: bool = ...,
    check_rev_over_rev: bool = ...,
    fast_mode: bool = ...,
    masked: bool = ...,
) -> bool: ...
