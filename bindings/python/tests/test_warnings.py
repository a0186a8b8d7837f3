"""Warnings: their causes, number and source lines; a warning that is turned into an error has changed nothing."""

import os
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager

import pytest

import libtensor as torch
from libtensor.nn import functional as F

C = torch.tensor([1 + 2j, 3j])


def ones(*size, **options):
    return torch.ones(*size, **options)


def tracked():
    return torch.ones(2, requires_grad=True)


def resized(call, *outs):
    return lambda: call(outs[0]() if len(outs) == 1 else tuple(out() for out in outs))


def two():
    return torch.ones(2)


def two_ints():
    return torch.ones(2, dtype=torch.int64)


def expanded():
    return torch.ones(1).expand(3)


def bytes_of(*values):
    return torch.tensor(values, dtype=torch.uint8)


def graph():
    x = tracked()
    try:
        (x**2).sum().backward(create_graph=True)
    finally:
        x.grad = None  # which holds the graph, which holds x


STFT = torch.stft(torch.ones(64), 16, window=torch.ones(16), return_complex=True)

# A program, the text of its warning, and whether it is reported only the first time.
EACH, ONCE = False, True
LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
SIZES = "Using a target size ([3]) that is different to the input size ([3, 1])"
PROGRAMS = {
    **{name: (lambda name=name: getattr(F, name)(ones(3, 1), ones(3)), SIZES, EACH) for name in LOSSES},
    "loss of absolute values": (lambda: F.smooth_l1_loss(ones(2), ones(1), beta=0.0), "computes 2 losses by broadcasting", EACH),
    "MSELoss": (lambda: torch.nn.MSELoss()(ones(2, 2), ones(2)), "nn_mse_loss: Using a target size ([2])", EACH),
    "to": (lambda: C.to(torch.float32), "to: converting complex64 to float32 discards the imaginary part", ONCE),
    "float": (lambda: C.float(), "discards the imaginary part", ONCE),
    "int": (lambda: C.int(), "complex64 to int32", ONCE),
    "copy_": (lambda: ones(2).copy_(C), "copy_: converting complex64 to float32", ONCE),
    "setitem": (lambda: ones(2).__setitem__(0, C[0]), "index_put_: converting complex64", ONCE),
    "as_tensor": (lambda: torch.as_tensor(C, dtype=torch.float32), "discards", ONCE),
    "sum of a dtype": (lambda: C.sum(dtype=torch.float32), "sum: converting", ONCE),
    "prod of a dtype": (lambda: C.prod(dtype=torch.float32), "prod: converting", ONCE),
    "cumsum of a dtype": (lambda: C.cumsum(0, dtype=torch.float32), "cumsum: converting", ONCE),
    "grad": (lambda: (tracked() * 2).grad, "grad: the tensor is no leaf", EACH),
    "add": (resized(lambda out: torch.add(ones(3), 1, out=out), two), "add: out with shape [2]", EACH),
    "the same number": (resized(lambda out: torch.add(ones(2, 1), 1, out=out), two), "shape [2, 1]", EACH),
    "sum": (resized(lambda out: torch.sum(ones(3, 3), 0, out=out), two), "sum: out", EACH),
    "mm": (resized(lambda out: torch.mm(ones(3, 3), ones(3, 3), out=out), two), "mm: out", EACH),
    "cat": (resized(lambda out: torch.cat([ones(3)], out=out), two), "cat: out", EACH),
    "nonzero": (resized(lambda out: torch.nonzero(ones(3), out=out), two_ints), "nonzero: out", EACH),
    "rfft": (resized(lambda out: torch.fft.rfft(ones(4), out=out), lambda: ones(2, dtype=torch.complex64)), "fft.rfft: out", EACH),
    "std": (lambda: ones(1).std(), "std: degrees of freedom is <= 0: correction (1)", EACH),
    "var": (lambda: ones(3, 1).var(1), "var: degrees of freedom is <= 0: correction (1)", EACH),
    "var of nothing": (lambda: ones(0, 3).var(0), "number of elements of each result (0)", EACH),
    "var_mean": (lambda: torch.var_mean(ones(3), correction=5), "var_mean: degrees of freedom is <= 0: correction (5)", EACH),
    "cov": (lambda: torch.cov(ones(2, 1)), "cov: degrees of freedom is <= 0: correction (1)", EACH),
    "T of a line": (lambda: ones(3).T, "T: deprecated for 1D tensors", ONCE),
    "T of three": (lambda: ones(2, 3, 4).T, "T: deprecated for 3D tensors", ONCE),
    "T of a number": (lambda: torch.tensor(1.0).T, "T: deprecated for 0-dimensional tensors", ONCE),
    "mT of a number": (lambda: torch.tensor(1.0).mT, "mT: deprecated for 0-dimensional", ONCE),
    "H of a number": (lambda: torch.tensor(1.0).H, "use conj()", ONCE),
    "adjoint of a number": (lambda: torch.tensor(1.0).adjoint(), "adjoint: deprecated", ONCE),
    "create_graph": (graph, "backward: with create_graph", ONCE),
    "meshgrid": (lambda: torch.meshgrid(ones(2), ones(3)), 'meshgrid: indexing defaults to "ij"', ONCE),
    "cross": (lambda: torch.cross(ones(3), ones(3)), "cross: without dim", ONCE),
    "stft": (lambda: torch.stft(ones(64), 16, return_complex=True), "stft: without a window", ONCE),
    "istft": (lambda: torch.istft(STFT, 16), "istft: without a window", ONCE),
    "long istft": (lambda: torch.istft(STFT, 16, window=ones(16), length=200), "istft: the frames end", ONCE),
    "where": (lambda: torch.where(bytes_of(1, 0), ones(2), ones(2)), "where: condition of dtype uint8", ONCE),
    "index of bytes": (lambda: ones(2)[bytes_of(1, 0)], "index: tensor as an index of dtype uint8", ONCE),
    "masked_fill_": (
        lambda: expanded().masked_fill_(torch.tensor([True, False, True]), 2.0),
        "masked_fill_: use of an in-place operator on an expanded tensor",
        EACH,
    ),
    "index_fill_": (
        lambda: expanded().index_fill_(0, torch.tensor([0]), 2.0),
        "index_fill_: use of an in-place operator on an expanded tensor",
        EACH,
    ),
    "random_": (lambda: ones(3).random_(0, 2**40), "random_: float32 has all integers from -16777216", EACH),
    "range": (lambda: torch.range(0, 3), "range: deprecated, as in PyTorch; use arange", ONCE),
    "lu": (lambda: torch.lu(torch.eye(2)), "lu: deprecated", ONCE),
    "lu_solve": (lambda: torch.lu_solve(ones(2, 1), *torch.linalg.lu_factor(torch.eye(2))), "use linalg.lu_solve", ONCE),
    "triangular_solve": (lambda: torch.triangular_solve(ones(2, 1), torch.eye(2)), "use linalg.solve_triangular", ONCE),
    "qr": (lambda: torch.qr(torch.eye(2)), "use linalg.qr", ONCE),
    "cholesky": (lambda: torch.cholesky(torch.eye(2)), "use linalg.cholesky", ONCE),
    "chain_matmul": (lambda: torch.chain_matmul(torch.eye(2), torch.eye(2)), "use linalg.multi_dot", ONCE),
    "scatter": (lambda: ones(3).scatter(0, torch.tensor([0]), ones(1), reduce="add"), "use scatter_reduce", ONCE),
    "tensor": (lambda: torch.tensor(ones(2), requires_grad=True), "tensor: to copy construct from a tensor", EACH),
    "new_tensor": (lambda: ones(2).new_tensor(ones(2)), "new_tensor: to copy construct from a tensor", EACH),
    "list of lists": (lambda: ones(3, 3)[[[0, 1], [0, 1]]], "index: using a non-tuple sequence", EACH),
    "list with a slice": (lambda: ones(3, 3).__setitem__([0, slice(None)], 1), "index: using a non-tuple sequence", EACH),
    "float of a leaf": (lambda: float(torch.tensor(1.0, requires_grad=True)), "float: no gradient goes through", ONCE),
    "default type": (lambda: torch.set_default_tensor_type("torch.FloatTensor"), "use set_default_dtype()", ONCE),
}

