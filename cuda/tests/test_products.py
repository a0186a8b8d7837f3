"""Products of matrices, by cuBLAS where it knows the dtype and is there, and by the kernels elsewhere: the last test has all others again
without cuBLAS. Numbers are small integers, whose sums are exact in any order, where nothing else is said."""

import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from operands import COMPLEX, FLOATS, INTEGERS, check, moved, same

import libtensor as torch
from libtensor._base import library as _library

LIBRARY = os.environ.get("LIBTENSOR_CUBLAS") != "none"
DTYPES = [*INTEGERS, *FLOATS, *COMPLEX[:2]]
CALLS = ("cublasGemmEx_64", "cublasGemmStridedBatchedEx_64")


def numbers(dtype, *size, seed=1):
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(0 if dtype == torch.uint8 else -4, 5, size, generator=g).to(dtype)
    return x + 1j * torch.randint(-4, 5, size, generator=g).to(dtype) if dtype.is_complex else x


def layouts(make, *sizes):
    """Views of these sizes of every kind that a matrix or a batch of them can be, with what they are: make gives a tensor of any sizes."""
    *batch, rows, columns = sizes
    yield "whole", make(*sizes)
    yield "turned", make(*batch, columns, rows).mT
    yield "wide rows", make(*batch, rows, columns + 3)[..., 1:-2]
    yield "wide columns", make(*batch, columns, rows + 3).mT[..., 2:-1, :]
    yield "steps in both", make(*batch, 2 * rows, 3 * columns)[..., ::2, ::3]
    yield "one row", make(*batch, 1, columns).expand(*sizes)
    yield "one column", make(*batch, rows, 1).expand(*sizes)
    yield "one number", make(*batch, 1, 1).expand(*sizes)
    if batch:
        yield "one matrix", make(1, rows, columns).expand(*sizes)
        yield "one turned matrix", make(1, columns, rows).mT.expand(*sizes)
        yield "batch within", make(rows, columns, *batch).permute(2, 0, 1)
        yield "batch between", make(rows, *batch, columns).transpose(0, 1)
        yield "every other matrix", make(2 * batch[0], rows, columns)[1::2]


def writable(make, *sizes):
    return [(name, x) for name, x in layouts(make, *sizes) if not name.startswith("one ")]


