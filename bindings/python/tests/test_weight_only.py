"""Products with weights of 8 and 4 bits, compared with recorded results of PyTorch."""

import json
from pathlib import Path

import pytest

import libtensor as torch

CASES = json.loads(Path(__file__).with_name("weight_only.json").read_text())


def read(value):
    return torch.tensor(value["values"], dtype=getattr(torch, value["dtype"])).view(value["sizes"]) if isinstance(value, dict) else value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_results_are_those_of_pytorch(case):
    args, expected = [read(value) for value in case["args"]], read(case["result"])
    found = getattr(torch, case["name"])(*args)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if found.dtype.is_floating_point:
        step = torch.finfo(found.dtype).eps if found.dtype != torch.float32 else 1e-5
        assert torch.allclose(found.float(), expected.float(), rtol=step, atol=20 * step)
    else:
        assert torch.equal(found, expected)
    assert torch.equal(getattr(torch.ops.aten, case["name"])(*args), found)


def test_products_of_any_size_and_number_of_threads():
    before = torch.get_num_threads()
    try:
        for m, n, k in ((1, 4000, 1000), (70, 33, 65), (5, 48, 320)):
            x, w, scales = torch.randn(m, k), torch.randint(-128, 128, (n, k)).to(torch.int8), torch.rand(n)
            results = []
            for threads in (1, 3):
                torch.set_num_threads(threads)
                results.append(torch._weight_int8pack_mm(x, w, scales))
            assert torch.equal(*results)
            assert torch.allclose(results[0], x @ w.float().t() * scales, rtol=1e-4, atol=1e-3 * k)
            assert torch.equal(torch._weight_int8pack_mm(x.t().contiguous().t(), w.t().contiguous().t(), scales), results[0])
        for m, n, k, group in ((1, 4080, 512, 128), (3, 16, 256, 256), (9, 96, 64, 32)):
            x, w, scales = torch.randn(m, k), torch.randint(0, 16, (n, k)), torch.randn(k // group, n, 2)
            packed = torch._convert_weight_to_int4pack_for_cpu(w.int(), 1)
            results = []
            for threads in (1, 3):
                torch.set_num_threads(threads)
                results.append(torch._weight_int4pack_mm_for_cpu(x, packed, group, scales))
            assert torch.equal(*results)
            factors = scales.repeat_interleave(group, 0).transpose(0, 1)
            weight = (w - 8) * factors[..., 0] + factors[..., 1]
            assert torch.allclose(results[0], x @ weight.t(), rtol=1e-4, atol=1e-3 * k)
    finally:
        torch.set_num_threads(before)


def test_meta_tensors_and_out():
    a, b = torch.ones(2, 3, dtype=torch.int8), torch.ones(3, 4, dtype=torch.int8)
    out = torch.empty(0, dtype=torch.int32)
    assert torch._int_mm(a, b, out=out) is out and out.tolist() == [[3] * 4] * 2
    assert torch._int_mm(a[:0], b).shape == (0, 4) and torch._int_mm(a[:, :0], b[:0]).tolist() == [[0] * 4] * 2
    assert torch._int_mm(a.to("meta"), b.to("meta")).shape == (2, 4)
    assert torch._convert_weight_to_int4pack_for_cpu(torch.ones(32, 4, device="meta").int(), 2).shape == (32, 2)


@pytest.mark.parametrize(
    "name, args, fact",
    [
        ("_int_mm", (torch.ones(2, 3), torch.ones(3, 2).to(torch.int8)), "type int8 or uint8 but got float32"),
        ("_int_mm", (torch.ones(2, 3).to(torch.int8), torch.ones(2, 2).to(torch.int8)), r"\(2x3 and 2x2\)"),
        ("_int_mm", (torch.ones(3).to(torch.int8), torch.ones(3, 2).to(torch.int8)), "got 1-D"),
        ("_weight_int8pack_mm", (torch.ones(1, 3), torch.ones(2, 3), torch.ones(2)), "int8"),
        ("_weight_int8pack_mm", (torch.ones(1, 3), torch.ones(2, 3).to(torch.int8), torch.ones(2).half()), "dtype of A"),
        ("_weight_int8pack_mm", (torch.ones(1, 4), torch.ones(2, 3).to(torch.int8), torch.ones(2)), "4 columns"),
        ("_weight_int8pack_mm", (torch.ones(1, 3), torch.ones(2, 3).to(torch.int8), torch.ones(3)), "size 2"),
        ("_convert_weight_to_int4pack_for_cpu", (torch.ones(16, 2), 1), "int32"),
        ("_convert_weight_to_int4pack_for_cpu", (torch.ones(20, 2).int(), 1), "dividable by 16"),
        ("_convert_weight_to_int4pack_for_cpu", (torch.ones(16, 3).int(), 1), "dividable by 2"),
        ("_weight_int4pack_mm_for_cpu", (torch.ones(1, 32), torch.ones(16, 16).byte(), 16, torch.ones(2, 16, 2)), "32, 64, 128 or 256"),
        ("_weight_int4pack_mm_for_cpu", (torch.ones(1, 32), torch.ones(16, 15).byte(), 32, torch.ones(1, 16, 2)), "16 columns"),
        ("_weight_int4pack_mm_for_cpu", (torch.ones(1, 32), torch.ones(16, 16).byte(), 32, torch.ones(16, 2)), r"\[1, 16, 2\]"),
        ("_weight_int4pack_mm_for_cpu", (torch.ones(1, 48), torch.ones(16, 24).byte(), 32, torch.ones(2, 16, 2)), "K:48, qGroupSize:32"),
        (
            "_weight_int4pack_mm_for_cpu",
            (torch.ones(1, 32).double(), torch.ones(16, 16).byte(), 32, torch.ones(1, 16, 2).double()),
            "16-bit float",
        ),
    ],
)
def test_wrong_arguments(name, args, fact):
    with pytest.raises(RuntimeError, match=fact):
        getattr(torch, name)(*args)
