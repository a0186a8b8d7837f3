"""From inside every function of the program's that a call or a run of gradients calls, every call gives what it gives elsewhere: no lock is
held meanwhile. Calls on what the function itself is about, its leaf, its node, its hooks, come back too, on this thread and on another."""

import io
import threading
from dataclasses import replace

from compare import unsound, values_differ
from differentiated import torch
from law_places import makes_garbage

NAME = "callbacks"
HOST_ONLY = "it is about locks, which devices do not have"
WAIT = 20  # seconds for a call on another thread
graph = torch.autograd.graph


class Scene:
    """A small graph with a function of the program's in one of the places where there can be one, which calls `act` once."""

    def __init__(self, act):
        self.act, self.calls = act, 0
        self.x = torch.tensor([1.0, 2.0], requires_grad=True)
        self.hook = None

    def once(self):
        self.calls += 1
        if self.calls == 1:
            self.act(self)

    def seen(self, *_):
        self.once()

    def run(self, y):
        self.y = y
        y.sum().backward(retain_graph=True)


def tensor_hook(s):
    y = s.x * s.x
    s.hook = y.register_hook(s.seen)
    s.run(y)


def leaf_hook(s):
    s.hook = s.x.register_hook(s.seen)
    s.run(s.x.exp())


def post_accumulate(s):
    s.hook = s.x.register_post_accumulate_grad_hook(s.seen)
    s.run(s.x.exp())


def node_hook(s):
    y = s.x * s.x
    s.hook = y.grad_fn.register_hook(s.seen)
    s.run(y)


def node_prehook(s):
    y = s.x * s.x
    s.hook = y.grad_fn.register_prehook(s.seen)
    s.run(y)


def accumulating(s):
    s.node = node_of(s)  # the hook is freed with it
    s.hook = s.node.register_prehook(s.seen)
    s.run(s.x.exp())


def several(s):
    other = torch.ones(2, requires_grad=True)
    s.hook = graph.register_multi_grad_hook((s.x, other), s.seen)
    s.run(s.x * other)


def any_of_several(s):
    other = torch.ones(2, requires_grad=True)
    s.hook = graph.register_multi_grad_hook((s.x, other), s.seen, mode="any")
    s.run(s.x * other)


def packing(s):
    with graph.saved_tensors_hooks(lambda t: (s.once(), t)[1], lambda t: t):
        y = s.x * s.x
    s.run(y)


def unpacking(s):
    with graph.saved_tensors_hooks(lambda t: t, lambda t: (s.once(), t)[1]):
        s.y = s.x * s.x
    s.run(s.y)


def packing_in_place(s):
    with graph.saved_tensors_hooks(lambda t: (s.once(), t)[1], lambda t: t):
        y = s.x.clone().cos_()
    s.run(y)


class Calls(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, s):
        ctx.s = s
        if s.forward:
            s.once()
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        if not ctx.s.forward:
            ctx.s.once()
        return grad * 2, None


def forward(s):
    s.forward = True
    s.run(Calls.apply(s.x, s))


def backward(s):
    s.forward = False
    s.run(Calls.apply(s.x, s))


def checkpointed(s):
    """The first time that the function runs, and what it is run again for."""
    s.run(torch.utils.checkpoint.checkpoint(lambda x: (s.once(), x.cos().sin())[1], s.x, use_reentrant=False))


def recomputed(s):
    def function(x):
        s.times += 1
        if s.times > 1:
            s.once()
        return x.cos().sin()

    s.times = 0
    s.run(torch.utils.checkpoint.checkpoint(function, s.x, use_reentrant=False))


PLACES = (
    *(tensor_hook, leaf_hook, post_accumulate, node_hook, node_prehook, accumulating, several, any_of_several, packing, unpacking),
    *(packing_in_place, forward, backward, checkpointed, recomputed),
)


def node_of(s):
    return graph.get_gradient_edge(s.x).node


def on_leaf(f):
    return lambda s: f(s.x)


def on_result(f):
    return lambda s: f(s.y) if hasattr(s, "y") else None


