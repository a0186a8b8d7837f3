"""The benchmark's cases: a name, and for each library a function that makes the call to time."""

from collections.abc import Callable, Iterator

Make = Callable[[str, object], Callable[[], object] | None]

M = 1_000_000


def case(code: str, setup: str = "", numpy: str | None = "same") -> Make:
    """A case from source text, where `t` is the library. NumPy runs its own text, or the same, or (None) not at all."""

    def make(library: str, module: object) -> Callable[[], object] | None:
        text = code
        if library == "numpy":
            if numpy is None:
                return None
            text = code if numpy == "same" else numpy
        names: dict[str, object] = {"t": module, "np": library == "numpy"}
        exec(SETUP[library], names)
        exec(setup, names)
        return eval(f"lambda: {text}", names)

    return make


SETUP = {
    "libtensor": "def fill(*s, d='float32'): return (t.arange(int(__import__('math').prod(s))) % 97 / 97 + 0.25).reshape(s).to(getattr(t, d))\n",
    "torch": "def fill(*s, d='float32'): return (t.arange(int(__import__('math').prod(s))) % 97 / 97 + 0.25).reshape(s).to(getattr(t, d))\n",
    "numpy": "def fill(*s, d='float32'): return (t.arange(int(__import__('math').prod(s))) % 97 / 97 + 0.25).reshape(s).astype(d)\n",
}


def cases() -> Iterator[tuple[str, Make]]:
    yield "small: a + b (3 floats)", case("a + b", "a = fill(3); b = fill(3)")
    yield "small: a[1:]", case("a[1:]", "a = fill(3)")
    yield "small: zeros(3)", case("t.zeros(3)")
    yield "small: a.sum()", case("a.sum()", "a = fill(3)")
    big = f"a = fill(20*{M}); b = fill(20*{M})"
    yield "add 20M into out", case("t.add(a, b, out=c)", big + "; c = a + b")
    yield "add 20M, fresh result", case("a + b", big)
    yield "sum 20M float32", case("a.sum()", big)
    for name in ("exp", "log", "sin", "tanh"):
        yield f"{name} 1M float32 into out", case(f"t.{name}(a, out=c)", f"a = fill({M}); c = a + 0")
    for name in ("exp", "log", "sin", "tanh", "sqrt", "abs", "floor"):
        yield f"{name} 1M float64 into out", case(f"t.{name}(a, out=c)", f"a = fill({M}, d='float64'); c = a + 0")
    yield "matmul 1024³ float32", case("a @ b", "a = fill(1024, 1024); b = fill(1024, 1024)")
    yield "matmul 64³ float32", case("a @ b", "a = fill(64, 64); b = fill(64, 64)")
    yield "matmul 256³, transposed operand", case("a @ b.T", "a = fill(256, 256); b = fill(256, 256)")
    yield "transposed copy 2000²", case("a.T.contiguous()", "a = fill(2000, 2000)", "t.ascontiguousarray(a.T)")
    square = "a = fill(1000, 1000); b = fill(1000, 1000); r = fill(1000); c = fill(1000, 1)"
    yield "a * b, contiguous", case("a * b", square)
    yield "a * row", case("a * r", square)
    yield "a * column", case("a * c", square)
    yield "a + b.T", case("a + b.T", square)
    yield "a + 2.5", case("a + 2.5", square)
    yield "int32 + float64", case("a + b", f"a = fill({M}); b = fill({M}, d='float64'); a = a.to(t.int32) if not np else a.astype('int32')")
    yield "float16 * float16", case("a * a", f"a = fill({M}, d='float16')")
    yield "a > b", case("a > b", square)
    yield "where(mask, a, b)", case("t.where(m, a, b)", square + "; m = a > 0.7")
    yield "clamp", case("a.clamp(0.3, 0.9)", square, "a.clip(0.3, 0.9)")
    for d in ("float16", "float32", "float64"):
        for dim in (0, 1):
            yield f"sum over dim {dim}, {d}", case(f"a.sum({dim})", f"a = fill(1000, 1000, d='{d}')")
        yield f"sum of all, {d}", case("a.sum()", f"a = fill(1000, 1000, d='{d}')")
    for name in ("mean", "var", "amax", "argmax", "prod"):
        for dim in (0, 1):
            numpy = f"a.{ {'amax': 'max'}.get(name, name)}({dim})"
            yield f"{name} over dim {dim}", case(f"a.{name}({dim})", square, numpy)
    yield "cumsum over dim 1", case("a.cumsum(1)", square)
    yield "any / all of bool", case("m.all()", square + "; m = a > 0")
    for source, target in (("float32", "float64"), ("float64", "float32"), ("float32", "float16"), ("float32", "int32"), ("uint8", "float32")):
        setup = f"a = fill({M}, d='{source}')"
        yield f"cast {source} to {target}", case(f"a.to(t.{target})", setup, f"a.astype('{target}')")
    yield "permuted copy (100,100,100)", case("a.permute(2, 1, 0).contiguous()", "a = fill(100, 100, 100)", "t.ascontiguousarray(a.transpose(2, 1, 0))")
    yield "cat of 4", case("t.cat([a, b, a, b])", square, "t.concatenate([a, b, a, b])")
    yield "stack of 2", case("t.stack([a, b])", square)
    yield "mask a[m]", case("a[m]", square + "; m = a > 0.7")
    rows = "i = (t.arange(1000) * 7 % 1000)"
    yield "rows a[i]", case("a[i]", f"{square}; {rows}")
    yield "gather over dim 1", case("t.gather(a, 1, j)", f"{square}; {rows}; j = i.expand(1000, 1000).contiguous() if not np else 0", None)
    yield "index_add over dim 0", case("a.index_add(0, i, b)", f"{square}; {rows}", None)
    yield "sort 1M", case("t.sort(a)", f"a = fill({M})")
    yield "topk 10 of 1M", case("t.topk(a, 10)", f"a = fill({M})", None)
    yield "searchsorted 1M in 1000", case("t.searchsorted(s, a)", f"a = fill({M}); s = t.linspace(0, 2, 1000)")
    yield "median 1M", case("t.median(a)", f"a = fill({M})")
    yield "unique 1M", case("t.unique(a)", f"a = fill({M})")
    yield "softmax over dim 1", case("t.softmax(a, 1)", square, None)
