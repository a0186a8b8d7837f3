"""Recurrent layers and cells, compared with a loop over time steps; packed and padded sequences."""

import pytest

import libtensor as torch

rnn = torch.nn.utils.rnn
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
PACKED = [4, 4, 2, 1]  # of sequences with 4, 3, 2 and 2 steps


def step(kind, x, state, weights):
    """The states after one step: `x` are the inputs of all examples."""
    w_ih, w_hh, b_ih, b_hh = [*weights[:2], *(weights[2:4] or (0, 0))]
    a, b = x @ w_ih.t() + b_ih, state[0] @ w_hh.t() + b_hh
    if kind == "lstm":
        i, f, g, o = (a + b).chunk(4, 1)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    if kind == "gru":
        (r, z, n), (hr, hz, hn) = a.chunk(3, 1), b.chunk(3, 1)
        r, z = (r + hr).sigmoid(), (z + hz).sigmoid()
        n = (n + r * hn).tanh()
        return ((1 - z) * n + z * state[0],)
    return ((a + b).tanh() if kind == "rnn_tanh" else (a + b).relu(),)


def walk(kind, data, sizes, states, params, biases, both):
    """Layers over the rows of steps, one step after another."""
    each, directions = 4 if biases else 2, 2 if both else 1
    ends = [[], []]
    for layer in range(len(params) // each // directions):
        made = []
        for way in range(directions):
            at = layer * directions + way
            weights = params[at * each : (at + 1) * each]
            rows, own = [None] * len(sizes), [s[at] for s in states]
            for t in sorted(range(len(sizes)), reverse=way == 1):
                n, start = sizes[t], sum(sizes[:t])
                new = step(kind, data[start : start + n], [s[:n] for s in own], weights)
                rows[t], own = new[0], [torch.cat([a, b[n:]]) for a, b in zip(new, own, strict=True)]
            made.append(torch.cat(rows))
            for end, s in zip(ends, own, strict=False):
                end.append(s)
        data = torch.cat(made, 1)
    return [data, *(torch.stack(e) for e in ends if e)]


def operands(kind, units, sizes, layers=1, both=False, biases=True, inputs=3, dtype=torch.float64):
    torch.manual_seed(units)
    directions, gates = 2 if both else 1, GATES[kind]

    def some(*shape):
        return (torch.randn(*shape, dtype=torch.float64) * 0.5).to(dtype).requires_grad_()

    states = [some(layers * directions, sizes[0], units) for _ in range(2 if kind == "lstm" else 1)]
    params = []
    for layer in range(layers):
        width = inputs if layer == 0 else directions * units
        for _ in range(directions):
            params += [some(gates * units, width), some(gates * units, units)]
            params += [some(gates * units), some(gates * units)] if biases else []
    return some(sum(sizes), inputs), states, params


def run(kind, data, sizes, states, params, layers=1, both=False, biases=True):
    hx = states if kind == "lstm" else states[0]
    return getattr(torch, kind)(data, torch.tensor(sizes), hx, params, biases, layers, 0.0, False, both)


def close(mine, other, tolerance=1e-10):
    assert len(mine) == len(other)
    for a, b in zip(mine, other, strict=True):
        assert a.shape == b.shape and torch.allclose(a.double(), b.double(), tolerance, tolerance)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("units", [1, 7, 8, 16, 17, 33, 70])  # below and above the width of vectors, and of packed panels of four
@pytest.mark.parametrize("sizes", [[1], [5], [3, 3], [9, 9, 9], PACKED], ids=str)  # one step has a separate product
def test_layers_and_their_gradients_are_those_of_steps(kind, units, sizes):
    data, states, params = operands(kind, units, sizes)
    of = [data, *states, *params]
    results = []
    for outputs in (run(kind, data, sizes, states, params), walk(kind, data, sizes, states, params, True, False)):
        weight = [(i + 1.0) * torch.linspace(-1, 1, o.numel(), dtype=o.dtype).reshape(o.shape) for i, o in enumerate(outputs)]
        results.append([*outputs, *torch.autograd.grad([(a * b).sum() for a, b in zip(outputs, weight, strict=True)], of)])
    close(*results)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("biases", [True, False])
def test_layers_in_both_directions(kind, biases):
    data, states, params = operands(kind, 5, PACKED, 3, True, biases)
    of = [data, *states, *params]
    mine, other = run(kind, data, PACKED, states, params, 3, True, biases), walk(kind, data, PACKED, states, params, biases, True)
    close(mine, other)
    close(torch.autograd.grad(sum(o.sum() for o in mine), of), torch.autograd.grad(sum(o.sum() for o in other), of))


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh"])
@pytest.mark.parametrize("both", [False, True])
def test_second_derivatives(kind, both):
    data, states, params = operands(kind, 3, PACKED, 1, both)
    of = [data, *states, *params]
    results = []
    for outputs in (run(kind, data, PACKED, states, params, 1, both), walk(kind, data, PACKED, states, params, True, both)):
        first = torch.autograd.grad(sum((o * o).sum() for o in outputs), of, create_graph=True)
        results.append(torch.autograd.grad(sum((g * g).sum() for g in first), of))
    close(*results)


def test_gradients_of_some_operands_alone():
    for wanted in range(4):
        data, states, params = operands("gru", 4, PACKED)
        all_of = [data, states[0], *params[1::2]]
        expected = torch.autograd.grad(walk("gru", data, PACKED, states, params, True, False)[0].sum(), all_of)[wanted]
        for t in [data, states[0], *params]:
            t.requires_grad_(t is all_of[wanted])
        (grad,) = torch.autograd.grad(run("gru", data, PACKED, states, params)[0].sum(), [all_of[wanted]])
        close([grad], [expected])


def test_only_the_last_state_of_cells_has_a_gradient():
    data, states, params = operands("lstm", 4, [2, 2])
    mine = torch.autograd.grad(run("lstm", data, [2, 2], states, params)[2].sum(), [data, *states])
    close(mine, torch.autograd.grad(walk("lstm", data, [2, 2], states, params, True, False)[2].sum(), [data, *states]))


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_other_dtypes(kind, dtype):
    data, states, params = operands(kind, 19, [3, 3, 2], dtype=dtype)
    mine = run(kind, data, [3, 3, 2], states, params)
    assert all(o.dtype == dtype for o in mine)
    wide = [t.double() for t in (data, *states, *params)]
    other = walk(kind, wide[0], [3, 3, 2], wide[1 : 1 + len(states)], wide[1 + len(states) :], True, False)
    close(mine, other, {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype])


# Products of at most 16 rows are computed without packing, and threads share more than 256 rows by rows.
@pytest.mark.parametrize("steps, batch", [(1, 1), (1, 16), (17, 1), (4, 33), (256, 1), (9, 70)])
@pytest.mark.parametrize("features, units", [(1, 1), (31, 33), (64, 96)])
@pytest.mark.parametrize("biases", [False, True])
def test_bfloat16_inputs_are_projected_exactly(steps, batch, features, units, biases):
    torch.manual_seed(features)
    x = torch.randint(-1, 2, (steps, batch, features)).to(torch.bfloat16)
    w = torch.randint(-1, 2, (units, features)).to(torch.bfloat16)
    x[0, 0, 0], x[-1, -1, -1] = torch.inf, torch.nan
    b = torch.arange(units).remainder(5).to(torch.bfloat16)
    params, state = [w, torch.zeros(units, units, dtype=torch.bfloat16)], torch.zeros(1, batch, units, dtype=torch.bfloat16)
    expected = (x.double() @ w.double().t() + (2 * b.double() if biases else 0)).relu()
    finite = expected.isfinite().all(2)  # later states of a sequence multiply its infinity by 0
    if steps > 1:
        finite[1:, 0] = False
    threads = torch.get_num_threads()
    results = []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            with torch.no_grad():
                results.append(torch.rnn_relu(x, state, params + [b, b] * biases, biases, 1, 0.0, False, False, False)[0])
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(results[0][finite].double(), expected[finite])
    assert torch.equal(results[0][0].double().nan_to_num(7), expected[0].nan_to_num(7))
    assert all(torch.equal(results[0].view(torch.int16), r.view(torch.int16)) for r in results[1:])


# Without gradients the kernels read bfloat16 weights, and save no gates.
@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("sizes", [[1], [20], [30, 30], PACKED, [130] * 3], ids=str)
@pytest.mark.parametrize("layers, both", [(1, False), (2, True)])
def test_bfloat16_layers_without_gradients(kind, sizes, layers, both):
    data, states, params = operands(kind, 40, sizes, layers, both, inputs=33, dtype=torch.bfloat16)
    data, states, params = (torch.utils._pytree.tree_map(torch.Tensor.detach, t) for t in (data, states, params))
    params = [p * (0.25 if kind == "rnn_relu" else 0.5) for p in params]  # states of relu would grow
    mine = run(kind, data, sizes, states, params, layers, both)
    wide = [[t.double() for t in list] for list in (states, params)]
    close(mine, walk(kind, data.double(), sizes, *wide, True, both), 3e-2)
    threads = torch.get_num_threads()
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            again = run(kind, data, sizes, states, params, layers, both)
            assert all(torch.equal(a, b) for a, b in zip(mine, again, strict=True))
    finally:
        torch.set_num_threads(threads)


def test_padded_sequences_are_those_of_one_length():
    data, states, params = operands("gru", 6, [3] * 4)
    output, last = run("gru", data, [3] * 4, states, params)
    steps, other = torch.gru(data.reshape(4, 3, 3), states[0], params, True, 1, 0.0, False, False, False)
    assert torch.equal(steps.reshape(12, 6), output) and torch.equal(other, last) and steps.stride() == (18, 6, 1)
    first, other = torch.gru(data.reshape(4, 3, 3).transpose(0, 1), states[0], params, True, 1, 0.0, False, False, True)
    assert torch.equal(first, steps.transpose(0, 1)) and first.stride() == (6, 18, 1) and torch.equal(other, last)


def test_projections():
    torch.manual_seed(0)
    w_ih, w_hh, w_hr = (torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in ((20, 3), (20, 2), (2, 5)))
    h, c, x = (torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in ((1, 3, 2), (1, 3, 5), (4, 3, 3)))
    output, hn, cn = torch.lstm(x, (h, c), (w_ih, w_hh, w_hr), False, 1, 0.0, False, False, False)
    at, rows = [h[0], c[0]], []
    for i in range(4):
        full, cell = step("lstm", x[i], at, (w_ih, w_hh))
        at = [full @ w_hr.t(), cell]
        rows.append(at[0])
    close([output, hn[0], cn[0]], [torch.stack(rows), *at])
    of = [x, h, c, w_ih, w_hh, w_hr]
    close(torch.autograd.grad(output.sum(), of), torch.autograd.grad(torch.stack(rows).sum(), of))


def test_dropout_comes_between_layers_and_from_the_stream():
    data, states, params = operands("rnn_tanh", 8, [2, 2, 2], 2)
    torch.manual_seed(3)
    output, last = torch.rnn_tanh(data, torch.tensor([2, 2, 2]), states[0], params, True, 2, 0.5, True, False)
    torch.manual_seed(3)
    first, _ = torch.rnn_tanh(data, torch.tensor([2, 2, 2]), states[0][:1], params[:4], True, 1, 0.0, True, False)
    second, _ = torch.rnn_tanh(
        torch.dropout(first, 0.5, True), torch.tensor([2, 2, 2]), states[0][1:], params[4:], True, 1, 0.0, True, False
    )
    assert torch.equal(output, second)
    assert not torch.equal(output, run("rnn_tanh", data, [2, 2, 2], states, params, 2)[0])  # without train nothing is left out


@pytest.mark.parametrize("kind", GATES)
def test_the_same_bits_on_any_number_of_threads(kind):
    threads = torch.get_num_threads()
    results = []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            data, states, params = operands(kind, 130, [17, 17, 5, 1], inputs=64, dtype=torch.float32)
            outputs = run(kind, data, [17, 17, 5, 1], states, params)
            results.append([*outputs, *torch.autograd.grad(sum(o.sum() for o in outputs), [data, *states, *params])])
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))


