"""Operators of networks: windows, convolutions, normalization, recurrences, resampling and sampling of images, and their gradients."""

import pytest

import libtensor as torch
from libtensor.nn import functional

FORMATS = [torch.contiguous_format, torch.channels_last]


def randn(*size, dtype=torch.float32, seed=1):
    return torch.randn(size, generator=torch.Generator().manual_seed(seed)).to(dtype)


def near(here, there, places=16):
    """Whether results differ by a few units in the last place of the largest number, and are stored alike."""
    if isinstance(here, (tuple, list)):
        return len(here) == len(there) and all(near(a, b, places) for a, b in zip(here, there, strict=True))
    assert there.device.type == "cuda" and (here.dtype, here.shape, here.stride()) == (there.dtype, there.shape, there.stride())
    if not here.dtype.is_floating_point:
        return torch.equal(here, there.cpu())
    bound = places * torch.finfo(here.dtype).eps * max(here.abs().max().item(), 1) if here.numel() else 0
    return torch.allclose(here, there.cpu(), 0, bound, equal_nan=True)


def both(f, *operands, places=16):
    """Compares f and the gradients of a weighted sum of its first result, of operands on the CPU and on the device."""
    found = []
    for device in ("cpu", "cuda"):
        inputs = [t.to(device).requires_grad_(t.dtype.is_floating_point) if isinstance(t, torch.Tensor) else t for t in operands]
        results = f(*inputs)
        first = results[0] if isinstance(results, (tuple, list)) else results
        weights = torch.linspace(-1, 1, first.numel()).to(device, first.dtype).reshape(first.shape)
        wanted = [t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad]
        gradients = torch.autograd.grad((first * weights).sum(), wanted)
        flat = [r.detach() for r in results] if isinstance(results, (tuple, list)) else [results.detach()]
        found.append(flat + [g.contiguous() for g in gradients])
    assert near(*found, places)


