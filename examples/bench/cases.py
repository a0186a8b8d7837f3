"""The benchmark's cases by family: a name, and for each library a function that makes the call to time."""

from collections.abc import Callable, Iterator

Make = Callable[[str, object], Callable[[], object] | None]
Case = tuple[str, Make]

M = 1_000_000
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMMON = """
import math
def fill(*s, d='float32'): return cast((t.arange(math.prod(s)) % 97 / 97 + 0.25).reshape(s), d)
def whole(*s, d='int64'): return cast(t.arange(math.prod(s)) % 97 + 1, d).reshape(s)
"""
SETUP = {
    "libtensor": "def cast(a, d): return a.to(getattr(t, d))\n" + COMMON,
    "torch": "def cast(a, d): return a.to(getattr(t, d))\n" + COMMON,
    "numpy": "def cast(a, d): return a.astype(d)\n" + COMMON,
    "scipy": "import numpy as t, scipy.fft, scipy.linalg, scipy.signal\ndef cast(a, d): return a.astype(d)\n" + COMMON,
}


def case(code: str, setup: str = "", numpy: str | None = "same", scipy: str | None = None) -> Make:
    """A case from source text, where `t` is the library. NumPy runs its own text, or the same, or (None) not at all, and SciPy its
    own, with arrays of NumPy's."""

    def make(library: str, module: object) -> Callable[[], object] | None:
        own = {"numpy": code if numpy == "same" else numpy, "scipy": scipy}
        text = own.get(library, code)
        if text is None:
            return None
        names: dict[str, object] = {"t": module}
        exec(SETUP[library], names)
        exec(setup, names)
        return eval(f"lambda: {text}", names)

    return make


def known(d: str) -> str | None:
    """NumPy runs the same text, save for the dtype that it lacks."""
    return None if d == "bfloat16" else "same"


def operand(name: str, d: str, *sizes: int) -> str:
    maker = "fill" if "float" in d or "complex" in d else "whole"
    return f"{name} = {maker}({', '.join(map(str, sizes))}, d='{d}')"


def square(d: str = "float32") -> str:
    return "; ".join((operand("a", d, 1000, 1000), operand("b", d, 1000, 1000), operand("r", d, 1000), operand("c", d, 1000, 1)))


def small() -> Iterator[Case]:
    yield "small: a + b (3 floats)", case("a + b", "a = fill(3); b = fill(3)")
    yield "small: a[1:]", case("a[1:]", "a = fill(3)")
    yield "small: zeros(3)", case("t.zeros(3)")
    yield "small: a.sum()", case("a.sum()", "a = fill(3)")
    yield "small: a[0]", case("a[0]", "a = fill(3)")
    yield "small: 1 - a", case("1 - a", "a = fill(3)")
    yield "small: a.shape", case("a.shape", "a = fill(3)")
    yield "small: matmul 3x3", case("a @ a", "a = fill(3, 3)")
    layer = "a = fill(1, 64); w = fill(64, 64); b = fill(64); f = t.nn.functional"
    yield "small: relu(linear(a)), 64 units", case("f.relu(f.linear(a, w, b))", layer, None)


def memory() -> Iterator[Case]:
    big = f"a = fill(20*{M}); b = fill(20*{M})"
    yield "memory: add 20M into out", case("t.add(a, b, out=c)", big + "; c = a + b")
    yield "memory: add 20M, fresh result", case("a + b", big)
    yield "memory: sum 20M", case("a.sum()", big)
    yield "memory: copy 20M", case("c.copy_(a)", big + "; c = a + b", "t.copyto(c, a)")
    yield "memory: zeros 1M", case(f"t.zeros({M})")
    yield "memory: arange 1M", case(f"t.arange({M})")
    yield "memory: linspace 1M", case(f"t.linspace(0, 1, {M})")
    yield "memory: full 1M", case(f"t.full(({M},), 2.5)")


