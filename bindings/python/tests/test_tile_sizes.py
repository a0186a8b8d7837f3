"""Products of bfloat16 and of bytes, of sizes around those of tile registers: 16 rows of 64 bytes, 32 by 32 elements at a time, and
parts of 512 or 1,024 products; and around those of what is packed and copied at a time: 4,096 bytes along the summed dimension,
1 MiB of columns and 1,024 rows.

make test-amx runs this file, too, with a library that emulates the registers."""

import itertools
import random
from functools import partial

import pytest

import libtensor as torch

F = torch.nn.functional


def numbers(*sizes, low=-2, high=3):
    """Small integers without a pattern, whose sums of products are exact in float32."""
    return torch.randint(low, high, sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def for_any_number_of_threads(run):
    """Returns the result of run, which is bitwise identical for any number of threads."""
    before, results = torch.get_num_threads(), []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            results.append(run())
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(results[0], other) for other in results[1:])
    return results[0]


def in_layout(x, layout):
    """x with adjacent rows, with gaps between elements of rows, or transposed."""
    if layout == "gaps":
        wide = torch.full((*x.shape[:-1], 2 * x.shape[-1] + 3), 7, dtype=x.dtype)
        wide[..., : 2 * x.shape[-1] : 2] = x
        return wide[..., : 2 * x.shape[-1] : 2]
    return x.transpose(-1, -2).contiguous().transpose(-1, -2) if layout == "transposed" else x