@pytest.mark.parametrize("memory_format", FORMATS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_pooling(dtype, memory_format):
    x = randn(2, 3, 9, 8, dtype=dtype).contiguous(memory_format=memory_format)
    both(lambda x: functional.max_pool2d(x, 3, 2, 1, return_indices=True), x)
    both(lambda x: functional.max_pool2d(x, 2, 1, 0, 2), x)
    both(lambda x: functional.avg_pool2d(x, 3, 2, 1, True, False), x)
    both(lambda x: functional.avg_pool2d(x, 2, 3, divisor_override=7), x)
    both(lambda x: functional.adaptive_avg_pool2d(x, (4, 5)), x)
    both(lambda x: functional.adaptive_max_pool2d(x, 3, return_indices=True), x)


def test_nan_in_pools():
    x = randn(1, 2, 6, 6)
    x[0, 0, 1, 1] = x[0, 0, 2, 2] = float("nan")
    for here, there in zip(
        functional.max_pool2d(x, 3, 1, 1, return_indices=True), functional.max_pool2d(x.cuda(), 3, 1, 1, return_indices=True), strict=True
    ):
        assert torch.equal(here.nan_to_num(9), there.cpu().nan_to_num(9))


def test_volumes_and_signals():
    x = randn(2, 3, 5, 6, 7)
    both(lambda x: functional.max_pool3d(x, 2, 2, 1, return_indices=True), x)
    both(lambda x: functional.avg_pool3d(x, (2, 3, 2), 2, 1), x)
    both(lambda x: functional.avg_pool1d(x[0, 0], 3, 2), x)
    samples = torch.rand(2, 3, 3, generator=torch.Generator().manual_seed(3))
    here = functional.fractional_max_pool3d(x, 2, output_size=3, _random_samples=samples)
    assert near(here, functional.fractional_max_pool3d(x.cuda(), 2, output_size=3, _random_samples=samples.cuda()))


def test_columns():
    x = randn(2, 3, 7, 8)
    both(lambda x: functional.unfold(x, (2, 3), 2, 1, 2), x)
    both(lambda x: functional.fold(functional.unfold(x, 3, 1, 1), (7, 8), 3, 1, 1), x)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("memory_format", FORMATS, ids=str)
def test_convolution(groups, memory_format):
    x = randn(3, 4, 9, 8).contiguous(memory_format=memory_format)
    weight, bias = randn(8, 4 // groups, 3, 2, seed=2), randn(8, seed=3)
    both(lambda x, w, b: functional.conv2d(x, w, b, (2, 1), (1, 2), (1, 2), groups), x, weight, bias, places=64)
    weight = randn(4, 8 // groups, 3, 2, seed=2)
    both(lambda x, w, b: functional.conv_transpose2d(x, w, b, 2, 1, 1, groups, 2), x, weight, bias, places=64)


def test_other_convolutions():
    both(lambda x, w: functional.conv1d(x, w, padding="same"), randn(2, 3, 9), randn(4, 3, 3, seed=2), places=64)
    both(lambda x, w: functional.conv3d(x, w, stride=2), randn(1, 2, 5, 6, 7), randn(3, 2, 2, 2, 2, seed=2), places=64)
    both(lambda x, w: functional.conv2d(x, w), randn(2, 3, 4, 5), randn(4, 3, 1, 1, seed=2), places=64)
    x, weight = randn(2, 3, 9, dtype=torch.float16), randn(4, 3, 3, dtype=torch.float16, seed=2)
    assert near(functional.conv1d(x, weight), functional.conv1d(x.cuda(), weight.cuda()), 4)
    x, weight = torch.arange(60).reshape(1, 3, 20), torch.arange(18).reshape(2, 3, 3)
    assert near(functional.conv1d(x, weight), functional.conv1d(x.cuda(), weight.cuda()))


@pytest.mark.parametrize("memory_format", FORMATS, ids=str)
def test_normalization(memory_format):
    x = randn(4, 6, 5, 3).contiguous(memory_format=memory_format)
    weight, bias = randn(6, seed=2), randn(6, seed=3)
    both(lambda x, w, b: functional.batch_norm(x, None, None, w, b, True), x, weight, bias, places=64)
    mean, variance = randn(6, seed=4), randn(6, seed=5).abs() + 0.5
    for device in ("cpu", "cuda"):
        assert functional.batch_norm(x.to(device), mean.to(device), variance.to(device)).shape == x.shape
    both(lambda x, w, b: functional.group_norm(x, 3, w, b), x, weight, bias, places=64)
    both(lambda x, w, b: functional.instance_norm(x, weight=w, bias=b), x, weight, bias, places=64)
    both(lambda x, w, b: functional.layer_norm(x, (6,), w, b), randn(5, 7, 6), weight, bias, places=64)
    both(lambda x, w: functional.rms_norm(x, (6,), w), randn(5, 7, 6), weight, places=64)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_normalization_of_16_bits(dtype):
    x = randn(4, 6, 10, dtype=dtype)
    for f in (lambda x: functional.layer_norm(x, (10,)), lambda x: functional.group_norm(x, 2), lambda x: functional.instance_norm(x)):
        assert near(f(x), f(x.cuda()), 2)


NORMALIZED = {
    "layer": ((5, 7, 33), lambda x, w, b: functional.layer_norm(x, (7, 33), w.reshape(7, 33), b.reshape(7, 33)), 231),
    "layer without parameters": ((3, 9000), lambda x, w, b: functional.layer_norm(x, (9000,)), 1),
    "rms": ((5, 7, 33), lambda x, w, b: functional.rms_norm(x, (33,), w), 33),
    "group": ((4, 6, 5, 7), lambda x, w, b: functional.group_norm(x, 3, w, b), 6),
    "instance": ((4, 6, 50), lambda x, w, b: functional.instance_norm(x, weight=w, bias=b), 6),
    "batch": ((4, 6, 5, 7), lambda x, w, b: functional.batch_norm(x, None, None, w, b, True), 6),
    "one element": ((70, 1), lambda x, w, b: functional.layer_norm(x, (1,), w, b), 1),
    "few long units": ((2, 70_000), lambda x, w, b: functional.layer_norm(x, (70_000,)), 1),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", NORMALIZED)
def test_normalization_of_every_dtype(name, dtype):
    """Results and gradients are the CPU's, also with a mean that is large compared with the deviation."""
    shape, f, parameters = NORMALIZED[name]
    x, w, b = randn(*shape, dtype=dtype) + 3, randn(parameters, dtype=dtype), randn(parameters, dtype=dtype)
    results = []
    for device in ("cpu", "cuda"):
        operands = [t.detach().to(device).requires_grad_() for t in (x, w, b)]
        y = f(*operands)
        y.square().sum().backward()
        results.append([y.detach().cpu(), *(t.grad.cpu() for t in operands if t.grad is not None)])
    for here, there in zip(*results, strict=True):
        scale = here.double().abs().max().item()
        bound = {torch.float16: 4e-3, torch.bfloat16: 4e-2, torch.float32: 1e-5, torch.float64: 1e-12}[dtype] * max(scale, 1)
        assert (here.double() - there.double()).abs().max().item() <= bound


def test_normalization_is_one_launch(simulation):
    x, w = torch.randn(64, 100, device="cuda"), torch.randn(100, device="cuda")
    for f in (lambda: functional.layer_norm(x, (100,), w, w), lambda: functional.rms_norm(x, (100,), w)):
        f()
        before = simulation.calls("cuLaunchKernel")
        f()
        assert simulation.calls("cuLaunchKernel") == before + 1


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrence(kind):
    """Layers in both directions, of a batch and of sequences of different lengths."""
    layer = getattr(torch.nn, kind)(5, 4, 2, bidirectional=True)
    there = getattr(torch.nn, kind)(5, 4, 2, bidirectional=True)
    there.load_state_dict(layer.state_dict())
    there.cuda()
    packed = torch.nn.utils.rnn.pack_padded_sequence(randn(6, 3, 5), torch.tensor([6, 4, 1]))
    for x in (randn(6, 3, 5), packed):
        gradients, results = [], []
        for model, input in ((layer, x), (there, x.to("cuda"))):
            model.zero_grad()
            output, state = model(input)
            output = output if isinstance(output, torch.Tensor) else output.data
            results += [output.detach().cpu(), (state[0] if isinstance(state, tuple) else state).detach().cpu()]
            output.square().sum().backward()
            gradients.append([p.grad.cpu() for p in model.parameters()])
        assert all(torch.allclose(a, b, 1e-4, 1e-5) for a, b in zip(*gradients, strict=True))
        assert all(torch.allclose(a, b, 1e-5, 1e-6) for a, b in zip(results[:2], results[2:], strict=True))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
@pytest.mark.parametrize("memory_format", FORMATS, ids=str)
def test_interpolation(mode, memory_format):
    x = randn(2, 3, 7, 6).contiguous(memory_format=memory_format)
    for size in ((5, 11), (14, 12), (3, 2)):
        both(lambda x: functional.interpolate(x, size, mode=mode), x)
    if mode in ("bilinear", "bicubic"):
        both(lambda x: functional.interpolate(x, (4, 9), mode=mode, align_corners=True), x)
        both(lambda x: functional.interpolate(x, (3, 2), mode=mode, antialias=True), x)
        pixels = torch.randint(0, 256, (1, 3, 7, 6), dtype=torch.uint8, generator=torch.Generator().manual_seed(2))
        assert near(functional.interpolate(pixels, (9, 4), mode=mode), functional.interpolate(pixels.cuda(), (9, 4), mode=mode))


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample(mode, padding):
    grid = randn(2, 5, 4, 2, seed=2)
    both(lambda x, g: functional.grid_sample(x, g, mode, padding, False), randn(2, 3, 6, 7), grid, places=64)
    if mode != "bicubic":
        grid = randn(1, 2, 3, 4, 3, seed=2)
        both(lambda x, g: functional.grid_sample(x, g, mode, padding, True), randn(1, 2, 4, 5, 6), grid, places=64)


def test_ctc_loss():
    logs = randn(7, 2, 5).log_softmax(-1)
    targets, steps, labels = torch.tensor([[1, 2, 2], [3, 1, 0]]), torch.tensor([7, 5]), torch.tensor([3, 2])
    both(lambda x: functional.ctc_loss(x, targets.to(x.device), steps, labels, reduction="none"), logs, places=64)
    with pytest.raises(IndexError, match="ctc_loss: targets must be classes"):
        functional.ctc_loss(logs.cuda(), targets.cuda() + 3, steps, labels)


def test_embedding_bag():
    weight, indices, offsets = randn(10, 3), torch.tensor([1, 5, 2, 2, 9]), torch.tensor([0, 2, 2])
    for mode in ("sum", "mean", "max"):
        both(lambda w: functional.embedding_bag(indices.to(w.device), w, offsets.to(w.device), mode=mode), weight)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_optimizers(name):
    found = []
    for device in ("cpu", "cuda"):
        parameter = torch.nn.Parameter(randn(300).to(device))
        optimizer = getattr(torch.optim, name)([parameter], lr=0.1, fused=True, weight_decay=0.1)
        for seed in range(3):
            parameter.grad = randn(300, seed=seed).to(device)
            optimizer.step()
        found.append(parameter.detach())
    assert near(*found)
