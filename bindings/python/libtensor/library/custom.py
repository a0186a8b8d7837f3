"""custom_op and Library: definition of custom operators and registration of their kernels, derivatives and rules."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

from .._base.dtypes import dtype as _dtype
from . import operators as _operators
from .schemas import Schema, infer_schema

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl", "impl_abstract"]
__all__ += ["register_autocast", "register_autograd", "register_fake", "register_kernel", "register_torch_dispatch", "register_vmap"]
__all__ += ["triton_op", "wrap_triton"]

Fn = Callable[..., Any]
DEVICES = frozenset(("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve"))
DEVICES |= {"fpga", "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone"}
KEYS = (  # PyTorch's dispatch keys, but for those of _C.DispatchKey
    r"(Sparse|SparseCsr|Quantized|NestedTensor|Autograd|Autocast)?(CPU|CUDA|HIP|XLA|MPS|IPU|XPU|HPU|VE|Lazy|MTIA|MAIA|Meta|PrivateUse[123])"
    r"|AutogradOther|AutogradNestedTensor|AutocastFunctionality|Fake|FPGA|Vulkan|MkldnnCPU|Named|Conjugate|Negative|ZeroTensor|Tracer"
    r"|FuncTorch\w+|Batched|VmapMode|TESTING_ONLY_\w+|PreDispatch|CompositeImplicitAutogradNestedTensor"
)


def _types(device_types: str | Sequence[str] | None) -> list[str]:
    if device_types is None or device_types == "default":
        return [_operators.DEFAULT[0]]
    return [device_types] if isinstance(device_types, str) else list(device_types)


def _check_types(device_types: Sequence[str]) -> list[str]:
    """Returns the types of devices. Raises RuntimeError for names of no device."""
    for kind in device_types:
        if kind not in DEVICES and kind not in _operators.DEFAULT:
            raise RuntimeError(f"Expected one of {', '.join(sorted(DEVICES))} as a device type, but got {kind!r}")
    return list(device_types)


def _check_key(key: str) -> str:
    """Returns the name of a dispatch key. Raises RuntimeError if PyTorch has none of this name."""
    from .._C import DispatchKey

    if key not in DispatchKey.__members__ and not re.fullmatch(KEYS, key):
        raise RuntimeError(
            f"could not parse dispatch key: {key}; keys are CPU, CUDA, Meta, CompositeExplicitAutograd, CompositeImplicitAutograd and "
            "Autograd"
        )
    return key


class CustomOpDef:
    """A custom operator: a function with methods that register kernels, derivatives and rules."""

    def __init__(self, op: _operators.OpOverload, fn: Fn) -> None:
        self._opoverload, self._init_fn = op, fn
        self._name, self._qualname, self._schema = op.op_name, op.qualname, op.schema.signature()
        self.__name__, self.__doc__, self.__wrapped__ = op.op_name, fn.__doc__, fn

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Fn | None = None, /) -> Fn:
        """Registers the kernel for device types; None for all. Returns it."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn: Fn, /) -> Fn:
        """Registers the function for meta tensors. Returns it."""
        return register_fake(self, fn)

    def register_autograd(self, backward: Fn, /, *, setup_context: Fn | None = None) -> None:
        """Registers the derivative; see library.register_autograd."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Fn | None = None) -> Fn:
        """Registers the vmap rule; see library.register_vmap."""
        return register_vmap(self, func)

    def register_autocast(self, device_type: str, cast_inputs: _dtype) -> None:
        """Registers the dtype of autocast; see library.register_autocast."""
        register_autocast(self, device_type, cast_inputs)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Fn | None = None, /) -> Fn:
        """Registers what a TorchDispatchMode, or a subclass of Tensor with __torch_dispatch__, does with the operator."""
        return register_torch_dispatch(self, torch_dispatch_class, fn)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """A context manager that enables or disables the kernel for a device type; the default kernel replaces a disabled one."""
        op = self._opoverload
        before = set(op.disabled)
        op.disabled = before - {device_type} if enabled else before | {device_type}
        try:
            yield
        finally:
            op.disabled = before


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Callable[[Fn], CustomOpDef]: ...
@overload
def custom_op(
    name: str,
    fn: Fn,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> CustomOpDef: ...
def custom_op(
    name: str,
    fn: Fn | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Defines the operator `torch.ops.ns.op`, for the name "ns::op", from a function with annotations, which is its kernel for the given
    device types, by default for all. `mutates_args` are the names of the arguments that it writes to. Results must not share memory with
    arguments. Returns a CustomOpDef; without `fn`, a decorator. A later operator of the same name replaces the earlier one.

    Raises ValueError for a name without a namespace, and for annotations that infer_schema does not accept.

    >>> @torch.library.custom_op("doc::scaled", mutates_args=())
    ... def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    ...     return x * factor
    >>> torch.ops.doc.scaled(torch.ones(2))
    tensor([2., 2.])
    """

    def make(function: Fn) -> CustomOpDef:
        signature = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        namespace, separator, op_name = name.partition("::")
        if not separator or not namespace or not op_name:
            raise ValueError(f"custom_op: the name must be of the form namespace::name, but is {name!r}")
        parsed = Schema(name + signature[signature.index("(") :])
        if schema is not None:
            written = {a.name for a in parsed.arguments if a.is_write}
            given = {mutates_args} if isinstance(mutates_args, str) else set(mutates_args)
            if given != {"unknown"} and given != written:
                raise ValueError(
                    f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema suggests that "
                    "the "
                    f"op mutates {written or set()} which is different from what was provided to us in `mutates_args`. Please make these "
                    f"consistent."
                )
        kinds = _check_types(_types(device_types))
        op = _operators.define(name, "default", parsed, True)
        for kind in kinds:
            op.kernels[kind] = function
        return CustomOpDef(op, function)

    return make if fn is None else make(fn)


