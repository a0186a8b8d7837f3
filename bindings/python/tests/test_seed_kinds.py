"""What the documents say of layouts, names and other kinds of tensors: their examples as printed, and one set of calls for every kind."""

import re

import pytest

import libtensor as torch


def test_layouts_as_printed():
    x = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
    assert repr(x.stride()) == "(5, 1)" and repr(x.t().stride()) == "(1, 5)"
    assert torch.Tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]).t().stride() == (1, 5)
    assert repr(x.layout) == "torch.strided" and isinstance(torch.sparse_coo, torch.layout)
    kept = x.to_sparse()
    assert kept.layout is torch.sparse_coo and torch.equal(kept.to_dense(), x)


def test_names_as_printed(capsys):
    img_t, batch_t = torch.randn(3, 5, 5), torch.randn(2, 3, 5, 5)
    weights_named = torch.tensor([0.2126, 0.7152, 0.0722], names=["channels"])
    assert repr(weights_named) == "tensor([0.2126, 0.7152, 0.0722], names=('channels',))"
    img_named = img_t.refine_names(..., "channels", "rows", "columns")
    batch_named = batch_t.refine_names(..., "channels", "rows", "columns")
    print("img named:", img_named.shape, img_named.names)
    print("batch named:", batch_named.shape, batch_named.names)
    assert capsys.readouterr().out == (
        "img named: torch.Size([3, 5, 5]) ('channels', 'rows', 'columns')\n"
        "batch named: torch.Size([2, 3, 5, 5]) (None, 'channels', 'rows', 'columns')\n"
    )
    weights_aligned = weights_named.align_as(img_named)
    assert repr((weights_aligned.shape, weights_aligned.names)) == "(torch.Size([3, 1, 1]), ('channels', 'rows', 'columns'))"
    gray_named = (img_named * weights_aligned).sum("channels")
    assert repr((gray_named.shape, gray_named.names)) == "(torch.Size([5, 5]), ('rows', 'columns'))"
    message = (
        "attempting to broadcast dims ['channels', 'rows', 'columns'] and dims ['channels']: dim 'columns' and dim 'channels' "
        "are at the same position from the right but do not match."
    )
    with pytest.raises(RuntimeError, match=f"(?i){re.escape(message[:-1])}"):
        (img_named[..., :3] * weights_named).sum("channels")
    gray_plain = gray_named.rename(None)
    assert repr((gray_plain.shape, gray_plain.names)) == "(torch.Size([5, 5]), (None, None))"


KINDS = {
    "dense": lambda t: t,
    "meta": lambda t: t.to("meta"),
    "sparse_coo": lambda t: t.to_sparse(),
    "sparse_csr": lambda t: t.to_sparse_csr(),
    "quantized": lambda t: torch.quantize_per_tensor(t, 0.25, 8, torch.quint8),
    "named": lambda t: t.rename("rows", "columns"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_right_function_is_called_for_every_kind(kind):
    dense = torch.tensor([[0.0, -0.25, 0.5], [1.0, 0.0, 2.0]])
    x = KINDS[kind](dense)
    for f in (lambda t: t.t(), lambda t: t[1], lambda t: torch.relu(t), lambda t: torch.cat([t, t]), lambda t: t.clone()):
        got, expected = f(x), f(dense)
        assert got.shape == expected.shape and (got.layout is torch.strided) == (x.layout is torch.strided)
        if kind != "meta":
            plain = got.dequantize() if got.is_quantized else got.to_dense().rename(None)
            assert torch.equal(plain, expected)
    words = torch.dispatch.table("relu")["relu"]["kind"]
    assert words["dense"] == "kernel" and words.get(kind, "rule") in ("kernel", "rule")
