"""Compares the times of whole models with PyTorch: models.py [--only GLOB] [--rounds N] [--threads N] [--operators].

ResNet-18, a small vision transformer and a decoder of GPT-2's smallest size, with random weights and no gradients: each is written once in
functions of `nn.functional`, which both libraries run with the same weights, those of one seed. Runs in turn in one process, medians, on
one thread of the processor's time, which others on the machine do not disturb; the last column is how far apart the answers are.
--operators lists which functions take how long in each library."""

import argparse
import fnmatch
import importlib.util
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

# Threads that wait for work without sleeping would take the processor from the other library.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import libtensor

Forward = Callable[[], Any]


def filled(t: Any, *sizes: int) -> Any:
    """Weights that keep the variance of what passes through them."""
    count = 1
    for size in sizes[1:]:
        count *= size
    return t.randn(*sizes) / max(count, 1) ** 0.5


def resnet18(t: Any, F: Any, batch: int) -> Forward:
    def unit(made: int, given: int, kernel: int) -> tuple[Any, ...]:
        return (filled(t, made, given, kernel, kernel), t.zeros(made), t.ones(made), t.ones(made), t.zeros(made))

    def apply(x: Any, w: tuple[Any, ...], stride: int = 1) -> Any:
        x = F.conv2d(x, w[0], None, stride=stride, padding=w[0].shape[-1] // 2)
        return F.batch_norm(x, *w[1:])

    def block(x: Any, w: dict[str, Any], stride: int) -> Any:
        y = F.relu(apply(x, w["first"], stride))
        y = apply(y, w["second"])
        return F.relu(y + (apply(x, w["shortcut"], stride) if "shortcut" in w else x))

    blocks, given = [], 64
    for made in (64, 128, 256, 512):
        for stride in (1 if made == 64 else 2, 1):
            w = {"first": unit(made, given, 3), "second": unit(made, made, 3)}
            if stride == 2:
                w["shortcut"] = unit(made, given, 1)
            blocks.append((w, stride))
            given = made
    stem, fc, images = unit(64, 3, 7), (filled(t, 1000, 512), t.zeros(1000)), t.randn(batch, 3, 224, 224)

    def forward() -> Any:
        x = F.max_pool2d(F.relu(apply(images, stem, 2)), 3, 2, 1)
        for w, stride in blocks:
            x = block(x, w, stride)
        return F.linear(F.adaptive_avg_pool2d(x, 1).flatten(1), *fc)

    return forward


def layers(t: Any, width: int, depth: int) -> list[dict[str, Any]]:
    def linear(made: int, given: int) -> tuple[Any, Any]:
        return filled(t, made, given), t.zeros(made)

    def norm() -> tuple[Any, Any]:
        return t.ones(width), t.zeros(width)

    return [
        {
            "ln1": norm(),
            "qkv": linear(3 * width, width),
            "proj": linear(width, width),
            "ln2": norm(),
            "up": linear(4 * width, width),
            "down": linear(width, 4 * width),
        }
        for _ in range(depth)
    ]


def transformed(F: Any, x: Any, blocks: list[dict[str, Any]], heads: int, causal: bool, approximate: str) -> Any:
    width = x.shape[-1]
    for w in blocks:
        mixed = F.linear(F.layer_norm(x, (width,), *w["ln1"]), *w["qkv"])
        q, k, v = mixed.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4).unbind()
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        x = x + F.linear(attended.transpose(1, 2).flatten(2), *w["proj"])
        up = F.linear(F.layer_norm(x, (width,), *w["ln2"]), *w["up"])
        x = x + F.linear(F.gelu(up, approximate=approximate), *w["down"])
    return x


def vit_small(t: Any, F: Any, batch: int) -> Forward:
    """Patches of 16 x 16 of images of 224 x 224, 12 layers of width 384 with 6 heads."""
    width, blocks = 384, layers(t, 384, 12)
    patches, first, places = (filled(t, width, 3, 16, 16), t.zeros(width)), t.randn(1, 1, width), t.randn(1, 197, width)
    norm, head, images = (t.ones(width), t.zeros(width)), (filled(t, 1000, width), t.zeros(1000)), t.randn(batch, 3, 224, 224)

    def forward() -> Any:
        x = F.conv2d(images, *patches, stride=16).flatten(2).transpose(1, 2)
        x = t.cat([first.expand(batch, -1, -1), x], 1) + places
        x = transformed(F, x, blocks, 6, False, "none")
        return F.linear(F.layer_norm(x[:, 0], (width,), *norm), *head)

    return forward


