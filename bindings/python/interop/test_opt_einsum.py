"""contract of tensors, in the order that opt_einsum finds: expressions, constants, out, shared parts, gradients."""

import opt_einsum
import pytest
from layouts import MATRICES, of_all, values
from opt_einsum import contract, contract_expression

import libtensor as torch

torch.manual_seed(0)
A, B, C = torch.rand(5, 6), torch.rand(6, 7), torch.rand(7, 8)


@pytest.mark.parametrize(
    ("equation", "operands", "expected"),
    [
        ("ab,bc,cd->da", (A, B, C), (A @ B @ C).t()),
        ("ab,bc->ac", (A, B), A @ B),
        ("ab,ab->", (A, A), (A * A).sum()),
        ("ab->ba", (A,), A.t()),
        ("aa->a", (torch.eye(3),), torch.ones(3)),
        ("ab,cd->acbd", (A, B), torch.einsum("ab,cd->acbd", A, B)),
        ("...b,bc->...c", (A, B), A @ B),
        ("αβ,βγ->αγ", (A, B), A @ B),
        ("ab,bc,cd->ad", (A.t().contiguous().t(), B, C.t().contiguous().t()), A @ B @ C),
        ("ab,bc->ac", (A.to(torch.complex64), B.to(torch.complex64)), (A @ B).to(torch.complex64)),
    ],
)
def test_contract(equation, operands, expected):
    result = contract(equation, *operands)
    assert type(result) is torch.Tensor and torch.allclose(result, expected)


def test_lists_of_labels_and_out():
    assert torch.allclose(contract(A, [0, 1], B, [1, 2], [0, 2]), A @ B)
    for equation, operands, expected in (("ab,bc->ac", (A, B), A @ B), ("ab->a", (A,), A.sum(1))):
        out = torch.zeros(expected.shape)
        assert contract(equation, *operands, out=out) is out and torch.allclose(out, expected)


def test_expressions():
    assert torch.allclose(contract_expression("ab,bc->ac", (5, 6), (6, 7))(A, B), A @ B)
    assert torch.allclose(contract_expression("ab,bc,cd->ad", (5, 6), B, (7, 8), constants=[1])(A, C), A @ B @ C)
    with opt_einsum.shared_intermediates() as shared:
        first = contract("ab,bc,cd->ad", A, B, C)
        assert contract("ab,bc,cd->ad", A, B, C).equal(first) and shared


def test_gradients():
    a, c = A.clone().requires_grad_(), C.clone().requires_grad_()
    contract("ab,bc,cd->ad", a, B, c).sum().backward()
    assert torch.allclose(a.grad, (B @ C).sum(1).expand(5, 6)) and torch.allclose(c.grad, (A @ B).sum(0).view(7, 1).expand(7, 8))


def test_transforms():
    batched = torch.vmap(lambda a: contract("ab,bc,cd->ad", a, B, C))(torch.stack([A, 2 * A]))
    assert torch.allclose(batched, torch.stack([A @ B @ C, 2 * A @ B @ C]))
    assert torch.allclose(torch.func.grad(lambda a: contract("ab,bc->", a, B))(A), B.sum(1).expand(5, 6))


@of_all(MATRICES, without=("bool", "named", "subclass"))
def test_odd_layouts(t):
    assert values(contract("ab,cb->ca", t, torch.eye(t.shape[1], dtype=t.dtype))) == values(t.t())
