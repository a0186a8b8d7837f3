"""Two operands of any layouts, with entries, without, uncoalesced, of bools, give what strided ones give, and so does out= of any layout
and dtype; or they are rejected, for their layouts and dtypes alone."""

import time
import traceback

import libtensor as torch
from inputs import rng_of

NAME = "layouts"
HOST_ONLY = "devices have few kernels for sparse tensors, and reject the rest by name"
DRAWS = 150  # of each operator in a round
LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
DTYPES = (
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.int64,
    torch.int8,
    torch.uint8,
    torch.uint16,
    torch.uint64,
    torch.bool,
    torch.float16,
    torch.bfloat16,
)
STATES = ("entries", "entries", "none", "uncoalesced", "zeros")
NAMES = (
    "add sub rsub mul div floor_divide remainder fmod pow maximum minimum fmax fmin eq ne lt le gt ge isclose logical_and logical_or "
    "logical_xor "
    "bitwise_and bitwise_or copysign hypot atan2 xlogy gcd lcm heaviside mm matmul inner kron dist equal allclose"
)


def at(a, mask, values):
    return torch.where(mask, values, torch.zeros((), dtype=a.dtype))


# A function of two operands, and keywords such as out; for functions with a sparsity pattern, one of three, the last of which returns where
# an operand has entries.
PAIRS = {name: getattr(torch, name) for name in NAMES.split()} | {
    "add_alpha": lambda a, b, **k: torch.add(a, b, alpha=2, **k),
    "mv": lambda a, b: torch.mv(a, b.to_dense()[0]),
    "bmm": lambda a, b: torch.bmm(torch.stack([a, a]), torch.stack([b, b])),
    "addmm": lambda a, b, **k: torch.addmm(a, a, b, **k),
    "addmm_beta": lambda a, b, **k: torch.addmm(b, a, b, beta=2, alpha=3, **k),
    "addmm_gone": lambda a, b, **k: torch.addmm(b, a, b, beta=0, **k),
    "addmv": lambda a, b: torch.addmv(b.to_dense()[0], a, b.to_dense()[1]),
    "sparse.mm": lambda a, b: torch.sparse.mm(a, b),
    "sparse.addmm": lambda a, b: torch.sparse.addmm(b, a, b),
    "cat": lambda a, b, **k: torch.cat([a, b], **k),
    "stack": lambda a, b: torch.stack([a, b]),
    "copy_": lambda a, b: a.clone().copy_(b),
    "add_": lambda a, b: a.clone().add_(b),
    "mul_": lambda a, b: a.clone().mul_(b),
}
SAMPLED = {
    "sparse.sampled_addmm": (
        lambda a, b, **k: torch.sparse.sampled_addmm(a, b, b, **k),
        lambda a, b, has: at(a, has(a), a + b @ b),
    ),
    "sparse_mask": (lambda a, b: a.sparse_mask(b), lambda a, b, has: at(a, has(b), a)),
}
FUNCTIONS = {name: f for name, (f, _) in SAMPLED.items()} | PAIRS
COMMUTING = ("add", "mul")  # which take two operands in both orders or in none
UNEVEN = ("stack", "bmm", "copy_")  # whose operands of a compressed layout have as many entries each, or are rejected
WITH_OUT = ("add", "add_alpha", "sub", "mul", "mm", "addmm", "addmm_beta", "addmm_gone", "cat", "sparse.sampled_addmm")


class Drawn:
    """An operand, the strided tensor of its elements, and where it has entries."""

    def __init__(self, rng, dtype, layout):
        state = rng.choice(STATES)
        low = 0 if not dtype.is_signed else -2
        whole = torch.tensor([[rng.randint(low, 2) * (rng.random() < 0.4) * (state != "none") for _ in range(4)] for _ in range(4)])
        self.dense, self.layout, self.state = whole.to(dtype), layout, state
        self.has = self.dense != 0
        if layout == "strided":
            self.given = self.dense.clone()
            return
        if "_bs" in layout:
            self.has = self.has.reshape(2, 2, 2, 2).any(3, keepdim=True).any(1, keepdim=True).expand(2, 2, 2, 2).reshape(4, 4)
        self.given = laid(self.dense, layout)
        if state == "zeros":
            self.given.values().zero_()
            self.dense = torch.zeros_like(self.dense)
        elif state == "uncoalesced" and layout == "sparse_coo":
            indices, values = (torch.cat([part, part], -1) for part in (self.given.indices(), self.given.values()))
            self.given = torch.sparse_coo_tensor(indices, values, (4, 4))
            self.dense = self.dense if dtype is torch.bool else self.dense + self.dense

    def __str__(self):
        return f"{self.layout} {str(self.dense.dtype).rpartition('.')[2]} ({self.state})"


def laid(dense, layout):
    if layout == "strided":
        return dense.clone()
    return dense.to_sparse(layout=getattr(torch, layout), blocksize=(2, 2) if "_bs" in layout else None)


def facts(t):
    """All that a user sees of a tensor."""
    parts = [] if t.layout is torch.strided else [t._nnz(), t.layout is torch.sparse_coo and t.is_coalesced()]
    return (t.layout, t.dtype, tuple(t.shape), *parts, str(t.to_dense().tolist()))


def outcome(f, *args, **kw):
    try:
        return f(*args, **kw)
    except (RuntimeError, TypeError, ValueError, IndexError) as rejected:
        return rejected


