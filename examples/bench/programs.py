"""Compares the times of exported programs with PyTorch: programs.py [--only GLOB] [--batch N...] [--threads N...] [--rounds N].

PyTorch exports modules of the sizes of ResNet-18, a small vision transformer and the smallest GPT-2, with random weights. libtensor's
`torch.export.load(path).module()`, PyTorch's module of the same file and PyTorch's module before the export run in turn in one process. The
times are medians: of the processor on one thread, of the clock on several. The last columns are the ratio to the faster of PyTorch's two,
and the largest difference of the outputs relative to the largest element."""

import argparse
import fnmatch
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

# Threads that wait for work without sleeping would take the processor from the other library.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import torch
from torch import nn
from torch.nn import functional as F

import libtensor


class Block(nn.Module):
    def __init__(self, given: int, made: int, stride: int) -> None:
        super().__init__()
        self.first, self.norm1 = nn.Conv2d(given, made, 3, stride, 1, bias=False), nn.BatchNorm2d(made)
        self.second, self.norm2 = nn.Conv2d(made, made, 3, 1, 1, bias=False), nn.BatchNorm2d(made)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity() if stride == 1 else nn.Sequential(nn.Conv2d(given, made, 1, stride, bias=False), nn.BatchNorm2d(made))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm2(self.second(self.relu(self.norm1(self.first(x)))))
        y += self.shortcut(x)
        result: torch.Tensor = self.relu(y)
        return result


def resnet18() -> nn.Module:
    blocks = [Block(64, 64, 1), Block(64, 64, 1)]
    for width in (128, 256, 512):
        blocks += [Block(width // 2, width, 2), Block(width, width, 1)]
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Layer(nn.Module):
    """A layer of a transformer that normalizes before attention and before the feed-forward network."""

    def __init__(self, width: int, heads: int, causal: bool, approximate: str) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind()
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.proj(attended.transpose(1, 2).reshape(batch, length, width))
        result: torch.Tensor = x + self.feed(self.norm2(x))
        return result


class VisionTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches, self.head = nn.Conv2d(3, 384, 16, 16), nn.Linear(384, 1000)
        self.first, self.places = nn.Parameter(torch.randn(1, 1, 384)), nn.Parameter(torch.randn(1, 197, 384))
        self.layers, self.norm = nn.Sequential(*[Layer(384, 6, False, "none") for _ in range(12)]), nn.LayerNorm(384)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        result: torch.Tensor = self.head(self.norm(self.layers(x))[:, 0])
        return result


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        self.layers, self.norm = nn.Sequential(*[Layer(768, 12, True, "tanh") for _ in range(12)]), nn.LayerNorm(768)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.table(tokens) + self.places(torch.arange(tokens.shape[1]))
        return F.linear(self.norm(self.layers(x))[:, -1], self.table.weight)


def make_image(batch: int) -> torch.Tensor:
    return torch.randn(batch, 3, 224, 224)


def make_tokens(batch: int) -> torch.Tensor:
    return torch.randint(50257, (batch, 128))


PROGRAMS = {"resnet18": (resnet18, make_image), "vit_small": (VisionTransformer, make_image), "gpt2_small": (Decoder, make_tokens)}


def measure(call: Callable[[], Any], repeat: int, clock: Callable[[], float]) -> float:
    began = clock()
    for _ in range(repeat):
        call()
    return (clock() - began) / repeat


def compare(name: str, batch: int, options: argparse.Namespace) -> None:
    make_module, make_input = PROGRAMS[name]
    torch.manual_seed(0)
    eager, x = make_module().eval(), make_input(batch)
    path = os.path.join(options.directory, f"{name}_{batch}.pt2")
    torch.export.save(torch.export.export(eager, (x,)), path)
    loaded, ours, same = torch.export.load(path).module(), libtensor.export.load(path).module(), libtensor.from_numpy(x.numpy())
    calls = {"libtensor": lambda: ours(same), "ep.module()": lambda: loaded(x), "eager": lambda: eager(x)}
    found, expected = libtensor.tensor(ours(same).tolist()), libtensor.tensor(eager(x).tolist())
    difference = ((found - expected).abs().max() / expected.abs().max()).item()
    for threads in options.threads:
        clock = time.process_time if threads == 1 else time.perf_counter
        libtensor.set_num_threads(threads)
        torch.set_num_threads(threads)
        times: dict[str, list[float]] = {which: [] for which in calls}
        repeat = {which: max(1, int(0.02 / measure(call, 1, clock))) for which, call in calls.items()}
        for _ in range(options.rounds):
            for which, call in calls.items():
                times[which].append(measure(call, repeat[which], clock))
        ratio = statistics.median(a / min(b, c) for a, b, c in zip(*times.values(), strict=True))
        cells = "".join(f"{statistics.median(each) * 1e3:12.2f} ms" for each in times.values())
        print(f"{name:14}{batch:6}{threads:9}{cells}{ratio:8.2f}{difference:12.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="run the programs whose names match a pattern")
    parser.add_argument("--batch", type=int, nargs="+", default=(1,))
    parser.add_argument("--threads", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--directory", help="keep the files of the programs in a directory")
    options = parser.parse_args()
    print(f"{'program':14}{'batch':>6}{'threads':>9}{'libtensor':>15}{'ep.module()':>15}{'eager':>15}{'ratio':>8}{'difference':>12}")
    with tempfile.TemporaryDirectory() as made, torch.no_grad(), libtensor.no_grad():
        options.directory = options.directory or made
        for name in PROGRAMS:
            for batch in options.batch if fnmatch.fnmatch(name, options.only) else ():
                compare(name, batch, options)


if __name__ == "__main__":
    main()
