"""symbolic_trace: calls a function or module with proxies as arguments, and records its calls in a graph."""

import collections
import copy
import functools as functools
import inspect
import math
import operator
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import Tensor
from .._C import ScriptObject as ScriptObject
from ..nn import Module, Parameter, Sequential
from ..utils import _pytree as pytree
from ._codegen import _PyTreeCodeGen, _PyTreeInfo
from ._compatibility import compatibility as compatibility
from ._patch import Patcher, wrapped_functions
from .graph import Graph
from .graph_module import GraphModule, default_tracer
from .node import Node
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase, base_types

__all__ = ["PH", "PHBase", "PHWithMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

ROOT = __name__.partition(".")[0]
# Names that tracers of other packages use.
FunctionType, _Patcher = types.FunctionType, Patcher
_orig_module_call, _orig_module_getattr = Module.__call__, Module.__getattr__
LEAVES = tuple(f"{root}.{name}" for root in (ROOT, "torch") for name in ("nn", "ao.nn"))
VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_state = threading.local()
_lock = threading.RLock()  # a trace replaces methods of all modules: traces of other threads wait


def is_fx_tracing() -> bool:
    """Returns whether symbolic_trace traces a function on this thread."""
    return getattr(_state, "tracing", False)


is_fx_symbolic_tracing = is_fx_tracing


@contextmanager
def _tracing() -> Iterator[None]:
    before = is_fx_tracing()
    with _lock:
        _state.tracing = True
        try:
            yield
        finally:
            _state.tracing = before


class PHBase:
    """The class of placeholders in `concrete_args`: of inputs of the graph inside of lists, tuples and dictionaries."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A placeholder with attributes, which its proxy's node has as well."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


def _assert_is_none(value: Any, msg: str) -> None:
    """Raises AssertionError for a value that is not None."""
    if value is not None:
        raise AssertionError(msg)


def _annotation(function: Any, name: str) -> Any:
    """Returns the annotation of a parameter or of the result; of the package's own functions only those of tensors."""
    found = getattr(function, "__annotations__", {}).get(name)
    if str(getattr(function, "__module__", "")).startswith(LEAVES):
        if not isinstance(found, str):
            return found
        return {"Tensor": Tensor, "Tensor | None": Tensor | None, "Tensor | float": Tensor | float}.get(found)
    return found


def _takes_positional(function: Any, count: int) -> Any:
    """Returns a function with the code of another one that takes `count` positional arguments, including keyword-only ones, *args and
    **kwargs, which are proxies.
    """
    code = function.__code__
    code = code.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~VARIABLE)
    return types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


