"""Writes recorded.json: what PyTorch makes of model.py, and NumPy of the first scores, with their versions. record.py needs both;
attention.py compares with what they gave."""

import json
import math
from pathlib import Path

import model
import numpy as np
import torch


def numpy_scores(p: dict[str, np.ndarray], letters: list[int]) -> np.ndarray:
    """The forward pass again, in NumPy."""

    def normalize(x: np.ndarray) -> np.ndarray:
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)

    n, size = len(letters), model.WIDTH // model.HEADS
    x = p["letters"][letters] + p["places"][:n]
    mixed = normalize(x) @ p["attend"]
    heads = []
    for head in range(model.HEADS):
        queries, keys, values = (mixed[:, i * model.WIDTH + head * size :][:, :size] for i in range(3))
        likeness = np.where(np.triu(np.ones((n, n), bool), 1), -np.inf, queries @ keys.T / math.sqrt(size))
        weights = np.exp(likeness - likeness.max(-1, keepdims=True))
        heads.append(weights / weights.sum(-1, keepdims=True) @ values)
    x = x + np.concatenate(heads, 1) @ p["project"]
    x = x + np.tanh(normalize(x) @ p["widen"]) @ p["narrow"]
    return normalize(x) @ p["read"]


def main() -> None:
    learned = model.learn(torch)
    weights = {name: weight.detach().numpy() for name, weight in model.parameters(torch).items()}
    letters = [model.LETTERS.index(c) for c in model.TEXT[:-1]]
    recorded = {
        "PyTorch": torch.__version__.split("+")[0],
        "NumPy": np.__version__,
        "losses": learned["losses"],
        "foretold": learned["foretold"],
        "last scores": {"PyTorch": learned["scores"][-1], "NumPy": numpy_scores(weights, letters)[-1].tolist()},
        "attention": [[round(value, 9) for value in head[-1]] for head in learned["attention"]],
    }
    Path(__file__).with_name("recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
