"""vmap of reference cases has the results of a loop: every operator with reference cases, with all of its tensors batched and with each of
them.
"""

import copy
import warnings
from pathlib import Path

import golden_player
import pytest

import libtensor as torch
from libtensor.func import vmap

FILES = sorted((Path(__file__).parent / "golden").glob("*.jsonl.gz"))
PART = 5  # one in this many calls of a file
LARGEST = 500  # elements
REJECTED = (
    "dynamic shape",
    "data-dependent control flow",
    "as_strided is not implemented for batched",
    "as_strided_scatter is not implemented for batched",
    "tensors cannot be resized",
    "changing sizes in place is not implemented",
    "use nn.batch_norm out of place",  # its running statistics are the same for all examples
    "use nn.instance_norm out of place",
)


def flat(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [t for part in tree for t in flat(part)] if isinstance(tree, (tuple, list)) else [tree]


def changed(change, tree):
    if isinstance(tree, dict):
        return {k: changed(change, v) for k, v in tree.items()}
    return type(tree)(changed(change, v) for v in tree) if isinstance(tree, (tuple, list)) else change(tree)


class Recorded:
    """A reference case as a function of its tensors, with two batch elements."""

    def __init__(self, case):
        storages = golden_player.Storages(case.get("storages", []))
        self.args = [golden_player.decode(v, storages) for v in case.get("args", [])]
        self.kwargs = {k: golden_player.decode(v, storages) for k, v in case.get("kwargs", {}).items()}
        self.function = torch
        for part in case["call"].removeprefix("torch.").split("."):
            self.function = getattr(self.function, part)
        self.first = [t for t in flat([self.args, self.kwargs]) if isinstance(t, torch.Tensor)]

    def suits(self):
        return (
            "out" not in self.kwargs
            and self.first
            and all(t.layout is torch.strided and not t.is_quantized and t.numel() <= LARGEST for t in self.first)
        )

    def in_place(self):
        """The call in place of its first tensor, None where it has no such form."""
        name = self.function.__name__
        form = getattr(torch.Tensor, f"{name}_", None)
        if form is None or not self.args or self.args[0] is not self.first[0]:
            return None
        other = copy.copy(self)
        other.function = lambda first, *args, **kwargs: form(first.clone(), *args, **kwargs)
        return other

    def __call__(self, *tensors):
        tensors = iter(tensors)
        args, kwargs = changed(lambda v: next(tensors) if isinstance(v, torch.Tensor) else v, (self.args, self.kwargs))
        return self.function(*args, **kwargs)

    def examples(self):
        """Returns two lists of tensors that the call accepts, and its results; the second list differs if possible."""
        for second in ([t.roll(1, -1) if t.dim() and (t.is_floating_point() or t.is_complex()) else t for t in self.first], self.first):
            try:
                yield second, *(flat(self(*(t.clone() for t in tensors))) for tensors in (self.first, second))
            except Exception:
                continue
            return


def differ(got, want):
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return f"{tuple(got.shape)} of {got.dtype}, not {tuple(want.shape)} of {want.dtype}"
    if not (got.is_floating_point() or got.is_complex()):
        return "" if torch.equal(got, want) else "other elements"
    close = 1e-2 if got.dtype in (torch.float16, torch.bfloat16) else 1e-4
    return "" if torch.allclose(got, want, rtol=close, atol=close / 10, equal_nan=True) else "other elements"


def problem(call, mapped):
    for second, *both in call.examples():
        results = [r for list_ in both for r in list_]
        if not all(isinstance(r, torch.Tensor) and r.layout is torch.strided and not r.is_quantized for r in results):
            return ""
        if [r.shape for r in both[0]] != [r.shape for r in both[1]]:
            return ""
        given = [torch.stack([t, s]) if i in mapped else t.clone() for i, (t, s) in enumerate(zip(call.first, second, strict=True))]
        if mapped != set(range(len(given))):
            alone = [s if i in mapped else t for i, (t, s) in enumerate(zip(call.first, second, strict=True))]
            try:
                both[1] = flat(call(*(t.clone() for t in alone)))
            except Exception:
                continue
        try:
            got = flat(vmap(call, in_dims=tuple(0 if i in mapped else None for i in range(len(given))))(*given))
        except RuntimeError as e:
            return "" if any(words in str(e) for words in REJECTED) else f"rejected: {e}"
        return next((d for g, a, b in zip(got, *both, strict=True) if (d := differ(g, torch.stack([a, b])))), "")
    return ""


@pytest.mark.parametrize("letter", sorted({path.name[0] for path in FILES}))
def test_reference_calls(letter):
    wrong = []
    for path in FILES:
        if path.name[0] != letter:
            continue
        for number, case in enumerate(golden_player.cases(path)):
            if number % PART or "raises" in case or "out_meta" in case or "call" not in case:
                continue
            try:
                call = Recorded(case)
            except (AttributeError, ValueError, TypeError):
                continue  # no function of a name in the package, or arguments of another kind
            if not call.suits():
                continue
            tried = [("", call)]
            if form := call.in_place():
                tried.append((" in place", form))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for how, form in tried:
                    # A tensor that is the same for all is not written to.
                    alone = [frozenset({i}) for i in range(len(call.first)) if i == 0 or not how]
                    for mapped in {frozenset(range(len(call.first))), *alone}:
                        if why := problem(form, set(mapped)):
                            wrong.append(f"{case['call']} {number} of {path.name}{how}, mapped over {sorted(mapped)}: {why}")
    assert not wrong, "\n".join(wrong[:20])