def arithmetic() -> Iterator[Case]:
    for d in ("uint8", "int16", "int32", "int64", *FLOATS, "complex64", "complex128"):
        for op in ("add", "mul", "div"):
            yield f"{op} {d}", case({"add": "a + b", "mul": "a * b", "div": "a / b"}[op], square(d), known(d))
        yield f"neg {d}", case("-a", square(d), known(d))
        yield f"abs {d}", case("abs(a)", square(d), known(d))
    for d in ("uint8", "int32", "int64", "float16", "float32", "float64"):
        yield f"a > b {d}", case("a > b", square(d))
    for d in ("int32", "int64", "float32", "float64"):
        yield f"a // b {d}", case("a // b", square(d))
        yield f"a % b {d}", case("a % b", square(d))
    for op in ("a & b", "a ^ b", "a << r"):
        yield f"{op} int32", case(op, square("int32"))
    yield "logical_and", case("t.logical_and(a, b)", square())
    yield "isnan", case("t.isnan(a)", square())
    yield "maximum float32", case("t.maximum(a, b)", square())
    yield "maximum int64", case("t.maximum(a, b)", square("int64"))
    yield "clamp float32", case("a.clamp(0.3, 0.9)", square(), "a.clip(0.3, 0.9)")
    yield "where(mask, a, b)", case("t.where(m, a, b)", square() + "; m = a > 0.7")
    yield "lerp", case("t.lerp(a, b, 0.3)", square(), None)
    yield "addcmul", case("t.addcmul(a, b, b)", square(), None)
    yield "add alpha=2", case("t.add(a, b, alpha=2)", square(), None)


def layouts() -> Iterator[Case]:
    yield "a * row", case("a * r", square())
    yield "a * column", case("a * c", square())
    yield "row * column", case("r * c", square())
    yield "a + b.T", case("a + b.T", square())
    yield "a + b.T float64", case("a + b.T", square("float64"))
    yield "a.T + b.T", case("a.T + b.T", square())
    yield "a[::2] + b[::2]", case("a[::2] + b[::2]", square())
    yield "a[:, ::2] + b[:, ::2]", case("a[:, ::2] + b[:, ::2]", square())
    yield "a.T += b", case("e.add_(b)", square() + "; e = a.T", "t.add(e, b, out=e)")
    yield "a + 2.5", case("a + 2.5", square())
    yield "int32 + float64", case("a + b", operand("a", "int32", M) + "; " + operand("b", "float64", M))
    yield "int64 + float32", case("a + b", operand("a", "int64", M) + "; " + operand("b", "float32", M))
    yield "float16 + float32", case("a + b", operand("a", "float16", M) + "; " + operand("b", "float32", M))
    yield "uint8 * 0.5", case("a * 0.5", operand("a", "uint8", M))
    yield "float16 * 0.5", case("a * 0.5", operand("a", "float16", M))
    yield "bool * float32", case("m * a", square() + "; m = a > 0.7")


def elementary() -> Iterator[Case]:
    names = "exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh floor reciprocal square sign"
    for d in ("float32", "float64"):
        for name in names.split():
            yield f"{name} {d} into out", case(f"t.{name}(a, out=c)", square(d) + "; c = a + 0")
        for name in ("rsqrt", "sigmoid", "erf", "erfc", "erfinv", "lgamma", "digamma", "asin", "acos", "atan", "asinh", "acosh", "atanh"):
            yield (
                f"{name} {d} into out",
                case(f"t.{name}(a, out=c)", square(d) + f"; {'a = a + 1; ' if name == 'acosh' else 'a = a * 0.7; '} c = a + 0", None),
            )
        yield f"a ** b {d}", case("a ** b", square(d))
        yield f"a ** 2 {d}", case("a ** 2", square(d))
        yield f"atan2 {d}", case("t.atan2(a, b)", square(d), "t.arctan2(a, b)")
        yield f"hypot {d}", case("t.hypot(a, b)", square(d))
    for d in ("float16", "bfloat16"):
        for name in ("exp", "log", "tanh", "sigmoid", "sqrt"):
            yield f"{name} {d}", case(f"t.{name}(a)", square(d), None)


def special() -> Iterator[Case]:
    for d in ("float32", "float64"):
        for name in "i0 i1e bessel_j0 bessel_y1 modified_bessel_k0 airy_ai erfcx ndtr log_ndtr ndtri entr".split():
            yield f"special.{name} {d} into out", case(f"t.special.{name}(a, out=c)", square(d) + "; c = a + 0", None)
        yield f"special.gammainc {d}", case("t.special.gammainc(a, b)", square(d), None)
        yield f"special.zeta {d}", case("t.special.zeta(a, b)", square(d) + "; a = a + 2", None)
        for name in ("chebyshev_polynomial_t", "hermite_polynomial_he"):
            yield f"special.{name} {d}", case(f"t.special.{name}(a, 5)", square(d), None)


