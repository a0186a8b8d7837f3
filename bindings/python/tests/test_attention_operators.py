"""Attention: weights by their definition, masks, grouped heads, gradients, and errors."""

import math

import pytest

import libtensor as torch

F = torch.nn.functional
attend = F.scaled_dot_product_attention
inf, nan = math.inf, math.nan


def values(*sizes, dtype=torch.float64, start=0.0):
    """Numbers that are no pattern, the same every time."""
    return ((torch.arange(math.prod(sizes), dtype=torch.float64) * 0.7 + start).sin() * 2).reshape(sizes).to(dtype)


def by_definition(q, k, v, mask=None, causal=False, scale=None):
    """All weights, and what they make of the values."""
    scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
    if mask is not None and mask.dtype == torch.bool:
        scores = torch.where(mask, scores, -inf)
    elif mask is not None:
        scores = scores + mask
    none = (scores == -inf).all(-1, keepdim=True)
    return torch.where(none, 0, torch.softmax(torch.where(none, 0, scores), -1)) @ v


def close(a, b, tolerance=1e-12):
    return a.shape == b.shape and torch.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance)


def gradients(f, operands, given):
    """Returns the result of f, and the gradients of the operands."""
    operands = [t.detach().requires_grad_() if t is not None and t.dtype.is_floating_point else t for t in operands]
    result = f(*operands)
    wanted = [t for t in operands if t is not None and t.requires_grad]
    return [result.detach(), *torch.autograd.grad(result, wanted, given)]


MASKS = {
    "none": lambda n, m: None,
    "bool": lambda n, m: values(n, m) > -1,
    "keys": lambda n, m: (values(m) > -1).expand(n, m),
    "added": lambda n, m: values(n, m),
    "turned": lambda n, m: values(m, n).t(),
}


# Queries and keys on both sides of vectors, of skinny products and of the blocks that tiles have.
@pytest.mark.slow
@pytest.mark.parametrize("queries", [1, 8, 9, 127, 128, 129, 257])
@pytest.mark.parametrize("keys", [1, 15, 17, 255, 256, 257, 513])
@pytest.mark.parametrize("mask", [*MASKS, "causal"])
def test_tiles_match_the_full_matrix_of_weights(queries, keys, mask):
    q, k, v = values(2, queries, 20), values(2, keys, 20, start=1), values(2, keys, 5, start=2)
    m = None if mask == "causal" else MASKS[mask](queries, keys)
    given = values(2, queries, 5, start=3)
    got = gradients(lambda q, k, v, m: attend(q, k, v, m, is_causal=mask == "causal"), [q, k, v, m], given)
    want = gradients(lambda q, k, v, m: by_definition(q, k, v, m, mask == "causal"), [q, k, v, m], given)
    for a, b in zip(got, want, strict=True):
        assert close(a, b, 1e-11)


# Sizes below and above the limits of packing, of results alone (704 columns of float32 or 352 of float64) and of gradients, with complete
# packed panels and parts of them.
@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-3), (torch.float64, 1e-11)])
@pytest.mark.parametrize("widths", [(33, 70), (64, 96), (96, 96), (160, 192), (170, 180), (224, 224), (256, 256), (432, 416), (448, 448)])
@pytest.mark.parametrize("mask", [*MASKS, "causal"])
def test_any_width(widths, mask, dtype, tolerance):
    queries, keys = 137, 301
    q, k, v = (
        values(queries, widths[0], dtype=dtype),
        values(keys, widths[0], start=1, dtype=dtype),
        values(keys, widths[1], start=2, dtype=dtype),
    )
    m = None if mask == "causal" else MASKS[mask](queries, keys)
    operands = [q, k, v, m if m is None or m.dtype == torch.bool else m.to(dtype)]
    given = values(queries, widths[1], start=3)
    got = gradients(lambda q, k, v, m: attend(q, k, v, m, is_causal=mask == "causal"), operands, given.to(dtype))
    wide = [t if t is None or t.dtype == torch.bool else t.double() for t in operands]
    want = gradients(lambda q, k, v, m: by_definition(q, k, v, m, mask == "causal"), wide, given)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == dtype
        assert close(a, b, tolerance)


