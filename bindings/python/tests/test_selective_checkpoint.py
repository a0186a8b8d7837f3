"""create_selective_checkpoint_contexts: operators of a checkpoint that are saved, and do not run again."""

import functools

import pytest

import libtensor as torch
from libtensor.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

aten = torch.ops.aten


def contexts(policy, **options):
    return functools.partial(create_selective_checkpoint_contexts, policy, **options)


def make_model():
    torch.manual_seed(0)
    layers = [
        torch.nn.Linear(4, 8),
        torch.nn.GELU(),
        torch.nn.LayerNorm(8),
        torch.nn.Linear(8, 8),
        torch.nn.Softmax(-1),
        torch.nn.Linear(8, 2),
    ]
    return torch.nn.Sequential(*layers)


def gradients(model, x, **options):
    model.zero_grad()
    x.grad = None
    checkpoint(model, x, use_reentrant=False, **options).sin().sum().backward()
    return [x.grad, *(p.grad for p in model.parameters())]


POLICIES = [
    [],
    [aten.addmm.default],
    [aten.addmm.default, aten._softmax.default, aten.native_layer_norm.default, aten.gelu.default],
    lambda ctx, op, *args, **kwargs: True,
    lambda ctx, op, *args, **kwargs: CheckpointPolicy.PREFER_SAVE if op is aten.gelu.default else CheckpointPolicy.MUST_RECOMPUTE,
]


@pytest.mark.parametrize("policy", POLICIES)
def test_gradients_are_those_without(policy):
    model, x = make_model(), torch.randn(3, 4, requires_grad=True)
    for a, b in zip(gradients(model, x), gradients(model, x, context_fn=contexts(policy)), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_saved_operators_do_not_run_again():
    calls = []
    library = torch.library.Library("selective_checkpoint_test", "DEF")
    library.define("exp(Tensor x) -> Tensor")
    library.impl("exp", lambda x: calls.append(1) or x.exp(), "CompositeExplicitAutograd")
    torch.library.register_autograd(
        "selective_checkpoint_test::exp",
        lambda ctx, grad: grad * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
    )
    op, x = torch.ops.selective_checkpoint_test.exp, torch.ones(2, requires_grad=True)
    for policy, expected in (([op.default], 1), ([], 2)):
        calls.clear()
        x.grad = None
        checkpoint(lambda x: (op(x) * x).sin(), x, use_reentrant=False, context_fn=contexts(policy)).sum().backward()
        assert len(calls) == expected
        y = x.detach().requires_grad_()
        ((y.exp() * y).sin()).sum().backward()
        assert torch.allclose(x.grad, y.grad)


def test_policies_receive_operators_and_arguments():
    seen = []

    def policy(ctx, op, *args, **kwargs):
        seen.append((ctx.is_recompute, str(op), len(args)))
        return CheckpointPolicy.PREFER_RECOMPUTE

    x = torch.ones(2, 3, requires_grad=True)
    checkpoint(lambda x: (x @ x.T).exp(), x, use_reentrant=False, context_fn=contexts(policy)).sum().backward()
    assert seen == [(False, "aten.permute.default", 2), (False, "aten.mm.default", 2), (False, "aten.exp.default", 1)]


def test_saved_results_are_used_once():
    x = torch.ones(2, 2, requires_grad=True)
    y = checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=contexts([aten.mm.default])).sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        y.backward()


def test_saved_results_that_change():
    kept = []

    def function(x):
        kept[:] = [x @ x]
        return kept[0].sin()

    def run(**options):
        x = torch.ones(2, 2, requires_grad=True)
        y = checkpoint(function, x, use_reentrant=False, context_fn=contexts([aten.mm.default], **options))
        with torch.no_grad():
            kept[0].zero_()
        y.sum().backward()
        return x.grad.tolist()

    with pytest.raises(RuntimeError, match="has been mutated"):
        run()
    assert run(allow_cache_entry_mutation=True) == [[4, 4], [4, 4]]


def test_policies_that_are_none():
    with pytest.raises(ValueError, match="to be an OpOverload but got: aten.mm"):
        create_selective_checkpoint_contexts([aten.mm])
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        create_selective_checkpoint_contexts(3)
    with pytest.raises(TypeError, match="must return a CheckpointPolicy or a bool, but returned 1"):
        checkpoint(torch.exp, torch.ones(1, requires_grad=True), use_reentrant=False, context_fn=contexts(lambda *a: 1))