def reductions() -> Iterator[Case]:
    for d in ("uint8", "int64", *FLOATS, "complex64"):
        for name in ("sum", "mean", "prod", "amax", "argmax", "var", "norm"):
            if (
                name not in ("sum", "prod", "amax", "argmax")
                and d in ("uint8", "int64")
                or name in ("amax", "argmax", "prod")
                and d == "complex64"
            ):
                continue
            numpy = None if name == "norm" or d == "bfloat16" else name.replace("amax", "max")
            for dim in ("0", "1", ""):
                where = f"over dim {dim}" if dim else "of all"
                arguments = dim and (f"dim={dim}" if name == "norm" else dim)
                yield f"{name} {where} {d}", case(f"a.{name}({arguments})", square(d), numpy and f"a.{numpy}({dim})")
    for d in ("float32", "float64"):
        for dim in (0, 1):
            yield f"aminmax over dim {dim} {d}", case(f"a.aminmax(dim={dim})", square(d), None)
            yield f"max with indices over dim {dim} {d}", case(f"a.max({dim})", square(d), None)
            yield f"logsumexp over dim {dim} {d}", case(f"a.logsumexp({dim})", square(d), None)
        yield f"aminmax of all {d}", case("a.aminmax()", square(d), None)
        yield f"std of all {d}", case("a.std()", square(d))
    cube = "a = fill(100, 100, 100)"
    yield "sum over dims 0, 2", case("a.sum((0, 2))", cube)
    yield "sum over dim 1 of 3", case("a.sum(1)", cube)
    for dim in (0, 1):
        yield f"any over dim {dim}", case(f"m.any({dim})", square() + "; m = a > 2")
    yield "all of bool", case("m.all()", square() + "; m = a > 0")
    yield "count_nonzero", case("t.count_nonzero(m)", square() + "; m = a > 0.7")


def scans() -> Iterator[Case]:
    for d in ("float16", "float32", "float64", "int64"):
        for dim in (0, 1):
            yield f"cumsum over dim {dim} {d}", case(f"a.cumsum({dim})", square(d))
    for dim in (0, 1):
        yield f"cumprod over dim {dim}", case(f"a.cumprod({dim})", square())
        yield f"cummax over dim {dim}", case(f"a.cummax({dim})", square(), None)
        yield f"logcumsumexp over dim {dim}", case(f"a.logcumsumexp({dim})", square(), None)
    yield "cumsum of 1M", case("a.cumsum(0)", f"a = fill({M})")
    for d in FLOATS:
        for dim in (0, 1):
            yield f"softmax over dim {dim} {d}", case(f"t.softmax(a, {dim})", square(d), None)
            yield f"log_softmax over dim {dim} {d}", case(f"t.log_softmax(a, {dim})", square(d), None)


def copies() -> Iterator[Case]:
    pairs = (
        "float32:float64 float64:float32 float32:float16 float16:float32 float32:bfloat16 bfloat16:float32 float64:float16 "
        "float16:bfloat16 "
    )
    pairs += "float32:int32 float32:int64 int64:float32 uint8:float32 float32:uint8 int32:int64 int64:int32 float32:bool float32:complex64"
    for pair in pairs.split():
        source, target = pair.split(":")
        yield f"cast {source} to {target}", case(f"cast(a, '{target}')", operand("a", source, M), None if "bfloat16" in pair else "same")
    for d in ("uint8", "float16", "float32", "float64", "complex128"):
        yield f"transposed copy 2000² {d}", case("a.T.contiguous()", operand("a", d, 2000, 2000), "t.ascontiguousarray(a.T)")
    for order in ((2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)):
        yield (
            f"permuted copy {order}",
            case(f"a.permute{order}.contiguous()", "a = fill(100, 100, 100)", f"t.ascontiguousarray(a.transpose{order})"),
        )
    yield "cast and transpose", case("a.T.to(t.float64).contiguous()", square(), "t.ascontiguousarray(a.T.astype('float64'))")
    yield "strided copy a[:, ::2]", case("a[:, ::2].contiguous()", square(), "t.ascontiguousarray(a[:, ::2])")
    yield (
        "expanded copy of a row",
        case("r.expand(1000, 1000).contiguous()", square(), "t.ascontiguousarray(t.broadcast_to(r, (1000, 1000)))"),
    )
    yield (
        "expanded copy of a column",
        case("c.expand(1000, 1000).contiguous()", square(), "t.ascontiguousarray(t.broadcast_to(c, (1000, 1000)))"),
    )
    yield "flip over dim 1", case("a.flip(1)", square(), "t.flip(a, 1).copy()")
    yield "roll by 3 over dim 1", case("a.roll(3, 1)", square(), "t.roll(a, 3, 1)")
    yield "repeat 2 x 2", case("a.repeat(2, 2)", square(), "t.tile(a, (2, 2))")
    yield "repeat_interleave 2 over dim 1", case("a.repeat_interleave(2, 1)", square(), "t.repeat(a, 2, 1)")
    yield "tril", case("t.tril(a)", square())
    for dim in (0, 1):
        yield f"cat of 4 over dim {dim}", case(f"t.cat([a, b, a, b], {dim})", square(), f"t.concatenate([a, b, a, b], {dim})")
        yield f"stack of 2 over dim {dim}", case(f"t.stack([a, b], {dim})", square())
    yield "stack of 2 over dim 2", case("t.stack([a, b], 2)", square())
    yield "cat of 1000 rows", case("t.cat(p)", square() + "; p = [a[i] for i in range(1000)]", "t.concatenate(p)")


