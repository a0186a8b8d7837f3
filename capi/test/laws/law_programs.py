"""Random programs of views, writes in place, hooks, checkpoints and runs give the gradients, first and second, that the same program
without views and writes has.

The model of a memory is a vector that every write makes anew; that of a view is the places of its elements there, which the view of the
places makes. A program that writes over what a gradient needs may be rejected, but not where what is saved may be written to.
"""

from contextlib import nullcontext

from differentiated import torch
from inputs import case_numbers, rng_of

NAME = "programs"
HOST_ONLY = "it is about what is recorded, which is the same for every device"
STEPS = ("unary", "binary", "view", "view", "write", "write", "write", "checkpoint", "hook")
MOST = 14  # steps of a program
PER_ROUND = 60  # programs for each of --rounds
TOLERANCE = 1e-7
graph = torch.autograd.graph

# Operations on one value, or on two of one shape, and their in-place forms.
UNARY = {
    "sin": lambda a: a.sin(),
    "cos": lambda a: a.cos(),
    "tanh": lambda a: a.tanh(),
    "sigmoid": lambda a: a.sigmoid(),
    "exp": lambda a: (a / 4).exp(),
    "square": lambda a: a.square(),
    "neg": lambda a: a.neg(),
    "cumsum": lambda a: a.cumsum(0),
    "softmax": lambda a: a.softmax(0),
}
BINARY = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / (b.square() + 1),
    "atan2": lambda a, b: torch.atan2(a, b.square() + 1),
    "lerp": lambda a, b: torch.lerp(a, b, 0.3),
}
WRITES = {
    "sin_": lambda a: a.sin_(),
    "cos_": lambda a: a.cos_(),
    "tanh_": lambda a: a.tanh_(),
    "sigmoid_": lambda a: a.sigmoid_(),
    "exp_": lambda a: a.div_(4).exp_(),
    "square_": lambda a: a.square_(),
    "neg_": lambda a: a.neg_(),
    "cumsum_": lambda a: a.cumsum_(0),
    "add_": lambda a, b: a.add_(b),
    "mul_": lambda a, b: a.mul_(b),
    "div_": lambda a, b: a.div_(b.square() + 1),
    "atan2_": lambda a, b: a.atan2_(b.square() + 1),
    "lerp_": lambda a, b: a.lerp_(b, 0.3),
    "copy_": lambda a, b: a.copy_(b),
    "setitem": lambda a, b: a.__setitem__(..., b),
    "fill_": lambda a, b: a.fill_(b.reshape(-1)[0]),
    "zero_": lambda a: a.zero_(),
}
MODEL = UNARY | BINARY
MODEL |= {"copy": lambda a, b: b.clone(), "setitem": lambda a, b: b.clone(), "zero": lambda a: a * 0}
MODEL |= {"fill": lambda a, b: b.reshape(-1)[0].expand(a.shape)}
VIEWS = {
    "slice": lambda t, d, k: t.narrow(d, k % t.shape[d], 1 + k % (t.shape[d] - k % t.shape[d])),
    "select": lambda t, d, k: t.select(d, k % t.shape[d]),
    "transpose": lambda t, d, k: t.transpose(d, k % t.dim()),
    "unsqueeze": lambda t, d, k: t.unsqueeze(d),
    "step": lambda t, d, k: t[::2],
    "alias": lambda t, d, k: t[...],
    "diagonal": lambda t, d, k: t.diagonal(0, 0, 1) if t.dim() > 1 else t.view_as(t),
    "flat": lambda t, d, k: t.reshape(-1),  # of a contiguous tensor, which its positions may not be
}


class Memory:
    def __init__(self, values):
        self.values = values


class Modelled:
    """A tensor, and what it is in the model."""

    def __init__(self, real, memory, places, leaf=False):
        self.real, self.memory, self.places, self.leaf = real, memory, places, leaf

    def value(self):
        return self.memory.values[self.places.reshape(-1)].reshape(self.places.shape)

    def write(self, made):
        self.memory.values = torch.index_put(self.memory.values, (self.places.reshape(-1),), made.reshape(-1))