# Numbers of queries below and above the limit of packing keys, and remainders without packed panels.
@pytest.mark.slow
@pytest.mark.parametrize("queries", [1023, 1024, 1025, 1032, 1033, 2049])
@pytest.mark.parametrize("mask", [*MASKS, "causal"])
def test_many_queries(queries, mask):
    q, k, v = values(queries, 20), values(600, 20, start=1), values(600, 5, start=2)
    m = None if mask == "causal" else MASKS[mask](queries, 600)
    assert close(attend(q, k, v, m, is_causal=mask == "causal"), by_definition(q, k, v, m, mask == "causal"), 1e-11)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mask", MASKS)
def test_narrow_dtypes(dtype, mask):
    q, k, v = values(2, 3, 40, 16, dtype=dtype), values(2, 3, 300, 16, dtype=dtype), values(2, 3, 300, 16, dtype=dtype)
    m = MASKS[mask](40, 300)
    if m is not None and m.dtype != torch.bool:
        m = m.to(dtype)
    result = attend(q, k, v, m)
    assert result.dtype == dtype
    want = by_definition(q.double(), k.double(), v.double(), m if m is None or m.dtype == torch.bool else m.double())
    assert close(result, want, {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype])


@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_heads_in_groups_share_keys_and_values(heads, causal, dtype):
    q, k, v = values(2, 4, 5, 8, dtype=dtype), values(2, heads, 7, 8, dtype=dtype), values(2, heads, 7, 3, dtype=dtype)
    given = values(2, 4, 5, 3, dtype=dtype)
    got = gradients(lambda q, k, v: attend(q, k, v, is_causal=causal, enable_gqa=True), [q, k, v], given)
    each = lambda t: t.repeat_interleave(4 // heads, -3)  # noqa: E731
    want = gradients(lambda q, k, v: attend(q, each(k), each(v), is_causal=causal), [q, k, v], given)
    for a, b in zip(got, want, strict=True):
        assert close(a, b, 1e-12 if dtype == torch.float64 else 3e-2)
    mask = values(4, 5, 7) > 0
    assert close(attend(q, k, v, mask, enable_gqa=True), attend(q, each(k), each(v), mask), 1e-2)


def test_keys_and_values_of_other_numbers_of_heads():
    q, k, v = values(6, 5, 8), values(2, 7, 8), values(3, 7, 8)
    assert close(attend(q, k, v, enable_gqa=True), attend(q, k.repeat_interleave(3, 0), v.repeat_interleave(2, 0)))


def test_leading_dimensions_are_broadcast():
    q, k, v = values(3, 1, 5, 8), values(2, 7, 8), values(1, 2, 7, 4)
    result = attend(q, k, v)
    assert result.shape == (3, 2, 5, 4)
    assert close(result, by_definition(q, k, v))
    assert close(attend(q[0, 0], k[0], v[0, 0]), by_definition(q[0, 0], k[0], v[0, 0]))
    deep = values(2, 1, 2, 1, 3, 4)
    assert close(attend(deep, deep, deep), by_definition(deep, deep, deep))


@pytest.mark.parametrize(
    "lay",
    [
        lambda t: t,
        lambda t: t.transpose(1, 2).contiguous().transpose(1, 2),
        lambda t: t.mT.contiguous().mT,
        lambda t: torch.cat([t, t], -1)[..., : t.shape[-1]],
    ],
)
def test_any_strides(lay):
    q, k, v = lay(values(2, 3, 130, 16)), lay(values(2, 3, 9, 16, start=1)), lay(values(2, 3, 9, 16, start=2))
    given = lay(values(2, 3, 130, 16, start=3))
    dense = [t.contiguous() for t in (q, k, v)]
    for a, b in zip(gradients(attend, [q, k, v], given), gradients(attend, dense, given.contiguous()), strict=True):
        assert torch.equal(a, b)


def test_a_result_has_the_layout_of_the_queries():
    q = values(2, 5, 3, 8).transpose(1, 2)
    assert attend(q, q, q).stride() == q.stride()
    assert attend(q, q, q[..., :4]).is_contiguous()
    assert attend(q[None], q[None], q[None]).is_contiguous()
    assert attend(q, q[:1], q[:1]).is_contiguous()
    assert attend(q, q[:, :1], q[:, :1], enable_gqa=True).stride() == q.stride()
    assert attend(q.to("meta"), q.to("meta"), q.to("meta")).stride() == q.stride()


@pytest.mark.parametrize("mask", [torch.zeros(3, 5, dtype=torch.bool), torch.full((3, 5), -inf, dtype=torch.float64)])
def test_a_query_without_weights_gets_zeros(mask):
    mask = mask.clone()
    mask[0] = True if mask.dtype == torch.bool else 0
    q, k, v = values(3, 4), values(5, 4), values(5, 4)
    result, *of = gradients(lambda q, k, v: attend(q, k, v, mask), [q, k, v], torch.ones(3, 4, dtype=torch.float64))
    assert result[1:].tolist() == [[0] * 4] * 2 and result[0].abs().sum() > 0
    assert of[0][1:].tolist() == [[0] * 4] * 2 and not any(t.isnan().any() for t in of)


def test_empty_sizes():
    for dtype in (torch.float32, torch.float64):
        x = torch.ones(2, 3, 4, 5, dtype=dtype)
        assert attend(x[:, :, :0], x, x).shape == (2, 3, 0, 5)
        assert attend(x, x[:, :, :0], x[:, :, :0]).tolist() == torch.zeros(2, 3, 4, 5).tolist()
        assert attend(x, x, x[..., :0]).shape == (2, 3, 4, 0)
        assert attend(x[..., :0], x[..., :0], x).tolist() == x.tolist()
        assert attend(x[:0], x[:0], x[:0]).shape == (0, 3, 4, 5)
        for q, k, v in [(x[:, :, :0], x, x), (x, x[:, :, :0], x[:, :, :0]), (x, x, x[..., :0]), (x[..., :0], x[..., :0], x)]:
            result, *of = gradients(attend, [q, k, v], torch.ones(2, 3, q.shape[2], v.shape[3], dtype=dtype))
            assert [t.shape for t in of] == [q.shape, k.shape, v.shape]


@pytest.mark.parametrize("bits", [0x7FC00000, 0x7FC00001, 0x7FFFFFFF, -1])
def test_any_nan_reaches_its_row(bits):
    q, k = values(20, 8, dtype=torch.float32), values(300, 8, dtype=torch.float32)
    q[3, 0] = torch.tensor(bits, dtype=torch.int64).to(torch.int32).view(torch.float32)
    for mask in (None, torch.zeros(20, 300)):
        result = attend(q, k, k, mask)
        assert result[3].isnan().all() and result.isnan().sum() == 8


def test_products_beyond_the_range_are_nan():
    big = values(20, 8, dtype=torch.float32).abs() * 1e19
    assert attend(big, big, big, scale=1.0).isnan().all()


def test_nan_and_infinity_stay_in_their_row():
    q = values(2, 4).clone()
    q[0, 0] = nan
    result = attend(q, values(3, 4), values(3, 4))
    assert result[0].isnan().all() and not result[1].isnan().any()
    q[0, 0] = inf
    assert attend(q, values(3, 4).abs(), values(3, 4))[0].isnan().all()


@pytest.mark.parametrize("scale", [0.0, -0.3, 2.0])
def test_any_scale(scale):
    q, k, v = values(9, 4), values(7, 4), values(7, 4)
    assert close(attend(q, k, v, scale=scale), by_definition(q, k, v, scale=scale))
    assert close(attend(q, k, v, is_causal=True, scale=scale), by_definition(q, k, v, causal=True, scale=scale))


@pytest.mark.parametrize("heads", [1, 3, 8])
@pytest.mark.parametrize("causal", [False, True])
def test_the_same_bits_for_any_number_of_threads(heads, causal):
    q, k, v = (values(heads, n, 24, dtype=torch.float32, start=i) for i, n in enumerate((300, 600, 600)))
    mask = None if causal else values(300, 600, dtype=torch.float32)
    before, runs = torch.get_num_threads(), []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            runs.append(
                gradients(
                    lambda q, k, v, m: attend(q, k, v, m, is_causal=causal), [q, k, v, mask], values(heads, 300, 24, dtype=torch.float32)
                )
            )
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for other in runs[1:] for a, b in zip(runs[0], other, strict=True))


