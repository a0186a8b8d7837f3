"""gradcheck and gradgradcheck: what they pass, and what they find."""

import importlib
import warnings

import pytest

import libtensor as torch
from libtensor.autograd import Function
from libtensor.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

X = torch.tensor([[0.5, 2.0], [1.5, -1.0]], dtype=torch.float64, requires_grad=True)
Z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)


@pytest.mark.parametrize("fast", [False, True])
def test_valid_calls(fast):
    for function, inputs in (
        (torch.sin, (X,)),
        (lambda x, k: (x**k, x.T @ x), (X, 3)),
        (torch.abs, (Z,)),
        (lambda x, z: x.sum() * z * z.conj(), (X, Z)),
    ):
        before = [t.tolist() for t in inputs if isinstance(t, torch.Tensor)]
        assert gradcheck(function, inputs, fast_mode=fast) and gradgradcheck(function, inputs, fast_mode=fast)
        assert before == [t.tolist() for t in inputs if isinstance(t, torch.Tensor)]
    assert gradcheck(torch.cos, X) and gradcheck(lambda x: (x * 2, x.argmax()), (X,)) and gradcheck(lambda x: x.T.contiguous().T, (X.T,))
    assert gradgradcheck(torch.sin, (X,), torch.ones(2, 2, dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("given", [X, Z])
def test_invalid_calls(fast, given):
    def half(x):
        return x.detach() * x

    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(half, (given,), fast_mode=fast)
    assert gradcheck(half, (given,), fast_mode=fast, raise_exception=False) is False
    with pytest.raises(GradcheckError, match="output 1 with respect to input 1"):
        gradcheck(lambda a, b: (a * b, a * b.detach()), (given, (given * 2).detach().requires_grad_()), fast_mode=fast)
    with pytest.raises(GradcheckError, match="expected to be zero: output 0 requires no gradient, but changes with input 0"):
        gradcheck(lambda x: x.detach() * 2, (given,), fast_mode=fast)


def test_arguments():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(torch.sin, (X.detach(),))
    with pytest.raises(RuntimeError, match="Input #0 has a dimension with stride 0"):
        gradcheck(torch.sin, (torch.ones(1, dtype=torch.float64).expand(3).requires_grad_(),))
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is torch.float32"):
        gradcheck(torch.sin, (torch.ones(2, requires_grad=True),), atol=1, eps=1e-2)
    with pytest.raises(AssertionError, match="check_backward_ad"):
        gradcheck(torch.sin, (X,), check_backward_ad=False)
    with pytest.raises(ZeroDivisionError):
        gradcheck(lambda x: x * (1 / 0), (X,), raise_exception=False)


@pytest.mark.parametrize("fast", [True, False])
def test_results_that_change_with_the_values(fast):
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with pytest.raises(AssertionError, match="return outputs with the same shape when inputs are perturbed"):
        torch.autograd.gradcheck(lambda x: torch.cat([x, x]) if bool((x >= 1).all()) else x, (x,), fast_mode=fast)
    with pytest.raises(AssertionError, match="return outputs with the same dtype when inputs are perturbed"):
        torch.autograd.gradcheck(lambda x: x.to(torch.float32) if bool((x >= 1).all()) else x, (x,), fast_mode=fast)
    assert x.tolist() == [1]


def test_hooks_that_take_no_undefined_gradients_are_found():
    def rejects(x):
        y = x.clone()

        def hook(grad):
            if grad is None:
                raise RuntimeError("no gradient")

        y.register_hook(hook)
        return y

    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    for fast in (True, False):
        with pytest.warns(UserWarning, match="New undefined gradient support checking feature"):
            with pytest.raises(GradcheckError, match="Expected backward function to handle undefined output grads"):
                gradcheck(rejects, (x,), fast_mode=fast)
            assert not gradcheck(rejects, (x,), fast_mode=fast, raise_exception=False)
        assert gradcheck(rejects, (x,), fast_mode=fast, check_undefined_grad=False)


class Slope(Function):
    """x * x with a derivative in forward mode that is 3, and in backward mode `slope * x`."""

    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x * ctx.slope, None

    @staticmethod
    def jvp(ctx, tangent, _):
        return tangent * 3


@pytest.mark.parametrize("fast", [False, True])
def test_forward_mode_is_compared(fast):
    for dtype in (torch.float64, torch.complex128):
        x = torch.tensor([0.5, 2.0], dtype=dtype, requires_grad=True)
        options = {"check_forward_ad": True, "check_batched_forward_grad": True, "check_batched_grad": True, "fast_mode": fast}
        assert gradcheck(lambda x: (x.sin(), x * x), (x,), **options)
        assert gradcheck(lambda x: x.abs(), (x,), **options)
        with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 0"):
            gradcheck(lambda x: Slope.apply(x, 2), (x.detach().real.clone().requires_grad_(),), check_forward_ad=True, fast_mode=fast)
    real = x.detach().real.clone().requires_grad_()
    assert not gradcheck(lambda x: Slope.apply(x, 2), (real,), check_forward_ad=True, raise_exception=False)
    assert gradcheck(lambda x: Slope.apply(x, 2), (real,))
    with pytest.raises(GradcheckError, match="forward mode mismatch"):
        gradcheck(lambda x: Slope.apply(x, 5), (real,), check_forward_ad=True, check_backward_ad=False)
    with pytest.raises(GradcheckError, match="^Jacobian mismatch"):
        gradcheck(lambda x: Slope.apply(x, 5), (real,), check_forward_ad=True)


def test_batched_gradients_are_compared(monkeypatch):
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: (x.sin(), x * x), (x,), check_batched_grad=True)
    module = importlib.import_module("libtensor.autograd.gradcheck")
    plain = module.grad

    def doubled(*args, is_grads_batched=False, **options):
        made = plain(*args, is_grads_batched=is_grads_batched, **options)
        return tuple(t * 2 for t in made) if is_grads_batched else made

    monkeypatch.setattr(module, "grad", doubled)
    with pytest.raises(GradcheckError, match="Batched gradients mismatch for output 0 with respect to input 0"):
        gradcheck(torch.sin, (x,), check_batched_grad=True)
    assert gradcheck(torch.sin, (x,))


def test_second_derivatives_by_forward_over_reverse():
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(torch.sin, (x,), check_fwd_over_rev=True)
    assert gradgradcheck(lambda x: x**3, (x,), check_fwd_over_rev=True, check_rev_over_rev=False, check_undefined_grad=False)
    assert gradgradcheck(torch.exp, (x,), check_batched_grad=True, fast_mode=True)


@pytest.mark.parametrize(
    ("check", "options", "text"),
    [
        (gradcheck, {"check_backward_ad": False}, "Expected at least one of check_forward_ad or check_backward_ad to be True"),
        (gradcheck, {"check_batched_forward_grad": True}, "Setting check_batched_forward_grad=True requires check_forward_ad to be True"),
        (
            gradcheck,
            {"check_batched_grad": True, "check_forward_ad": True, "check_backward_ad": False},
            "Setting check_batched_grad=True requires check_backward_ad",
        ),
        (gradgradcheck, {"check_rev_over_rev": False}, "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"),
        (
            gradgradcheck,
            {"check_rev_over_rev": False, "check_fwd_over_rev": True},
            "Setting check_undefined_grad=True requires check_rev_over_rev",
        ),
    ],
)
def test_options_that_contradict_one_another(check, options, text):
    with pytest.raises(AssertionError, match=text):
        check(torch.sin, (torch.ones(2, dtype=torch.float64, requires_grad=True),), **options)


def test_numerical_jacobians_are_those_of_the_formulas():
    x = torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([3.0, -1.0], dtype=torch.float64)
    jacobian = importlib.import_module("libtensor.autograd.gradcheck")._get_numerical_jacobian
    (by_output,) = jacobian(lambda x, y: (x * y, x.sum()), (x, y), eps=1e-6)
    torch.testing.assert_close(by_output[0], torch.diag(y))
    torch.testing.assert_close(by_output[1], torch.ones(2, 1, dtype=torch.float64))
    weight = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    ((found,),) = jacobian(lambda x: x * weight, x, target=weight, eps=1e-6)
    torch.testing.assert_close(found, x.detach())
    assert jacobian(lambda x, y: x * y, (x, y), target=y) == []
    with pytest.raises(ValueError, match="Expected output to be non-complex"):
        jacobian(lambda x: x * 1j, x)


def test_tensors_of_nested_iterables_come_in_order():
    tensors = [torch.ones(1), torch.ones(2, requires_grad=True), torch.ones(3)]
    nested = [tensors[0], "text", (tensors[1], None, [tensors[2]])]
    find = importlib.import_module("libtensor.autograd.gradcheck")._iter_tensors
    assert [t.numel() for t in find(nested)] == [1, 2, 3]
    assert [t.numel() for t in find(nested, only_requiring_grad=True)] == [2]


def test_the_fast_mode_scales_the_tolerance_with_the_number_of_elements():
    torch.manual_seed(0)
    x = torch.randn(2, 100000, requires_grad=True)  # differences of float32 are coarse, and their errors add up
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for check in (gradcheck, gradgradcheck):
            assert check(lambda x: torch.nn.functional.layer_norm(x, [100000]), (x,), fast_mode=True)


@pytest.mark.parametrize("fast", [False, True])
def test_a_function_that_draws_the_same_numbers_each_time(fast):
    def masked(x):
        state = torch.get_rng_state()
        try:
            return torch.nn.functional.rrelu(x, training=True) * torch.rand_like(x)
        finally:
            torch.set_rng_state(state)

    x = torch.tensor([-1.0, 2.0, -3.0, -4.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(masked, (x,), fast_mode=fast, check_batched_grad=False) and gradgradcheck(masked, (x,), fast_mode=fast)