def whole(real, values, leaf=False):
    return Modelled(real, Memory(values.reshape(-1)), torch.arange(real.numel()).reshape(real.shape), leaf)


class Program:
    def __init__(self, rng, steps):
        self.rng, self.steps, self.lines, self.leaves, self.held = rng, steps, [], [], []
        for _ in range(rng.randint(1, 3)):
            shape = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
            self.leaves.append(torch.randn(shape, dtype=torch.float64, requires_grad=True))
        self.twins = [t.detach().clone().requires_grad_() for t in self.leaves]
        self.held += [whole(t, twin, True) for t, twin in zip(self.leaves, self.twins, strict=True)]

    def note(self, text):
        self.lines.append(text)

    def name(self, m):
        return f"t{self.held.index(m)}"

    def pick(self, fits=lambda m: True):
        found = [m for m in self.held if fits(m)]
        return self.rng.choice(found) if found else None

    def step(self):
        rng = self.rng
        kind = rng.choice(self.steps)
        a = self.pick()
        match kind:
            case "unary":
                op = rng.choice(sorted(UNARY))
                if a.real.dim():
                    self.make(f"{op}({self.name(a)})", UNARY[op], a)
            case "binary":
                op, b = rng.choice(sorted(BINARY)), self.pick(lambda m: m.real.shape == a.real.shape)
                self.make(f"{op}({self.name(a)}, {self.name(b)})", BINARY[op], a, b)
            case "view" if a.real.dim():
                self.view(a, rng.choice(sorted(VIEWS)), rng.randrange(a.real.dim()), rng.randrange(6))
            case "write":
                self.write(rng.choice(sorted(WRITES)))
            case "checkpoint" if a.real.dim():
                self.checkpoint(a)
            case "hook" if not a.leaf and a.real.requires_grad:
                self.note(f"hooks of {self.name(a)} that change nothing")
                a.real.register_hook(lambda g: g * 1)
                a.real.grad_fn.register_prehook(lambda g: None)
                if rng.random() < 0.5:
                    a.real.retain_grad()

    def make(self, text, f, *operands):
        self.note(f"t{len(self.held)} = {text}")
        self.held.append(whole(f(*(m.real for m in operands)), f(*(m.value() for m in operands))))

    def view(self, a, name, d, k):
        if name == "flat" and not a.real.is_contiguous():
            name = "unsqueeze"
        self.note(f"t{len(self.held)} = {name}({self.name(a)}, {d}, {k})")
        real, places = VIEWS[name](a.real, d, k), VIEWS[name](a.places, d, k)
        self.held.append(Modelled(real, a.memory, places if places.numel() == real.numel() else a.places, a.leaf))

    def write(self, op):
        a = self.pick(lambda m: not m.leaf and m.real.dim())
        two = WRITES[op].__code__.co_argcount == 2
        if a is None:
            return
        b = self.pick(lambda m: m.real.shape == a.real.shape and (m.memory is not a.memory or same(m.real, a.real))) if two else None
        if two and b is None:
            return
        operands = [m for m in (a, b) if m]
        self.note(f"{op}({', '.join(self.name(m) for m in operands)})")
        made = MODEL[op.removesuffix("_")](*(m.value() for m in operands))
        WRITES[op](*(m.real for m in operands))
        a.write(made)

    def checkpoint(self, a):
        """What a checkpoint makes of a value, by steps in place and others."""
        first, then, last = (self.rng.choice(sorted(UNARY)) for _ in range(3))
        in_place = self.rng.choice(("add_", "mul_", "neg_", "zero_"))
        self.note(f"t{len(self.held)} = checkpoint of {first}, {then}, {in_place}, {last} of {self.name(a)}")

        def real(x):
            y, z = UNARY[first](x), UNARY[then](x).clone()
            WRITES[in_place](z[:1], y[:1]) if in_place in ("add_", "mul_") else WRITES[in_place](z[:1])
            return UNARY[last](y) * z

        def model(x):
            y, z = UNARY[first](x), UNARY[then](x).clone()
            head = MODEL[in_place[:-1]](z[:1], y[:1]) if in_place in ("add_", "mul_") else MODEL[in_place[:-1]](z[:1])
            return UNARY[last](y) * torch.cat((head, z[1:]))

        made = torch.utils.checkpoint.checkpoint(real, a.real, use_reentrant=False)
        self.held.append(whole(made, model(a.value())))

    def compared(self, may_fail):
        """What differs in the gradients; None where the program has none, or writes over what they need."""
        last = [m for m in self.held if m.real.requires_grad][-3:]
        for m in last:
            if not near(m.real, m.value()):
                return f"t{self.held.index(m)} is {m.real.tolist()}, and should be {m.value().tolist()}"
        real = sum(m.real.sin().sum() for m in last)
        model = sum(m.value().sin().sum() for m in last)
        second = self.rng.random() < 0.5
        want = torch.autograd.grad(model, self.twins, create_graph=second, allow_unused=True)
        try:
            got = torch.autograd.grad(real, self.leaves, create_graph=second, allow_unused=True)
            if second:
                want, got = self.seconds(want, self.twins), self.seconds(got, self.leaves)
        except RuntimeError as error:
            if may_fail and "modified by an inplace operation" in str(error):
                return None
            raise
        for i, (a, b) in enumerate(zip(got, want, strict=True)):
            if not near(a, b):
                return f"the {'second' if second else 'first'} gradient of t{i} is {shown(a)}, and should be {shown(b)}"
        return ""

    def seconds(self, grads, leaves):
        """The gradients of a sum of gradients."""
        found = [g.square().sum() for g in grads if g is not None and g.requires_grad]
        return torch.autograd.grad(sum(found), leaves, allow_unused=True) if found else [None] * len(leaves)