class Count:
    """Whether what runs within calls cuBLAS, if there is one: one of its functions, or none for a dtype that it does not know."""

    def __init__(self, simulation, dtype):
        self.simulation, self.served = simulation, LIBRARY and dtype not in INTEGERS

    def calls(self):
        return sum(map(self.simulation.calls, CALLS))

    def __enter__(self):
        self.before = self.calls()

    def __exit__(self, failed, *_):
        assert failed or (self.calls() > self.before) == self.served


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layouts_of_matrices(simulation, dtype):
    for size, (m, k, n) in enumerate(((5, 6, 7), (3, 1, 4), (1, 5, 3), (4, 3, 1), (1, 1, 1), (6, 20, 2))):
        left = dict(layouts(lambda *s: numbers(dtype, *s, seed=2), m, k))
        right = dict(layouts(lambda *s: numbers(dtype, *s, seed=3), k, n))
        for a, b in itertools.product(left, right) if size == 0 else zip(left, reversed(right), strict=True):
            with Count(simulation, dtype):
                check(torch.mm, left[a], right[b])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layouts_of_batches(simulation, dtype):
    for sizes in ((3, 4, 5, 2), (1, 4, 5, 2), (2, 1, 5, 1), (2, 3, 1, 3)):
        batch, m, k, n = sizes
        left = dict(layouts(lambda *s: numbers(dtype, *s, seed=2), batch, m, k))
        right = dict(layouts(lambda *s: numbers(dtype, *s, seed=3), batch, k, n))
        for a in left:
            for b in right if a == "whole" or sizes == (3, 4, 5, 2) and dtype in (torch.float32, torch.int64) else ("whole", a):
                with Count(simulation, dtype):
                    check(torch.bmm, left[a], right[b])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layouts_of_outputs(simulation, dtype):
    a, b = numbers(dtype, 3, 5, 6, seed=2), numbers(dtype, 3, 6, 4, seed=3)
    for (name, here), (_, there) in zip(*(writable(lambda *s: torch.ones(*s, dtype=dtype), 3, 5, 4) for _ in range(2)), strict=True):
        there = moved(there)
        with Count(simulation, dtype):
            assert torch.bmm(a.cuda(), b.cuda(), out=there) is there
        torch.bmm(a, b, out=here)
        assert same(here, there), name
        assert same(torch.as_strided(here, (here.untyped_storage().nbytes() // here.element_size(),), (1,), 0), rest(there)), name
    for (name, here), (_, there) in zip(*(writable(lambda *s: numbers(dtype, *s), 5, 4) for _ in range(2)), strict=True):
        there = moved(there)
        with Count(simulation, dtype):
            there.addmm_(a[0].cuda(), b[0].cuda(), beta=2, alpha=3)
        assert same(here.addmm_(a[0], b[0], beta=2, alpha=3), there) and same(rest(here), rest(there)), name


def rest(x):
    """All of the memory that a view is of."""
    return torch.as_strided(x, (x.untyped_storage().nbytes() // x.element_size(),), (1,), 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sums_with_factors(simulation, dtype):
    a, b, v = numbers(dtype, 4, 5, seed=2), numbers(dtype, 5, 3, seed=3), numbers(dtype, 5, seed=4)
    batch, other = numbers(dtype, 2, 4, 5, seed=5), numbers(dtype, 2, 5, 3, seed=6)
    factors = [(1, 1), (2, 3), (0, 1), (1, 0), (0, 0), (-1, 2)]
    if dtype.is_floating_point or dtype.is_complex:
        factors += [(0.5, 0.25)]
    if dtype.is_complex:
        factors += [(1j, 2 - 1j)]
    for beta, alpha in factors:
        kwargs = {"beta": beta, "alpha": alpha}
        for size in ((4, 3), (3,), (4, 1), (1, 1), ()):
            x = numbers(dtype, *size, seed=7)
            check(lambda x, a, b: torch.addmm(x, a, b, **kwargs), x, a, b)
            check(lambda x, a, b: torch.baddbmm(x, a, b, **kwargs), x, batch, other)
            check(lambda x, a, b: torch.addbmm(x, a, b, **kwargs), x, batch, other)
        for size in ((4,), (1,), ()):
            check(lambda x, a, v: torch.addmv(x, a, v, **kwargs), numbers(dtype, *size, seed=8), a, v)
        check(lambda x, u, v: torch.addr(x, u, v, **kwargs), numbers(dtype, 4, 5, seed=9), numbers(dtype, 4, seed=1), v)
        x, y = moved(numbers(dtype, 4, 3)), numbers(dtype, 4, 3)
        assert same(y.addmm_(a, b, **kwargs), x.addmm_(moved(a), moved(b), **kwargs))
        out = torch.empty(4, 3, dtype=dtype, device="cuda")
        assert same(torch.addmm(y, a, b, **kwargs), torch.addmm(moved(y), moved(a), moved(b), out=out, **kwargs))


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX[:2]], ids=str)
def test_values_that_are_not_finite(dtype):
    """Input is not read where its factor is 0, nor operands where theirs is; elsewhere NaN and infinities go their way."""
    nan, a, b = torch.full((3, 4), float("nan"), dtype=dtype), numbers(dtype, 3, 5), numbers(dtype, 5, 4)
    check(lambda x, a, b: torch.addmm(x, a, b, beta=0), nan, a, b)
    check(lambda x, a, b: x.addmm_(a, b, beta=0), nan.clone(), a, b)
    check(lambda x, a, b: torch.baddbmm(x, a[None], b[None], beta=0, alpha=2), nan[None], a, b)
    check(lambda x, a: torch.addmv(x, a, a[0], beta=0), nan[:, 0].clone(), a)
    check(lambda x, a, b: torch.addmm(x, a, b, alpha=0), a @ b, torch.full_like(a, float("nan")), b)
    assert torch.addmm(nan.cuda(), a.cuda(), b.cuda(), beta=2).isnan().all()
    for value in (float("nan"), float("inf")):
        c = a.clone()
        c[1, 2] = value
        here, there = c @ b, (c.cuda() @ b.cuda()).cpu()
        assert torch.equal(here.isfinite(), there.isfinite()) and there[[0, 2]].isfinite().all()
        if not dtype.is_complex:
            assert same(here, moved(there))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_empty(dtype):
    for m, k, n in itertools.product((0, 2), (0, 3), (0, 4)):
        a, b = numbers(dtype, m, k), numbers(dtype, k, n)
        check(torch.mm, a, b)
        check(torch.mm, numbers(dtype, k, m).t(), numbers(dtype, n, k).t())
        check(lambda a, b: torch.addmm(torch.full((n,), 3, dtype=dtype, device=a.device), a, b, beta=2), a, b)
        for batch in (0, 2):
            check(torch.bmm, numbers(dtype, batch, m, k), numbers(dtype, batch, k, n))
            check(torch.matmul, numbers(dtype, batch, 1, m, k), numbers(dtype, 3, k, n))
        check(torch.mv, a, numbers(dtype, k))
        check(torch.dot, numbers(dtype, k), numbers(dtype, k))
        check(lambda a, v: torch.addmv(torch.full((m,), 3, dtype=dtype, device=a.device), a, v), a, numbers(dtype, k))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_products(dtype):
    a, b, v = numbers(dtype, 4, 5), numbers(dtype, 5, 3, seed=2), numbers(dtype, 5, seed=3)
    for left, right in (
        ((5,), (5,)),
        ((4, 5), (5,)),
        ((5,), (5, 3)),
        ((2, 4, 5), (5,)),
        ((5,), (2, 5, 3)),
        ((2, 1, 4, 5), (3, 5, 3)),
        ((2, 4, 5), (5, 3)),
    ):
        check(torch.matmul, numbers(dtype, *left), numbers(dtype, *right, seed=2))
    check(torch.vdot, v, numbers(dtype, 5))
    check(torch.outer, v, numbers(dtype, 4))
    check(torch.inner, a, numbers(dtype, 2, 5))
    check(torch.kron, a, b)
    check(lambda a, b: torch.tensordot(a, b, 1), a, b)
    check(lambda a, b: torch.tensordot(a, b, ([1, 0], [0, 1])), a[:3], numbers(dtype, 5, 3))
    check(lambda a, b: torch.einsum("ij,jk->ki", a, b), a, b)
    check(lambda a, b: torch.einsum("bij,bkj->bik", a, b), numbers(dtype, 2, 3, 4), numbers(dtype, 2, 5, 4))
    check(lambda a, b: torch.linalg.multi_dot([a, b, b.t()]), a, b)
    check(torch.chain_matmul, a, b, numbers(dtype, 3, 2))
    for n in (0, 1, 2, 5):
        check(
            lambda x, n=n: torch.linalg.matrix_power(x, n),
            numbers(dtype, 3, 3).clamp(max=1) if not dtype.is_complex else numbers(dtype, 2, 3, 3),
        )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "m, k, n", [(63, 15, 65), (64, 16, 64), (65, 17, 63), (130, 40, 3), (2, 33, 129), (1, 300, 1), (1, 7, 200), (200, 7, 1)]
)
def test_sizes_about_those_of_tiles(dtype, m, k, n):
    check(lambda a, b: a @ b, numbers(dtype, m, k), numbers(dtype, k, n, seed=2))
    check(lambda a, b: a.t() @ b.t(), numbers(dtype, k, m), numbers(dtype, n, k, seed=2))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("k", [2047, 2048, 3100])
def test_long_sums_in_pieces(dtype, k):
    """Few tiles share long sums between blocks, which come together in order."""
    a, b, x = numbers(dtype, 2, 3, k), numbers(dtype, 2, k, 2, seed=2), numbers(dtype, 3, 1, seed=3)
    check(lambda a, b: a[0] @ b[0], a, b)
    check(lambda x, a, b: torch.baddbmm(x, a, b, beta=2, alpha=3), x, a, b)
    check(lambda a, b: a[1].t().contiguous().t() @ b[1].t().contiguous().t(), a, b)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 255, 257, 2047, 2048, 5000])