# Programs that PyTorch does not warn of either.
QUIET = {
    "complex to bool": lambda: C.to(torch.bool),
    "complex to complex": lambda: C.to(torch.complex128),
    "real": lambda: C.real.float(),
    "a real operand": lambda: (C * tracked()).abs().sum().backward(),
    "a gradient of a real leaf": lambda: (tracked() * C).real.sum().backward(),
    "losses": lambda: [getattr(F, name)(ones(3), ones(3)) for name in LOSSES],
    "losses of batch elements": lambda: [torch.vmap(getattr(F, name), (1, None))(ones(3, 2), ones(3)) for name in LOSSES],
    "empty out": lambda: torch.add(ones(3), 1, out=torch.empty(0)),
    "out that fits": lambda: torch.add(ones(2), 1, out=two()),
    "out of a factory": lambda: (
        torch.zeros(3, out=two()),
        torch.randn(3, out=two()),
        torch.eye(3, out=two()),
        torch.linspace(0, 1, 3, out=two()),
    ),
    "std of two": lambda: ones(2).std(),
    "std of one, uncorrected": lambda: ones(1).std(correction=0),
    "std of one, biased": lambda: ones(1).var(unbiased=False),
    "T": lambda: ones(2, 3).T,
    "mT": lambda: ones(2, 3, 4).mT,
    "adjoint of a matrix": lambda: C.reshape(1, 2).H,
    "grad of a leaf": lambda: tracked().grad,
    "grad of a detached": lambda: (tracked() * 2).detach().grad,
    "autograd.grad": lambda: torch.autograd.grad((x := tracked()).sum() ** 2, x, create_graph=True),
    "meshgrid": lambda: torch.meshgrid(ones(2), ones(3), indexing="ij"),
    "cross": lambda: torch.cross(ones(3), ones(3), dim=0),
    "stft": lambda: torch.stft(ones(64), 16, window=ones(16), return_complex=True),
    "istft": lambda: torch.istft(STFT, 16, window=ones(16)),
    "index": lambda: (ones(3)[[0, 1]], ones(3)[[True, False, True]], ones(3, 3)[0, [1, 2]], ones(3, 3)[torch.tensor([[0, 1]])]),
    "bytes that are no mask": lambda: ones(3)[bytes_of(1, 0).long()],
    "item": lambda: (torch.tensor(1.0, requires_grad=True).item(), int(torch.tensor(1.0, requires_grad=True)), float(ones(1))),
    "tensor of an array": lambda: torch.tensor([[1, 2], [3, 4]]),
    "tensor of tensors": lambda: torch.tensor([torch.tensor(1), torch.tensor(2)]),
    "as_tensor": lambda: (torch.as_tensor(ones(2)), torch.asarray(ones(2))),
    "random_": lambda: ones(3).random_(0, 100),
    "fill_ of an expanded tensor": lambda: expanded().fill_(2.0),
    "linalg": lambda: (torch.linalg.qr(torch.eye(2)), torch.linalg.svd(torch.eye(2)), torch.linalg.solve(torch.eye(2), ones(2))),
    "gradients of linalg": lambda: torch.linalg.eigvals((torch.eye(2) * torch.tensor([1.0, 2.0])).requires_grad_()).abs().sum().backward(),
    "batched std": lambda: torch.std(ones(4, 3), dim=1),
    "scatter of a number": lambda: ones(3).scatter_(0, torch.tensor([0]), 2.0, reduce="multiply"),
}