def indexing() -> Iterator[Case]:
    rows = square() + "; i = (t.arange(1000) * 7 % 1000)"
    plane = rows + "; j = i.expand(1000, 1000).contiguous(); k = j.T.contiguous()"
    mask = square() + "; m = a > 0.7"
    yield "mask a[m]", case("a[m]", mask)
    yield "mask a[m] = 0.5", case("a.__setitem__(m, 0.5)", mask)
    yield "masked_fill", case("a.masked_fill(m, 0.5)", mask, None)
    yield "mask of rows a[q]", case("a[q]", mask + "; q = r > 0.7")
    yield "nonzero", case("t.nonzero(m)", mask)
    yield "rows a[i]", case("a[i]", rows)
    yield "columns a[:, i]", case("a[:, i]", rows)
    yield "pairs a[i, i]", case("a[i, i]", rows)
    yield "rows a[i] = b", case("a.__setitem__(i, b)", rows)
    for dim in (0, 1):
        yield f"index_select over dim {dim}", case(f"t.index_select(a, {dim}, i)", rows, f"t.take(a, i, {dim})")
        yield f"index_add over dim {dim}", case(f"a.index_add({dim}, i, b)", rows, None)
        yield f"index_copy over dim {dim}", case(f"a.index_copy({dim}, i, b)", rows, None)
        index = "k" if dim == 0 else "j"
        yield f"gather over dim {dim}", case(f"t.gather(a, {dim}, {index})", plane, None)
        yield f"scatter over dim {dim}", case(f"a.scatter({dim}, {index}, b)", plane, None)
        yield f"scatter_add over dim {dim}", case(f"a.scatter_add({dim}, {index}, b)", plane, None)
    yield "take 1M", case("t.take(a, n)", plane + "; n = j + 1000 * k", None)
    yield "one_hot-like scatter_ of 1", case("a.scatter_(1, n, 1.0)", rows + "; n = i.reshape(1000, 1)", None)


def products() -> Iterator[Case]:
    for n in (16, 64, 256, 1024):
        yield f"matmul {n}³ float32", case("a @ b", f"a = fill({n}, {n}); b = fill({n}, {n})")
    yield "matmul 256³, transposed operand", case("a @ b.T", "a = fill(256, 256); b = fill(256, 256)")
    for d in ("float16", "bfloat16", "float64", "complex64", "int8", "int32", "int64"):
        for n in (64, 256, 512):
            yield f"matmul {n}³ {d}", case("a @ b", operand("a", d, n, n) + "; " + operand("b", d, n, n), known(d) if n < 512 else None)
    for d in ("float16", "bfloat16", "int64"):
        vectors = operand("a", d, 1000, 1000) + "; " + operand("r", d, 1000)
        yield f"matrix · vector 1000 {d}", case("a @ r", vectors, known(d))
        yield f"vector · matrix 1000 {d}", case("r @ a", vectors, known(d))
        yield f"bmm of 100, 64³ {d}", case("t.bmm(a, b)", operand("a", d, 100, 64, 64) + "; " + operand("b", d, 100, 64, 64), None)
    for n in (4, 16, 64):
        yield f"bmm of 1000, {n}³", case("t.bmm(a, b)", f"a = fill(1000, {n}, {n}); b = fill(1000, {n}, {n})", "a @ b")
    yield "matrix · vector 1000", case("a @ r", square())
    yield "vector · matrix 1000", case("r @ a", square())
    yield "dot 1M", case("a @ b", f"a = fill({M}); b = fill({M})")
    yield "outer 1000", case("t.outer(r, r)", square())
    yield "einsum bij,bjk->bik", case("t.einsum('bij,bjk->bik', a, b)", "a = fill(32, 64, 64); b = fill(32, 64, 64)")


