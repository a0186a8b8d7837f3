"""Records PyTorch's results for test_dynamic_quantization.py: record_dynamic_quantization.py OUT.pt, with PyTorch."""

import sys
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")
torch.manual_seed(0)


def quantized(model, spec=None):
    return torch.ao.quantization.quantize_dynamic(model.eval(), spec)


recorded = {}
for name, spec in (("default", None), ("per_channel", {nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig})):
    model = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 3, bias=False)))
    x, made = torch.randn(6, 5), quantized(model, spec)
    recorded[name] = {"model": model.state_dict(), "quantized": made.state_dict(), "x": x, "y": made(x).detach()}
for name, options in (("lstm", {}), ("deep", {"num_layers": 2, "bidirectional": True, "batch_first": True})):
    model = nn.ModuleDict({"lstm": nn.LSTM(5, 4, **options)})
    x, made = torch.randn(3, 2, 5), quantized(model)["lstm"]
    y, (h, c) = made(x)
    again, _ = made(x, (h, c))
    recorded[name] = {"model": model.state_dict(), "options": options, "x": x, "results": [t.detach() for t in (y, h, c, again)]}
torch.backends.quantized.engine = "x86"
weight, bias = torch.randn(4, 2, 3, 3), torch.randn(4)
per_tensor = torch.quantize_per_tensor(weight, 0.03, 0, torch.qint8)
per_channel = torch.quantize_per_channel(weight, torch.tensor([0.03, 0.02, 0.04, 0.025]), torch.zeros(4, dtype=torch.int64), 0, torch.qint8)
x = torch.quantize_per_tensor(torch.randn(2, 4, 7, 6), 0.02, 120, torch.quint8)
cases = []
for w in (per_tensor, per_channel):
    for stride, padding, dilation in (([1, 1], [0, 0], [1, 1]), ([2, 1], [1, 2], [1, 1]), ([1, 1], [2, 2], [2, 2])):
        packed = torch.ops.quantized.conv2d_prepack(w, bias, stride, padding, dilation, 2)
        results = [f(x, packed, 0.1, 100) for f in (torch.ops.quantized.conv2d, torch.ops.quantized.conv2d_relu)]
        cases.append({"x": x, "arguments": [w, bias, stride, padding, dilation, 2], "results": results})
recorded["conv2d"] = cases
torch.save(recorded, sys.argv[1])