class Tracer(TracerBase):
    """Traces functions and modules: `trace(root)` returns their graph. Subclasses override `is_leaf_module`, which selects the modules that
    are single nodes, and other methods.

    Functions in `autowrap_functions`, and those of the modules in `autowrap_modules`, are nodes if they are called with proxies. With
    `param_shapes_constant` the sizes of parameters are constants.
    """

    def __init__(
        self,
        autowrap_modules: tuple[Any, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        names = ((name, value) for module in autowrap_modules for name, value in vars(module).items())
        self._autowrap_function_ids = {id(value) for name, value in names if name[0] != "_" and callable(value)} | set(
            map(id, autowrap_functions)
        )
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}

    def get_fresh_qualname(self, prefix: str) -> str:
        """Returns a name of an attribute that the root does not have: `prefix` and a number."""
        i = 0
        while hasattr(self.root, f"{prefix}{i}"):
            i += 1
        return f"{prefix}{i}"

    def create_arg(self, a: Any) -> Any:
        """Returns the argument of a node for a value: parameters, buffers, modules and other tensors are nodes of attributes of the
        root."""
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
            return self._attribute(a, "_tensor_constant")
        if isinstance(a, Module):
            for name, module in self.root.named_modules():
                if a is module:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(item) for item in a), {})
        if type(a) in _proxyable_classes:
            return self._attribute(a, f"_{type(a).__name__}_constant_")
        return super().create_arg(a)

    def _attribute(self, value: Any, prefix: str) -> Node:
        """Returns the node of the attribute of the root with this value; adds an attribute for a new value."""
        name = self.tensor_attrs.get(value)
        if name is None:
            name = self.get_fresh_qualname(prefix)
            self.tensor_attrs[value] = name
            setattr(self.root, name, value)
        return self.create_node("get_attr", name, (), {})

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Returns whether a module is a single node: the modules of the package are, except containers."""
        return m.__module__.startswith(LEAVES) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Returns the dotted name of a module in the root. Raises NameError if the root does not have it."""
        if self.submodule_paths:
            found = self.submodule_paths.get(mod)
            if found is None:
                raise NameError("module is not installed as a submodule")
            return found
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Called for the call of a module: adds a node for a leaf, and otherwise runs forward(*args, **kwargs)."""
        name = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(name, type(m))) as scope:
            calls = self.num_calls.get(name, 0)
            self.num_calls[name] = calls + 1
            key = f"{scope.module_path}@{calls}" if calls else scope.module_path
            self.module_stack[key] = (name, scope.module_type)
            try:
                if self.is_leaf_module(m, name):
                    return self.create_proxy("call_module", name, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Called for an attribute of a module: returns a proxy for a parameter, and for a buffer with `proxy_buffer_attributes`."""
        if isinstance(attr_val, Parameter):
            return self._proxy_of(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._proxy_of(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _proxy_of(self, value: Any, named: Any, cache: dict[str, Any]) -> Any:
        for name, found in named:
            if found is value:
                if name not in cache:
                    # The factory is passed only where it is needed: subclasses may have create_proxy() without it.
                    constant = self.param_shapes_constant and isinstance(value, Parameter)
                    made: Any = {"proxy_factory_fn": lambda node, name=name: ParameterProxy(self, node, name, value)} if constant else {}
                    cache[name] = self.create_proxy("get_attr", name, (), {}, **made)
                return cache[name]
        return value

    # -------------------------------------------------------------------------------------------------------------- inputs

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> tuple[Any, list[Any]]:
        """Returns the function that is traced and its arguments: proxies of new inputs, and the values of `concrete_args`."""
        function = inspect.unwrap(root_fn)
        code = function.__code__
        count, flags = code.co_argcount + code.co_kwonlyargcount, code.co_flags
        names = list(code.co_varnames)
        if hasattr(function, "__signature__"):  # of a function whose code is shared, such as forward() of exported programs
            names = list(function.__signature__.parameters)
            count, flags = len(names), 0
        args: list[Any] = []
        first = 0
        if is_module:
            if not count:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args, first = [self.root], 1
        signature = inspect.signature(function)
        if isinstance(concrete_args, tuple):
            if len(concrete_args) != len(names[first:count]):
                raise RuntimeError(f"Tracing expected {len(names[first:count])} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip(names[first:count], concrete_args, strict=True))
        args += [self._input(name, concrete_args, signature, function) for name in names[first:count]]
        if code.co_kwonlyargcount or flags & VARIABLE:
            variable = [(flag, stars) for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")) if flags & flag]
            for at, (_, stars) in enumerate(variable):
                args.append(self._input(stars + names[count + at], concrete_args, signature, function))
            root_fn = _takes_positional(root_fn, len(args))
        leaves, in_spec = pytree.tree_flatten(tuple(args))
        if not any(not child.is_leaf() for child in in_spec.children()):
            return root_fn, args
        codegen = self.graph._codegen = _PyTreeCodeGen(
            _PyTreeInfo(["self", *names[1:count]] if is_module else names[:count], in_spec, None)
        )

        def flat(*values):  # type: ignore[no-untyped-def]  # without annotations, which inputs and output would have
            out, out_spec = pytree.tree_flatten(root_fn(*pytree.tree_unflatten(list(values), in_spec)))
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return out

        return flat, leaves

    def _input(self, name: str, concrete_args: dict[str, Any] | None, signature: inspect.Signature, function: Any) -> Any:
        """Inserts the input of a parameter, or those of the placeholders in its concrete value, and returns the argument."""
        if concrete_args is not None and name in concrete_args:
            count = 0

            def replace(x: Any) -> Any:
                nonlocal count
                count += 1
                default = signature.parameters[name].default
                given = () if default is inspect.Parameter.empty else (default,)
                made = self.create_proxy("placeholder", f"{name}_{count}", given, {})
                if isinstance(x, PHBase):
                    if x is not PH:
                        for key, value in vars(x).items():
                            setattr(made.node, key, value)
                    return made
                self._assert_value(name, made, x)
                return x

            return pytree.tree_map(replace, concrete_args[name])
        default: tuple[Any, ...] = ()
        if name[0] != "*":
            found = signature.parameters[name].default
            default = () if found is inspect.Parameter.empty else (found,)
        return self.create_proxy("placeholder", name, default, {}, type_expr=_annotation(function, name))

    def _assert_value(self, name: str, made: Proxy, value: Any) -> None:
        """Inserts the assertion that an input has the value that the graph was traced with."""
        from .. import _assert  # type: ignore[attr-defined]

        said = f"{name} has been specialized to have value {value} but got another value"
        if type(value) is bool or (type(value) in base_types and type(value) is not Tensor):
            same = self.create_proxy("call_function", operator.eq, (made, value), {})
            self.create_proxy("call_function", _assert, (same, said), {})
        elif value is None:
            self.create_proxy("call_function", _assert_is_none, (made, said), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the user to make "
                "sure that "
                "your inputs match the inputs you specialized the function with.",
                stacklevel=5,
            )

    # --------------------------------------------------------------------------------------------------------------- trace

    def _collect_tensor_attributes(self, module: Module, prefix: list[str]) -> None:
        for key, value in vars(module).items():
            if isinstance(value, Tensor) and value not in self.tensor_attrs:
                self.tensor_attrs[value] = ".".join((*prefix, key))
        for key, below in module.named_children():
            self._collect_tensor_attributes(below, [*prefix, key])

    def trace(self, root: Module | Callable[..., Any], concrete_args: Any = None) -> Graph:
        """Returns the graph of a module or function. `concrete_args` maps names of parameters to constant values."""
        with _tracing():
            if isinstance(root, Module):
                self.root: Module = root
                if not hasattr(type(root), self.traced_func_name):
                    raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
                fn: Any = getattr(type(root), self.traced_func_name)
                self.root_module_name = root._get_name()
                self.submodule_paths = {module: name for name, module in root.named_modules()}
            else:
                self.root, fn = Module(), root
            tracer_cls = getattr(self, "__class__", None)
            self.graph = Graph(tracer_cls=tracer_cls)
            if hasattr(fn, "__code__"):
                code = fn.__code__
                self.graph._co_fields = {"co_name": code.co_name, "co_filename": code.co_filename, "co_firstlineno": code.co_firstlineno}
            self.tensor_attrs: dict[Any, str] = {}
            self._collect_tensor_attributes(self.root, [])
            if not isinstance(fn, types.FunctionType):
                fn = _as_function(fn)
            fn_globals = fn.__globals__
            fn, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
            with Patcher() as patcher:
                self._patch_modules(patcher, getattr(fn, "__globals__", {}))
                patcher.patch_wrapped()
                patcher.wrap_functions(fn_globals, self._autowrap_function_ids)
                for module in self._autowrap_search:
                    patcher.wrap_functions(vars(module), self._autowrap_function_ids)
                result = fn(*args)
                self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=_annotation(fn, "return"))
            self.submodule_paths = None
        return self.graph

    def _patch_modules(self, patcher: Patcher, values: dict[str, Any]) -> None:
        """Makes attributes and calls of modules ask the tracer."""
        cache: dict[str, Any] = {}
        read, call, thread = _orig_module_getattr, _orig_module_call, threading.get_ident()

        def getattr_of_module(mod: Module, attr: str) -> Any:
            value = read(mod, attr)
            return self.getattr(attr, value, cache) if threading.get_ident() == thread else value

        def call_of_module(mod: Module, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != thread:
                return call(mod, *args, **kwargs)

            def forward(*args: Any, **kwargs: Any) -> Any:
                return call(mod, *args, **kwargs)

            patcher.wrap_functions(getattr(getattr(mod, "forward", mod), "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(mod, forward, args, kwargs)

        patcher.patch_method(Module, "__getattr__", getattr_of_module)
        patcher.patch_method(Module, "__call__", call_of_module)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tracer":
        made = type(self).__new__(type(self))
        kept = ("_autowrap_search",)
        made.__dict__ = {key: copy.copy(value) if key in kept else copy.deepcopy(value, memo) for key, value in self.__dict__.items()}
        return made


default_tracer.append(Tracer)


def _autowrap_check(patcher: Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Replaces the global variables whose values are among the functions with these identities, for a tracer's own trace()."""
    patcher.wrap_functions(frame_dict, function_ids)


def _patch_wrapped_functions(patcher: Patcher) -> None:
    """Replaces the functions that programs have registered by wrap(), for a tracer's own trace()."""
    patcher.patch_wrapped()


_proxyable_classes: dict[type, None] = {}


class ProxyableClassMeta(type):
    """A metaclass of classes whose instances may be created from proxies during tracing: the construction is a node."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        instance = cls.__new__(cls)  # type: ignore[call-overload]
        if not is_fx_tracing():
            cls.__init__(instance, *args, **kwargs)  # type: ignore[misc]
            return instance
        found = next((value for value in pytree.tree_leaves((args, kwargs)) if isinstance(value, Proxy)), None)
        if found is None:
            cls.__init__(instance, *args, **kwargs)  # type: ignore[misc]
            return instance
        return found.tracer.create_proxy("call_function", cls, args, kwargs)


def _as_function(fn: Any) -> Any:
    """Returns a Python function for a bound method, functools.partial or other callable."""
    if hasattr(fn, "__code__") and not isinstance(fn, types.MethodType):
        return fn
    parameters = list(inspect.signature(fn).parameters.values())
    by_name = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    names = [p.name for p in parameters if p not in by_name]
    head = ", ".join((*names, *(["*", *(p.name for p in by_name)] if by_name else [])))
    scope: dict[str, Any] = {"fn": fn}
    exec(f"def traced({head}): return fn({', '.join((*names, *(f'{p.name}={p.name}' for p in by_name)))})", scope)
    made = scope["traced"]
    made.__defaults__ = tuple(p.default for p in parameters if p not in by_name and p.default is not p.empty)
    made.__kwdefaults__ = {p.name: p.default for p in by_name if p.default is not p.empty}
    return made


def wrap(fn_or_name: Any) -> Any:
    """Registers a function of the calling module, by its name or as a decorator: where a traced function calls it with proxies, the call is
    a node, and its body is not traced. Call it at the top level of a module. Returns the argument."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name.__name__ if callable(fn_or_name) else fn_or_name
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    wrapped_functions[(id(caller.f_globals), name)] = caller.f_globals
    return fn_or_name


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Returns the GraphModule of a module or function, which records its calls with proxies as arguments.

    `concrete_args` maps names of parameters to values: the graph has the branches that these values take, and asserts them. Modules of the
    package are single nodes. Control flow that depends on the arguments raises TraceError.

    >>> import libtensor.fx
    >>> traced = libtensor.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> print(traced.graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        %add : [num_users=1] = call_function[target=operator.add](args = (%relu, 1), kwargs = {})
        return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", type(root).__name__)
    return GraphModule(tracer.root, graph, name)
