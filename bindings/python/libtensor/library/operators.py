"""Custom operators: their kernels, derivatives and rules, and how a call finds them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._base import overrides
from .._base.dtypes import dtype as _dtype
from .._base.dtypes import strided as _strided
from .._base.overrides import NOBODY
from .._core.autocast import autocast, is_autocast_enabled
from .._core.modes import is_grad_enabled, is_transforming, no_grad
from .._core.tensor import Tensor
from .._gradients.function import Function
from .._gradients.function_levels import innermost
from .._gradients.grad import evaluating
from .observed import call_observed, is_observed
from .published import publish, withdraw
from .schemas import Argument, Schema, describe_result

__all__ = ["MissingOperator", "OpNamespace", "OpOverload", "OpOverloadPacket", "find", "find_registrable", "implement", "namespaces"]

namespaces: dict[str, dict[str, OpOverloadPacket]] = {}
loaded_libraries: set[str] = set()  # files that ops.load_library recorded
DEFAULT = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")
STACKED = ("Tensor", "Tensor?", "Tensor[]")  # results that vmap stacks
KEYS = {"CPU": "cpu", "CUDA": "cuda", "Meta": "meta", "XPU": "xpu", "MPS": "mps"}


class _Structure:
    """The arguments of a call with its tensors taken out."""

    def __init__(self, op: OpOverload, values: list[Any]) -> None:
        self.op, self.values = op, values
        self.count = [_count(v) for v in values]

    def rebuild(self, flat: Sequence[Any]) -> list[Any]:
        """Returns the arguments with other values for the tensors."""
        rest, made = iter(flat), []
        for value in self.values:
            if isinstance(value, Tensor):
                made.append(next(rest))
            elif isinstance(value, list | tuple):
                made.append([next(rest) if isinstance(v, Tensor) else v for v in value])
            else:
                made.append(value)
        return made

    def dims(self, flat: Sequence[Any]) -> list[Any]:
        """What belongs to each argument: None where that is no tensor."""
        rest, made = iter(flat), []
        for value in self.values:
            if isinstance(value, Tensor):
                made.append(next(rest))
            elif isinstance(value, list | tuple) and any(isinstance(v, Tensor) for v in value):
                made.append([next(rest) if isinstance(v, Tensor) else None for v in value])
            else:
                made.append(None)
        return made

    def split(self, values: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The values of positional arguments, and those of keyword-only ones."""
        arguments = self.op.schema.arguments
        positional = [v for a, v in zip(arguments, values, strict=True) if not a.kwarg_only]
        return positional, {a.name: v for a, v in zip(arguments, values, strict=True) if a.kwarg_only}

    def flatten(self, grads: Any) -> list[Any]:
        """The gradients of the tensors from those of positional arguments."""
        positional = [(a.name, v) for a, v in zip(self.op.schema.arguments, self.values, strict=True) if not a.kwarg_only]
        is_gradient = isinstance(grads, list) and len(positional) == 1 and isinstance(positional[0][1], list | tuple)
        grads = list(grads) if isinstance(grads, list | tuple) and not is_gradient else [grads]
        if len(grads) != len(positional):
            raise RuntimeError(f"{self.op}: backward returned {len(grads)} gradients, but the operator has {len(positional)} inputs")
        made: list[Any] = []
        for (name, value), grad in zip(positional, grads, strict=True):
            if isinstance(value, Tensor):
                made.append(self.check_gradient(name, grad))
            elif isinstance(value, list | tuple):
                made += self.flatten_list(name, value, grad)
        return made + [None] * (sum(self.count) - len(made))

    def check_gradient(self, name: str, grad: Any) -> Any:
        """Returns a gradient. Raises RuntimeError for other values than tensors and None."""
        if grad is not None and not isinstance(grad, Tensor):
            raise RuntimeError(
                f"{self.op}: backward must return a tensor or None as the gradient of argument '{name}', but returned "
                f"{describe_result(grad)}"
            )
        return grad

    def flatten_list(self, name: str, value: Sequence[Any], grad: Any) -> list[Any]:
        """The gradients of the tensors of an argument that is a list."""
        count = sum(isinstance(v, Tensor) for v in value)
        if grad is None or not count:
            return [None] * count
        if not isinstance(grad, list | tuple) or len(grad) != len(value):
            raise RuntimeError(
                f"{self.op}: backward must return a list of {len(value)} gradients for argument '{name}', but returned "
                f"{describe_result(grad)}"
            )
        return [self.check_gradient(name, g) for v, g in zip(value, grad, strict=True) if isinstance(v, Tensor)]