def test_the_weights_of_all_are_not_in_memory():
    x = torch.zeros(1, 2048, 16, dtype=torch.float32).requires_grad_()
    torch.empty_cache()
    torch.reset_peak_memory_stats()
    before = torch.memory_stats().in_use
    attend(x, x, x, is_causal=True).sum().backward()
    assert torch.memory_stats().peak - before < 4 * 2048 * 2048 / 4


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (3,), (0, 3), (1, 2)])
def test_gradients_of_some_operands(wanted):
    operands = [values(2, 9, 4), values(2, 7, 4, start=1), values(2, 7, 4, start=2), values(9, 7)]
    given = values(2, 9, 4, start=3)
    all_of = gradients(attend, operands, given)[1:]
    some = [t.clone().requires_grad_(i in wanted) for i, t in enumerate(operands)]
    got = torch.autograd.grad(attend(*some), [some[i] for i in wanted], given)
    assert all(torch.equal(a, all_of[i]) for a, i in zip(got, wanted, strict=True))


@pytest.mark.parametrize("causal", [False, True])
def test_second_derivatives(causal):
    operands = [t.requires_grad_() for t in (values(2, 3, 4), values(2, 5, 4, start=1), values(2, 5, 3, start=2), values(3, 5, start=3))][
        : 3 if causal else 4
    ]
    f = lambda *t: attend(*t, is_causal=causal)  # noqa: E731
    assert torch.autograd.gradcheck(f, operands)
    assert torch.autograd.gradgradcheck(f, operands)