def gpt2_small(t: Any, F: Any, batch: int) -> Forward:
    """12 layers of width 768 with 12 heads, over 128 tokens; the scores of the next one."""
    width, blocks = 768, layers(t, 768, 12)
    table, places, norm = filled(t, 50257, width), t.randn(1024, width), (t.ones(width), t.zeros(width))
    tokens = t.arange(batch * 128).reshape(batch, 128) * 97 % 50257

    def forward() -> Any:
        x = F.embedding(tokens, table) + places[: tokens.shape[1]]
        x = transformed(F, x, blocks, 12, True, "tanh")
        return F.linear(F.layer_norm(x[:, -1], (width,), *norm), table)

    return forward


MODELS = {"resnet18": resnet18, "vit_small": vit_small, "gpt2_small": gpt2_small}


def timed(call: Forward, repeat: int, clock: Callable[[], float]) -> float:
    began = clock()
    for _ in range(repeat):
        call()
    return (clock() - began) / repeat


def functions(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.nn.functional")


def counted(t: Any, times: dict[str, float], clock: Callable[[], float]) -> SimpleNamespace:
    """The functions, with the time that each takes added up."""

    def watch(name: str) -> Callable[..., Any]:
        function = getattr(functions(t), name)

        def call(*arguments: Any, **named: Any) -> Any:
            began = clock()
            result = function(*arguments, **named)
            times[name] += clock() - began
            return result

        return call

    return SimpleNamespace(**{name: watch(name) for name in WATCHED})


WATCHED = (
    "conv2d batch_norm relu max_pool2d adaptive_avg_pool2d linear layer_norm gelu softmax embedding scaled_dot_product_attention".split()
)


def by_operator(libraries: dict[str, Any], make: Any, batch: int, rounds: int, clock: Callable[[], float]) -> None:
    spent: dict[str, dict[str, float]] = {}
    for library, t in libraries.items():
        spent[library] = defaultdict(float)
        forward = make(t, counted(t, spent[library], clock), batch)
        forward()
        spent[library].clear()
        spent[library]["all"] = sum(timed(forward, 1, clock) for _ in range(rounds))
    for name in sorted({name for each in spent.values() for name in each}, key=lambda name: -spent["libtensor"][name]):
        print(f"    {name:32}" + "".join(f"{spent[library][name] / rounds * 1e3:12.3f} ms" for library in libraries))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="run the models whose names match a pattern")
    parser.add_argument("--batch", type=int, nargs="+", default=(1, 8))
    parser.add_argument("--threads", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--operators", action="store_true", help="list the time of every function")
    options = parser.parse_args()
    libraries: dict[str, Any] = {"libtensor": libtensor}
    if importlib.util.find_spec("torch"):
        libraries["PyTorch"] = importlib.import_module("torch")
    print(f"{'model':14}{'batch':>6}{'threads':>9}" + "".join(f"{name:>15}" for name in libraries) + f"{'ratio':>8}{'apart':>10}")
    for name, make in MODELS.items():
        for batch in options.batch if fnmatch.fnmatch(name, options.only) else ():
            for t in libraries.values():
                t.manual_seed(0)
                t.set_grad_enabled(False)
            forwards = {library: make(t, functions(t), batch) for library, t in libraries.items()}
            ours, theirs = (libtensor.tensor(forwards[library]().tolist()) for library in (*libraries, *libraries)[:2])
            apart = ((ours - theirs).abs().max() / theirs.abs().max()).item()
            for threads in options.threads:
                repeat, times = {}, {library: [] for library in libraries}
                clock = time.process_time if threads == 1 else time.perf_counter
                for library, t in libraries.items():
                    t.set_num_threads(threads)
                    forwards[library]()
                    repeat[library] = max(1, int(0.02 / timed(forwards[library], 1, clock)))
                for _ in range(options.rounds):
                    for library, forward in forwards.items():
                        times[library].append(timed(forward, repeat[library], clock))
                median = {library: statistics.median(each) * 1e3 for library, each in times.items()}
                cells = "".join(f"{value:12.3f} ms" for value in median.values())
                ratio = statistics.median(a / b for a, b in zip(times["libtensor"], times[list(times)[-1]], strict=True))
                print(f"{name:14}{batch:6}{threads:9}{cells}{ratio:8.2f}{apart:10.1e}", flush=True)
                if options.operators:
                    by_operator(libraries, make, batch, options.rounds, clock)


if __name__ == "__main__":
    main()
