"""Records results of PyTorch for test_weight_only.py: python record_weight_only.py > weight_only.json, with PyTorch on a CPU with AVX2."""

import json

import torch

torch.manual_seed(0)
cases = []


def record(name, *args):
    result = getattr(torch, name)(*args)
    parts = [
        {"dtype": str(a.dtype)[6:], "sizes": list(a.shape), "values": a.flatten().tolist()} if isinstance(a, torch.Tensor) else a
        for a in (*args, result)
    ]
    cases.append({"name": name, "args": parts[:-1], "result": parts[-1]})


for dtype in (torch.int8, torch.uint8):
    a, b = torch.randint(-128 if dtype is torch.int8 else 0, 128, (3, 7), dtype=dtype), torch.randint(-128, 128, (7, 5), dtype=torch.int8)
    record("_int_mm", a, b)
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    for m, n, k in ((1, 3, 37), (2, 2, 32)):
        x, w = torch.randn(m, k).to(dtype), torch.randint(-128, 128, (n, k), dtype=torch.int8)
        record("_weight_int8pack_mm", x, w, torch.rand(n).to(dtype))
    for m, n, k, group in ((1, 16, 32, 32), (2, 48, 64, 32)) if dtype is torch.float32 else ((1, 32, 64, 32),):
        w = torch.randint(0, 16, (n, k), dtype=torch.int32)
        packed = torch._convert_weight_to_int4pack_for_cpu(w, 2)
        if dtype is torch.float32:
            record("_convert_weight_to_int4pack_for_cpu", w, 2)
        x, scales = torch.randn(m, k).to(dtype), torch.randn(k // group, n, 2).to(dtype)
        record("_weight_int4pack_mm_for_cpu", x, packed, group, scales)
print(json.dumps(cases))
