"""In-place dropout that has nothing to do is no write: in evaluation, and with p = 0."""

import pytest

import libtensor as torch
import libtensor.nn.functional as F

IN_PLACE = {
    "dropout_": torch.dropout_,
    "feature_dropout_": torch.feature_dropout_,
    "alpha_dropout_": torch.alpha_dropout_,
    "feature_alpha_dropout_": torch.feature_alpha_dropout_,
    **{
        f.__name__: lambda x, p, train, f=f: f(x, p, train, inplace=True)
        for f in (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout)
    },
}


@pytest.mark.parametrize(("p", "train"), [(0.5, False), (1.0, False), (0.0, True), (0.0, False)])
@pytest.mark.parametrize("name", IN_PLACE)
def test_dropout_with_nothing_to_do_is_no_write(name, p, train):
    leaf = torch.randn(2, 3, 4, 5, 6 if name == "dropout3d" else 1).squeeze(-1).requires_grad_()
    leaf = leaf if name != "dropout1d" else leaf.detach()[0].clone().requires_grad_()
    drop = IN_PLACE[name]
    assert drop(leaf, p, train) is leaf and leaf.is_leaf  # PyTorch permits it, too
    saved = leaf.softmax(-1)  # whose backward needs its result unchanged
    node = saved.grad_fn
    assert drop(saved, p, train) is saved
    assert (saved._version, saved.grad_fn) == (0, node)
    saved.square().sum().backward()
    assert leaf.grad.isfinite().all()


@pytest.mark.parametrize("name", IN_PLACE)
def test_dropout_that_changes_elements_is_a_write(name):
    leaf = torch.randn(2, 3, 4, 5, 6 if name == "dropout3d" else 1).squeeze(-1).requires_grad_()
    leaf = leaf if name != "dropout1d" else leaf.detach()[0].clone().requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        IN_PLACE[name](leaf, 0.5, True)
    saved = leaf.softmax(-1)
    IN_PLACE[name](saved, 0.5, True)
    assert saved._version > 0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()