def triton_op(name: str, fn: Fn | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None) -> Any:
    """custom_op, under its name for operators that call Triton kernels."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """Returns its argument."""
    return triton_kernel


def _decorates(func: Fn | None, register: Callable[[Fn], None]) -> Fn:
    if func is not None:
        register(func)
        return func

    def decorate(function: Fn) -> Fn:
        register(function)
        return function

    return decorate


def register_kernel(op: Any, device_types: str | Sequence[str] | None, func: Fn | None = None, /, *, lib: Library | None = None) -> Fn:
    """Registers the kernel of an operator for device types; None for all. Returns it, or a decorator.

    Raises RuntimeError if there is no such operator.
    """
    found = _operators.find_registrable(op)
    kinds = _check_types(_types(device_types))
    return _decorates(func, lambda fn: found.kernels.update(dict.fromkeys(kinds, fn)))


def register_fake(
    op: Any, func: Fn | None = None, /, *, lib: Library | None = None, _stacklevel: int = 1, allow_override: bool = True
) -> Fn:
    """Registers the function of an operator for meta tensors, which returns tensors of the results' sizes and dtypes. Returns it, or a
    decorator.

    Raises RuntimeError if there is no such operator.

    >>> @torch.library.custom_op("doc::doubled", mutates_args=())
    ... def doubled(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> @torch.library.register_fake("doc::doubled")
    ... def _(x):
    ...     return torch.empty_like(x)
    >>> doubled(torch.ones(3, device="meta")).shape
    torch.Size([3])
    """
    found = _operators.find_registrable(op)
    return _decorates(func, lambda fn: setattr(found, "fake", fn))


def impl_abstract(qualname: str, func: Fn | None = None, *, lib: Library | None = None, _stacklevel: int = 1) -> Fn:
    """The earlier name of register_fake."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(op: Any, backward: Fn, /, *, setup_context: Fn | None = None, lib: Library | None = None) -> None:
    """Registers the derivative of an operator: `backward(ctx, *grads)` returns the gradients of the positional arguments, None for
    arguments without one; `setup_context(ctx, inputs, output)` saves values on ctx, and takes `keyword_only_inputs` if the operator has
    keyword-only arguments.

    Raises RuntimeError if there is no such operator, and for one that writes to an argument.

    >>> @torch.library.custom_op("doc::squared", mutates_args=())
    ... def squared(x: torch.Tensor) -> torch.Tensor:
    ...     return x * x
    >>> def setup_context(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs)
    >>> def backward(ctx, grad):
    ...     return 2 * ctx.saved_tensors[0] * grad
    >>> torch.library.register_autograd("doc::squared", backward, setup_context=setup_context)
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> squared(x).backward()
    >>> x.grad
    tensor(6.)
    """
    found = _operators.find_registrable(op)
    if found.schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {found} with schema {found.schema}. Please create a "
            f"functional operator and register an autograd formula for "
            f"that."
        )
    found.backward, found.setup_context = backward, setup_context


def register_vmap(op: Any, func: Fn | None = None, /, *, lib: Library | None = None) -> Fn:
    """Registers the vmap rule of an operator: `func(info, in_dims, *args)` returns the results and their batch dimensions. Without a rule,
    the operator is called for each batch element.

    Raises RuntimeError if there is no such operator.
    """
    found = _operators.find_registrable(op)
    return _decorates(func, lambda fn: setattr(found, "batched", fn))


def register_autocast(op: Any, device_type: str, cast_inputs: _dtype, /, *, lib: Library | None = None) -> None:
    """Registers the dtype to which autocast of a device type converts the floating-point arguments of an operator.

    Raises RuntimeError if there is no such operator, ValueError for other device types than "cpu" and "cuda".
    """
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    _operators.find_registrable(op).casts[device_type] = cast_inputs


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Fn | None = None, /, *, lib: Library | None = None) -> Fn:
    """Registers a function that modes of the class TorchDispatchMode, or calls with instances of a subclass of Tensor, call instead of its
    __torch_dispatch__: func(mode, op, types, args, kwargs), or with the class as first argument. Raises RuntimeError if there is no such
    operator."""
    found = _operators.find_registrable(op)

    def register(fn: Fn) -> None:
        found.dispatch_rules[torch_dispatch_class] = fn

    return _decorates(func, register)


