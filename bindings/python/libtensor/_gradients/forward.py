"""Forward-mode derivatives of custom functions that only have a backward."""

from threading import local
from typing import Any

from .._core.modes import enable_grad, inference_mode, is_grad_enabled
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from .grad import compute_gradients
from .nodes import edge_of

OWN = "libtensor.func"  # nodes of the leaves of an evaluation, with whether the evaluation runs


class Levels(local):
    """The levels of forward-mode differentiation that the thread is in, the innermost one last, and the number of functions that func is
    differentiating.
    """

    numbers = ()
    evaluations = 0


levels = Levels()


def level_of(values):
    """Returns the innermost level in which one of the values has a tangent, 0 for none."""
    return max((_f.jvp_level(v) for v in values if isinstance(v, Tensor)), default=0)


def cut(t):
    """Returns the tensor detached from the autograd graph, with its tangents."""
    return _f.jvp_detach(t) if isinstance(t, Tensor) else t


def parts(tensors):
    """Returns the tensors that can have a grad_fn: for dual tensors the primals and tangents."""
    for t in tensors:
        if number := _f.jvp_level(t):
            yield from parts((_f.jvp_primal(t, number), _f.jvp_tangent(t, number)))
        else:
            yield t


def owned(t, running):
    """Returns the node of a leaf of an evaluation; the node lives as long as it is referenced."""
    node = edge_of(t)[0]
    node.metadata[OWN] = running
    return node


def graph_leaves(tensors, visited=()):
    """Returns the nodes at the ends of the graphs of tensors, except for visited nodes and the nodes before them."""
    seen = set(visited)
    waiting: list[Any] = [edge_of(t)[0] for t in tensors if t.requires_grad]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        behind = node.next_functions
        if not behind:
            yield node
        waiting += [n for n, _ in behind]


def depends_on_evaluation(tensors):
    """Returns whether tensors depend on the inputs of a function that func is differentiating."""
    return levels.evaluations > 0 and any(node.metadata.get(OWN, [False])[0] for node in graph_leaves(parts(tensors)))


def recorded_of(tensors):
    """Returns whether calls on the tensors are added to the autograd graph."""
    return is_grad_enabled() and any(t.requires_grad for t in parts(tensors))


def pushed(function, number, args):
    """Returns the results of a function with a backward for dual arguments: the vector-Jacobian product is linear in the vector, and its
    derivative is the Jacobian.
    """
    args, tangents, nodes = list(args), {}, []
    given = [a for a in args if isinstance(a, Tensor)]
    recorded, valued = recorded_of(given), recorded_of(_f.jvp_primal(t, number) for t in given)
    with inference_mode(False), enable_grad():
        for i, t in enumerate(args):
            tangent = _f.jvp_tangent(t, number) if isinstance(t, Tensor) else None
            if tangent is not None:
                primal = _f.jvp_primal(t, number)
                args[i] = _f.jvp_input(primal, recorded)
                if not primal.requires_grad:
                    nodes.append(owned(args[i], [False]))
                tangents[i] = tangent
        own = [a.clone() if i in tangents else a for i, a in enumerate(args)]
        made = function(*own)
        outputs = made if isinstance(made, tuple) else (made,)
        if any(output is own[i] for output in outputs for i in tangents):
            raise NotImplementedError(
                "inside jvp: functions that write to their arguments are not implemented; return another tensor from forward"
            )
        live = [t for t in outputs if isinstance(t, Tensor) and t.requires_grad]
        slopes = products(live, [args[i] for i in tangents], list(tangents.values()), recorded)
    slopes = {id(t): slope for t, slope in zip(live, slopes, strict=True) if slope is not None}
    whole = [t if valued else cut(t) for t in outputs]
    wrapped = tuple(_f.jvp_wrap(w, slopes[id(t)], number) if id(t) in slopes else w for t, w in zip(outputs, whole, strict=True))
    return wrapped if isinstance(made, tuple) else wrapped[0]


def products(outputs, inputs, tangents, recorded):
    """Returns the Jacobian-vector product of each output with the tangents of the inputs; None for outputs that do not depend on the
    inputs.
    """
    if not outputs:
        return []
    vectors = [_f.zeros_like(t).requires_grad_() for t in outputs]
    nodes = [owned(t, [False]) for t in vectors]  # noqa: F841
    rows = compute_gradients(outputs, inputs, vectors, True, True, allow_unused=True)
    live = [(row, t) for row, t in zip(rows, tangents, strict=True) if row is not None and row.requires_grad]
    if not live:
        return [None for _ in outputs]
    rows, tangents = zip(*live, strict=True)
    return compute_gradients(rows, vectors, tangents, True, recorded, allow_unused=True)
