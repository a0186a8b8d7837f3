"""Modules for the tests of torch.export. exported_programs.json has their programs, which PyTorch 2.15 has loaded and run.

python exported_models.py write           writes exported_programs.json
python exported_models.py save FOLDER     saves the programs, with inputs and outputs, to a folder
python exported_models.py check FOLDER    loads the files of a folder in PyTorch, which must be installed, and compares the outputs
"""

import json
import math
import sys
from pathlib import Path

MODELS = {}


def model(function):
    """Registers a function that returns a module, positional and keyword arguments and dynamic_shapes."""
    MODELS[function.__name__] = function
    return function


def flat(tree):
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in flat(value)]
    return [leaf for value in tree for leaf in flat(value)] if isinstance(tree, (list, tuple)) else [tree]


def define():
    """Defines the models over libtensor; PyTorch only checks files."""
    import libtensor as torch
    from libtensor import nn
    from libtensor.export import Dim

    F = nn.functional

    class Function(nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, *args, **kwargs):
            return self.function(*args, **kwargs)

    @model
    def convolutions():
        torch.manual_seed(0)
        layers = [
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, stride=2),
            nn.GroupNorm(4, 16),
        ]
        layers += [nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)]
        return nn.Sequential(*layers).eval(), (torch.randn(2, 3, 16, 16),), {}, ({0: Dim("b")},)

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

        def forward(self, x):
            batch, length, width = x.shape
            parts = self.qkv(self.first(x)).split(width, dim=2)
            q, k, v = (t.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for t in parts)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).contiguous().view(batch, length, width))
            return x + self.mlp(self.second(x))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(50, 16), nn.Embedding(32, 16)
            self.blocks, self.norm = nn.ModuleList([Block(16, 2) for _ in range(2)]), nn.LayerNorm(16)
            self.head = nn.Linear(16, 50, bias=False)
            self.head.weight = self.tokens.weight

        def forward(self, ids):
            x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))[None]
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    @model
    def decoder():
        torch.manual_seed(0)
        return Decoder().eval(), (torch.randint(0, 50, (2, 7)),), {}, ({0: Dim("b"), 1: Dim("t", max=32)},)

    @model
    def encoder():
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        return nn.TransformerEncoder(layer, 2).eval(), (torch.randn(2, 5, 16),), {}, ({0: Dim("b"), 1: Dim("t")},)

    @model
    def attention():
        torch.manual_seed(0)
        heads = nn.MultiheadAttention(8, 2, batch_first=True).eval()
        return Function(lambda x: heads(x, x, x, need_weights=True)), (torch.randn(2, 3, 8),), {}, None

    @model
    def lstm():
        torch.manual_seed(0)
        return nn.LSTM(8, 12, num_layers=2, batch_first=True, bidirectional=True).eval(), (torch.randn(3, 6, 8),), {}, None

    @model
    def gru():
        torch.manual_seed(0)
        return nn.GRU(8, 12).eval(), (torch.randn(6, 3, 8),), {}, None

    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))
            self.register_buffer("mean", torch.zeros(4))
            self.register_buffer("scale", torch.full((4,), 2.0), persistent=False)
            self.shift = torch.tensor([1.0, 2.0, 3.0, 4.0])

        def forward(self, x):
            self.count.add_(1)
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            return (x - self.mean) / self.count * self.scale + self.shift

    @model
    def buffers():
        torch.manual_seed(0)
        return Counter(), (torch.randn(5, 4),), {}, None

    @model
    def training_batch_norm():
        torch.manual_seed(0)
        return nn.BatchNorm1d(4).train(), (torch.randn(5, 4),), {}, None

    @model
    def structures():
        def function(a, scale=None, extra=None, n=2):
            return {"x": a * scale, "y": [extra["p"] + a, (extra["q"], n, None)]}

        torch.manual_seed(0)
        kwargs = {"scale": torch.tensor(2.0), "extra": {"p": torch.randn(3), "q": torch.randn(2)}}
        return Function(function), (torch.randn(3),), kwargs, None

    @model
    def sizes():
        def function(a):
            n = a.size(0)
            first = a.reshape(n * 2, -1), torch.arange(n) / n, a.new_zeros(n // 2, n + 1), a[: n - 1].repeat(2, 1)
            return *first, a.flatten(), n, a.expand(3, n, 4).sum(0), a.sum() / a.numel()

        torch.manual_seed(0)
        return Function(function), (torch.randn(6, 4),), {}, ({0: Dim("n", min=4, max=100)},)

    @model
    def pooled_sizes():
        def function(x):
            y = F.max_pool1d(x, 2)
            batch, channels, length = y.shape
            return y.view(batch, channels * length), y.reshape(batch * channels, length), y.permute(0, 2, 1).reshape(-1, channels)

        torch.manual_seed(0)
        return Function(function), (torch.randn(2, 3, 10),), {}, ({0: Dim("b"), 2: Dim("t", min=4)},)

    @model
    def products():
        k = Dim("k")
        shapes = ({0: Dim("n"), 1: k}, {0: k, 1: Dim("m")})
        torch.manual_seed(0)
        return Function(lambda a, b: (a @ b, a.sum() + b.sum(), a.view(-1).shape[0])), (torch.randn(3, 4), torch.randn(4, 5)), {}, shapes

    @model
    def derived_sizes():
        n = Dim("n", max=10)
        return Function(lambda x, y: x.sum() + y.sum()), (torch.ones(3, 2), torch.ones(7, 2)), {}, ({0: n}, {0: 2 * n + 1})

    @model
    def indices():
        def function(x, i, mask):
            first = x[i], x[:, None, 1:3], x[..., -1], x.gather(1, i[:, None]), torch.where(mask, x, 0.0), x.masked_fill(mask, 1.0)
            return *first, x.index_select(0, i), x[i, i % 4], x.scatter(1, i[:, None], 2.0)

        torch.manual_seed(0)
        return Function(function), (torch.randn(5, 4), torch.tensor([0, 2, 1, 3, 0]), torch.rand(5, 4) > 0.5), {}, None

    @model
    def orders():
        def function(x):
            first = *x.sort(-1), *x.topk(2), x.argmax(1), x.max(1).values, x.cumsum(0), x.median(1).values
            return *first, x.kthvalue(2).values, x.std(1), x.var(0, unbiased=False)

        torch.manual_seed(0)
        return Function(function), (torch.randn(4, 5),), {}, None

    @model
    def pointwise():
        def function(x):
            found = [
                x.sin(),
                x.exp(),
                x.abs().sqrt(),
                x.sigmoid(),
                x.tanh(),
                x.erf(),
                x.pow(2),
                x**3,
                2**x,
                1 / x,
                x // 2,
                x % 2,
                -x,
                x.clamp(-1, 1),
            ]
            found += [x.round(), torch.atan2(x, x + 1), F.gelu(x), F.softplus(x), F.hardswish(x), F.mish(x), F.elu(x), F.leaky_relu(x, 0.1)]
            found += [x.logsumexp(-1, keepdim=True).expand_as(x), F.softmax(x, -1), F.log_softmax(x, -1), F.normalize(x, dim=-1)]
            return torch.stack(found), x > 0, (x > 0) & (x < 1), ~(x > 0), x.int(), x.to(torch.float64), x.half().float(), x.long().float()

        torch.manual_seed(0)
        return Function(function), (torch.randn(3, 4),), {}, None

    @model
    def losses():
        def function(x, y):
            found = (
                F.cross_entropy(x, y),
                F.mse_loss(x, x * 0.5),
                F.binary_cross_entropy_with_logits(x, torch.ones_like(x)),
                F.smooth_l1_loss(x, x * 2),
            )
            return *found, F.kl_div(x.log_softmax(-1), x.softmax(-1), reduction="batchmean"), F.nll_loss(x.log_softmax(-1), y)

        torch.manual_seed(0)
        return Function(function), (torch.randn(4, 5), torch.tensor([0, 1, 2, 4])), {}, None

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter, self.down = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, stride=2, padding=1)
            self.up, self.leave = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv2d(8, 1, 1)

        def forward(self, x):
            a = self.enter(x).relu()
            y = self.leave(torch.cat([a, self.up(self.down(a).relu())], 1))
            larger = F.interpolate(a, scale_factor=2, mode="bilinear", align_corners=False), F.interpolate(a, size=(5, 7))
            grid = F.affine_grid(torch.eye(2, 3)[None].expand(x.size(0), -1, -1), list(a.shape), align_corners=False)
            rest = (
                F.pad(a, (1, 1, 2, 2), mode="reflect"),
                F.avg_pool2d(a, 2),
                F.pixel_shuffle(a, 2),
                F.grid_sample(a, grid, align_corners=False),
            )
            return y, *larger, *rest

    @model
    def images():
        torch.manual_seed(0)
        return UNet().eval(), (torch.randn(2, 1, 8, 8),), {}, ({0: Dim("b")},)

    @model
    def contractions():
        def function(a, b):
            return torch.einsum("bij,bjk->bik", a, b), torch.einsum("bij->bi", a), torch.tensordot(a, b, ([2], [1])), torch.bmm(a, b)

        torch.manual_seed(0)
        return Function(function), (torch.randn(2, 3, 4), torch.randn(2, 4, 5)), {}, None

    @model
    def linear_algebra():
        def function(x):
            return x @ x.t(), torch.linalg.inv(x @ x.t() + torch.eye(3, dtype=torch.float64)), torch.linalg.norm(x)

        torch.manual_seed(0)
        return Function(function), (torch.randn(3, 4, dtype=torch.float64),), {}, None

    @model
    def bfloat16():
        torch.manual_seed(0)
        return nn.Linear(4, 3).bfloat16(), (torch.randn(2, 4).bfloat16(),), {}, None

    @model
    def written_input():
        def function(x):
            x.add_(1)
            x[0] = 0
            return x * 2

        torch.manual_seed(0)
        return Function(function), (torch.randn(3, 4),), {}, None

    @model
    def bags():
        torch.manual_seed(0)
        return nn.EmbeddingBag(10, 4, mode="mean"), (torch.tensor([1, 2, 3, 4]), torch.tensor([0, 2])), {}, None

    @model
    def spectra():
        def function(x):
            y = torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True)
            return y.abs(), torch.fft.rfft(x).abs(), torch.view_as_real(torch.fft.fft(x)), math.pi * x

        torch.manual_seed(0)
        return Function(function), (torch.randn(2, 64),), {}, None

    @model
    def normalizations():
        torch.manual_seed(0)
        layers = nn.InstanceNorm1d(4, affine=True), nn.LocalResponseNorm(2), nn.RMSNorm(6), nn.Hardtanh(), nn.PReLU(4)
        return nn.Sequential(*layers).eval(), (torch.randn(2, 4, 6),), {}, None