def fallthrough_kernel() -> None:
    """Marks a dispatch key without kernel in Library.impl. Raises NotImplementedError when called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class _FakeContext:
    """The context of kernels for meta tensors."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Raises NotImplementedError: meta tensors have known sizes."""
        raise NotImplementedError("get_ctx().new_dynamic_size: data-dependent sizes are not supported for meta tensors")


def get_ctx() -> _FakeContext:
    """Returns the context of a function that register_fake registers."""
    return _FakeContext()


def get_kernel(op: Any, dispatch_key: Any) -> Fn:
    """Returns the kernel of an operator for a dispatch key, such as "CPU". Raises RuntimeError if there is none."""
    found = _operators.find(op)
    key = str(dispatch_key)
    kernel = found.kernels.get(_operators.KEYS.get(key, key))
    if kernel is None:
        raise RuntimeError(f"get_kernel: {found.name()} has no kernel for {dispatch_key}")
    return kernel


class Library:
    """A namespace of operators: kind "DEF" for the only definition of a namespace, "FRAGMENT" to add operators to one, "IMPL" to register
    kernels.

    Raises ValueError for another kind, RuntimeError for a second definition of a namespace.

    >>> library = torch.library.Library("doc_library", "DEF")
    >>> library.define("scaled(Tensor x, int factor=2) -> Tensor")
    'scaled'
    >>> library.impl("scaled", lambda x, factor=2: x * factor, "CPU")
    >>> torch.ops.doc_library.scaled(torch.ones(1), 3)
    tensor([3.])
    """

    _defined: set[str] = {"aten"}

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: ", kind)
        if ns == "prim":
            raise ValueError("prim is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in Library._defined:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your definitions in a "
                    f"single library, or use the kind "
                    f"FRAGMENT."
                )
            Library._defined.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an operator by its schema, such as "op(Tensor x) -> Tensor" or "op.overload(...) -> ...". Returns its name.

        Raises RuntimeError for an invalid schema and for an existing name.
        """
        parsed = Schema(schema)
        name, overload = parsed.name.rpartition("::")[2], parsed.overload_name
        packet = _operators.namespaces.get(self.ns, {}).get(name)
        if packet is not None and (overload or "default") in packet._overloads:
            raise RuntimeError(
                f"Tried to register an operator ({self.ns}::{schema}) with the same name and overload name multiple times. Each overload's "
                f"schema should only be registered with a single call to "
                f"def()."
            )
        given, parsed.name = parsed.full_name, f"{self.ns}::{parsed.name}"
        _operators.define(f"{self.ns}::{name}", overload or "default", parsed, False)
        return given

    def impl(self, op_name: Any, fn: Fn, dispatch_key: str = "", *, with_keyset: bool = False, allow_override: bool = True) -> None:
        """Registers a kernel of an operator for a dispatch key: CPU, CUDA, Meta, CompositeExplicitAutograd (all devices),
        CompositeImplicitAutograd (all devices, with the derivatives of the operators that it calls; the default), or Autograd (a
        function with its own derivatives).

        Raises RuntimeError if there is no such operator, TypeError for a kernel that is not callable.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if fn is fallthrough_kernel:
            return
        found = _operators.find_registrable(f"{self.ns}::{op_name.partition('::')[2] or op_name}" if isinstance(op_name, str) else op_name)
        key = _check_key(dispatch_key or self.dispatch_key or _operators.DEFAULT[1])
        key = _operators.DEFAULT[1] if key.startswith("Autograd") else key
        if key == "Meta":
            found.fake = fn
        found.kernels[_operators.KEYS.get(key, key)] = fn

    def fallback(self, fn: Fn, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Raises NotImplementedError: kernels for all operators are not supported."""
        raise NotImplementedError(
            "Library.fallback: kernels for all operators of a dispatch key are not supported; register each operator with impl()"
        )

    def _destroy(self) -> None:
        """Removes the operators of a namespace that this object defines."""
        if self.kind == "DEF":
            Library._defined.discard(self.ns)
            _operators.remove_namespace(self.ns)


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Defines an operator of a name such as "ns::op" by its schema, such as "(Tensor x) -> Tensor".

    Raises ValueError for a name without a namespace, RuntimeError for an invalid schema and for an existing name.
    """
    namespace, separator, name = qualname.partition("::")
    if not separator:
        raise ValueError(f"define: the name must be of the form namespace::name, but is {qualname!r}")
    (lib or Library(namespace, "FRAGMENT")).define(name + schema, tags=tags)


def impl(qualname: str, types: str | Sequence[str], func: Fn | None = None, *, lib: Library | None = None) -> Fn:
    """Registers the kernel of an operator for device types, "default" for all. Returns it, or a decorator.

    Raises RuntimeError if there is no such operator.
    """
    return register_kernel(qualname, [_operators.KEYS.get(kind, kind) for kind in _types(types)], func)
