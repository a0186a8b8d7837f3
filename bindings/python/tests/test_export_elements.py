"""torch.export.export of functions whose sizes, or whose Python code, depend on elements of tensors; and the operators of numbers."""

import copy
import io

import pytest

import libtensor as torch
from libtensor.export import Dim, export, load, save
from libtensor.utils._pytree_nodes import find_serialized

pytestmark = pytest.mark.usefixtures("evaluated_too")

F, leaves = torch.nn.functional, torch.utils._pytree.tree_leaves
SIZES = {
    "nonzero": lambda x: x * (x > 1).nonzero().shape[0],
    "mask": lambda x: x[x > 1].reshape(-1) * 2,
    "column": lambda x: x[x > 1].view(-1, 1) + x[x > 1].numel(),
    "selected": lambda x: x.masked_select(x > 0).sum() / max(x[x > 0].numel(), 1) if x.dim() > 1 else x.masked_select(x > 0).flatten(),
    "unique": lambda x: torch.arange(x.unique().shape[0]),
    "where": lambda x: x[: torch.where(x > 1)[0].size(0)],
    "repeated": lambda x: x.repeat_interleave(x.abs().long().clamp(max=9)).reshape(1, -1),
    "counts": lambda x: x.abs().long().clamp(max=9).bincount().reshape(-1, 1),
    "classes": lambda x: F.one_hot(x.abs().long().clamp(max=9)).flatten(),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_depend_on_elements_are_computed_by_the_program(name, dynamic):
    function = SIZES[name]
    program = export(function, (torch.tensor([0.5, 2.0, 3.0, -1.0]),), dynamic_shapes=({0: Dim("n", min=2)},) if dynamic else None)
    file = io.BytesIO()
    save(program, file)
    for each in (load(io.BytesIO(file.getvalue())), program.run_decompositions()):
        for elements in ([0.5, 2, 3, -1], [2, 3, 4, 5], [0, 0, 0, 0.25], *([[9, 8, 2, -3, 7, 7.0]] if dynamic else [])):
            x = torch.tensor(elements, dtype=torch.float32)
            found, expected = each.module()(x), function(x)
            assert found.dtype == expected.dtype and torch.equal(found, expected)


@pytest.mark.parametrize(
    "function, fact",
    [
        (lambda x: x * x.tolist()[1], "tolist"),
        (lambda x: x * float(x.numpy()[1]), "numpy"),
        (lambda x: x * [float(v) for v in x][0], "item"),
        (lambda x: x * 2 if len(x[x > 0]) > 1 else x, "operators depend on elements"),
        (lambda x: torch.cat([x for _ in range((x > 0).nonzero().size(0))]), "depends on the variable sizes|depend on elements"),
    ],
)
def test_python_code_that_depends_on_elements_raises(function, fact):
    with pytest.raises((RuntimeError, NotImplementedError), match=fact):
        export(function, (torch.tensor([0.5, 2.0, 3.0, -1.0]),))


def write_bits(x):
    made = x.clone()
    made &= 6
    made |= 1
    return made


@pytest.mark.parametrize(
    "function, operators",
    [
        (lambda x: x & 3, ["bitwise_and.Scalar"]),
        (lambda x: 3 & x, ["bitwise_and.Scalar"]),
        (lambda x: torch.bitwise_and(x, 3), ["bitwise_and.Scalar"]),
        (lambda x: torch.bitwise_or(3, x), ["bitwise_or.Scalar_Tensor"]),
        (lambda x: x | 3, ["bitwise_or.Scalar"]),
        (lambda x: x ^ 3, ["bitwise_xor.Scalar"]),
        (lambda x: x << 2, ["bitwise_left_shift.Tensor_Scalar"]),
        (lambda x: x & x, ["bitwise_and.Tensor"]),
        (lambda x: x + 3, ["add.Tensor"]),
        (write_bits, ["bitwise_and_.Scalar", "bitwise_or_.Scalar", "clone.default"]),
    ],
)
def test_numbers_have_the_overloads_that_accept_them(function, operators):
    x = torch.arange(8)
    program = export(function, (x,))
    assert [name.removeprefix("torch.ops.aten.") for name in program.operators] == operators
    assert torch.equal(program.module()(x), function(x))


@pytest.mark.parametrize(
    "function",
    [
        torch.sort,
        torch.aminmax,
        lambda x: torch.kthvalue(x, 2),
        lambda x: {"a": torch.topk(x, 2), "b": (torch.cummax(x, 0), torch.linalg.slogdet(x))},
    ],
)
def test_results_with_names_keep_their_class(function):
    x = torch.tensor([[3.0, 1.0], [1.0, 2.0]])
    file = io.BytesIO()
    save(export(function, (x,)), file)
    found, expected = load(io.BytesIO(file.getvalue())).module()(x), function(x)
    assert repr(found) == repr(expected) and type(found) is type(expected)


def test_results_that_pytorch_wrote_to_out_have_the_class_of_other_results():
    assert find_serialized("torch.return_types.max_out") is torch.return_types.max


@pytest.mark.parametrize(
    "function, fact",
    [
        (lambda x: torch.vmap(lambda row: row * 2)(x), "a transform of torch.func, such as vmap"),
        (lambda x: torch.func.grad(lambda y: y.sum())(x), "a transform of torch.func, such as vmap or grad"),
        (lambda x: copy.deepcopy(x) + 1, r"copy.deepcopy of a tensor that the traced function has created; use clone"),
        (lambda x: torch.add(x, 1, out=CONV.weight), "aten.add.out writes to a tensor that is neither an input nor a buffer"),
        (
            lambda x: torch._foreach_add_([CONV.weight], 1),
            "aten._foreach_add_.Scalar writes to a tensor that is neither an input nor a buffer",
        ),
        (lambda x: x.to_sparse(), r"layout torch.sparse_coo; .* convert with to_dense\(\)"),
    ],
)
def test_what_is_not_supported_is_named(function, fact):
    with pytest.raises(NotImplementedError, match=fact):
        export(function, (torch.ones(2, 2),))


CONV = torch.nn.Conv1d(4, 4, 3, padding=2, padding_mode="circular")
LAYERS = {
    "circular": lambda x: F.pad(x[None], (1, 2), mode="circular"),
    "circular convolution": lambda x: CONV(x[None]),
    "area": lambda x: F.interpolate(x[None, None], size=(2, 3), mode="area"),
    "antialias": lambda x: F.interpolate(x[None, None], size=(2, 3), mode="bilinear", antialias=True),
    "recomputed factors": lambda x: F.interpolate(x[None, None], scale_factor=1.6, mode="bilinear", recompute_scale_factor=True),
    "smoothing": lambda x: F.cross_entropy(x, torch.arange(4), label_smoothing=0.1),
    "probabilities": lambda x: F.cross_entropy(x, x.softmax(1), reduction="sum"),
    "block_diag": lambda x: torch.block_diag(x, x[0], x),
    "cartesian_prod": lambda x: torch.cartesian_prod(x[0], x[1]),
    "statistics of a dimension": lambda x: (*torch.var_mean(x, 1), *torch.std_mean(x, 0), torch.var(x, 1)),
    "repeated heads": lambda x: x.view(1, 4, 2, 2).transpose(1, 2).repeat_interleave(3, 1),
    "unpooled": lambda x: F.max_unpool2d(*F.max_pool2d(x[None, None], 2, return_indices=True), 2),
    "unpooled to a size": lambda x: F.max_unpool2d(*F.max_pool2d(x[None, None], 3, 2, return_indices=True), 3, 2, output_size=(1, 1, 4, 4)),
    "unpooled rows": lambda x: F.max_unpool1d(*F.max_pool1d(x[None], 2, return_indices=True), 2),
    "unpooled volumes": lambda x: F.max_unpool3d(*F.max_pool3d(x.view(1, 4, 2, 2), 2, return_indices=True), 2),
    "assigned masks": lambda x: (lambda y: (y.__setitem__(y > 0, -y[y > 0]), y.masked_scatter_(y < -0.5, x.flatten()))[1])(x.clone()),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_operators(name):
    program, x = export(LAYERS[name], (torch.ones(4, 4),)), torch.arange(16.0).reshape(4, 4).sin()
    for each in (program, program.run_decompositions()):
        for found, expected in zip(leaves(each.module()(x)), leaves(LAYERS[name](x)), strict=True):
            assert torch.allclose(found, expected.detach(), 1e-5, 1e-6)


MEMORY, CAUSAL, PADDED = torch.arange(24.0).reshape(1, 3, 8).cos(), torch.ones(4, 4).triu(1).bool(), torch.tensor([[False, False, True]])
ATTENTION = torch.nn.MultiheadAttention(8, 2).eval()
BATCHED = torch.nn.MultiheadAttention(8, 2, batch_first=True, kdim=8, vdim=8).eval()
DECODER = torch.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()
ENCODER = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
ATTENTIONS = {
    "sequence first": (ATTENTION, lambda x: ATTENTION(x[:, None], MEMORY.transpose(0, 1), MEMORY.transpose(0, 1))),
    "without batch": (ATTENTION, lambda x: ATTENTION(x, x, x, attn_mask=CAUSAL)),
    "cross-attention": (BATCHED, lambda x: BATCHED(x[None], MEMORY, MEMORY, average_attn_weights=False)),
    "masks": (BATCHED, lambda x: BATCHED(x[None], MEMORY, MEMORY, key_padding_mask=PADDED, attn_mask=torch.zeros(2, 4, 3))),
    "without weights": (BATCHED, lambda x: BATCHED(x[None], MEMORY, MEMORY, key_padding_mask=PADDED, need_weights=False)[0]),
    "decoder": (DECODER, lambda x: DECODER(x[None], MEMORY, tgt_mask=CAUSAL)),
    "training encoder": (ENCODER, lambda x: ENCODER(x[:, None], CAUSAL)),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name):
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return function(x)

    layer, function = ATTENTIONS[name]
    program, x = export(Module(), (torch.ones(4, 8),)), torch.arange(32.0).reshape(4, 8).sin()
    for each in (program, program.run_decompositions()):
        for a, b in zip(*map(torch.utils._pytree.tree_leaves, (each.module()(x), function(x))), strict=True):
            assert torch.allclose(a.detach(), b.detach(), 1e-4, 1e-5)