def test_dropout_leaves_weights_out():
    q, k, v = values(2, 3, 4), values(2, 6, 4), torch.eye(6, dtype=torch.float64).expand(2, 6, 6)
    torch.manual_seed(0)
    weights = attend(q, k, v, dropout_p=0.5)
    torch.manual_seed(0)
    assert close(weights, F.dropout(attend(q, k, v), 0.5))
    assert (weights == 0).any() and attend(q, k, v, dropout_p=1.0).abs().sum() == 0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: attend(x, x, x, torch.zeros(3, 3), is_causal=True), "attn_mask must be None when is_causal"),
        (lambda x: attend(x, x.double(), x), "same dtype.*float32, float64"),
        (lambda x: attend(x[0, 0, 0], x, x), "at least 2 dimensions"),
        (lambda x: attend(x, x[..., :2], x), r"the same last size.*\[2, 2, 3, 2\]"),
        (lambda x: attend(x, x[:, :, :2], x), "the same size in dimension -2"),
        (lambda x: attend(x, x, x, dropout_p=2.0), "dropout_p must be from 0 to 1, but is 2"),
        (lambda x: attend(x, x, x, torch.zeros(3, 3, dtype=torch.int64)), "attn_mask must be of bool.*int64"),
        (lambda x: attend(x, x, x, torch.zeros(3)), "attn_mask must have shape"),
        (lambda x: attend(x, x, x, torch.zeros(3, 2)), r"\[3, 2\]"),
        (lambda x: attend(x, x, x, torch.zeros(1, 2, 2, 3, 3)), r"\[1, 2, 2, 3, 3\]"),
        (lambda x: attend(x.int(), x.int(), x.int()), "int32"),
        (lambda x: attend(x.cfloat(), x.cfloat(), x.cfloat()), "complex64"),
        (
            lambda x: attend(torch.zeros(4, 3, 3), torch.zeros(3, 3, 3), torch.zeros(3, 3, 3), enable_gqa=True),
            "number of heads of query, 4, must be divisible by those of key and value, 3 and 3",
        ),
    ],
)
def test_mismatches_are_rejected(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(torch.zeros(2, 2, 3, 3))


def heads_by_definition(q, k, v, n, w, b, wo, bo, mask=None):
    """Attention of n heads of sequences with examples, and the weights of all heads."""
    q, k, v = (F.linear(t, *p) for t, p in zip((q, k, v), zip(w.chunk(3), b.chunk(3), strict=True), strict=True))
    apart = lambda t: t.reshape(t.shape[0], t.shape[1], n, -1).permute(1, 2, 0, 3)  # noqa: E731
    q, k, v = apart(q), apart(k), apart(v)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores if mask is None else scores + mask, -1)
    return F.linear((weights @ v).permute(2, 0, 1, 3).flatten(2), wo, bo), weights