def test_products_of_vectors(dtype, n):
    """Blocks share long vectors; 16-bit floats are rounded once."""
    x, y, wide = numbers(dtype, n), numbers(dtype, n, seed=2), numbers(dtype, 3, n, 2)
    for f in (torch.dot, torch.vdot):
        check(f, x, y)
        check(f, wide[1, :, 1], y)
        check(f, x, wide.permute(2, 1, 0)[0, :, 2])
        check(f, x[:1].expand(n), y)
        out = torch.zeros((), dtype=dtype, device="cuda")
        assert same(f(x, y), f(x.cuda(), y.cuda(), out=out)) and same(f(x, y), out)


def test_products_of_very_long_vectors():
    x = numbers(torch.float32, 3_000_001)
    check(torch.dot, x, x.flip(0))
    check(torch.dot, x.int(), x.int().flip(0))
    g = torch.Generator().manual_seed(1)
    x = torch.randn(100_000, dtype=torch.float32, generator=g)
    assert torch.dot(x.cuda(), x.cuda()).item() == x.double().square().sum().float().item()


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX[:2]], ids=str)
def test_sums_are_rounded_once(dtype):
    """Sums are in 32 bits for floats of 16, and as good as any for others; and the same each time."""
    g = torch.Generator().manual_seed(1)
    a, b = (
        torch.randn(*s, generator=g, dtype=torch.complex128 if dtype.is_complex else torch.float64).to(dtype)
        for s in ((40, 300), (300, 30))
    )
    wide = torch.complex128 if dtype.is_complex else torch.float64
    exact = a.to(wide) @ b.to(wide)
    there = a.cuda() @ b.cuda()
    unit = torch.finfo(dtype).eps
    bound = unit * exact.abs() + (a.to(wide).abs() @ b.to(wide).abs()) * min(unit, 2**-23) * 20
    assert ((there.cpu().to(wide) - exact).abs() <= bound).all()
    assert all(torch.equal(a.cuda() @ b.cuda(), there) for _ in range(3))


