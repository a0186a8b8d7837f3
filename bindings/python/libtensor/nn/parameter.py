"""Parameters and buffers: the tensors that modules register when they are assigned as attributes."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from .. import preserve_format
from .._base.direct import plain
from .._core.tensor import Tensor, given_to
from .._gen.gen_functions import empty

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class _ParameterMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module registers as a parameter when it is assigned as an attribute: `Module.parameters()` then returns it.

    Operations on a Parameter return plain tensors. `data` defaults to an empty tensor; the parameter shares its memory. `requires_grad`
    defaults to True. A parameter made of an instance of another subclass of Tensor keeps that class.

    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = empty(0)
        if cls is Parameter and type(data) is Tensor:
            leaf = given_to(cls, data.detach())
            return leaf.requires_grad_() if requires_grad else leaf  # type: ignore[return-value]
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        made = data.detach().requires_grad_(requires_grad)
        if type(made) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an instance of the "
                "same "
                f"type, but return type {type(made).__name__} was found instead."
            )
        if type.__instancecheck__(cls, made):
            return made  # type: ignore[return-value]
        made._is_param = True  # type: ignore[attr-defined]
        return made  # type: ignore[return-value]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self) not in memo:
            made = type(self)(self.data.clone(memory_format=preserve_format), self.requires_grad)
            made.__dict__.update(self.__dict__)
            memo[id(self)] = made
        return memo[id(self)]  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        shown = self.data.requires_grad_(self.requires_grad) if type(self) is Parameter else self
        return "Parameter containing:\n" + Tensor.__repr__(shown)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if self.__dict__:
            return _rebuild_parameter_with_state, (self.data, self.requires_grad, OrderedDict(), dict(self.__dict__))
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict())


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """Reconstructs a pickled parameter. `backward_hooks` is always an empty dictionary, kept for compatibility with older files."""
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: dict[str, Any]) -> Parameter:
    """Reconstructs a pickled parameter with its attributes."""
    made = Parameter(data, requires_grad)
    made.__dict__.update(state)
    return made


for _made in (_rebuild_parameter, _rebuild_parameter_with_state):
    _made.__module__ = "libtensor._utils"  # the name in files


class _BufferMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module registers as a buffer when it is assigned as an attribute: state that is not a parameter, such as a running
    mean.

    Returns a tensor that shares memory with `data`, an empty tensor by default. `state_dict()` includes the buffer if `persistent`, the
    default.

    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty(0)
        made = data.detach().requires_grad_(data.requires_grad)
        made.persistent, made._is_buffer = persistent, True  # type: ignore[attr-defined]
        return made


class UninitializedTensorMixin:
    """Base class of parameters and buffers without a shape. `materialize` sets the shape; dtype and device are known before."""

    __slots__ = ()
    _allowed_methods = frozenset(
        ("__hash__", "size", "copy_", "is_complex", "is_floating_point", "half", "float", "double", "char", "short")
    )
    _allowed_methods |= {"int", "long", "cuda", "cpu", "to", "get_device", "requires_grad_"}
    # The operators behind the attributes data, requires_grad, grad, grad_fn, is_leaf and untyped_storage.
    _allowed_methods |= {
        "untracked",
        "set_data_",
        "requires_grad",
        "set_requires_grad",
        "grad",
        "get_grad",
        "set_grad",
        "grad_fn",
        "is_leaf",
        "is_set_to",
    }
    cls_to_become: type[Tensor]

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Allocates uninitialized memory for `shape`, in place, and turns the object into an initialized parameter or buffer. `device` and
        `dtype` default to those of the object."""
        this: Any = self
        this.data = empty(shape, device=this.data.device if device is None else device, dtype=this.data.dtype if dtype is None else dtype)
        this.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying "
            "to load "
            "an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in cls._allowed_methods or type(func).__name__ in ("method-wrapper", "wrapper_descriptor"):
            return Tensor.__torch_function__(func, (), args, kwargs or {})
        raise cls._uninitialized(name or func)

    @classmethod
    def _uninitialized(cls, name: Any) -> ValueError:
        return ValueError(
            f"Attempted to use an uninitialized parameter in {name}. This error happens when you are using a `LazyModule` or explicitly "
            f"manipulating `torch.nn.parameter.{cls.__name__}` objects. When using LazyModules Call `forward` with a dummy batch to "
            "initialize the "
            "parameters before calling torch functions"
        )


def _define_uninitialized(name: str) -> None:
    def method(self: UninitializedTensorMixin, *args: Any, **kwargs: Any) -> Any:
        raise self._uninitialized(name)

    method.__name__ = name
    setattr(UninitializedTensorMixin, name, method)


# Methods without __torch_function__.
for _name in (
    *("detach", "clone", "numel", "nelement", "dim", "ndimension", "contiguous", "tolist", "stride", "element_size", "bfloat16"),
    *("type", "storage_offset", "numpy", "__len__", "__bool__"),
):
    _define_uninitialized(_name)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; `materialize(shape)` allocates it and turns it into a Parameter.

    `device` and `dtype` are those that it will have by default. Reading its shape raises RuntimeError; other operations raise ValueError.
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Self:
        return Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]  # type: ignore[no-any-return]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet; `materialize(shape)` allocates it and turns it into a tensor.

    `device` and `dtype` are those that it will have by default; `state_dict()` includes it if `persistent`.
    """

    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> Self:
        made: Any = Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype, self.__dict__["persistent"])
        return memo[id(self)]  # type: ignore[no-any-return]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype, self.__dict__["persistent"])


def is_lazy(param: object) -> bool:
    """Returns whether `param` is an uninitialized parameter or buffer."""
    return isinstance(param, UninitializedTensorMixin)


plain(Parameter)