def test_operands_of_any_layout():
    data, states, params = operands("lstm", 5, [3, 2])
    expected = run("lstm", data, [3, 2], states, params)

    def apart(t):
        wide = torch.zeros(*(2 * n for n in t.shape), dtype=t.dtype)
        view = wide[tuple(slice(None, None, 2) for _ in t.shape)]
        view.copy_(t.detach())
        return view

    mine = run("lstm", apart(data), [3, 2], [apart(s) for s in states], [apart(p.t()).t() if p.dim() == 2 else apart(p) for p in params])
    close(mine, expected)


def test_numbers_that_are_not_finite_stay_in_their_sequence():
    data, states, params = operands("gru", 4, [3, 3], dtype=torch.float32)
    with torch.no_grad():
        data[1] = float("nan")
    output, last = run("gru", data, [3, 3], states, params)
    assert output[1].isnan().all() and output[4].isnan().all() and last[0, 1].isnan().all()
    assert output[[0, 2, 3, 5]].isfinite().all()
    relu = torch.rnn_relu_cell(torch.tensor([[float("nan")]]), torch.zeros(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    assert relu.isnan().all()


@pytest.mark.parametrize("kind", GATES)
def test_cells_are_one_step(kind):
    data, states, params = operands(kind, 6, [5])
    own = [s[0] for s in states]
    mine = getattr(torch, kind + "_cell")(data, own if kind == "lstm" else own[0], *params)
    close(mine if kind == "lstm" else [mine], step(kind, data, own, params))
    bare = getattr(torch, kind + "_cell")(data, own if kind == "lstm" else own[0], *params[:2])
    close(bare if kind == "lstm" else [bare], step(kind, data, own, params[:2]))


def test_no_sequences_and_meta():
    params = [torch.ones(12, 2), torch.ones(12, 3), torch.ones(12), torch.ones(12)]
    none = torch.zeros(1, 0, 3)
    output, h, c = torch.lstm(torch.ones(4, 0, 2), (none, none), params, True, 1, 0.0, False, False, False)
    assert output.shape == (4, 0, 3) and h.shape == c.shape == (1, 0, 3)
    meta = [t.to("meta") for t in params]
    zeros = torch.zeros(1, 5, 3, device="meta")
    output, h, c = torch.lstm(torch.ones(4, 5, 2, device="meta"), (zeros, zeros), meta, True, 1, 0.0, False, False, False)
    assert output.shape == (4, 5, 3) and output.device.type == "meta" and c.shape == (1, 5, 3)


def test_errors():
    x, h = torch.ones(4, 5, 2), torch.zeros(1, 5, 3)
    params = [torch.ones(9, 2), torch.ones(9, 3), torch.ones(9), torch.ones(9)]

    def gru(x=x, h=h, params=params, layers=1, dropout=0.0):
        return torch.gru(x, h, params, True, layers, dropout, True, False, False)

    for call, text in [
        (lambda: gru(x[:0]), "larger than 0"),
        (lambda: gru(x[0]), "must have shape"),
        (lambda: gru(h=h[:, :2]), r"\[1, 2, 3\]"),
        (lambda: gru(h=h.double()), "float64"),
        (lambda: gru(x.int(), h.int(), [p.int() for p in params]), "int32"),
        (lambda: gru(params=params[:3]), "3 tensors"),
        (lambda: gru(layers=2), "first sizes 2 and 5"),
        (lambda: gru(layers=0), "num_layers"),
        (lambda: gru(dropout=1.5), "1.5"),
        (lambda: gru(params=[torch.ones(9, 4), *params[1:]]), "w_ih.*4"),
        (lambda: gru(params=[params[0], torch.ones(9, 4), *params[2:]]), "w_hh.*4"),
        (lambda: torch.lstm(x, (h,), params, True, 1, 0.0, False, False, False), "two tensors"),
        (lambda: torch.gru(x[0], torch.tensor([2, 3]), h, params, True, 1, 0.0, False, False), r"batch_sizes.*\[2, 3\]"),
        (lambda: torch.gru(x[0], torch.tensor([3, 3]), h, params, True, 1, 0.0, False, False), "= 6 rows"),
        (lambda: torch.gru_cell(x[0, 0], h[0, 0], *params), "matrices"),
    ]:
        with pytest.raises((RuntimeError, NotImplementedError), match=text):
            call()


def test_packing_and_padding():
    padded = torch.arange(1.0, 13).reshape(3, 4).requires_grad_()
    packed = rnn.pack_padded_sequence(padded, [2, 4, 1], batch_first=True, enforce_sorted=False)
    assert packed.data.tolist() == [5, 1, 9, 6, 2, 7, 8] and packed.batch_sizes.tolist() == [3, 2, 1, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2] and packed.unsorted_indices.tolist() == [1, 0, 2]
    again, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1, total_length=5)
    assert again.tolist() == [[1, 2, -1, -1, -1], [5, 6, 7, 8, -1], [9, -1, -1, -1, -1]] and lengths.tolist() == [2, 4, 1]
    (again * again).sum().backward()
    assert padded.grad.tolist() == [[2, 4, 0, 0], [10, 12, 14, 16], [18, 0, 0, 0]]
    steps, lengths = rnn.pad_packed_sequence(packed)
    assert steps.shape == (4, 3) and steps[:, 0].tolist() == [1, 2, 0, 0]


def test_sequences_without_padding():
    parts = [torch.tensor([1, 2, 3]), torch.tensor([4])]
    assert rnn.pad_sequence(parts, padding_value=9).tolist() == [[1, 4], [2, 9], [3, 9]]
    assert rnn.pad_sequence(parts, batch_first=True, padding_side="left").tolist() == [[1, 2, 3], [0, 0, 4]]
    packed = rnn.pack_sequence(parts)
    assert [t.tolist() for t in rnn.unpack_sequence(packed)] == [[1, 2, 3], [4]]
    assert [t.tolist() for t in rnn.unpad_sequence(rnn.pad_sequence(parts), torch.tensor([3, 1]))] == [[1, 2, 3], [4]]
    assert (
        packed.to(torch.float32).data.dtype == torch.float32
        and packed.to(torch.int64) is packed
        and packed.double().batch_sizes is packed.batch_sizes
    )
    assert rnn.PackedSequence((packed.data, packed.batch_sizes)).batch_sizes.tolist() == [2, 1, 1]
    with pytest.raises(RuntimeError, match=r"\[1, 3\].*enforce_sorted"):
        rnn.pack_sequence(parts[::-1])
    with pytest.raises(RuntimeError, match="4"):
        rnn.pack_padded_sequence(torch.ones(3, 2), [4, 1])
    with pytest.raises(RuntimeError, match="positive"):
        rnn.pack_padded_sequence(torch.ones(3, 2), [3, 0])
    with pytest.raises(ValueError, match="in input, 3"):
        rnn.pad_packed_sequence(packed, total_length=2)
    with pytest.raises(RuntimeError, match="same sizes"):
        rnn.pad_sequence([torch.ones(2, 3), torch.ones(2, 4)])


def test_no_numbers_are_drawn_where_a_layer_does_not_fit():
    x, state = torch.ones(4, 5, 2), torch.zeros(2, 5, 3)
    first = [torch.ones(12, 2), torch.ones(12, 3)]
    torch.manual_seed(3)
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError, match=r"w_ih.*\[12, 3\].*\[12, 4\]"):
        torch.lstm(x, (state, state), [*first, torch.ones(12, 4), torch.ones(12, 3)], False, 2, 0.5, True, False, False)
    assert torch.equal(torch.get_rng_state(), before)