def multi_head(q, k, v, n, w, b, wo, bo, *, bias_k=None, bias_v=None, add_zero_attn=False, dropout_p=0.0, **more):
    return F.multi_head_attention_forward(q, k, v, q.shape[-1], n, w, b, bias_k, bias_v, add_zero_attn, dropout_p, wo, bo, **more)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("kind", ["none", "pairs", "heads", "bool", "padding", "both"])
def test_heads_attend_with_their_part_of_the_features(need_weights, kind):
    q, k, v = values(5, 2, 8), values(7, 2, 8, start=1), values(7, 2, 8, start=2)
    w, b, wo, bo = values(24, 8), values(24), values(6, 8), values(6)
    pairs, padding = values(5, 7), values(2, 7) > 1
    padded = torch.where(padding, -inf, 0.0).reshape(2, 1, 1, 7)
    mask, more = {
        "none": (None, {}),
        "pairs": (pairs, {"attn_mask": pairs}),
        "heads": (values(2, 4, 5, 7), {"attn_mask": values(8, 5, 7)}),
        "bool": (torch.where(pairs > 1, -inf, 0.0), {"attn_mask": pairs > 1}),
        "padding": (padded, {"key_padding_mask": padding}),
        "both": (padded + torch.where(pairs > 1, -inf, 0.0), {"attn_mask": pairs > 1, "key_padding_mask": padding}),
    }[kind]
    want, weights = heads_by_definition(q, k, v, 4, w, b, wo, bo, mask)
    out, got = multi_head(q, k, v, 4, w, b, wo, bo, need_weights=need_weights, **more)
    assert close(out, want, 1e-11)
    assert close(got, weights.mean(1)) if need_weights else got is None
    if need_weights:
        assert close(multi_head(q, k, v, 4, w, b, wo, bo, average_attn_weights=False, **more)[1], weights)


def test_one_example_without_a_dimension():
    x, w, b, wo, bo = values(5, 8), values(24, 8), values(24), values(8, 8), values(8)
    out, weights = multi_head(x, x, x, 2, w, b, wo, bo)
    want, of = multi_head(x[:, None], x[:, None], x[:, None], 2, w, b, wo, bo)
    assert torch.equal(out, want[:, 0]) and torch.equal(weights, of[0])


def test_more_keys_and_values():
    q, k = values(5, 2, 8), values(7, 2, 8)
    w, b, wo, bo = values(24, 8), values(24), values(8, 8), values(8)
    plain = multi_head(q, k, k, 2, w, b, wo, bo, average_attn_weights=False)[1]
    zeros = multi_head(q, k, k, 2, w, b, wo, bo, average_attn_weights=False, add_zero_attn=True)[1]
    assert zeros.shape == (2, 2, 5, 8) and close(zeros[..., :7] / zeros[..., :7].sum(-1, keepdim=True), plain)
    both = {"bias_k": values(1, 1, 8), "bias_v": values(1, 1, 8, start=1), "add_zero_attn": True, "attn_mask": values(5, 7)}
    assert close(
        multi_head(q, k, k, 2, w, b, wo, bo, **both)[0], multi_head(q, k, k, 2, w, b, wo, bo, need_weights=False, **both)[0], 1e-11
    )
    static = {"static_k": values(4, 3, 4), "static_v": values(4, 3, 4, start=1)}
    assert multi_head(q, k, k, 2, w, b, wo, bo, **static)[1].shape == (2, 5, 3)


def test_a_causal_mask_is_known():
    x, w, b, wo, bo = values(6, 2, 8), values(24, 8), values(24), values(8, 8), values(8)
    mask = torch.ones(6, 6, dtype=torch.bool).triu(1)
    want = multi_head(x, x, x, 2, w, b, wo, bo, attn_mask=mask)[0]
    assert close(multi_head(x, x, x, 2, w, b, wo, bo, attn_mask=mask, is_causal=True, need_weights=False)[0], want, 1e-11)
    assert close(multi_head(x, x, x, 2, w, b, wo, bo, attn_mask=mask, is_causal=True)[0], want, 1e-11)