# The effects that a callback may have on the graph that it is called in.
OWN = {
    "its node": lambda s: node_of(s)(torch.ones(2)),
    "its node with the leaf": lambda s: node_of(s)(s.x),
    "next functions": on_result(lambda y: [n.next_functions for n, _ in y.grad_fn.next_functions]),
    "the hook goes": lambda s: s.hook and s.hook.remove(),
    "another hook": on_leaf(lambda x: x.register_hook(lambda grad: None)),
    "another hook of the result": on_result(lambda y: y.register_hook(lambda grad: None)),
    "a hook after": on_leaf(lambda x: x.register_post_accumulate_grad_hook(lambda x: None)),
    "hooks of the node": lambda s: (node_of(s).register_hook(lambda *g: None), node_of(s).register_prehook(lambda *g: None)),
    "backward": on_result(lambda y: y.sum().backward(retain_graph=True)),
    "backward, which ends the graph": on_result(lambda y: y.sum().backward()),
    "grad, recorded": lambda s: torch.autograd.grad((s.x * s.x).sum(), s.x, create_graph=True)[0].sum().backward(),
    "the gradient is set": on_leaf(lambda x: setattr(x, "grad", torch.ones(2))),
    "the gradient is a view of the leaf": on_leaf(lambda x: setattr(x, "grad", x.detach().view(2))),
    "the gradient goes": on_leaf(lambda x: setattr(x, "grad", None)),
    "the leaf is written to": on_leaf(lambda x: x.data.mul_(2)),
    "the leaf has other data": on_leaf(lambda x: setattr(x, "data", torch.ones(2))),
    "the leaf is wanted no more": on_leaf(lambda x: x.requires_grad_(False)),
    "the result is written to": on_result(lambda y: y.detach().mul_(2)),
    "the result keeps its gradient": on_result(lambda y: y.retain_grad()),
    "what is saved": on_result(lambda y: [getattr(y.grad_fn, name) for name in dir(y.grad_fn) if name.startswith("_saved_")]),
    "the hooks for what is saved end": lambda s: graph.saved_tensors_hooks(None, None).__exit__(None, None, None),
    "others begin and end": lambda s: graph.save_on_cpu().__enter__(),
    "modes": lambda s: torch.set_grad_enabled(torch.is_grad_enabled()),
    "inference": lambda s: torch.inference_mode().__enter__(),
    "an error": lambda s: torch.ones(2) @ torch.ones(3),
    "all goes": lambda s: (s.__dict__.pop("y", None), s.__dict__.pop("hook", None)),
    "names": on_leaf(lambda x: (repr(x), x.grad_fn, x.is_leaf, x.grad, x._version)),
    "a copy": on_leaf(lambda x: torch.save(x, io.BytesIO())),
}


def elsewhere(act):
    """The action on another thread, which this one waits for."""

    def acts(s):
        done = threading.Event()
        threading.Thread(target=lambda: (attempt(act, s), done.set()), daemon=True).start()
        if not done.wait(WAIT):
            raise AssertionError("another thread waits for this one")

    return acts


def attempt(act, *given):
    """What an action answers, or rejects; an internal error is neither."""
    try:
        act(*given)
    except Exception as error:
        if isinstance(error, AssertionError) or "internal error" in str(error):
            return f"{type(error).__name__}: {error}"
    return ""


def on_its_own(place, scene):
    """Runs a scene on a thread of its own, whose modes end with it."""
    told = []
    thread = threading.Thread(target=lambda: told.append(attempt(place, scene)))
    thread.start()
    thread.join()
    return told[0]


# Their results depend on where they are called: hooks of a backward pass are not recorded, and its memory is in use.
TELLS = {"is_grad_enabled", "memory_stats", "memory_stats_of"}


def check(library, call, rng):
    if call.operator["name"] in ("set_num_threads", "set_memory_limit", "fail_allocation"):
        return None
    place = rng.choice(PLACES)
    where = place.__name__.replace("_", " ")
    if call.form["mode"] == "out" or rng.random() < 0.5:
        name = rng.choice(sorted(OWN))
        act = rng.choice((OWN[name], elsewhere(OWN[name])))
        text = on_its_own(place, Scene(act))
        return (f"{where}, {name}: {text}", call) if text else ""
    want, found = library.run(call), []
    text = on_its_own(place, Scene(lambda s: found.append(library.run(call))))
    if text or not found:
        return f"{where}: {text or 'nothing was called'}", call
    if text := unsound(call, replace(found[0], live=0, leaked=0)):  # other threads freed objects meanwhile
        return f"{where}: {text}", call
    if want.status != found[0].status:
        return f"{where}: status {want.status} outside and {found[0].status} inside ({want.message or found[0].message})", call
    text = "" if makes_garbage(call) or call.operator["name"] in TELLS else values_differ(want.results, found[0].results)
    return (f"{where}: outside and inside differ in {text}", call) if text else ""