@contextmanager
def always(on):
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(on)
    try:
        yield
    finally:
        torch.set_warn_always(before)


def heard(program):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program()
    return caught


@pytest.mark.parametrize("name", PROGRAMS)
def test_warnings_point_to_the_line_of_the_caller(name):
    program, words, _ = PROGRAMS[name]
    with always(True):
        (warning,) = heard(program)
    assert warning.category is UserWarning
    assert words in str(warning.message)
    assert warning.filename == __file__


@pytest.mark.parametrize("name", PROGRAMS)
def test_some_warnings_come_once(name):
    program, _, once = PROGRAMS[name]
    with always(False):
        heard(program)
        assert len(heard(program)) == (not once)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_warning_raised_as_an_error_is_repeated(name):
    program, words, _ = PROGRAMS[name]
    with always(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning) as raised:
                program()
            assert words in str(raised.value)
            del raised


@pytest.mark.parametrize("name", QUIET)
def test_other_programs_are_quiet(name):
    with always(True):
        assert [str(warning.message) for warning in heard(QUIET[name])] == []


def test_several_outputs_warn_each():
    assert [str(w.message).split()[1] for w in heard(lambda: torch.sort(ones(3), out=(two(), two_ints())))] == ["values", "indices"]


REJECTED = {
    "out": (lambda t: torch.add(ones(3), 1, out=t), lambda: torch.tensor([7.0, 8.0])),
    "out of a composition": (lambda t: torch.linalg.inv(torch.eye(3), out=t), lambda: torch.tensor([7.0, 8.0])),
    "copy_": (lambda t: t.copy_(C), lambda: torch.tensor([7.0, 8.0])),
    "setitem": (lambda t: t.__setitem__(slice(None), C), lambda: torch.tensor([7.0, 8.0])),
    "masked_fill_": (lambda t: t.masked_fill_(torch.tensor([True, False]), 2.0), lambda: torch.tensor([7.0]).expand(2)),
    "index_fill_": (lambda t: t.index_fill_(0, torch.tensor([0]), 2.0), lambda: torch.tensor([7.0]).expand(2)),
    "random_": (lambda t: t.random_(0, 2**40), lambda: torch.tensor([7.0, 8.0])),
    "std out": (lambda t: torch.std(ones(2, 1), 1, out=t), lambda: torch.tensor([7.0, 8.0])),
}


