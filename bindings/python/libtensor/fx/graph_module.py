"""Modules whose forward() is generated from a graph."""

import builtins
import copy
import itertools
import linecache
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..nn import Module
from ._codegen import PythonCode, _PyTreeCodeGen, common_globals, common_imports
from .graph import Graph

__all__ = ["GraphModule", "reduce_graph_module"]

_counter = itertools.count()
default_tracer: list[Any] = []  # the class Tracer, whose module imports this one
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # in meta: attributes that copies keep
HOOKS = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")
# Attributes that copies have in addition to the state of modules.
KEPT = ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", *HOOKS)


def _exec_with_source(src: str, values: dict[str, Any]) -> str:
    """Executes source text, which tracebacks and inspect.getsource() show. Returns the name of its file."""
    name = f"<eval_with_key>.{next(_counter)}"
    linecache.cache[name] = (len(src), None, src.splitlines(True), name)
    exec(compile(src, name, "exec"), values)
    return name


def _forward_from_src(src: str, values: dict[str, Any]) -> Any:
    """Returns the function forward() of source text."""
    namespace = dict(values)
    name = _exec_with_source(src, namespace)
    function = namespace["forward"]
    weakref.finalize(function, linecache.cache.pop, name, None)
    return function


def _format_imports(values: dict[str, Any]) -> str:
    """Returns the statements that import the globals of code."""
    known, commons = common_imports(), common_globals()
    lines = set()
    for name, value in values.items():
        if name in commons and commons[name] is value:
            lines.add(known[name])
        elif getattr(builtins, getattr(value, "__name__", ""), None) is value:
            lines.add(f"from builtins import {value.__name__} as {name}" if value.__name__ != name else f"# {name} is built in")
        else:
            lines.add(f"from {value.__module__} import {value.__name__} as {name}")
    return "\n".join(sorted(line for line in lines if line[0] != "#"))


def reduce_graph_module(body: dict[str, Any], import_block: str) -> Module:
    """Returns the module that a pickle contains: its attributes, and the imports of its code."""
    function = body.get("_code") or body["code"]
    values: dict[str, Any] = {}
    _exec_with_source(import_block + function, values)
    return _deserialize_graph_module(values["forward"], body)


class _CodeOnlyModule(Module):
    """A module with the attributes of a pickle, without a graph."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _deserialize_graph_module(forward: Any, body: dict[str, Any], graph_module_cls: Any = None) -> Module:
    """Returns the GraphModule of a function and attributes. The graph is traced again, with every module as a leaf."""
    kept = body.get("_graphmodule_cls_name", "GraphModule")
    tracer_cls = body.get("_tracer_cls") or default_tracer[0]

    # The class of this instance alone, which defines forward().
    root = type("CodeOnlyModule", (_CodeOnlyModule,), {"forward": forward})(body)
    graph = body.get("_graph")
    if not isinstance(graph, Graph):

        class KeepModules(tracer_cls):  # type: ignore[valid-type, misc]
            def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
                return True

        graph = KeepModules().trace(root, **(body.get("_tracer_extras") or {}))
    graph._tracer_cls = tracer_cls
    made = (graph_module_cls or GraphModule)(root, graph, class_name=kept)
    for key, value in body.items():
        if not hasattr(made, key):
            setattr(made, key, value)
    return made


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Copies the attribute with a dotted name from a module to another one, with modules without parameters on the way."""
    from .. import Tensor
    from ..nn import Parameter

    *path, field = target.split(".")
    source, destination = from_module, to_module
    for name in path:
        source = getattr(source, name)
        if getattr(destination, name, None) is source:
            return
        if not isinstance(getattr(destination, name, None), Module):
            setattr(destination, name, Module())
        destination = getattr(destination, name)
    value = getattr(source, field)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        destination.register_buffer(field, value, persistent=field not in getattr(source, "_non_persistent_buffers_set", ()))
    else:
        setattr(destination, field, value)


def _assign_attr(value: Any, to_module: Module, target: str) -> None:
    """Sets the attribute with a dotted name, with modules without parameters on the way."""
    from .. import Tensor
    from ..nn import Parameter

    *path, field = target.split(".")
    for name in path:
        if not hasattr(to_module, name):
            setattr(to_module, name, Module())
        to_module = getattr(to_module, name)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


