"""gradcheck and gradgradcheck: what they pass, and what they find."""

import pytest

import libtensor as torch
from libtensor.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

X = torch.tensor([[0.5, 2.0], [1.5, -1.0]], dtype=torch.float64, requires_grad=True)
Z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)


@pytest.mark.parametrize("fast", [False, True])
def test_what_is_right(fast):
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
def test_what_is_wrong(fast, given):
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
    with pytest.raises(NotImplementedError, match="check_forward_ad"):
        gradcheck(torch.sin, (X,), check_forward_ad=True)
    with pytest.raises(NotImplementedError, match="check_batched_grad"):
        gradcheck(torch.sin, (X,), check_batched_grad=True)
    with pytest.raises(ValueError, match="check_backward_ad"):
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
    def refuses(x):
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
                gradcheck(refuses, (x,), fast_mode=fast)
            assert not gradcheck(refuses, (x,), fast_mode=fast, raise_exception=False)
        assert gradcheck(refuses, (x,), fast_mode=fast, check_undefined_grad=False)