@pytest.mark.usefixtures("simulation")
@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX[:2]], ids=str)
def test_tf32_is_for_programs_that_ask(dtype):
    a, b = numbers(dtype, 2, 3, 4), numbers(dtype, 2, 4, 5) * (1 + 2**-13)
    exact = a @ b
    rounds = LIBRARY and dtype in (torch.float32, torch.complex64)
    try:
        for precision in ("high", "medium", "highest"):
            torch.set_float32_matmul_precision(precision)
            there = (a.cuda() @ b.cuda()).cpu(), (a[0].cuda() @ b[0].cuda()).cpu()
            assert torch.equal(there[0], exact) and torch.equal(there[1], exact[0]) or rounds and precision != "highest"
            assert torch.allclose(there[0], exact, rtol=1e-2, atol=1e-2) and torch.equal(a @ b, exact)
            assert not rounds or precision == "highest" or not torch.equal(there[0], exact) and not torch.equal(there[1], exact[0])
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128], ids=str)
def test_gradients(dtype):
    for f, *sizes in (
        (lambda a, b: a @ b, (4, 5), (5, 3)),
        (lambda a, b: a @ b, (2, 4, 5), (5, 3)),
        (lambda a, b: a @ b, (2, 1, 4, 5), (3, 5, 3)),
        (lambda a, b: a.mT @ b, (2, 5, 4), (2, 5, 3)),
        (lambda a, b: a @ b, (4, 5), (5,)),
        (lambda x, a, b: torch.addmm(x, a, b, beta=2, alpha=3), (3,), (4, 5), (5, 3)),
        (lambda x, a, b: torch.baddbmm(x, a, b), (2, 1, 3), (2, 4, 5), (2, 5, 3)),
    ):
        grads = []
        for device in ("cpu", "cuda"):
            leaves = [numbers(dtype, *s, seed=i).to(device).requires_grad_() for i, s in enumerate(sizes)]
            out = f(*leaves)
            grads.append(torch.autograd.grad(out, leaves, torch.ones_like(out)))
        assert same(*grads)


def test_streams(simulation):
    """Operands, copies of them and workspaces are used again by other streams only behind the product."""
    a, b = numbers(torch.float32, 3, 20, 30), numbers(torch.float32, 3, 30, 8)
    expected = a[:, ::2, ::3] @ b[:, ::3]
    for seed in range(200):
        simulation.seed(seed)
        found = []
        streams = [torch.cuda.Stream(device=i % 2) for i in range(4)]
        for i, s in enumerate(streams):
            with s:
                x, y = a.to(f"cuda:{i % 2}"), b.to(f"cuda:{i % 2}")
                found.append(x[:, ::2, ::3] @ y[:, ::3])
                del x, y
        for s, product in zip(streams, found, strict=True):
            with s:
                assert torch.equal(product.cpu(), expected), seed


