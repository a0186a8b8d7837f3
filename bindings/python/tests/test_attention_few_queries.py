"""Attention of few queries, which reads keys and values in the dtype that they are stored in, and of the numbers of queries just above."""

import math

import pytest
from test_attention_operators import MASKS, attend, by_definition, close, gradients, values

import libtensor as torch

inf, nan = math.inf, math.nan
TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}
DTYPES = list(TOLERANCE)


def wide(t):
    return t if t is None or t.dtype == torch.bool else t.double()


def check(q, k, v, mask=None, causal=False, scale=None):
    """Compares attention with its definition in float64 of the same elements."""
    result = attend(q, k, v, mask, is_causal=causal, scale=scale)
    assert result.dtype == q.dtype
    assert close(result, by_definition(wide(q), wide(k), wide(v), wide(mask), causal, scale), TOLERANCE[q.dtype])
    return result


def operands(queries, keys, width, value_width, dtype, heads=2):
    sizes = ((queries, width), (keys, width), (keys, value_width))
    return [values(heads, *size, dtype=dtype, start=i) for i, size in enumerate(sizes)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("queries", [1, 2, 3, 4, 7, 8, 9])
@pytest.mark.parametrize("keys", [1, 7, 15, 16, 17, 255, 256, 257, 700])
def test_queries_and_keys_on_both_sides_of_blocks(queries, keys, dtype):
    check(*operands(queries, keys, 20, 5, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("queries", [1, 6, 9])
@pytest.mark.parametrize(
    "widths", [(1, 1), (3, 8), (8, 3), (15, 17), (16, 16), (17, 15), (31, 33), (64, 64), (80, 72), (128, 130), (129, 64)]
)
def test_widths_that_are_no_multiples_of_vectors(widths, queries, dtype):
    check(*operands(queries, 37, *widths, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("queries", [1, 5, 8, 9])
@pytest.mark.parametrize("mask", [*MASKS, "causal", "float32"])
def test_masks(mask, queries, dtype):
    q, k, v = operands(queries, 300, 16, 16, dtype)
    if mask == "causal":
        check(q, k, v, causal=True)
        check(q, k[:, :4], v[:, :4], causal=True)
        return
    m = (
        values(queries, 300, dtype=torch.float32)
        if mask == "float32" and dtype != torch.float64
        else MASKS.get(mask, MASKS["added"])(queries, 300)
    )
    check(q, k, v, m if m is None or m.dtype in (torch.bool, torch.float32) else m.to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("queries", [1, 8, 9])
@pytest.mark.parametrize("width", [18, 64, 146])
@pytest.mark.parametrize(
    "lay",
    [
        lambda t: torch.cat([t, t * nan], -2)[..., : t.shape[-2], :],  # part of a cache
        lambda t: t.transpose(0, 1).contiguous().transpose(0, 1),
        lambda t: torch.cat([t * nan, t], -1)[..., t.shape[-1] :],
        lambda t: torch.stack([t, t * nan], -1)[..., 0],
        lambda t: t.mT.contiguous().mT,
        lambda t: torch.stack([t, t * nan], -2).flatten(-3, -2)[..., ::2, :],
    ],
    ids=["cache", "heads", "features", "steps", "turned", "rows"],
)
def test_strides_do_not_matter(lay, width, queries, dtype):
    q, k, v = operands(queries, 290, width, width, dtype)
    assert torch.equal(attend(lay(q), lay(k), lay(v)), check(q, k, v))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("queries", [1, 2, 9])
def test_one_key_for_all(queries, dtype):
    q, k, v = operands(queries, 1, 16, 16, dtype)
    assert torch.equal(attend(q, k.expand(2, 40, 16), v.expand(2, 40, 16)), attend(q, k.repeat(1, 40, 1), v.repeat(1, 40, 1)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("queries", [1, 2, 8, 9])
@pytest.mark.parametrize(("heads", "shared"), [(4, 4), (4, 2), (8, 1), (9, 1), (16, 1), (16, 2), (34, 2)])
@pytest.mark.parametrize("mask", ["none", "bool", "heads", "causal"])
def test_groups_of_heads(heads, shared, queries, mask, dtype):
    q = values(2, heads, queries, 16, dtype=dtype)
    k, v = values(2, shared, 270, 16, dtype=dtype, start=1), values(2, shared, 270, 24, dtype=dtype, start=2)
    m = {"bool": values(queries, 270) > -1, "heads": values(heads, queries, 270).to(dtype)}.get(mask)
    each = lambda t: t.repeat_interleave(heads // shared, 1)  # noqa: E731
    result = attend(q, k, v, m, is_causal=mask == "causal", enable_gqa=True)
    want = by_definition(wide(q), each(wide(k)), each(wide(v)), wide(m), mask == "causal")
    assert close(result, want, TOLERANCE[dtype])
    turned = q.transpose(1, 2).contiguous().transpose(1, 2)
    assert torch.equal(attend(turned, k, v, m, is_causal=mask == "causal", enable_gqa=True), result)


@pytest.mark.parametrize("dtype", DTYPES)
def test_keys_and_values_of_other_numbers_of_heads(dtype):
    q, k, v = values(6, 1, 8, dtype=dtype), values(2, 7, 8, dtype=dtype), values(3, 7, 8, dtype=dtype)
    want = attend(q, k.repeat_interleave(3, 0), v.repeat_interleave(2, 0))
    assert close(attend(q, k, v, enable_gqa=True), want, TOLERANCE[dtype])
    one = values(2, 1, 9, 8, dtype=dtype)
    assert close(attend(q[:2], one, one), by_definition(wide(q[:2]), wide(one), wide(one)), TOLERANCE[dtype])
    assert close(attend(q, one[0], one[0]), by_definition(wide(q), wide(one[0]), wide(one[0])), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("queries", [1, 8, 9])
def test_no_keys_and_masked_queries(queries, dtype):
    q, k, v = operands(queries, 20, 16, 16, dtype)
    assert attend(q, k[:, :0], v[:, :0]).tolist() == [[[0] * 16] * queries] * 2
    assert attend(q[:, :, :0], k[:, :, :0], v).shape == (2, queries, 16)
    assert attend(q, k, v[:, :, :0]).shape == (2, queries, 0)
    mask = torch.zeros(queries, 20, dtype=torch.bool)
    mask[1:] = True
    result = attend(q, k, v, mask)
    assert result[:, 0].tolist() == [[0] * 16] * 2
    assert close(result[:, 1:], by_definition(wide(q), wide(k), wide(v))[:, 1:], TOLERANCE[dtype])
    assert torch.equal(attend(q, k, v, torch.where(mask, 0.0, -inf)), result)
    late = torch.zeros(queries, 600, dtype=torch.bool)
    late[:, 590:] = True  # the first blocks have no weights
    q, k, v = operands(queries, 600, 16, 16, dtype)
    assert close(attend(q, k, v, late), attend(q, k[:, 590:], v[:, 590:]), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("queries", [2, 8, 9])
def test_nan_stays_in_its_row(queries, dtype):
    q, k, v = operands(queries, 300, 16, 16, dtype)
    q[0, 1, 3] = nan
    result = attend(q, k, v)
    assert result[0, 1].isnan().all() and result.isnan().sum() == 16
    k[1, 299] = nan
    assert attend(q, k, v)[1].isnan().all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [0.0, -0.3, 2.0])
def test_scales(scale, dtype):
    q, k, v = (t / 2 for t in operands(3, 40, 8, 8, dtype))
    check(q, k, v, scale=scale)
    check(q, k, v, values(3, 40).to(dtype), scale=scale)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("queries", [1, 8, 9])
def test_gradients_are_those_of_float32(queries, dtype):
    q, k, v = operands(queries, 40, 16, 16, dtype)
    given = values(2, queries, 16, dtype=dtype, start=3)
    got = gradients(attend, [q, k, v], given)
    want = gradients(by_definition, [wide(t) for t in (q, k, v)], wide(given))
    for a, b in zip(got, want, strict=True):
        assert a.dtype == dtype and close(a, b, 2 * TOLERANCE[dtype])
    for some in range(3):
        ts = [t.clone().requires_grad_(i == some) for i, t in enumerate((q, k, v))]
        result = attend(*ts)
        assert result.requires_grad and torch.equal(torch.autograd.grad(result, ts[some], given)[0], got[some + 1])
        with torch.no_grad():
            plain = attend(*ts)
        assert not plain.requires_grad and close(plain, result.detach(), TOLERANCE[dtype])
    mask = values(queries, 40, dtype=dtype).requires_grad_()
    attend(q, k, v, mask).backward(given)
    assert mask.grad.shape == mask.shape and mask.grad.abs().sum() > 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("queries", [1, 9])
def test_dropout(queries, dtype):
    q, k = values(2, queries, 4, dtype=dtype), values(2, 6, 4, dtype=dtype)
    v = torch.eye(6, dtype=dtype).expand(2, 6, 6)
    torch.manual_seed(0)
    weights = attend(q, k, v, dropout_p=0.5)
    assert weights.dtype == dtype and (weights == 0).any()
    assert close(weights, torch.where(weights == 0, 0, 2 * attend(q, k, v)), 2e-2)
    assert attend(q, k, v, dropout_p=1.0).abs().sum() == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("queries", [1, 8, 9])
def test_transforms(queries, dtype):
    q, k, v = operands(queries, 40, 16, 16, dtype, heads=3)
    want = torch.stack([attend(a, b, c) for a, b, c in zip(q, k, v, strict=True)])
    assert close(torch.vmap(attend)(q, k, v), want, TOLERANCE[dtype])
    shared = torch.vmap(attend, in_dims=(0, None, None))(q, k[0], v[0])
    assert close(shared, torch.stack([attend(a, k[0], v[0]) for a in q]), TOLERANCE[dtype])
    primal, tangent = torch.func.jvp(lambda v: attend(q, k, v), (v,), (v,))
    assert close(primal, want, TOLERANCE[dtype]) and close(tangent, want, 2 * TOLERANCE[dtype])


def test_autocast_stores_keys_in_its_dtype():
    q, k, v = operands(2, 40, 16, 16, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = attend(q, k, v)
    assert torch.equal(result, attend(q.bfloat16(), k.bfloat16(), v.bfloat16()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("heads", "shared", "queries"), [(1, 1, 1), (5, 5, 8), (5, 5, 9), (260, 1, 1), (300, 2, 1)])
def test_the_same_bits_for_any_number_of_threads(heads, shared, queries, dtype):
    q = values(heads, queries, 24, dtype=dtype)
    k, v = values(shared, 1200, 24, dtype=dtype, start=1), values(shared, 1200, 40, dtype=dtype, start=2)
    before, runs = torch.get_num_threads(), []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            runs.append(attend(q, k, v, enable_gqa=True))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(runs[0], other) for other in runs[1:])
