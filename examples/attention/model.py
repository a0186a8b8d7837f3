"""A transformer of one block that reads characters, in functions of tensors alone: they run under libtensor and under PyTorch, whichever is
given."""

import math
from typing import Any

TEXT = "the cat sat on the mat. the rat sat on the cat."
WIDTH, HEADS, STEPS, RATE = 32, 4, 120, 0.5
LETTERS = sorted(set(TEXT))


def parameters(torch: Any) -> dict[str, Any]:
    """Returns weights for seed 0, which are bitwise identical in both libraries."""
    torch.manual_seed(0)
    shapes = {
        "letters": (len(LETTERS), WIDTH),
        "places": (len(TEXT), WIDTH),
        "attend": (WIDTH, 3 * WIDTH),
        "project": (WIDTH, WIDTH),
        "widen": (WIDTH, 4 * WIDTH),
        "narrow": (4 * WIDTH, WIDTH),
        "read": (WIDTH, len(LETTERS)),
    }
    made = {
        name: torch.randn(*shape, dtype=torch.float64) / math.sqrt(shape[0] if name not in ("letters", "places") else 4)
        for name, shape in shapes.items()
    }
    return {name: weight.requires_grad_() for name, weight in made.items()}


def normalize(x: Any) -> Any:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def forward(torch: Any, p: dict[str, Any], letters: Any) -> tuple[Any, Any]:
    """Returns the logits of the next letter at each position, and the attention weights: (heads, positions, positions)."""
    n = len(letters)
    x = p["letters"][letters] + p["places"][:n]
    queries, keys, values = (normalize(x) @ p["attend"]).reshape(n, 3, HEADS, -1).permute(1, 2, 0, 3).unbind()
    likeness = queries @ keys.transpose(-2, -1) / math.sqrt(WIDTH / HEADS)
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    attention = likeness.masked_fill(later, -math.inf).softmax(-1)
    x = x + (attention @ values).transpose(0, 1).reshape(n, WIDTH) @ p["project"]
    x = x + torch.tanh(normalize(x) @ p["widen"]) @ p["narrow"]
    return normalize(x) @ p["read"], attention


def learn(torch: Any) -> dict[str, Any]:
    """The scores before anything is learned, the loss at each step, the attention afterwards, and the text as it is then foretold."""
    p = parameters(torch)
    letters = torch.tensor([LETTERS.index(c) for c in TEXT])
    given, wanted = letters[:-1], letters[1:]
    first, losses = None, []
    for _ in range(STEPS):
        scores, attention = forward(torch, p, given)
        first = scores.detach() if first is None else first
        loss = -scores.log_softmax(-1).gather(1, wanted.unsqueeze(1)).mean()
        losses.append(loss.item())
        for weight, gradient in zip(p.values(), torch.autograd.grad(loss, list(p.values())), strict=True):
            with torch.no_grad():
                weight -= RATE * gradient
    foretold = "".join(LETTERS[i] for i in scores.argmax(-1).tolist())
    return {"scores": first.tolist(), "losses": losses, "attention": attention.detach().tolist(), "foretold": foretold}