def test_sizes_that_cannot_be():
    state, params = torch.zeros(1, 1, 1), [torch.ones(4, 1), torch.ones(4, 1)]
    for device, steps in (("meta", 2**40), ("cpu", 2**30)):
        x = torch.empty(1, 1, 1, device=device).expand(steps, 1, 1)
        given = [t.to(device) for t in params]
        with pytest.raises(RuntimeError, match=str(steps)):
            torch.lstm(x, (state.to(device), state.to(device)), given, False, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="hx") as error:
        torch.lstm(torch.ones(1, 1, 1), (state, state), params, False, 2**62, 0.0, False, True, False)
    assert "-" not in str(error.value)


def test_cells_of_other_sizes_are_named():
    x, h, w = torch.ones(2, 3), torch.ones(2, 4), (torch.ones(16, 3), torch.ones(16, 4))
    with pytest.raises(RuntimeError, match=r"\[2, 4\].*\[3, 4\]"):
        torch.lstm_cell(x, (h, torch.ones(3, 4)), *w)
    with pytest.raises(RuntimeError, match="4 and 5"):
        torch.lstm_cell(x, (h, torch.ones(2, 5)), *w)


def test_sequences_are_tensors():
    with pytest.raises(TypeError, match="int"):
        torch.nn.utils.rnn.pad_sequence([1, 2])


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("packed, both, layers", [(False, False, 1), (False, True, 1), (False, False, 2), (True, False, 1)])
def test_results_may_be_changed_before_gradients_are_asked_for(kind, packed, both, layers):
    wants = []
    for change in (lambda y: y * 2, lambda y: y.mul_(2)):
        torch.manual_seed(0)
        ways = 2 if both else 1
        params = [
            torch.rand(*sizes, requires_grad=True)
            for layer in range(layers)
            for _ in range(ways)
            for sizes in ((3 * GATES[kind], 2 if layer == 0 else 3 * ways), (3 * GATES[kind], 3))
        ]
        states = torch.zeros(layers * ways, 4, 3)
        states = (states, states) if kind == "lstm" else states
        if packed:
            y, *ends = getattr(torch, kind)(
                torch.rand(sum(PACKED), 2), torch.tensor(PACKED), states, params, False, layers, 0.0, False, both
            )
        else:
            y, *ends = getattr(torch, kind)(torch.rand(5, 4, 2), states, params, False, layers, 0.0, False, both, False)
        (change(y).sum() + sum(change(end).sum() for end in ends)).backward()
        wants.append([p.grad for p in params])
    for expected, got in zip(*wants, strict=True):
        assert got.equal(expected)