def differ(got, want):
    """Text on how two answers differ, "" where they do not."""
    if not isinstance(want, torch.Tensor):
        return "" if got == want else f"{got} instead of {want}"
    got = got.to_dense()
    if got.dtype is not want.dtype or got.shape != want.shape:
        return f"{got.dtype} of sizes {tuple(got.shape)} instead of {want.dtype} of sizes {tuple(want.shape)}"
    wide, rough = torch.complex128, 1e-2 if want.dtype in (torch.float16, torch.bfloat16) else 1e-5
    if torch.allclose(got.to(wide), want.to(wide), rtol=rough, atol=rough, equal_nan=True):
        return ""
    return f"{got.tolist()} instead of {want.tolist()}"


def run(options, law, report):
    end = time.monotonic() + options.budget if options.budget else None
    kept = {}  # of each operator, whether operands of some layouts and dtypes are taken, and an example
    for name in sorted(FUNCTIONS):
        if options.operator not in (None, name) or options.case and options.case.rsplit("/", 1)[0] != name:
            continue
        failed = 0
        for n in range(options.rounds * DRAWS if not end else 10**7):
            case = f"{name}/{n}"
            if end and time.monotonic() > end or failed == 3:
                break
            if options.case not in (None, case):
                continue
            report.start(case)
            try:
                text = check(name, rng_of(options.seed, law, case), kept)
            except Exception:  # a defect of the test is reported as one, and the test continues
                text = f"the suite failed: {traceback.format_exc()}"
            report.tell(law, True, f"tensor_{name.replace('.', '_').split('_alpha')[0].split('_beta')[0].split('_gone')[0]}")
            if text:
                failed += 1
                report.fail(law, case, text)


def check(name, rng, kept):
    dtype = rng.choice(DTYPES)
    a = Drawn(rng, dtype, rng.choice(LAYOUTS))
    b = Drawn(rng, dtype if rng.random() < 0.7 else rng.choice(DTYPES), rng.choice(LAYOUTS))
    told = f"{name} of {a} and {b}"
    before = facts(a.given), facts(b.given)
    places = [lambda t: a.has if t is a.dense else b.has] if name in SAMPLED else []
    want = outcome(SAMPLED[name][1] if places else PAIRS[name], a.dense, b.dense, *places)
    got = outcome(FUNCTIONS[name], a.given, b.given)
    if text := unsound(got, told, (a, b), before):
        return text
    if name not in UNEVEN and (text := unlike(name, a, b, got, kept)):
        return f"{told}: {text}"
    if isinstance(want, Exception) and not isinstance(got, Exception):
        return f"{told}: answered, though of strided operands it is rejected: {want}"
    if not isinstance(got, Exception) and (text := differ(got, want)):
        return f"{told}: {text}"
    if name in WITH_OUT and isinstance(got, (torch.Tensor, Exception)):
        return into(name, rng, a, b, got, told)
    return ""


def unlike(name, a, b, got, kept):
    """Whether operands of the same layouts and dtypes are taken at one time and rejected at another, or in one order alone."""
    key = name, a.layout, b.layout, a.dense.dtype, b.dense.dtype
    taken = not isinstance(got, Exception)
    for seen in (key, (name, b.layout, a.layout, b.dense.dtype, a.dense.dtype)) if name in COMMUTING else (key,):
        if seen in kept and kept[seen][0] != taken:
            return f"{'taken' if taken else f'rejected ({got})'}, unlike {kept[seen][1]}"
    kept[key] = taken, f"{a} and {b}"
    return ""


def unsound(got, told, operands, before):
    if isinstance(got, Exception) and "internal error" in str(got):
        return f"{told}: {got}"
    if tuple(facts(x.given) for x in operands) != before:
        return f"{told}: the operands changed"
    return ""


def into(name, rng, a, b, got, told):
    """out= of any layout and dtype: the function's answer, or a rejection that changes nothing."""
    dtype = got.dtype if isinstance(got, torch.Tensor) and rng.random() < 0.4 else rng.choice(DTYPES)
    out = laid(Drawn(rng, dtype, "strided").dense, rng.choice(LAYOUTS))
    if isinstance(got, torch.Tensor) and got.shape != out.shape:
        out = torch.zeros(got.shape, dtype=dtype) if out.layout is torch.strided else out
    told, was, before = f"{told} into {facts(out)[:3]}", facts(out), (facts(a.given), facts(b.given))
    made = outcome(FUNCTIONS[name], a.given, b.given, out=out)
    if text := unsound(made, told, (a, b), before):
        return text
    if isinstance(made, Exception):
        if facts(out) != was:
            return f"{told}: rejected ({made}), and out changed from {was} to {facts(out)}"
        fits = isinstance(got, torch.Tensor) and (got.layout, got.dtype, got.shape) == (out.layout, out.dtype, out.shape)
        return f"{told}: rejected ({made}), though that is what the function gives" if fits else ""
    if isinstance(got, Exception):
        return f"{told}: answered, though without out it is rejected: {got}"
    if made is not out or (out.layout, out.dtype) != was[:2]:
        return f"{told}: out has become {facts(out)[:3]}"
    return f"{told}: {text}" if (text := differ(out, got.to_dense().to(out.dtype))) else ""