@pytest.mark.parametrize("name", REJECTED)
def test_a_warning_raised_as_an_error_changes_nothing(name):
    change, make = REJECTED[name]
    tensor = make()
    before = tensor.tolist(), tensor.shape, tensor.stride(), tensor.data_ptr(), tensor.untyped_storage().nbytes(), tensor._version
    state = torch.get_rng_state()
    with always(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            change(tensor)
    assert (tensor.tolist(), tensor.shape, tensor.stride(), tensor.data_ptr(), tensor.untyped_storage().nbytes(), tensor._version) == before
    assert torch.equal(torch.get_rng_state(), state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        change(tensor)


def test_a_rejected_backward_leaves_no_gradient():
    x = tracked()
    y = (x * x).sum()
    with always(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            y.backward(create_graph=True)
    assert x.grad is None
    y.backward()
    assert x.grad.tolist() == [2, 2]


def test_filters_by_message_work():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="std: .*degrees of freedom")
        ones(1).std()
        with pytest.raises(UserWarning):
            ones(1).var()


def test_each_thread_receives_its_own_warnings():
    lines = []

    def work():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                ones(1).std()
            except UserWarning as warning:
                lines.append(str(warning))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(lines) == 1


def test_a_handler_may_call_the_library(monkeypatch):
    seen = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: seen.append((torch.ones(2) * 2).tolist()))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        ones(1).std()
    assert seen == [[2, 2]]


def run(program, *options, **environment):
    ran = subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


def test_a_line_is_warned_of_once_by_default():
    program = "import libtensor as torch\nfor _ in range(3):\n    torch.ones(1).std()\ntorch.ones(1).std()\n"
    lines = [line for line in run(program).splitlines() if "UserWarning" in line]
    assert [line.split(":")[1] for line in lines] == ["3", "4"]


def test_a_program_without_warnings_prints_none():
    assert run("import libtensor as torch; torch.ones(1).std()", "-W", "ignore") == ""


def test_the_end_of_the_interpreter_is_quiet():
    program = """
import atexit, libtensor as torch
x = torch.ones(1)
class Late:
    def __del__(self, x=x): x.std()
late = Late()
"""
    assert "Error" not in run(program, "-W", "ignore")