@pytest.mark.parametrize("kind", GATES)
def test_results_of_cells_may_be_changed_before_gradients_are_asked_for(kind):
    grads = []
    for change in (lambda y: y * 2, lambda y: y.mul_(2)):
        torch.manual_seed(0)
        params = [torch.rand(3 * GATES[kind], n, requires_grad=True) for n in (2, 3)]
        state = torch.rand(4, 3)
        made = getattr(torch, f"{kind}_cell")(torch.rand(4, 2), (state, state) if kind == "lstm" else state, *params)
        sum(change(y).sum() for y in (made if kind == "lstm" else (made,))).backward()
        grads.append([p.grad for p in params])
    for expected, got in zip(*grads, strict=True):
        assert got.equal(expected)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("both", [False, True])
def test_layers_release_what_the_next_ones_do_not_need(kind, both):
    x = torch.zeros(50, 8, 32)
    peaks = []
    for layers in (2, 8):
        model = getattr(torch.nn, kind)(32, 64, layers, bidirectional=both, dropout=0.5)
        with torch.no_grad():
            model(x)
            torch.reset_peak_memory_stats()
            before = torch.memory_stats().in_use
            model(x)
            peaks.append(torch.memory_stats().peak - before)
    assert peaks[1] < 1.3 * peaks[0]