def test_threads():
    a = numbers(torch.float32, 10, 20)
    expected, wrong = a @ a.t(), []

    def work(i):
        with torch.cuda.stream(torch.cuda.Stream(device=i % 2)):
            for _ in range(50):
                x = a.to(f"cuda:{i % 2}")
                if not torch.equal((x @ x.t()).cpu(), expected):
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.skipif(not LIBRARY, reason="without cuBLAS")
@pytest.mark.parametrize("call", ["cublasSetStream_v2", "cublasSetWorkspace_v2", *CALLS])
def test_calls_that_fail(simulation, call):
    """An error by the names of operator, function and status; outputs are as before."""
    a, out = numbers(torch.float32, 2, 3, 3).cuda(), torch.ones(2, 3, 3, device="cuda")
    a @ a
    simulation.fail(call, 1, 13)
    with pytest.raises(RuntimeError) as error:
        if call == "cublasGemmEx_64":
            torch.mm(a[0], a[1], out=out[0])
        else:
            torch.bmm(a, a, out=out)
    name = "mm" if call == "cublasGemmEx_64" else "bmm"
    function = call.removesuffix("_v2").removesuffix("_64")
    assert (
        str(error.value) == f"{name}: cuBLAS error in {function}: CUBLAS_STATUS_EXECUTION_FAILED, the function failed to launch on the GPU"
    )
    assert out.tolist() == torch.ones(2, 3, 3).tolist()
    assert torch.equal(torch.bmm(a, a, out=out).cpu(), a.cpu() @ a.cpu())


@pytest.mark.skipif(not LIBRARY, reason="without cuBLAS")
def test_no_memory_for_cublas(simulation):
    x = torch.ones(2, 2, device="cuda")
    simulation.fail(CALLS[0], 1, 3)
    with pytest.raises(torch.OutOfMemoryError, match="^mm: CUDA out of memory: cuBLAS error in cublasGemmEx: CUBLAS_STATUS_ALLOC_FAILED, "):
        torch.mm(x, x)
    torch.cuda.empty_cache()
    simulation.fail("cuMemAlloc_v2", 2, 2)  # the result has a block, the workspace none at first
    assert (x @ x).tolist() == [[2, 2], [2, 2]]


@pytest.mark.skipif(not LIBRARY, reason="without cuBLAS")
@pytest.mark.parametrize("call, code", itertools.product(CALLS, (8, 15)))
def test_products_that_cublas_does_not_support(simulation, call, code):
    """It refuses some products on some devices: the kernels have them."""
    a, b, x = numbers(torch.bfloat16, 2, 3, 4), numbers(torch.bfloat16, 2, 4, 5), numbers(torch.bfloat16, 2, 5, 3)
    if call == CALLS[0]:
        a, b, x = a[0], b[0], x[0]
    f = torch.addmm if call == CALLS[0] else torch.baddbmm
    expected = f(x.mT, a, b, beta=2, alpha=3)
    a, b, x = a.cuda(), b.cuda(), x.cuda()
    there = f(x.mT, a, b, beta=2, alpha=3)
    simulation.fail(call, 1, code)
    launched = simulation.calls("cuLaunchKernel")
    f(x.mT, a, b, beta=2, alpha=3, out=x.mT)
    assert simulation.calls(call) == 1 and simulation.calls("cuLaunchKernel") == launched + 1
    assert torch.equal(x.mT.cpu(), expected) and torch.equal(there.cpu(), expected)


FIRST = """
import libtensor as torch
from libtensor._base import library as _library
for _ in range(2):
    try:
        x = torch.arange(4.0).reshape(2, 2).cuda()
        print((x @ x).tolist())
    except RuntimeError as error:
        print(type(error).__name__, error)
"""
FOUND = "[[2.0, 3.0], [6.0, 11.0]]"
NOT_FOUND = "RuntimeError matmul: LIBTENSOR_CUBLAS does not name a usable cuBLAS library: "


