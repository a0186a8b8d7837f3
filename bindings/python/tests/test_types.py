"""What type checkers know of the package."""

import doctest
import subprocess
import sys
import textwrap

import pytest

import libtensor as torch
import libtensor.nn.functional as F


def check_types(folder, text, *options):
    pytest.importorskip("mypy")
    script = folder / "script.py"
    script.write_text("import libtensor as torch\nimport libtensor.nn.functional as F\n" + text)
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", *options, str(script)], capture_output=True, text=True, cwd=folder
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_types_of_numbers(tmp_path):
    check_types(tmp_path, "x: float = torch.ones(2).sum().item()\nn: int = torch.ones(2).argmax().item()\nprint(x + n)\n", "--strict")


def test_types_take_one_number_and_lists(tmp_path):
    """Of every parameter that takes a number or a list, in the functions that have stubs by hand."""
    sizes, strides, outputs = ("2", "[2]"), ("1", "(1,)", "None"), ("1", "(1,)", "[None]")
    factors = ("2", "2.0", "[2]", "(2.0,)", "None")
    calls = [f"F.{name}(x, kernel_size={k}, stride={s})" for name in ("max_pool1d", "avg_pool1d") for k in sizes for s in strides]
    calls += [f"F.adaptive_{kind}_pool1d(x, {size})" for kind in ("max", "avg") for size in outputs]
    calls += [f"F.{name}(x, scale_factor={factor})" for name in ("interpolate", "upsample", "upsample_nearest") for factor in factors]
    calls += [f"F.fractional_max_pool2d(x, 2, output_ratio={ratio})" for ratio in ("0.5", "(0.5, 0.5)")]
    calls += [
        "F.max_pool2d(x, 2, return_indices=True)[1]",
        "F.interpolate(x, size=4)",
        "F.interpolate(x, [4])",
        "x.sum(0)",
        "x.sum([0, 1])",
        "x.flip(0)",
    ]
    check_types(tmp_path, "x = torch.ones(1, 1, 8)\n" + "\n".join(calls) + "\n", "--strict")


def test_types_know_every_public_name(tmp_path):
    names = [f"torch.Tensor.{name}" for name in dir(torch.Tensor) if not name.startswith("_")] + [f"torch.{name}" for name in torch.__all__]
    check_types(tmp_path, "\n".join(names) + "\n")


def test_types_know_the_examples_of_the_help(tmp_path):
    def examples():
        for space in (torch, torch.Tensor, F, torch.linalg, torch.fft, torch.special, torch.sparse, torch.signal.windows):
            for name in sorted(set(dir(space)) - {"qscheme"}):
                function = getattr(space, name, None)
                if not name.startswith("_") and callable(function) and ">>>" in (function.__doc__ or ""):
                    lines = [example.source for example in doctest.DocTestParser().get_examples(function.__doc__)]
                    yield name, "".join(lines)

    bodies = {body: name for name, body in examples() if "torch._" not in body and "import " not in body and "def " not in body}
    assert len(bodies) > 800
    text = "".join(f"def {name}_{i}() -> None:\n{textwrap.indent(body, '    ')}\n" for i, (body, name) in enumerate(bodies.items()))
    check_types(tmp_path, text, "--disable-error-code=union-attr", "--disable-error-code=assignment")