LAYOUTS = ("adjacent", "gaps", "transposed")
DTYPES = (torch.bfloat16, torch.int8, torch.uint8)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("m", [8, 9, 15, 16, 17, 31, 32, 33, 70])
def test_products_of_sizes_around_tiles(dtype, m):
    for k, n in itertools.product((1, 2, 31, 32, 33, 63, 64, 65, 130), (8, 9, 16, 17, 32, 33, 65)):
        a, b = numbers(m, k), numbers(k, n)
        assert torch.mm(a.to(dtype), b.to(dtype)).equal(torch.mm(a, b).to(dtype)), (k, n)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "m, k, n",
    [
        (17, 511, 33),
        (33, 512, 16),
        (40, 513, 17),
        (300, 1024, 20),
        (35, 1025, 34),
        (257, 2100, 9),
        (9, 2048, 288),
        (70, 2049, 257),
        (1060, 2100, 34),
        (33, 4096, 290),
        (40, 4099, 130),
        (65, 1024, 1100),
    ],
)
def test_products_in_parts(dtype, m, k, n):
    a, b, c = numbers(m, k), numbers(k, n), numbers(n)
    whole = torch.mm(a, b)
    a, b, c = a.to(dtype), b.to(dtype), c.to(dtype)
    assert for_any_number_of_threads(lambda: torch.mm(a, b)).equal(whole.to(dtype))
    if dtype.is_floating_point:
        assert torch.addmm(c, a, b, beta=2, alpha=-1).equal((2 * c.float() - whole).to(dtype))
        assert F.linear(a, b.t().contiguous(), c).equal((whole + c.float()).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layouts", itertools.product(LAYOUTS, LAYOUTS), ids="-".join)
def test_products_of_every_layout(dtype, layouts):
    for batch, m, k, n in (
        (1, 20, 40, 33),
        (3, 33, 70, 18),
        (2, 64, 32, 64),
        (5, 9, 600, 9),
        (2, 16, 0, 16),
        (0, 16, 32, 16),
        (2, 32, 64, 0),
    ):
        a, b = numbers(batch, m, k), numbers(batch, k, n)
        whole = torch.bmm(a, b).to(dtype)
        x, y = in_layout(a.to(dtype), layouts[0]), in_layout(b.to(dtype), layouts[1])
        assert torch.bmm(x, y).equal(whole), (batch, m, k, n)
        out = torch.full((batch, n, m), 9, dtype=dtype).transpose(1, 2)
        torch.bmm(x, y, out=out)
        assert out.equal(whole), (batch, m, k, n)


def test_subnormal_and_special_numbers():
    a, b = torch.zeros(32, 40, dtype=torch.bfloat16), torch.ones(40, 32, dtype=torch.bfloat16)
    a[3, 39], a[4, 1], a[5, 2], a[5, 3], a[6, 0] = float("nan"), float("inf"), float("inf"), -float("inf"), 1e-39
    made = torch.mm(a, b).float()
    assert made[3].isnan().all() and made[4].isposinf().all() and made[5].isnan().all()
    assert ((made[6] == 0) | (made[6] == a[6, 0].float())).all()
    made[3:7] = 0
    assert (made == 0).all()  # nothing outside of a matrix is read


CONVOLUTIONS = [  # images, channels, rows of weights, groups, sizes of images, kernel elements, options
    (2, 3, 16, 1, (14, 15), (3, 3), {"padding": 1}),
    (1, 32, 33, 1, (9, 37), (3, 3), {"padding": 1}),
    (1, 64, 16, 1, (6, 6), (3, 3), {}),
    (2, 70, 20, 1, (8, 9), (3, 2), {"stride": 2, "padding": 1}),
    (1, 24, 36, 2, (11, 12), (3, 3), {"dilation": 2, "padding": 2}),
    (3, 8, 9, 1, (40,), (5,), {"stride": 3}),
    (1, 5, 17, 1, (5, 6, 7), (2, 3, 2), {"padding": 1}),
    (1, 1, 12, 1, (30, 30), (4, 4), {}),
    (1, 1, 12, 1, (20, 20), (3, 3), {}),
    (1, 8, 8, 1, (20, 20), (3, 3), {}),
    (1, 300, 12, 1, (12, 70), (3, 3), {"dilation": 9, "padding": 9}),
    (1, 2, 16, 1, (60, 60), (25, 25), {"dilation": 2}),
    (2, 40, 48, 1, (10, 10), (1, 1), {}),
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("last", [False, True], ids=["adjacent", "channels_last"])
def test_convolutions(case, last):
    images, channels, rows, groups, sizes, kernels, options = case
    convolve = (F.conv1d, F.conv2d, F.conv3d)[len(sizes) - 1]
    x, w, b = numbers(images, channels, *sizes), numbers(rows, channels // groups, *kernels), numbers(rows)
    expected = convolve(x.double(), w.double(), b.double(), groups=groups, **options).to(torch.bfloat16)
    x, w, b = (t.to(torch.bfloat16) for t in (x, w, b))
    if last and len(sizes) == 2:
        x, w = x.contiguous(memory_format=torch.channels_last), w.contiguous(memory_format=torch.channels_last)
    assert for_any_number_of_threads(lambda: convolve(x, w, b, groups=groups, **options)).equal(expected)


@pytest.mark.parametrize(
    "options", [{}, {"stride": 2, "padding": 1}, {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2}], ids=str
)
def test_transposed_convolutions(options):
    x, w, b = numbers(2, 40, 7, 9), numbers(40, 20, 3, 3), numbers(20 * options.get("groups", 1))
    expected = F.conv_transpose2d(x.double(), w.double(), b.double(), **options).to(torch.bfloat16)
    x, w, b = (t.to(torch.bfloat16) for t in (x, w, b))
    assert for_any_number_of_threads(lambda: F.conv_transpose2d(x, w, b, **options)).equal(expected)


def random_convolution(choose):
    """Sizes of images and weights and the options of a convolution, which can be transposed."""
    dims, groups = choose((1, 2, 2, 3)), choose((1, 1, 2, 3))
    channels = choose((1, 3, 5, 8, 15, 16, 17, 31, 32, 33, 64, 70)) * groups
    rows = choose((8, 9, 16, 31, 32, 33, 65)) * groups
    options = {name: [choose(values) for _ in range(dims)] for name, values in OPTIONS.items()}
    kernels = [choose((1, 2, 3, 5)) for _ in range(dims)]
    sizes = [choose(((9, 40, 101), (7, 8, 14, 33), (5, 6, 9))[dims - 1]) for _ in range(dims)]
    sizes = [max(n, d * (k - 1) + 1) for n, k, d in zip(sizes, kernels, options["dilation"], strict=True)]
    transposed = choose((False, False, True))
    weights = (channels, rows // groups) if transposed else (rows, channels // groups)
    return (choose((1, 2, 3)), channels, *sizes), (*weights, *kernels), rows, {**options, "groups": groups}, transposed


OPTIONS = {"stride": (1, 1, 2, 3), "padding": (0, 1, 2), "dilation": (1, 1, 2, 3)}


@pytest.mark.parametrize("seed", range(12))
def test_random_convolutions(seed):
    choose = random.Random(seed).choice
    for _ in range(12):
        images, weights, rows, options, transposed = random_convolution(choose)
        convolve = getattr(F, f"conv{'_transpose' if transposed else ''}{len(images) - 2}d")
        x, w, b = numbers(*images), numbers(*weights), numbers(rows)
        at = tuple(choose(range(n)) for n in images)
        special = choose((1, float("inf"), float("nan")))
        x, w, b = (t.to(torch.bfloat16) for t in (x, w, b))
        x[at] = special
        try:
            expected = convolve(x.double(), w.double(), b.double(), **options).to(torch.bfloat16)
        except RuntimeError:  # the output would have no elements, or negative sizes
            continue
        for formats in itertools.product((torch.contiguous_format, torch.channels_last), repeat=2) if len(images) == 4 else [None]:
            if formats:
                x, w = x.contiguous(memory_format=formats[0]), w.contiguous(memory_format=formats[1])
            made = for_any_number_of_threads(partial(convolve_without_nan, convolve, x, w, b, options))
            assert made.equal(expected.nan_to_num(nan=1e30)), (images, weights, options, special, formats)


def convolve_without_nan(convolve, x, w, b, options):
    return convolve(x, w, b, **options).nan_to_num(nan=1e30)


ATTENTIONS = [(9, 5, 16, 16), (16, 32, 64, 64), (33, 65, 40, 24), (130, 300, 64, 80), (300, 257, 600, 33), (64, 1, 1, 1)]


@pytest.mark.parametrize("queries, keys, width, value_width", ATTENTIONS)
@pytest.mark.parametrize("form", ["plain", "causal", "mask", "groups"])
def test_attention(queries, keys, width, value_width, form):
    generator = torch.Generator().manual_seed(queries)
    heads = 4 if form == "groups" else 2
    sizes = ((heads, queries, width), (2, keys, width), (2, keys, value_width))
    q, k, v = (torch.randn(2, *size, generator=generator).to(torch.bfloat16) for size in sizes)
    mask = torch.randn(queries, keys, generator=generator) > -0.5 if form == "mask" else None
    options = {"attn_mask": mask, "is_causal": form == "causal", "enable_gqa": form == "groups"}
    made = for_any_number_of_threads(lambda: F.scaled_dot_product_attention(q, k, v, **options))
    expected = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), **options)
    assert made.dtype is torch.bfloat16
    assert (made.double() - expected).abs().max() < 0.02 * max(1, expected.abs().max().item())


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
@pytest.mark.parametrize("units, batch, steps", [(16, 3, 4), (33, 17, 3), (64, 40, 5), (5, 1, 2), (40, 20, 1)])
def test_recurrences(layer, units, batch, steps):
    torch.manual_seed(units)
    cells = layer(24, units, num_layers=2, bidirectional=True).to(torch.bfloat16)
    wide = layer(24, units, num_layers=2, bidirectional=True).double()
    wide.load_state_dict({name: p.double() for name, p in cells.state_dict().items()})
    x = torch.randn(steps, batch, 24).to(torch.bfloat16)
    lengths = torch.arange(batch) % steps + 1
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
    with torch.no_grad():
        made = for_any_number_of_threads(lambda: cells(x)[0])
        assert (made.double() - wide(x.double())[0]).abs().max() < 0.03
        made = for_any_number_of_threads(lambda: cells(packed)[0].data)
        expected = wide(torch.nn.utils.rnn.pack_padded_sequence(x.double(), lengths, enforce_sorted=False))[0].data
        assert (made.double() - expected).abs().max() < 0.03
    grown = cells(x)[0]  # with gradients, which the forward pass saves numbers for
    assert (grown.double() - wide(x.double())[0]).abs().max() < 0.03


@pytest.mark.parametrize("dtype, zero", [(torch.quint8, 131), (torch.qint8, -7)])
def test_quantized_products_of_sizes_around_tiles(dtype, zero):
    ops = torch.ops.quantized
    for rows, k, n in itertools.product((1, 15, 16, 33), (1, 63, 64, 65, 1025), (1, 16, 33)):
        generator = torch.Generator().manual_seed(rows + k + n)
        x = torch.quantize_per_tensor(torch.randn(rows, k, generator=generator) * 2, 0.05, zero, dtype)
        w = torch.quantize_per_channel(torch.randn(n, k, generator=generator), torch.full((n,), 0.03), torch.arange(n) % 3, 0, torch.qint8)
        sums = (x.int_repr().long() - zero) @ (w.int_repr().long() - (torch.arange(n) % 3)[:, None]).t()
        want = torch.quantize_per_tensor(sums.float() * torch.tensor(0.05 * 0.03 / 0.25), 1.0, zero, dtype).int_repr()
        packed = ops.linear_prepack(w)
        assert for_any_number_of_threads(lambda x=x, packed=packed: ops.linear(x, packed, 0.25, zero).int_repr()).equal(want), (rows, k, n)