@pytest.mark.usefixtures("simulation")
@pytest.mark.skipif(not LIBRARY, reason="without cuBLAS")
@pytest.mark.parametrize(
    "environment, said",
    [
        (
            {"LIBTENSOR_SIM_FAIL": "cublasCreate_v2:1:1"},
            ["RuntimeError matmul: cuBLAS error in cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED, ", FOUND],
        ),
        (
            {"LIBTENSOR_SIM_FAIL": "cublasSetMathMode:1:7"},
            ["RuntimeError matmul: cuBLAS error in cublasSetMathMode: CUBLAS_STATUS_INVALID_VALUE, ", FOUND],
        ),
        ({"LIBTENSOR_SIM_FAIL": "cublasCreate_v2:1:3"}, [FOUND, FOUND]),  # the second try, once free blocks were given back, has memory
        ({"LIBTENSOR_CUBLAS": "/nowhere/libcublas.so"}, [NOT_FOUND + "/nowhere/libcublas.so: cannot open shared object file"] * 2),
        ({"LIBTENSOR_CUBLAS": "libc.so.6"}, [NOT_FOUND + "libc.so.6 has no cublasCreate_v2: cuBLAS 12.0 or newer is needed"] * 2),
        ({"LIBTENSOR_CUBLAS": "none"}, [FOUND, FOUND]),
        ({"LIBTENSOR_CUBLAS": "libcublas.so.12"}, [FOUND, FOUND]),
    ],
    ids=lambda x: next(iter(x.values())) if isinstance(x, dict) else "",
)
def test_the_first_product_of_a_process(environment, said):
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True, env=os.environ | environment)
    lines = done.stdout.splitlines()
    assert "UserWarning" not in done.stderr
    assert len(lines) == len(said) and all(line.startswith(start) for line, start in zip(lines, said, strict=True)), lines


@pytest.mark.usefixtures("simulation")
@pytest.mark.skipif(not LIBRARY, reason="without cuBLAS")
@pytest.mark.parametrize("capability, workspace", [("75", 8), ("89", 8), ("90", 32), ("120", 32)])
def test_workspaces(capability, workspace):
    code = FIRST + "print(torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_allocated() >> 20)"
    environment = os.environ | {"LIBTENSOR_SIM_CAPABILITY": capability}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.splitlines() == [FOUND, FOUND, f"{workspace} 0"]


@pytest.mark.usefixtures("simulation")
@pytest.mark.skipif(not LIBRARY, reason="without cuBLAS")
@pytest.mark.parametrize(
    "driver, place, opened",
    [
        ("12080", "nvidia/cublas/lib/libcublas.so.12", True),
        ("12080", "nvidia/cu13/lib/libcublas.so.13", False),  # needs a newer driver
        ("13000", "nvidia/cu13/lib/libcublas.so.13", True),
        ("13000", "nvidia/cublas/lib/libcublas.so.12", True),
        ("13000", "elsewhere/libcublas.so.12", False),
    ],
)
def test_where_cublas_is_found(tmp_path, driver, place, opened):
    """Wheels of NVIDIA's beside the package have it, where the system has none; the driver has to be new enough."""
    simulated = Path(os.environ["LD_LIBRARY_PATH"].split(":")[0]).resolve()
    for name, target in (
        ("libtensor/lib/libtensor.so", Path(_library.path).resolve()),
        ("libtensor/lib/libtensor-cuda", Path(__file__).resolve().parents[2] / "build/libtensor-cuda"),
        ("system/libcuda.so.1", simulated / "libcuda.so.1"),
        (place, simulated / "libcublas.so.12"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(target)
    environment = {
        **{"LIBTENSOR_LIBRARY": str(tmp_path / "libtensor/lib/libtensor.so"), "LD_LIBRARY_PATH": str(tmp_path / "system")},
        **{"LIBTENSOR_SIM_VERSION": driver, "LIBTENSOR_CUBLAS": ""},
    }
    code = FIRST + "print('/libcublas.so' in open('/proc/self/maps').read())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment)
    assert done.stdout.splitlines() == [FOUND, FOUND, str(opened)]
    assert done.stderr.count(": cuBLAS was not found") == (not opened)


@pytest.mark.skipif(not LIBRARY, reason="without cuBLAS")
def test_all_of_it_without_cublas():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"LIBTENSOR_CUBLAS": "none"})
    assert done.returncode == 0, done.stdout[-3000:]
