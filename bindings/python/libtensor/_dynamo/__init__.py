"""Private names of torch.compile that packages use, without effect: libtensor has no compiler (torch.compiler)."""

from contextlib import contextmanager, nullcontext
from typing import Any

from .._inert import declare_unsupported, identity
from ..compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    nonstrict_trace,
    reset,
    set_stance,
    substitute_in_graph,
)
from . import config, eval_frame, exc, external_utils, utils
from .eval_frame import OptimizedModule

disallow_in_graph = forbid_in_graph = run = dont_skip_tracing = disable_nested_graph_breaks = allow_in_graph
guard_failures: dict[Any, Any] = {}
orig_code_map: dict[Any, Any] = {}
patch_dynamo_config = config.patch


def optimize(backend="inductor", **options):
    """Returns a decorator that returns the function."""
    return identity


optimize_assert = optimize


def error_on_graph_break(error_on_graph_break):
    """Returns a context manager without effect."""
    return nullcontext()


def graph_break(msg=""):
    """Does nothing."""


skip_frame = step_unsupported = graph_break


def mark_dynamic(tensor, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """Does nothing: sizes are always dynamic."""


def mark_static(tensor, index=None):
    """Does nothing."""


maybe_mark_dynamic = mark_dynamic


def mark_static_address(tensor, guard=True):
    """Does nothing."""


def reset_code_caches():
    """Does nothing: no compiled code exists."""


reset_code = reset_frame_count = reset_code_caches


def is_dynamo_supported():
    """Returns False: there is no compiler."""
    return False


is_inductor_supported = is_dynamo_supported


def lookup_backend(compiler_fn):
    """Returns a compiler that is a function; raises RuntimeError for a name."""
    if callable(compiler_fn):
        return compiler_fn
    raise RuntimeError(f"lookup_backend: torch.compile backends such as {compiler_fn!r} are not supported")


def register_backend(compiler_fn=None, name=None, tags=()):
    """Returns the compiler, which is never called."""
    return identity if compiler_fn is None else compiler_fn


declare_unsupported(globals(), "libtensor has no compiler; call the function", "explain export aot_compile")