def text_of(program):
    """Returns the operators, arguments and results of a program's nodes."""
    nodes = program._text["graph_module"]["graph"]["nodes"]
    return [[node["target"], [x["arg"] for x in node["inputs"]], node["outputs"]] for node in nodes]


def programs():
    """Returns the nodes of each program, by name."""
    from libtensor.export import export

    found = {}
    for name, make in MODELS.items():
        module, args, kwargs, shapes = make()
        found[name] = text_of(export(module, args, kwargs, dynamic_shapes=shapes))
    return found


def save(folder):
    import libtensor as torch

    folder.mkdir(parents=True, exist_ok=True)
    for name, make in MODELS.items():
        module, args, kwargs, shapes = make()
        torch.export.save(torch.export.export(module, args, kwargs, dynamic_shapes=shapes), folder / f"{name}.pt2")
        with torch.no_grad():
            torch.save({"args": args, "kwargs": kwargs, "outputs": flat(module(*make()[1], **make()[2]))}, folder / f"{name}.pt")


def check(folder):
    import torch

    for path in sorted(folder.glob("*.pt2")):
        known = torch.load(path.with_suffix(".pt"), weights_only=False)
        with torch.no_grad():
            found = flat(torch.export.load(path).module()(*known["args"], **known["kwargs"]))
        for a, b in zip(found, known["outputs"], strict=True):
            if not isinstance(b, torch.Tensor):
                assert a == b, path.stem
                continue
            tolerance = 2e-2 if b.dtype in (torch.float16, torch.bfloat16) else 1e-4
            assert a.dtype == b.dtype and torch.allclose(a, b, tolerance, tolerance, equal_nan=True), path.stem
        print(f"{path.stem}: {len(found)} outputs agree")


if sys.argv[1:2] == ["check"]:
    check(Path(sys.argv[2]))
else:
    define()
    if __name__ == "__main__" and sys.argv[1:2] == ["save"]:
        save(Path(sys.argv[2]))
    elif __name__ == "__main__":
        text = ",\n".join(f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, nodes)) + "\n]" for name, nodes in programs().items())
        (Path(__file__).parent / "exported_programs.json").write_text("{\n" + text + "\n}\n")