def _count(value: Any) -> int:
    return sum(isinstance(v, Tensor) for v in (value if isinstance(value, list | tuple) else (value,)))


def _tensors(values: Sequence[Any]) -> Iterator[Tensor]:
    for value in values:
        for v in value if isinstance(value, list | tuple) else (value,):
            if isinstance(v, Tensor):
                yield v


class _Context:
    """The context of a backward function, which has what belongs to the operator's arguments rather than to each tensor."""

    def __init__(self, ctx: Any, structure: _Structure) -> None:
        object.__setattr__(self, "_ctx", ctx)
        object.__setattr__(self, "_structure", structure)

    @property
    def needs_input_grad(self) -> tuple[Any, ...]:
        structure: _Structure = object.__getattribute__(self, "_structure")
        needed = structure.dims(object.__getattribute__(self, "_ctx").needs_input_grad[1:])
        return tuple(False if n is None else n for n in structure.split(needed)[0])

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_ctx"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_ctx"), name, value)


class _Recorded(Function):
    """A call on the autograd graph, or under vmap with a rule."""

    @staticmethod
    def forward(structure: _Structure, *flat: Tensor) -> Any:
        made = structure.op.run(structure.rebuild(flat))
        return tuple(made) if isinstance(made, list) else made

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        structure = ctx.structure = inputs[0]
        setup = structure.op.setup_context
        if setup is None:
            return
        positional, keywords = structure.split(structure.rebuild(inputs[1:]))
        output = list(output) if structure.op.schema.returns_list else output
        if keywords:
            setup(ctx=_Context(ctx, structure), inputs=tuple(positional), keyword_only_inputs=keywords, output=output)
        else:
            setup(_Context(ctx, structure), tuple(positional), output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        op = ctx.structure.op
        if op.backward is None:
            raise RuntimeError(
                f"Trying to backward through {op} but no autograd formula was registered. Please use register_autograd to add one."
            )
        given = (list(grads),) if op.schema.returns_list else grads
        return None, *ctx.structure.flatten(op.backward(_Context(ctx, ctx.structure), *given))

    @staticmethod
    def vmap(info: Any, in_dims: Any, structure: _Structure, *flat: Tensor) -> Any:
        op = structure.op
        positional, keywords = structure.split(structure.rebuild(flat))
        if op.batched is None:
            return _each(op, info, in_dims[1:], structure, flat)
        made = op.batched(info, tuple(structure.split(structure.dims(in_dims[1:]))[0]), *positional, **keywords)
        if isinstance(made, tuple) and len(made) == 2:
            op.schema.convert_results(f"{op.name()}: the vmap rule", made[0])
        return made


def _each(op: OpOverload, info: Any, dims: Sequence[int | None], structure: _Structure, flat: Sequence[Tensor]) -> Any:
    """The results of the operator for each batch element, in turn, and their batch dimensions."""
    kinds = op.schema.result_kinds
    if any(kind not in STACKED for kind in kinds):
        raise NotImplementedError(
            f"{op.name()}: inside vmap: results that are not tensors are not supported, because they differ between batch elements; "
            "register a rule with register_vmap"
        )
    if info.batch_size == 0 and kinds:
        raise NotImplementedError(
            f"{op.name()}: inside vmap: the operator has no vmap rule and is called once for each batch element, so empty batches are not "
            "supported; "
            "register a rule with register_vmap"
        )
    rows = []
    for i in range(info.batch_size):
        items = [t if d is None else t.select(d, i) for t, d in zip(flat, dims, strict=True)]
        made = op.call(structure.rebuild(items))
        rows.append(made if len(kinds) > 1 else (made,))
    stacked = tuple(_stack(op, kind, column) for kind, column in zip(kinds, zip(*rows, strict=True), strict=False))
    return (stacked if len(kinds) > 1 else stacked[0] if kinds else None), 0


def _stack(op: OpOverload, kind: str, column: Sequence[Any]) -> Any:
    """The batch of a result from those of the batch elements."""
    from .._gen import gen_functions as f

    if kind == "Tensor[]":
        if len({len(items) for items in column}) > 1:
            raise RuntimeError(f"{op.name()}: inside vmap: the lengths of lists of results differ between batch elements")
        return [_stack(op, "Tensor", items) for items in zip(*column, strict=True)]
    if all(t is None for t in column):
        return None
    shapes = {None if t is None else tuple(t.shape) for t in column}
    if len(shapes) > 1:
        raise RuntimeError(
            f"{op.name()}: inside vmap: the shapes of a result differ between batch elements: {', '.join(sorted(map(str, shapes)))}"
        )
    return f.stack(column)


def _is_transformed(tensors: Sequence[Tensor]) -> bool:
    """Returns whether vmap maps over one of the tensors, or one has a tangent."""
    from .._gen import gen_functions as f

    return is_transforming() and any(f.vmap_level(t) or f.jvp_level(t) for t in tensors)


def _address(t: Tensor) -> int:
    """The address of a tensor's memory; 0 where it has none, or where it is a transform's."""
    is_plain = t.layout is _strided and t.numel() > 0 and t.device.type != "meta"
    try:
        return t.untyped_storage().data_ptr() if is_plain else 0
    except RuntimeError:
        return 0


def _count_writes(arguments: Sequence[Argument], values: list[Any]) -> None:
    """Increments the versions of the tensors that a kernel has written to, since it may have written to their memory without an
    operator."""
    from .._gen import gen_functions as f

    for a, value in zip(arguments, values, strict=True):
        for t in _tensors([value]) if a.is_write else ():
            if not t.is_inference():
                f.increment_version(t)


def take_over(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Returns the result of a mode or of an argument's class that overrides the call; NOBODY without one. Modes and subclasses of Tensor
    receive overloads, but not packets of overloads."""
    is_overload = isinstance(op, OpOverload)
    is_taken = (bool(overrides.state.modes) and is_overload) or any(
        type(value) is not Tensor and (is_overload or not isinstance(value, Tensor)) and overrides.hook(value) is not None
        for value in overrides.values(args, kwargs)
    )
    return overrides.dispatch(op, args, kwargs) if is_taken else NOBODY


class OpOverload:
    """A custom operator: call it as a function. Its kernels are by type of device, with a default for all."""

    def __init__(self, qualname: str, overload: str, schema: Schema, is_alias_checked: bool) -> None:
        self.qualname, self.overload, self.schema = qualname, overload, schema
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.fake: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self.batched: Callable[..., Any] | None = None
        self.casts: dict[str, _dtype] = {}
        self.disabled: set[str] = set()
        self.is_alias_checked = is_alias_checked
        self.dispatch_rules: dict[Any, Callable[..., Any]] = {}  # by the classes of modes and of subclasses of Tensor
        self.definition: int | None = None  # in the library's table
        self.overloadpacket: Any = None
        self.is_fixed = False  # registrations are ignored: the operator is libtensor's, in place of a package's
        self.namespace, _, self.op_name = qualname.partition("::")
        self.__name__ = f"{self.op_name}.{overload}"
        self.__module__ = f"torch.ops.{self.namespace}"

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    @property
    def _schema(self) -> Schema:
        return self.schema

    @property
    def _overloadname(self) -> str:
        return self.overload

    @property
    def _opname(self) -> str:
        return self.op_name

    @property
    def _namespace(self) -> str:
        return self.namespace

    @property
    def _name(self) -> str:
        return self.name()

    @property
    def _defined_in_python(self) -> bool:
        return self.definition is not None

    @property
    def is_view(self) -> bool:
        """Whether results share memory with arguments, and the operator writes to none."""
        aliased = [a.alias_info for a in self._schema.arguments if a.alias_info is not None]
        return bool(aliased) and not any(info.is_write for info in aliased)

    def name(self) -> str:
        """Returns the name with its namespace, such as `ns::op`."""
        return self.qualname if self.overload == "default" else f"{self.qualname}.{self.overload}"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.op_name}.{self.overload}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self.op_name}', overload='{self.overload}')>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        taken = take_over(self, args, kwargs)
        return self.invoke(self.schema.bind(self.name(), args, kwargs)) if taken is NOBODY else taken

    def invoke(self, values: list[Any]) -> Any:
        """Calls the operator, for a call of Python, with a value for each argument. The observer receives the call."""
        return call_observed(self.name().encode(), self.call, values) if is_observed() else self.call(values)

    def call(self, values: list[Any]) -> Any:
        """Calls the operator with a value for each argument."""
        tensors = list(_tensors(values))
        for kind, to in self.casts.items():
            if is_autocast_enabled(kind):
                with autocast(kind, enabled=False):
                    return self.call([_converted(v, kind, to) for v in values])
        is_recorded = is_grad_enabled() and any(t.requires_grad for t in tensors)
        is_composite = self.is_composite(values)
        if self.schema.is_mutable:
            return self.write(values, tensors, is_recorded, is_composite or not self.is_alias_checked)
        if self.batched is not None or not is_composite and (is_recorded or _is_transformed(tensors)):
            return self.record(values, tensors)
        return self.run(values)

    def is_composite(self, values: list[Any]) -> bool:
        """Returns whether a call is one of other operators: its kernel is CompositeImplicitAutograd."""
        return DEFAULT[1] in self.kernels and self.kernels.keys().isdisjoint((DEFAULT[0], self.device_of(values)))

    def record(self, values: list[Any], tensors: list[Tensor]) -> Any:
        """Calls the operator as a Function."""
        made = self._recorded.apply(_Structure(self, values), *tensors)
        return list(made) if self.schema.returns_list else made

    def write(self, values: list[Any], tensors: list[Tensor], is_recorded: bool, is_composite: bool) -> Any:
        """Calls an operator that writes to arguments. As in PyTorch, autograd records the operators that the kernels of Library call, but
        not those of custom_op: transforms that differentiate these raise NotImplementedError."""
        from .._gen import gen_functions as f

        level = innermost(tensors) if is_transforming() else 0
        is_mapped = level != 0 and any(f.vmap_level(t) == level for t in tensors)
        if is_composite:
            return self.record(values, tensors) if is_mapped and self.batched else self.run(values)
        has_tangents = level != 0 and any(f.jvp_level(t) == level and f.jvp_tangent(t, level) is not None for t in tensors)
        if has_tangents or is_recorded and (level or evaluating.current is not None):
            raise NotImplementedError(
                f"{self.name()}: the operator writes to an argument and has no derivative, so it cannot be differentiated by torch.func or "
                "forward_ad; define an operator that returns a new tensor, or call this one under no_grad() with detach()ed tensors"
            )
        written = [t for a, v in zip(self.schema.arguments, values, strict=True) if a.is_write for t in _tensors([v])]
        for t in written if is_mapped else ():
            if not f.vmap_maps(t, level):
                raise RuntimeError(
                    f"{self.name()}: inside vmap: the operator writes to a tensor of shape {list(t.shape)}, which is not batched; create "
                    "it from a "
                    "batched tensor, for example with zeros_like"
                )
            whole = f.vmap_unwrap(t, 0, level)
            if whole.shape[0] > 1 and whole.stride(0) == 0 and whole.numel():
                raise RuntimeError(
                    f"{self.name()}: inside vmap: unsupported operation: more than one element of the written-to tensor refers to a single "
                    "memory "
                    "location, because its batch was expanded; clone() it before the operation"
                )
        if is_mapped or is_recorded and self.schema.result_kinds:
            return self.record(values, tensors)
        with no_grad():
            return self.run(values)

    @functools.cached_property
    def _recorded(self) -> type[_Recorded]:
        """The Function of the operator's calls: nodes and errors have its name."""
        return type(f"GeneratedBackwardFor_{self.namespace}_{self.op_name}_{self.overload}", (_Recorded,), {})

    def device_of(self, values: list[Any]) -> str:
        """The type of device whose kernel a call takes: that of the first tensor."""
        for t in _tensors(values):
            return str(t.device.type)
        return "cpu"

    def run(self, values: list[Any]) -> Any:
        """Runs the kernel for the device of the arguments. Raises NotImplementedError where there is none."""
        kind = self.device_of(values)
        kernel = None if kind in self.disabled else self.kernels.get(kind)
        function = "the function"
        if kernel is None and kind == "meta":
            kernel, function = self.fake, "the fake function" if self.fake else function
            if kernel is None and self.is_alias_checked and self.schema.is_mutable and not self.schema.result_kinds:
                return None  # as in PyTorch: the function only writes
            if kernel is None and DEFAULT[1] not in self.kernels and DEFAULT[0] in self.kernels and self.is_alias_checked:
                raise RuntimeError(
                    f"There was no fake impl registered for {self.name()}. This is necessary for meta tensors. "
                    f"Please use `{self.op_name}.register_fake` to add an fake impl."
                )
        for key in DEFAULT:
            kernel = kernel or self.kernels.get(key)
        if kernel is None:
            backends = ", ".join(sorted(self.kernels)) or "none"
            raise NotImplementedError(
                f"Could not run '{self.name()}' with arguments from the '{kind.upper()}' backend. This could be because the operator "
                f"doesn't exist for this backend; it has kernels for: {backends}. Use register_kernel or Library.impl to "
                f"register others."
            )
        arguments = self.schema.arguments
        positional = [v for a, v in zip(arguments, values, strict=True) if not a.kwarg_only]
        keywords = {a.name: v for a, v in zip(arguments, values, strict=True) if a.kwarg_only}
        made = self.schema.convert_results(f"{self.name()}: {function}", kernel(*positional, **keywords))
        if self.is_alias_checked:
            _count_writes(arguments, values)
            self.check_aliases(values, made)
        return made

    def check_aliases(self, values: list[Any], made: Any) -> None:
        """Raises RuntimeError where results share memory with arguments or with one another."""
        seen = {_address(t) for t in _tensors(values)}
        for t in _tensors([made]):
            at = _address(t)
            if at and at in seen:
                raise RuntimeError(
                    f"{self.op_name} (with implementation in {self.namespace}): The output of this custom operator (1) must not also be an "
                    "input to "
                    "this custom operator and (2) may not alias any inputs to this custom operator or other returns. Return a clone of the "
                    "tensor "
                    "instead, such as x.clone()."
                )
            seen.add(at)


def _converted(value: Any, kind: str, to: _dtype) -> Any:
    if isinstance(value, list | tuple):
        return [_converted(v, kind, to) for v in value]
    is_eligible = isinstance(value, Tensor) and value.is_floating_point() and value.device.type == kind and value.element_size() != 8
    return value.to(to) if is_eligible else value


class OpOverloadPacket:
    """The overloads of an operator, by name; a call takes the first that its arguments fit."""

    def __init__(self, qualname: str) -> None:
        self._qualified_op_name = qualname
        self._overloads: dict[str, OpOverload] = {}
        namespace, _, self.__name__ = qualname.partition("::")
        self.__module__ = f"torch.ops.{namespace}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        taken = take_over(self, args, kwargs)
        if taken is not NOBODY:
            return taken
        found = list(self._overloads.values())
        for op in found[:-1]:
            try:
                op.schema.bind(op.name(), args, kwargs)
            except RuntimeError:
                continue
            return op(*args, **kwargs)
        return found[-1](*args, **kwargs)

    @property
    def is_fixed(self) -> bool:
        """Whether the operator is libtensor's, in place of a package's."""
        return any(op.is_fixed for op in self._overloads.values())

    def overloads(self) -> list[str]:
        """Returns the names of the overloads."""
        return list(self._overloads)

    @property
    def _overload_names(self) -> list[str]:
        return ["" if name == "default" else name for name in self.overloads()]

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._overloads[name]
        except KeyError:
            text = f"The underlying op of '{self._qualified_op_name.replace('::', '.')}' has no overload name '{name}'"
            raise AttributeError(text) from None

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class MissingOperator(OpOverloadPacket):
    """An operator, and any of its overloads, of a library that was recorded but not loaded. A call raises NotImplementedError."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{self._qualified_op_name}: the operator belongs to a C++ extension of PyTorch, which libtensor cannot load; "
            f"define it in Python with torch.library.custom_op()"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def _is_missing(namespace: str, name: str) -> bool:
    """Returns whether an operator without a definition may be one of a library that was recorded."""
    defined = namespaces.get(namespace)
    return bool(loaded_libraries) and not name.startswith("__") and (not defined or any(p.is_fixed for p in defined.values()))


class Others:
    """The operators of other languages, which the module `shared` finds."""

    find: Callable[[str], OpOverloadPacket | None] = staticmethod(lambda qualname: None)
    names: Callable[[str], list[str]] = staticmethod(lambda namespace: [])


others = Others()


class OpNamespace:
    """The operators of a namespace, as attributes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        found = namespaces.get(self._name, {}).get(name)
        if found is None and not name.startswith("__"):
            found = others.find(f"{self._name}::{name}")
        if found is None and _is_missing(self._name, name):
            found = MissingOperator(f"{self._name}::{name}")
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        return found

    def __dir__(self) -> list[str]:
        return sorted({*namespaces.get(self._name, ()), *others.names(self._name)})


def define(qualname: str, overload: str, schema: Schema, is_alias_checked: bool) -> OpOverload:
    """Makes an operator, or another one in the place of one of its name."""
    namespace, _, name = qualname.partition("::")
    packet = namespaces.setdefault(namespace, {}).setdefault(name, OpOverloadPacket(qualname))
    op = OpOverload(qualname, overload, schema, is_alias_checked)
    before = packet._overloads.get(overload)
    if before is not None:
        withdraw(before.definition)
    op.overloadpacket = packet
    op.definition = publish(f"{qualname}{'' if overload == 'default' else '.' + overload}{schema.signature()}", op.call)
    packet._overloads[overload] = op
    return op


def remove_namespace(name: str) -> None:
    """Removes the operators of a namespace."""
    for packet in namespaces.pop(name, {}).values():
        for op in packet._overloads.values():
            withdraw(op.definition)


def implement(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes the decorated function the operator of a schema, in place of a package's: what the package registers for it is ignored."""

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        parsed = Schema(schema)
        op = define(parsed.name, "default", parsed, False)
        op.kernels[DEFAULT[1]] = fn
        op.is_fixed = True
        return fn

    return decorate


def find(op: Any) -> OpOverload:
    """Returns the operator of a name such as `ns::op` or `ns::op.overload`, or of an operator object. Raises RuntimeError if there is
    none."""
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, OpOverloadPacket):
        return op.default
    made = getattr(op, "_opoverload", None)
    if isinstance(made, OpOverload):
        return made
    if not isinstance(op, str):
        raise ValueError(f"expected an operator, its name, or the result of custom_op, but got {type(op).__name__}")
    namespace, _, name = op.partition("::")
    name, _, overload = name.partition(".")
    packet = namespaces.get(namespace, {}).get(name)
    if packet is None or (overload or "default") not in packet._overloads:
        raise RuntimeError(f"operator {op} does not exist")
    return packet._overloads[overload or "default"]


def find_registrable(op: Any) -> OpOverload:
    """The operator to register a kernel or a rule for: `find`, or an unused one for operators that ignore registrations. Raises
    RuntimeError if there is none."""
    is_ignored = isinstance(op, MissingOperator)
    if isinstance(op, str):
        namespace, _, name = op.partition("::")
        name = name.partition(".")[0]
        is_ignored = name not in namespaces.get(namespace, ()) and _is_missing(namespace, name)
    found = None if is_ignored else find(op)
    if found is None or found.is_fixed:
        return OpOverload("missing::missing", "default", Schema("missing::missing() -> ()"), False)
    return found
