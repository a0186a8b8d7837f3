"""The peak memory of calls and their gradients, without operands and results, in buffers of the size of an operand."""

import pytest

import libtensor as torch

N = 1 << 21
BUFFER = 4 * N


def peak(call):
    """Returns the result of a call, and the number of buffers that it needs including its results."""
    torch.empty_cache()  # buffers that were larger are reused, and count whole
    torch.reset_peak_memory_stats()
    before = torch.memory_stats().in_use
    made = call()
    return made, (torch.memory_stats().peak - before) / BUFFER


def rand(*sizes, dtype=torch.float32):
    return torch.rand(sizes, dtype=dtype)


def places(*sizes):
    return torch.randint(0, sizes[-1], sizes)


# An operand, a computation on it, and the largest number of buffers of the call and of its gradient.
CALLS = {
    "rfft": (lambda: rand(N), torch.fft.rfft, 2.1, 4.6),
    "rfft of a matrix": (lambda: rand(1024, N // 1024), torch.fft.rfft2, 2.1, 4.6),
    "irfft": (lambda: rand(N // 2, dtype=torch.complex64), lambda x: torch.fft.irfft(x, N - 2), 6, 6),
    "fft": (lambda: rand(N // 2, dtype=torch.complex64), torch.fft.fft, 2.1, 2.1),
    "take": (lambda: rand(N), lambda x: torch.take(x, places(N)), 3.1, 1.1),
    "take_along_dim": (lambda: rand(1024, N // 1024), lambda x: x.take_along_dim(places(1024, N // 1024), 1), 3.4, 1.1),
    "prod with zeros": (lambda: rand(1024, N // 1024).round(), lambda x: x.prod(1), 0.1, 2.1),
    "det": (lambda: rand(32, 256, 256), torch.linalg.det, 1.1, 2.1),
    "matrix_exp": (lambda: rand(32, 256, 256) / 256, torch.linalg.matrix_exp, 3.6, 20),
    "slogdet": (lambda: rand(32, 256, 256), lambda x: torch.linalg.slogdet(x)[1], 1.1, 1.2),
    "solve": (lambda: rand(32, 256, 256) + torch.eye(256), lambda x: torch.linalg.solve(x, x * 2), 3.1, 4.1),
    "inv": (lambda: rand(32, 256, 256) + torch.eye(256), torch.linalg.inv, 1.1, 2.1),
    "cholesky": (lambda: torch.eye(256) * 256 + torch.ones(32, 256, 256), torch.linalg.cholesky, 1.1, 3.1),
    "aminmax": (lambda: rand(1024, N // 1024), lambda x: torch.stack(torch.aminmax(x, dim=1)), 0.1, 2.3),
    "msort": (lambda: rand(1024, N // 1024), torch.msort, 3.2, 1.1),
    "cross": (lambda: rand(N // 3, 3), lambda x: torch.linalg.cross(x, x.detach() + 1), 2.4, 1.4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_calls_take_little_memory(name):
    operand, call, most, most_backward = CALLS[name]
    torch.manual_seed(1)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        x = operand().requires_grad_()
        made, forward = peak(lambda: call(x))
        grad = torch.ones_like(made)
        _, backward = peak(lambda: torch.autograd.grad(made, x, grad))
    finally:
        torch.set_num_threads(threads)
    assert (forward <= most, backward <= most_backward) == (True, True), (forward, backward)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 30, 64])
@pytest.mark.parametrize("call", ["rfft", "irfft", "hfft", "ihfft"])
def test_gradients_of_real_transforms(n, call):
    torch.manual_seed(n)
    complex_in = call in ("irfft", "hfft")
    x = rand(3, n, dtype=torch.complex128 if complex_in else torch.float64).requires_grad_()
    function = getattr(torch.fft, call)
    if n > 1 or not complex_in:
        assert torch.autograd.gradcheck(function, (x,)) and torch.autograd.gradgradcheck(function, (x,))


def test_gradients_of_real_transforms_along_several_dimensions():
    x = rand(3, 4, 5, dtype=torch.float64).requires_grad_()
    for function in (
        lambda t: torch.fft.rfftn(t),
        lambda t: torch.fft.rfft2(t, dim=(2, 0)),
        lambda t: torch.fft.rfftn(t, (2, 7), (1, 0), norm="ortho"),
    ):
        assert torch.autograd.gradcheck(function, (x,)) and torch.autograd.gradgradcheck(function, (x,))


@pytest.mark.parametrize("dims", [0, 1, None])
def test_gradients_of_cross_products(dims):
    torch.manual_seed(2)
    for dtype in (torch.float64, torch.complex128):
        a, b = (rand(3, 3, 3, dtype=dtype).requires_grad_() for _ in range(2))
        assert torch.autograd.gradcheck(lambda x, y: torch.cross(x, y, dims), (a, b))
        assert torch.autograd.gradgradcheck(lambda x, y: torch.cross(x, y, dims), (a, b))
    a, b = rand(1, 2, 3, dtype=torch.float64).requires_grad_(), rand(3, 1, 3, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, y: torch.cross(x, y), (a, b))
    exact = torch.tensor([0.1, 0.7, 0.3])
    assert torch.linalg.cross(exact, exact).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
def test_exponentials_of_many_matrices_are_those_of_each(dtype):
    torch.manual_seed(3)
    many = rand(5, 3, 128, 128, dtype=dtype) / 8
    many[2, 1] *= 40
    whole = torch.linalg.matrix_exp(many.transpose(0, 1)).transpose(0, 1)
    for i in range(5):
        for j in range(3):
            assert torch.equal(whole[i, j], torch.linalg.matrix_exp(many[i, j]))


def test_gradients_of_determinants_of_many_matrices():
    torch.manual_seed(4)
    many = rand(70, 128, 128, dtype=torch.float64) / 6
    many[3, :, 5] = 0
    many[64, 7] = many[64, 9]
    grads = rand(70, dtype=torch.float64)

    def gradient(matrices, grad):
        matrices = matrices.detach().requires_grad_()
        return torch.autograd.grad(torch.linalg.det(matrices), matrices, grad)[0]

    whole = gradient(many, grads)
    for i in range(70):
        assert torch.equal(whole[i], gradient(many[i], grads[i]))


SORTING = {
    "sort": lambda x, dim: torch.sort(x, dim),
    "topk": lambda x, dim: torch.topk(x, 5, dim),
    "kthvalue": lambda x, dim: torch.kthvalue(x, 3, dim),
    "median": lambda x, dim: torch.median(x, dim),
    "mode": lambda x, dim: torch.mode(x, dim),
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.float64])
@pytest.mark.parametrize("call", SORTING)
@pytest.mark.parametrize(
    "sizes, dim", [((40, 1000), 0), ((1100, 1000), 0), ((2, 1100, 600), 1), ((700, 3, 800), 0), ((5, 700, 400), -2), ((2, 300000, 2), 1)]
)
def test_lines_are_copied_in_blocks(call, sizes, dim, dtype):
    torch.manual_seed(5)
    x = torch.randint(0, 200, sizes).to(dtype)
    values, indices = SORTING[call](x, dim)
    turned = SORTING[call](x.transpose(dim, -1).contiguous(), -1)
    if call not in ("sort", "topk"):
        turned = [t.unsqueeze(-1) for t in turned]
    turned = [t.transpose(dim, -1).reshape(values.shape) for t in turned]
    assert torch.equal(values, turned[0]) and torch.equal(indices, turned[1])


@pytest.mark.parametrize("dim", [0, 1])
def test_many_lines_are_sorted_in_place(dim):
    torch.manual_seed(6)
    x = torch.randint(0, 1000, (900, 1100))
    values, indices = torch.sort(x, dim)
    places = torch.empty(1100, 900, dtype=torch.int64).T
    torch.sort(x, dim, out=(x, places))
    assert torch.equal(x, values) and torch.equal(places, indices)