def convolutions() -> Iterator[Case]:
    shapes = "1x64x56 64 3 1, 4x64x56 64 3 1, 8x256x14 256 3 1, 1x512x7 512 3 1, 1x64x56 128 3 2, 1x3x224 64 7 2"
    for d in ("float32", "bfloat16"):
        for shape in shapes.split(", "):
            sizes, rows, kernel, stride = shape.split()
            images, channels, size = sizes.split("x")
            operands = operand("x", d, int(images), int(channels), int(size), int(size)) + "; "
            operands += operand("w", d, int(rows), int(channels), int(kernel), int(kernel))
            call = f"t.nn.functional.conv2d(x, w, stride={stride}, padding={int(kernel) // 2})"
            name = f"conv {sizes}² to {rows}, {kernel}², stride {stride}, {d}"
            yield name, case(call, operands, None)
            last = "; ".join(f"{name} = {name}.contiguous(memory_format=t.channels_last)" for name in "xw")
            yield f"{name}, channels_last", case(call, f"{operands}; {last}", None)


def spectral() -> Iterator[Case]:
    def transform(name: str, setup: str) -> Make:
        return case(f"t.fft.{name}(a)", setup, scipy=f"scipy.fft.{name}(a)")

    for name, sizes in (
        ("1M = 2^20", "1 << 20"),
        ("1000 x 1024", "1000, 1024"),
        ("1000 x 1000", "1000, 1000"),
        ("100 x 1009", "100, 1009"),
    ):
        for d in ("complex64", "complex128"):
            yield f"fft {name} {d}", transform("fft", f"a = fill({sizes}, d='{d}')")
    yield "fft 64", transform("fft", "a = fill(64, d='complex64')")
    yield "rfft 1000 x 1024", transform("rfft", "a = fill(1000, 1024)")
    yield "irfft 1000 x 1024", transform("irfft", "a = fill(1000, 513, d='complex64')")
    columns = "a = fill(1024, 1000, d='complex64')"
    yield "fft along columns 1024 x 1000", case("t.fft.fft(a, dim=0)", columns, "t.fft.fft(a, axis=0)", "scipy.fft.fft(a, axis=0)")
    yield "rfft2 1024²", transform("rfft2", "a = fill(1024, 1024)")
    window = f"w = t.hann_window(512); a = fill({M})"
    yield "stft 512 of 1M", case("t.stft(a, 512, window=w, return_complex=True)", window, None)
    yield "istft 512 of 1M", case("t.istft(a, 512, window=w)", f"{window}; a = t.stft(a, 512, window=w, return_complex=True)", None)


def linear() -> Iterator[Case]:
    for n, batch in ((8, 1000), (64, 100), (512, 1)):
        a = f"a = fill({batch}, {n}, {n}); a = a + cast({2 * n} * t.eye({n}), 'float32')"
        system, symmetric = f"{a}; b = fill({batch}, {n}, 4)", f"{a}; s = a + a.swapaxes(-2, -1)"
        for name, arguments, setup in (
            ("solve", "a, b", system),
            ("inv", "a", a),
            ("det", "a", a),
            ("cholesky", "s", symmetric),
            ("qr", "a", a),
            ("svd", "a", a),
            ("eigh", "s", symmetric),
        ):
            yield f"{name} of {batch}, {n}²", case(f"t.linalg.{name}({arguments})", setup, scipy=f"scipy.linalg.{name}({arguments})")
    yield "matrix_exp of 100, 16²", case("t.matrix_exp(a)", "a = fill(100, 16, 16)", None, "scipy.linalg.expm(a)")
    system = "a = fill(1000, 100); a[:100] += cast(t.eye(100), 'float32'); b = fill(1000, 4)"
    yield "lstsq 1000 × 100", case("t.linalg.lstsq(a, b)[0]", system, scipy="scipy.linalg.lstsq(a, b)[0]")