def same(a, b):
    """Whether two tensors of one shape are the same elements, so that one may be an operand where the other is written."""
    return a.data_ptr() == b.data_ptr() and a.stride() == b.stride()


def near(a, b):
    """Alike; none is as good as zeros, and numbers that are too large tell nothing."""
    a, b = (None if t is None or not t.count_nonzero() else t.detach() for t in (a, b))
    if a is None or b is None:
        return a is b or (a if b is None else b).abs().max().item() < TOLERANCE
    return not b.abs().max().item() < 1e6 or a.shape == b.shape and bool(((a - b).abs() <= TOLERANCE * (1 + b.abs())).all())


def shown(t):
    return None if t is None else t.tolist()


# Settings of a program: other ways to save tensors do not change results.
SETTINGS = {
    "nothing": nullcontext,
    "hooks that keep": lambda: graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "save_on_cpu": graph.save_on_cpu,
    "hooks that copy": lambda: graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t.clone()),
    "mutation": graph.allow_mutation_on_saved_tensors,
}
COPIES = ("hooks that copy", "mutation")  # settings with tensors that are overwritten later


def tried(options, law, n):
    setting = rng_of(options.seed, law, n).choice(sorted(SETTINGS))
    if setting not in COPIES + ("nothing",) and under("nothing", options, law, n)[0] is None:
        return None, []  # the same memory is to be overwritten, and the result is ignored
    return under(setting, options, law, n)


def under(setting, options, law, n):
    torch.manual_seed(n)
    rng = rng_of(options.seed, law, n, "steps")
    # The argument of a checkpoint is not copied.
    program = Program(rng, [kind for kind in STEPS if kind != "checkpoint" or setting not in COPIES])
    program.note(f"under {setting}: leaves {[t.tolist() for t in program.leaves]}")
    try:
        with SETTINGS[setting]():
            for _ in range(rng.randint(3, MOST)):
                program.step()
            return program.compared(may_fail=setting not in COPIES), program.lines
    except Exception as error:
        return f"{type(error).__name__}: {error}", program.lines


def run(options, law, report):
    for n in case_numbers(options, PER_ROUND):
        report.start(f"program/{n}")
        problem, lines = tried(options, law, n)
        if problem:
            report.fail(law, f"program/{n}", problem, "\n".join(lines))
        elif problem is not None:
            report.tell(law, True, "tensor_autograd_grad")
