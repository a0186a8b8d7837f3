"""The command lines for exported programs: tensor-run, a C program, and python -m libtensor.export."""

import subprocess
import sys
from pathlib import Path

import exported_writer as w
import pytest

import libtensor as torch

TENSOR_RUN = Path(__file__).parents[3] / "build/tensor-run"
ROWS = w.meta("float32", [w.symbol("s0"), 2])


@pytest.fixture
def program(tmp_path):
    """A program that returns x + 2 y and the ReLU of the sum, and was exported for the number 3."""
    nodes = [w.aten("add.Tensor", "sum", "x", "y", alpha=2), w.aten("relu.default", "positive", "sum")]
    text = w.model(
        {"x": ROWS, "y": ROWS}, nodes, ["sum", "positive"], constants=[("n", {"as_int": 3})], values={"sum": ROWS, "positive": ROWS}
    )
    return w.program(text, tmp_path / "m.pt2")


def call(*args, status=0):
    """Runs tensor-run; returns the text on stdout, or on stderr if the status is not 0."""
    done = subprocess.run([TENSOR_RUN, *map(str, args)], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done
    return done.stderr if status else done.stdout


def export(*args):
    return subprocess.run(
        [sys.executable, "-m", "libtensor.export", *map(str, args)], capture_output=True, text=True, timeout=60, check=True
    ).stdout


def test_missing_inputs_are_ones(program):
    lines = call(program)
    assert lines == "sum: tensor([[3., 3.],\n        [3., 3.]])\npositive: tensor([[3., 3.],\n        [3., 3.]])\n"
    assert export("run", program).replace("sum: ", "") == lines.replace("sum: ", "")


def test_symbolic_sizes_are_options(program):
    assert call(program, "--size", "s0=1") == "sum: tensor([[3., 3.]])\npositive: tensor([[3., 3.]])\n"
    assert export("run", program, "--size", "s0=1") == call(program, "-s", "s0=1")


def test_inputs_and_outputs_are_files(program, tmp_path):
    x, y = torch.tensor([[1.0, -2.0]]), torch.tensor([[0.5, 0.25]])
    torch.save_npy(x, tmp_path / "x.npy"), torch.save_npy(y, tmp_path / "y.npy")
    files = (tmp_path / "a.npy", tmp_path / "b.npy")
    assert call(program, "-i", tmp_path / "x.npy", "-i", tmp_path / "y.npy", "-o", files[0], "-o", files[1]) == ""
    assert torch.load_npy(files[0]).tolist() == [[2, -1.5]] and torch.load_npy(files[1]).tolist() == [[2, 0]]


def test_inspection_describes_inputs_and_outputs(program):
    text = call(program, "--inspect")
    assert "inputs:\n  x: float32[s0, 2]\n  y: float32[s0, 2]\n  n: int = 3\noutputs:\n  sum: float32[s0, 2]\n" in text
    assert text.endswith("weights: 0 tensors, 0 bytes\n")
    assert "n: int" in export("inspect", program)


def test_times_name_the_threads(program):
    assert "1 threads\n" in call(program, "--bench", "--threads", 1)


def table(text):
    """The calls and the shares of operators, by name, of a table of times."""
    lines = text[text.index("operator ") :].splitlines()
    assert lines[0].split() == ["operator", "calls", "ms", "a", "run", "share"]
    return {line[:36].strip(): (int(line.split()[-4]), float(line.split()[-2])) for line in lines[1:]}


def test_times_list_each_operator(program):
    for rows in (table(call(program, "--bench")), table(export("bench", program, "--seconds", "0.1"))):
        assert {name: calls for name, (calls, _) in rows.items()} == {"add": 1, "relu": 1, "between operators": 0}, rows
        assert abs(sum(share for _, share in rows.values()) - 100) < 0.5


@pytest.mark.parametrize(
    "options, fact",
    [
        ([], "the path of a program is missing"),
        (["a.pt2", "b.pt2"], "b.pt2"),
        (["a.pt2", "--size", "s0"], "--size takes NAME=N"),
        (["a.pt2", "--size", "s0=x"], "not s0=x"),
        (["a.pt2", "--threads", "0"], "--threads takes a positive number, not 0"),
        (["a.pt2", "--nonsense"], "--nonsense"),
        (["a.pt2", "--inspect", "-i", "x.npy"], "--inspect runs nothing, so omit --input x.npy"),
        (["a.pt2", "--inspect", "-o", "y.npy"], "--inspect runs nothing, so omit --output y.npy"),
        (["a.pt2", "--size", "s0=3", "--inspect"], "--inspect runs nothing, so omit --size s0=3"),
        (["a.pt2", "--bench", "--inspect"], "--inspect runs nothing, so omit --bench, or call tensor-run twice"),
        (["a.pt2", "--bench", "-o", "y.npy"], "--bench saves no outputs, so omit --output y.npy"),
    ],
)
def test_wrong_options_exit_with_2(options, fact):
    text = call(*options, status=2)
    assert fact in text and "Try tensor-run --help." in text


def test_failures_exit_with_1(program, tmp_path):
    assert "nowhere.pt2" in call(tmp_path / "nowhere.pt2", status=1)
    assert "nowhere.npy" in call(program, "-i", tmp_path / "nowhere.npy", status=1)
    torch.save_npy(torch.ones(3), tmp_path / "x.npy")
    assert "input 0 ('x')" in call(program, "-i", tmp_path / "x.npy", status=1)
    assert "[3]" in call(program, "-i", tmp_path / "x.npy", status=1)


def test_surplus_files_are_errors(program, tmp_path):
    torch.save_npy(torch.ones(2, 2), tmp_path / "x.npy")
    assert "no input for" in call(program, *["-i", tmp_path / "x.npy"] * 3, status=2)
    assert "no output tensor for" in call(program, *["-o", tmp_path / "z.npy"] * 3, status=2)


def test_help_names_every_option():
    text = call("--help")
    assert all(f"--{name}" in text for name in ("input", "output", "size", "load", "inspect", "bench", "threads", "help", "version"))
    assert call("--version") == f"libtensor {torch.__version__}\n"


@pytest.mark.parametrize("size", ["s9=3", "=3", "s=3", "2=2"])
def test_sizes_that_no_input_has_are_rejected(program, size):
    assert f"no input of the program has the size of --size {size}" in call(program, "--size", size, status=2)


def test_the_last_of_repeated_sizes_counts(program):
    assert call(program, "-s", "s0=3", "-s", "s0=1") == "sum: tensor([[3., 3.]])\npositive: tensor([[3., 3.]])\n"


def test_output_that_cannot_be_written_is_an_error(program):
    with open("/dev/full", "w") as full:
        done = subprocess.run([TENSOR_RUN, program], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and "cannot write to standard output: No space left" in done.stderr


@pytest.fixture
def custom(tmp_path):
    """A program that calls two custom operators, and ReLU twice."""
    described = w.meta("float32", [2])
    nodes = [
        w.aten("relu.default", "a", "x"),
        w.node("torch.ops.run.cube.default", "b", x="a"),
        w.node("torch.ops.run.half.default", "c", x="b"),
        w.aten("relu.default", "d", "c"),
    ]
    return w.program(w.model({"x": described}, nodes, ["d"], values=dict.fromkeys("abcd", described)), tmp_path / "custom.pt2")


LIBRARY = """
#include <tensor.h>
static tensor_status scale(void *context, const tensor_value *a, int32_t n, tensor_value *r, int32_t m) {
  (void)n, (void)m;
  r->kind = TENSOR_VALUE_TENSOR;
  return tensor_mul_scalar(a->as.tensor, tensor_float(*(const double *)context), &r->as.tensor);
}
static double factors[] = {8, 0.5};
static tensor_status define(const char *schema, double *factor) {
  int64_t id;
  return tensor_define_operator(schema, scale, NULL, factor, NULL, &id);
}
"""
DEFINE = "tensor_status tensor_library_define(void) {%s return define(SCHEMA, factors + AT); }"
INITIALIZE = "__attribute__((constructor)) static void initialize(void) { define(SCHEMA, factors + AT); }"


def compile_library(path, function, schema, at):
    root = Path(__file__).parents[3]
    text = LIBRARY + function.replace("SCHEMA", f'"{schema}"').replace("AT)", f"{at})")
    path.with_suffix(".c").write_text(text)
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", path, path.with_suffix(".c"), f"-I{root}/include", f"-L{root}/build", "-ltensor"], check=True
    )
    return path


def test_libraries_define_custom_operators(custom, tmp_path):
    first = compile_library(tmp_path / "first.so", DEFINE % "", "run::cube(Tensor x) -> Tensor", 0)
    second = compile_library(tmp_path / "second.so", INITIALIZE, "run::half(Tensor x) -> Tensor", 1)
    libraries = ("--load", first, "-L", second)
    assert call(custom, *libraries) == "d: tensor([4., 4.])\n"
    operators = "operators:\n      2 aten::relu\n      1 run::cube\n      1 run::half\nweights:"
    assert operators in call(custom, *libraries, "--inspect").replace(".default", "")
    names = table(call(custom, *libraries, "--bench"))
    assert {name for name in names if "::" in name} == {"run::cube", "run::half"}
    done = subprocess.run(
        [TENSOR_RUN, custom, "-L", "first.so", "-L", "second.so"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "d: tensor([4., 4.])\n"


def test_libraries_that_fail(custom, tmp_path):
    fact = "2 operators that libtensor does not have: run::cube.default, run::half.default; custom operators have to be defined before"
    assert fact in call(custom, status=1)
    assert "missing.so" in call(custom, "--load", tmp_path / "missing.so", status=1)
    broken = compile_library(tmp_path / "broken.so", DEFINE % "", "run::cube(Tensr x) -> Tensor", 0)
    text = call(custom, "--load", broken, status=1)
    assert "broken.so" in text and "Tensr" in text


OPERATORS = """
import libtensor as torch
@torch.library.custom_op("run::cube", mutates_args=())
def cube(x: torch.Tensor) -> torch.Tensor:
    return x * 8
@torch.library.custom_op("run::half", mutates_args=())
def half(x: torch.Tensor) -> torch.Tensor:
    return x / 2
"""


@pytest.mark.parametrize("name", ["run_operators.py", "run_operators"])
def test_modules_define_custom_operators(custom, tmp_path, name):
    (tmp_path / "run_operators.py").write_text(OPERATORS)

    def run(*args):
        command = [sys.executable, "-m", "libtensor.export", *args]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert run("run", custom, "--import", name).stdout == "d: tensor([4., 4.])\n"
    assert "      1 run.cube.default\n" in run("inspect", custom, "--import", name).stdout
    assert "run::cube" in table(run("bench", custom, "--import", name, "--seconds", "0.1").stdout)
    failed = run("run", custom)
    assert failed.returncode == 1 and "custom operators have to be defined before the program is loaded" in failed.stderr
    (tmp_path / "run_operators.py").write_text("1 / 0")
    failed = run("run", custom, "--import", name)
    assert failed.returncode == 1 and failed.stderr.endswith(f"--import {name}: ZeroDivisionError: division by zero\n")
    assert failed.stderr.count("\n") == 1