def _describe_failure(error: BaseException, module: Module) -> None:
    """Adds a note with the line of the generated code to an exception that it raises, where Python has notes."""
    at, found = error.__traceback__, None
    while at is not None:
        if at.tb_frame.f_code.co_filename.startswith("<eval_with_key>"):
            found = at
        at = at.tb_next
    if found is None or not hasattr(error, "add_note"):
        return
    lines = linecache.getlines(found.tb_frame.f_code.co_filename)
    shown = "".join(lines[max(found.tb_lineno - 5, 0) : found.tb_lineno]).strip("\n")
    error.add_note(
        f"Call using an FX-traced Module, line {found.tb_lineno} of the traced Module's generated forward function:\n{shown}  <--- HERE"
    )


def _make_call(cls: Any, inner: Any) -> Callable[..., Any]:
    """Returns __call__ of the class of a module. `inner` is that of the class that the program gave it, if there is one."""

    def call_wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return inner(self, *args, **kwargs) if inner is not None else super(cls, self).__call__(*args, **kwargs)
        except Exception as error:
            _describe_failure(error, self)
            raise

    return call_wrapped


class GraphModule(Module):
    """A module whose forward() is generated from a graph. `graph` is the graph: after changes, `recompile()` generates forward() again.
    `code` is its source.

    `root` is the module that has the submodules, parameters and buffers of the graph, or a dictionary of them by dotted names.
    """

    __jit_unused_properties__ = ["graph"]
    _graph: Graph
    _code: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # Each instance has its own class, which defines its forward().
        base = next(found for found in cls.__mro__ if found.__dict__.get("_generated") is not True)
        names = {"__module__": __name__, "__qualname__": "GraphModule.__new__.<locals>.GraphModuleImpl", "_generated": True}
        made = type("GraphModuleImpl", (base,), names)
        return super().__new__(made)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            targets = {node.target: node for node in graph.nodes if node.op in ("get_attr", "call_module")}
            for target, node in targets.items():
                if target not in root:
                    raise RuntimeError(f"Node {node} referenced target {target} but that target was not provided in ``root``!")
            for target in sorted(targets, key=lambda name: name.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        for name in HOOKS:
            setattr(self, name, [])
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; assignment writes forward() again."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of forward()."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Generates forward() from the changed graph."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            self._in_spec = self._graph._codegen.pytree_info.in_spec
            self._out_spec = self._graph._codegen.pytree_info.out_spec
        made = self._graph.python_code(root_module="self")
        self._code = made.src
        cls = type(self)
        cls.forward = _forward_from_src(made.src, made.globals)
        inner = cls.__dict__.get("_inner_call")
        if inner is None and "__call__" in cls.__dict__ and not getattr(cls.__call__, "_of_graph", False):
            inner = cls._inner_call = cls.__call__  # type: ignore[attr-defined]
        call = _make_call(cls, inner)
        call._of_graph = True  # type: ignore[attr-defined]
        cls.__call__ = call  # type: ignore[method-assign]
        return made

    def _recompile_submodules(self) -> list[tuple[str, PythonCode]]:
        return [(name, m.recompile()) for name, m in self.named_modules() if isinstance(m, GraphModule)]

    # --------------------------------------------------------------------------------------------------------- submodules

    def add_submodule(self, target: str, m: Module) -> bool:
        """Adds a module under a dotted name, and creates missing parents. Returns whether it succeeded: False if an attribute of the path
        is not a module.
        """
        *path, field = target.split(".")
        module: Module = self
        for name in path:
            below = getattr(module, name, None)
            if below is None:
                below = Module()
                setattr(module, name, below)
            if not isinstance(below, Module):
                return False
            module = below
        module.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Deletes the module with a dotted name. Returns whether there was one."""
        *path, field = target.split(".")
        module: Any = self
        for name in path:
            module = getattr(module, name, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, field, None), Module):
            return False
        delattr(module, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Deletes the modules that the graph does not use."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
            if node.op == "call_module":
                try:
                    module = self.get_submodule(node.target)
                except AttributeError:
                    continue
                used.update(f"{node.target}.{name}" for name, _ in module.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ----------------------------------------------------------------------------------------------------- copies and files

    def __reduce__(self) -> Any:
        body = self.__dict__.copy()
        graph = body.pop("_graph")
        made = graph.python_code(root_module="self")
        return reduce_graph_module, (body, _format_imports(made.globals))

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> "GraphModule":
        made: GraphModule = type(self).__new__(type(self))
        memo[id(self)] = made
        root = Module()
        root.__dict__ = copy.deepcopy(self.__dict__, memo)
        self._deepcopy_init()(made, root, root.__dict__["_graph"])
        for key in KEPT:
            if key in self.__dict__:
                setattr(made, key, copy.deepcopy(self.__dict__[key], memo))
        made.meta = copy.deepcopy(self.meta, memo)
        for key, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, key, value)
        for key, value in root.__dict__.items():
            if key not in made.__dict__ and key != "_graph":
                made.__dict__[key] = value
        for hook in self._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> "GraphModule":
        made = GraphModule(self, self.graph, type(self).__name__)
        made.meta = self.meta
        return made

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Writes a package to a folder: `module.py` with a class `module_name`, whose forward() is the code, and the state and modules in
        files."""
        from .. import save

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        save(self.state_dict(), path / "state_dict.pt")
        imports = _format_imports(self._graph.python_code(root_module="self").globals)
        lines = [f"class {module_name}(torch.nn.Module):", "    def __init__(self):", "        super().__init__()"]
        for name, module in self.named_children():
            save(module, path / f"{name}.pt")
            lines.append(
                f'        setattr(self, "{name}", torch.load(Path(__file__).parent / "{name}.pt", weights_only=False)) # '
                f"{type(module).__name__}"
            )
        for kind, tensors in (("register_buffer", self._buffers), ("register_parameter", self._parameters)):
            for name, tensor in tensors.items():
                if tensor is not None:
                    made = f"torch.empty({list(tensor.shape)}, dtype={tensor.dtype})"
                    made = made if kind == "register_buffer" else f"torch.nn.Parameter({made}, requires_grad={tensor.requires_grad})"
                    lines.append(f'        self.{kind}("{name}", {made})')
        lines.append('        self.load_state_dict(torch.load(Path(__file__).parent / "state_dict.pt"))')
        body = "\n".join("    " + line if line else "" for line in self.code.strip("\n").rstrip().split("\n"))
        source = f"from pathlib import Path\n{imports}\nfrom torch.nn import *\n\n\n" + "\n".join(lines) + f"\n\n{body}\n"
        if "import libtensor as torch" in imports:
            source = source.replace("from torch.nn import *", "from libtensor.nn import *")
        (path / "module.py").write_text(source)
        (path / "__init__.py").write_text("from .module import *\n")

    # ----------------------------------------------------------------------------------------------------------- printing

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """Returns, and by default prints, the code of the module and of the GraphModules in it, as classes."""
        made = self._readable(type(self).__name__, expanded_def)
        if print_output:
            print(made)
        return made

    def _readable(self, name: str, expanded_def: bool) -> str:
        """Returns the code of the module as a class `name`, and of the GraphModules in it."""
        code = self._graph.python_code(root_module="self", verbose=True, expanded_def=expanded_def).src.lstrip("\n")
        lines = [*code.rstrip(" ").split("\n")]
        for key, module in self.named_children():
            if isinstance(module, GraphModule):
                lines += [*module._readable(key, expanded_def).split("\n")]
        return "\n".join([f"class {name}(torch.nn.Module):", *("    " + line if line.strip() else "" for line in lines)])

    def __str__(self) -> str:
        return "\n".join([super().__repr__(), self._code, "# To see more debug info, please use `graph_module.print_readable()`"])

    def _replicate_for_data_parallel(self) -> "GraphModule":
        made = self.__copy__()
        made._is_replica = True
        return made

    # -------------------------------------------------------------------------------------------------------------- hooks

    @contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)


def _add_hooks() -> None:
    """Defines the methods that register and unregister each kind of hook."""

    def define(kind: str, listed: str) -> None:
        def register(self: Any, f: Callable[..., Any]) -> None:
            if not callable(f):
                raise AssertionError(f"{kind} hook must be a callable.")
            getattr(self, listed).append(f)

        def unregister(self: Any, f: Callable[..., Any]) -> None:
            getattr(self, listed).remove(f)

        setattr(GraphModule, f"_register_{kind}_hook", register)
        setattr(GraphModule, f"_unregister_{kind}_hook", unregister)

    for kind, listed in zip(("replace_node", "create_node", "erase_node", "deepcopy"), HOOKS, strict=True):
        define(kind, listed)


_add_hooks()