def test_separate_projections():
    q, k, v = values(5, 2, 8), values(7, 2, 3), values(7, 2, 6)
    w = {"q_proj_weight": values(8, 8), "k_proj_weight": values(8, 3), "v_proj_weight": values(8, 6), "use_separate_proj_weight": True}
    out, weights = multi_head(q, k, v, 2, None, None, values(8, 8), None, **w)
    assert out.shape == (5, 2, 8) and close(weights.sum(-1), torch.ones(2, 5))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x, w: multi_head(x[0, 0], x, x, 2, w, None, w[:4], None), "query must have 2 dimensions, or 3"),
        (lambda x, w: multi_head(x, x[0], x, 2, w, None, w[:4], None), "must have 3 dimensions, as query has"),
        (lambda x, w: multi_head(x, x, x, 3, w, None, w[:4], None), "num_heads must be positive and divide.*4, but is 3"),
        (lambda x, w: multi_head(x, x, x, 2, None, None, w[:4], None), "in_proj_weight"),
        (lambda x, w: multi_head(x, x, x, 2, w, None, w[:4], None, is_causal=True), "need attn_mask if specifying the is_causal hint"),
        (lambda x, w: multi_head(x, x, x, 2, w, None, w[:4], None, attn_mask=torch.zeros(3, 2)), r"sizes \[3, 3\], but has \[3, 2\]"),
        (lambda x, w: multi_head(x, x, x, 2, w, None, w[:4], None, attn_mask=torch.zeros(3, 3, 3)), r"\[4, 3, 3\]"),
        (lambda x, w: multi_head(x, x, x, 2, w, None, w[:4], None, key_padding_mask=torch.zeros(2, 4)), r"\[2, 3\].*\[2, 4\]"),
        (
            lambda x, w: multi_head(x, x, x, 2, w, None, w[:4], None, key_padding_mask=torch.zeros(3)),
            "key_padding_mask must have 2 dimensions",
        ),
        (lambda x, w: multi_head(x, x, x, 2, w, None, w[:4], None, bias_k=x[:1, :1]), "bias_k and bias_v"),
        (lambda x, w: multi_head(x, x, x, 2, w, None, w[:4], None, static_k=x), "static_k must have sizes"),
    ],
)
def test_errors_of_heads(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(torch.zeros(3, 2, 4), torch.zeros(12, 4))


@pytest.mark.parametrize("mapped", [False, True], ids=["plain", "vmap"])
@pytest.mark.parametrize("place", range(8), ids=["q", "k", "v", "w", "b", "wo", "bo", "mask"])
def test_heads_of_operands_of_any_shape(place, mapped):
    fitting = [(3, 1, 2), (3, 1, 2), (3, 1, 2), (6, 2), (6,), (2, 2), (2,), (3, 3)]
    for shape in [(), (0,), (1,), (2,), (6,), (2, 2), (6, 2), (0, 2), (3, 1, 2), (2, 0, 2), (1, 1, 1, 1)]:
        given = [values(*s) for s in fitting]
        given[place] = values(*shape)

        def heads(q, k, v, w, b, wo, bo, mask):
            return F.multi_head_attention_forward(q, k, v, 2, 1, w, b, None, None, False, 0.0, wo, bo, attn_mask=mask)

        try:
            if mapped:
                torch.vmap(heads)(*(t.expand(2, *t.shape) for t in given))
            else:
                heads(*given)
        except (RuntimeError, IndexError, ValueError, AssertionError) as e:
            assert "internal error" not in str(e)
            assert shape != fitting[place]


def test_out_projection_of_one_dimension_raises():
    x = values(3, 1, 2)
    with pytest.raises(RuntimeError, match=r"out_proj_weight must have 2 dimensions, but has sizes \[2\]"):
        multi_head(x, x, x, 1, values(6, 2), values(6), values(2), None)
