"""Compares the steps of a language model that decodes one token with PyTorch: decode.py [--only GLOB] [--threads N...] [--rounds N].

Weights and cached keys are larger than the processor's caches, as those of a model are, since each call uses other ones. `linear`
multiplies one row with weights of shape (outputs, inputs), `matmul` one with a matrix of shape (inputs, outputs), and `attention`
computes one query for cached keys, also for keys that are stored as (batch, keys, heads, features). `decoder` is a decoder of the Llama
architecture (width 1024, 8 layers, 16 heads of queries and 4 of keys) for a prompt of 128 tokens, and for one token after it. Both
libraries run the same functions in turn in one process. Times are medians of the clock.
"""

import argparse
import fnmatch
import os
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

# Threads that wait for work without sleeping would take the processor from the other library.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import torch

import libtensor

DTYPES = ("float32", "bfloat16", "float16")
UNCACHED = 200 << 20  # bytes of the operands that are used in turn
WIDTH, LAYERS, HEADS, SHARED, HIDDEN, TOKENS, PROMPT = 1024, 8, 16, 4, 2816, 8192, 128

Call = Callable[[], Any]
Made = tuple[Call, int, int]  # the calls, how many they are, and the bytes that one reads


def make_rows(library: Any, dtype: str, inputs: int, outputs: int, transposed: bool) -> Made:
    size = inputs * outputs * getattr(library, dtype).itemsize
    row = library.rand(1, inputs).to(getattr(library, dtype))
    shape = (outputs, inputs) if transposed else (inputs, outputs)
    weights = [library.rand(shape).to(getattr(library, dtype)) for _ in range(max(2, UNCACHED // size))]
    multiply = library.nn.functional.linear if transposed else library.matmul
    return lambda: [multiply(row, weight) for weight in weights], len(weights), size


def make_attention(library: Any, dtype: str, heads: int, keys: int, features: int, adjacent: bool) -> Made:
    size = 2 * heads * keys * features * getattr(library, dtype).itemsize

    def make(length: int) -> Any:
        shape = (1, heads, length, features) if adjacent else (1, length, heads, features)
        value = library.rand(shape).to(getattr(library, dtype))
        return value if adjacent else value.transpose(1, 2)

    query, cache = make(1), [(make(keys), make(keys)) for _ in range(max(2, UNCACHED // size))]
    return lambda: [library.nn.functional.scaled_dot_product_attention(query, k, v) for k, v in cache], len(cache), size


class Decoder:
    """The functions of a decoder in one of the libraries."""

    def __init__(self, library: Any, dtype: str) -> None:
        self.library, self.functions = library, library.nn.functional
        features = WIDTH // HEADS

        def make(*shape: int) -> Any:
            return (library.randn(shape) * 0.02).to(getattr(library, dtype))

        shapes = {
            **dict.fromkeys(("first", "second"), (WIDTH,)),
            **dict.fromkeys(("query", "out"), (WIDTH, WIDTH)),
            **dict.fromkeys(("key", "value"), (SHARED * features, WIDTH)),
            **dict.fromkeys(("gate", "up"), (HIDDEN, WIDTH)),
            "down": (WIDTH, HIDDEN),
        }
        self.table, self.head = make(TOKENS, WIDTH), make(TOKENS, WIDTH)
        self.layers = [{name: make(*shape) for name, shape in shapes.items()} for _ in range(LAYERS)]
        self.frequencies = 10000.0 ** (library.arange(0, features, 2) / -features)

    def rotate(self, x: Any, angles: Any) -> Any:
        half = x.chunk(2, -1)
        return x * angles.cos().to(x.dtype) + self.library.cat((-half[1], half[0]), -1) * angles.sin().to(x.dtype)

    def run(self, tokens: Any, cache: list[tuple[Any, Any]] | None) -> tuple[Any, list[tuple[Any, Any]]]:
        """Returns the logits of the last token, and the keys and values of all tokens."""
        library, f = self.library, self.functions
        length, begin = tokens.shape[1], cache[0][0].shape[2] if cache else 0
        angles = library.arange(begin, begin + length).unsqueeze(1) * self.frequencies
        angles, kept = library.cat((angles, angles), -1), []
        x = f.embedding(tokens, self.table)
        for i, w in enumerate(self.layers):
            y = f.rms_norm(x, (WIDTH,), w["first"], 1e-5)
            q, k, v = (f.linear(y, w[name]).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for name in ("query", "key", "value"))
            q, k = self.rotate(q, angles), self.rotate(k, angles)
            if cache:
                k, v = library.cat((cache[i][0], k), 2), library.cat((cache[i][1], v), 2)
            kept.append((k, v))
            y = f.scaled_dot_product_attention(q, k, v, is_causal=length > 1, enable_gqa=True)
            x = x + f.linear(y.transpose(1, 2).flatten(2), w["out"])
            y = f.rms_norm(x, (WIDTH,), w["second"], 1e-5)
            x = x + f.linear(f.silu(f.linear(y, w["gate"])) * f.linear(y, w["up"]), w["down"])
        return f.linear(x[:, -1:], self.head), kept


def make_decoder(library: Any, dtype: str, one: bool) -> Made:
    decoder = Decoder(library, dtype)
    prompt, token = library.arange(PROMPT).unsqueeze(0), library.arange(1).unsqueeze(0)
    if not one:
        return lambda: decoder.run(prompt, None), 1, 0
    cache = decoder.run(prompt, None)[1]
    return lambda: decoder.run(token, cache), 1, 0


def list_cases() -> Iterator[tuple[str, Callable[[Any, str], Made]]]:
    for inputs, outputs in ((1024, 1024), (1024, 2816), (4096, 4096)):
        for transposed in (True, False):
            name = f"{'linear' if transposed else 'matmul'} {inputs} to {outputs}"
            yield name, partial(make_rows, inputs=inputs, outputs=outputs, transposed=transposed)
    for heads, keys, features in ((32, 1024, 64), (16, 4096, 128)):
        for adjacent in (True, False):
            name = f"attention {heads} heads, {keys} {'keys' if adjacent else 'transposed keys'} of {features}"
            yield name, partial(make_attention, heads=heads, keys=keys, features=features, adjacent=adjacent)
    yield "decoder, prompt", partial(make_decoder, one=False)
    yield "decoder, one token", partial(make_decoder, one=True)


def compare(make: Callable[[Any, str], Made], dtype: str, threads: int, rounds: int) -> tuple[float, float, int]:
    """Returns the seconds of a call in libtensor and in PyTorch, and the bytes that it reads."""
    libraries = (libtensor, torch)
    for library in libraries:
        library.set_num_threads(threads)
    made = [make(library, dtype) for library in libraries]
    times: list[list[float]] = [[], []]
    for _ in range(rounds + 1):
        for (call, count, _), taken in zip(made, times, strict=True):
            began = time.perf_counter()
            call()
            taken.append((time.perf_counter() - began) / count)
    ours, theirs = (statistics.median(taken[1:]) for taken in times)
    return ours, theirs, made[0][2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="run the cases whose names match a pattern")
    parser.add_argument("--dtype", nargs="+", default=DTYPES, choices=DTYPES)
    parser.add_argument("--threads", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(f"{'case':48}{'dtype':10}{'threads':>8}{'libtensor':>13}{'GB/s':>8}{'PyTorch':>13}{'ratio':>8}")
    with torch.no_grad(), libtensor.no_grad():
        for name, make in list_cases():
            for threads in options.threads if fnmatch.fnmatch(name, options.only) else ():
                for dtype in options.dtype:
                    ours, theirs, size = compare(make, dtype, threads, options.rounds)
                    rate = f"{size / ours / 1e9:.1f}" if size else ""
                    times = f"{ours * 1e3:10.3f} ms{rate:>8}{theirs * 1e3:10.3f} ms{ours / theirs:8.2f}"
                    print(f"{name:48}{dtype:10}{threads:8}{times}", flush=True)


if __name__ == "__main__":
    main()