LAYERS = """
x, y = fill(64, 784), t.arange(64) % 10
parameters = [(p - 0.75) * 0.1 for p in (fill(784, 256), fill(256), fill(256, 10), fill(10))]
w, b, v, c = (p.requires_grad_() for p in parameters)
def step():
    loss = -((x @ w + b).relu() @ v + c).log_softmax(1).gather(1, y.unsqueeze(1)).mean()
    for p in parameters: p.grad = None
    loss.backward()
    with t.no_grad():
        for p in parameters: p -= 0.01 * p.grad
"""
CHAIN = """
def chain():
    b = a
    for _ in range(50): b = b * 0.99 + 0.01
    return b
"""


def gradients() -> Iterator[Case]:
    for name, n in (("3", 3), ("100,000", 100_000)):
        yield f"(a*a).exp().sum().backward() of {name}", case("(a * a).exp().sum().backward()", f"a = fill({n}).requires_grad_()", None)
    yield "chain of 100 operators on 4", case("chain().sum().backward()", "a = fill(4).requires_grad_()" + CHAIN, None)
    yield "training step, 64 of 784-256-10", case("step()", LAYERS, None)


def quantized() -> Iterator[Case]:
    a = "a = t.quantize_per_tensor(fill(512, 512), 0.01, 3, t.quint8); b = t.quantize_per_tensor(fill(512, 512), 0.02, 0, t.qint8)"
    yield "linear 512³ into quint8", case("o.linear(a, w, 1.0, 3)", f"{a}; o = t.ops.quantized; w = o.linear_prepack(b, None)", None)
    yield "add 512²", case("o.add(a, a, 0.02, 3)", f"{a}; o = t.ops.quantized", None)
    yield "mul 512²", case("o.mul(a, a, 0.02, 3)", f"{a}; o = t.ops.quantized", None)
    yield "quantize 512²", case("t.quantize_per_tensor(a, 0.01, 3, t.quint8)", "a = fill(512, 512)", None)
    yield "dequantize 512²", case("a.dequantize()", a, None)


def search() -> Iterator[Case]:
    yield "sort 1M", case("t.sort(a)", f"a = fill({M})")
    yield "topk 10 of 1M", case("t.topk(a, 10)", f"a = fill({M})", None)
    yield "searchsorted 1M in 1000", case("t.searchsorted(s, a)", f"a = fill({M}); s = t.linspace(0, 2, 1000)")
    yield "median 1M", case("t.median(a)", f"a = fill({M})")


def random() -> Iterator[Case]:
    yield "rand 1M", case(f"t.rand({M})", numpy=f"t.random.rand({M})")
    yield "randn 1M", case(f"t.randn({M})", numpy=f"t.random.randn({M})")
    yield "randint 1M", case(f"t.randint(0, 100, ({M},))", numpy=f"t.random.randint(0, 100, {M})")
    yield "bernoulli 1M", case("t.bernoulli(a)", f"a = fill({M}) * 0.5", None)
    yield "randperm 1M", case(f"t.randperm({M})", numpy=f"t.random.permutation({M})")


def interop() -> Iterator[Case]:
    yield "from_numpy", case("t.from_numpy(x)", "import numpy; x = numpy.ones((2, 3), 'f4')", None)
    yield "numpy()", case("a.numpy()", "a = t.ones(2, 3)", None)
    for kind in ("float", "int"):
        data = f"data = [[{kind}(i * j) for i in range(100)] for j in range(1000)]"
        yield f"{kind} list of 1000 x 100 to a tensor", case("t.tensor(data)", data, "t.array(data)")
        yield f"{kind} tensor of 1000 x 100 to a list", case("a.tolist()", f"{data}; a = t.tensor(data)", None)


FAMILIES = (
    small,
    memory,
    arithmetic,
    layouts,
    elementary,
    special,
    reductions,
    scans,
    copies,
    indexing,
    products,
    convolutions,
    spectral,
    linear,
    gradients,
    quantized,
    search,
    random,
    interop,
)


def cases() -> Iterator[tuple[str, str, Make]]:
    """Family, name and maker of every case."""
    for family in FAMILIES:
        for name, make in family():
            yield family.__name__, name, make
