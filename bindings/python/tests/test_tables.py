"""Tables recorded from PyTorch 2.15, golden/tables/*.json: promotion, casts, dtypes of results, printed forms, random streams."""

import json
from pathlib import Path

import numpy as np
import pytest
from golden_player import array, short

import libtensor as torch

FOLDER = Path(__file__).parent / "golden" / "tables"
NUMBERS = {"scalar bool": True, "scalar int": 3, "scalar float": 1.5, "scalar complex": 1 + 2j}
# Operators that only take matrices, or reduce or order them.
ON_MATRICES = {
    "matmul",
    "sum",
    "prod",
    "mean",
    "std",
    "var",
    "amax",
    "amin",
    "max",
    "min",
    "argmax",
    "argmin",
    "all",
    "any",
    "cumsum",
    "cumprod",
    "nansum",
    "nanmean",
    "median",
    "mode",
    "logsumexp",
    "norm",
    "count_nonzero",
    "sort",
    "unique",
    "cummax",
    "diff",
}


def table(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def dtype(name):
    return getattr(torch, name)


def outcome(call, *args):
    """The dtypes of what a call returns, or "raises" with the exception's name."""
    try:
        return dtypes_of(call(*args))
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
        return {"raises": type(error).__name__}


def dtypes_of(result):
    return short(result.dtype) if isinstance(result, torch.Tensor) else [dtypes_of(item) for item in result]


def agree(got, want):
    """Returns whether outcomes agree. Exceptions may be of another class than PyTorch's."""
    return got == want or (isinstance(got, dict) and isinstance(want, dict))


def compare(rows):
    wrong = [f"{name}: {got} instead of {want}" for name, got, want in rows if not agree(got, want)]
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def default_dtype():
    before = torch.get_default_dtype()
    yield torch.set_default_dtype
    torch.set_default_dtype(before)


@pytest.mark.parametrize("default", ["float32", "float64"])
def test_promotion(default, default_dtype):
    default_dtype(dtype(default))
    rows = []
    for pair, want in table("promotion")[default].items():
        if pair == "new_tensor":
            rows.append((pair, new_tensors(), want))
        elif pair.startswith("scalar"):
            rows.append((pair, short(torch.result_type(*(NUMBERS[side] for side in pair.split(",")))), want))
        else:
            rows += [(f"{pair} {rule}", got, want[rule]) for rule, got in promotions(*pair.split(",")).items()]
    compare(rows)


def promotions(a, b):
    a = dtype(a)
    vector, zero = torch.ones(2, dtype=a), torch.ones((), dtype=a)
    if b in NUMBERS:
        return {"dim_scalar": short(torch.result_type(vector, NUMBERS[b])), "zero_scalar": short(torch.result_type(zero, NUMBERS[b]))}
    b = dtype(b)
    other, other_zero = torch.ones(2, dtype=b), torch.ones((), dtype=b)
    return {
        "promote_types": short(torch.promote_types(a, b)),
        "dim_dim": short(torch.result_type(vector, other)),
        "dim_zero": short(torch.result_type(vector, other_zero)),
        "zero_dim": short(torch.result_type(zero, other)),
        "zero_zero": short(torch.result_type(zero, other_zero)),
        "can_cast": torch.can_cast(a, b),
    }


def new_tensors():
    made = {
        "bool": torch.tensor(True),
        "int": torch.tensor(1),
        "float": torch.tensor(1.5),
        "complex": torch.tensor(1j),
        "list_int": torch.tensor([1, 2]),
        "list_mixed": torch.tensor([1, 2.5]),
        "empty_list": torch.tensor([]),
        "arange_int": torch.arange(3),
        "arange_float": torch.arange(3.0),
    }
    return {name: short(t.dtype) for name, t in made.items()}


def numbers(kind, texts):
    """Returns the numbers in strings as a tensor of a dtype."""
    read = {"bool": lambda text: text == "True"}.get(kind, complex if "complex" in kind else float if "float" in kind else int)
    return torch.tensor([read(text) for text in texts], dtype=dtype(kind))


def test_casts():
    wrong = []
    for row in table("casts"):
        got = numbers(row["from"], row["input"]).to(dtype(row["to"]))
        if not np.array_equal(array(got), array(numbers(row["to"], row["output"])), equal_nan=True):
            wrong.append(f"{row['from']} to {row['to']}: {got.tolist()} instead of {row['output']}")
    assert not wrong, "\n".join(wrong)


def test_dtypes_that_can_be_written_to():
    rules = {
        "out": lambda target, source: torch.add(source, source, out=target),
        "inplace": lambda target, source: target.add_(source),
        "copy_": lambda target, source: target.copy_(source),
        "setitem": assigned,
    }
    rows = []
    for pair, want in table("out_rules").items():
        a, b = (dtype(name) for name in pair.split("->"))
        for rule, call in rules.items():
            rows.append((f"{pair} {rule}", outcome(call, torch.ones(2, dtype=b), torch.ones(2, dtype=a)), want[rule]))
    compare(rows)


def assigned(target, source):
    target[:] = source
    return target


def test_dtypes_of_results():
    rows = []
    for call, want in table("operator_dtypes").items():
        name, operands = call.removesuffix(")").split("(", 1)
        rows.append((call, outcome(operator_call, name, operands), want))
    compare(rows)


def operator_call(name, operands):
    """Calls as the table's keys name them: add(float32,scalar int), sum(bool,dim=0)."""
    operator = getattr(torch, name)
    kinds = operands.split(",")
    if kinds[-1] == "dim=0":
        return operator(torch.ones(2, 2, dtype=dtype(kinds[0])), dim=0)
    shape = (2, 2) if name in ON_MATRICES and len(kinds) == 1 else (2,)
    made = [NUMBERS[k] if k in NUMBERS else torch.ones(shape, dtype=dtype(k)) for k in kinds]
    if name == "cat":
        return operator(made)
    if name == "where":
        return operator(torch.tensor([True, False]), *made)
    return operator(made[0], made[0]) if name == "matmul" and len(made) == 1 else operator(*made)


def printed():
    for row in table("printed"):
        # Typed storages print as in PyTorch's tutorials; tests/test_storage.py has them.
        if not row["expr"].endswith(".storage()"):
            yield pytest.param(row, id=row["expr"])


@pytest.mark.parametrize("row", printed())
def test_printed(row):
    got = repr(eval(row["expr"], {"torch": torch}))
    assert got.replace("libtensor.", "torch.") == row["repr"]


@pytest.mark.parametrize("row", table("random"), ids=lambda row: f"seed {row['seed']}: {row['expr']}")
def test_random(row):
    torch.manual_seed(row["seed"])
    made = eval(row["expr"], {"torch": torch})
    made = made if isinstance(made, list) else [made]
    assert [(short(t.dtype), list(t.shape)) for t in made] == [(d, size) for d, size, _ in row["values"]]
    for t, (_, _, values) in zip(made, row["values"], strict=True):
        wanted = [complex(v) for v in values]
        assert np.allclose(array(t).reshape(-1), wanted, rtol=1e-5, atol=1e-5)
