"""python -m libtensor.export: errors are one line, and every option is used."""

import pytest

import libtensor as torch
from libtensor.export import Dim, export, save
from libtensor.export.__main__ import main


@pytest.fixture
def paths(tmp_path):
    program = export(lambda x: (x + 1, x * 2), (torch.ones(3, 2),), dynamic_shapes=({0: Dim("n")},))
    save(program, tmp_path / "m.pt2")
    torch.save_npy(torch.ones(3, 2), tmp_path / "x.npy")
    torch.save_npy(torch.ones(3, 2, dtype=torch.int64), tmp_path / "wrong.npy")
    (tmp_path / "garbage.pt2").write_bytes(b"no archive")
    return lambda *arguments: [str(tmp_path / x) if "." in x else x for x in arguments]


@pytest.mark.parametrize(
    "arguments, fact",
    [
        (("run", "missing.pt2"), "missing.pt2"),
        (("inspect", "missing.pt2"), "missing.pt2"),
        (("run", "garbage.pt2"), "not a zip archive"),
        (("inspect", "garbage.pt2"), "archive"),
        (("run", "m.pt2", "--input", "wrong.npy"), "int64"),
        (("run", "m.pt2", "--input", "missing.npy"), "missing.npy"),
        (("run", "m.pt2", "--input", "x.npy", "--input", "x.npy"), "has 1 input tensors, but 2 are given"),
        (("run", "m.pt2", "--size", "q=3"), "no input of the program has the size of --size q=3; the sizes are s0"),
        (("run", "m.pt2", *(["--output", "y.npy"] * 3)), "has 2 output tensors"),
        (("bench", "garbage.pt2"), "not a zip archive"),
    ],
)
def test_errors_are_one_line(paths, capsys, arguments, fact):
    assert main(paths(*arguments)) == 1
    error = capsys.readouterr().err
    assert fact in error and error.count("\n") == 1 and error.startswith(f"python -m libtensor.export {arguments[0]}: ")


@pytest.mark.parametrize(
    "arguments", [("bench", "m.pt2", "--seconds", "nan"), ("bench", "m.pt2", "--seconds", "x"), ("run", "m.pt2", "--size", "s0")]
)
def test_wrong_options(paths, capsys, arguments):
    with pytest.raises(SystemExit) as found:
        main(paths(*arguments))
    assert found.value.code == 2 and repr(arguments[-1]) in capsys.readouterr().err


def test_a_program_without_variable_sizes_has_fixed_ones(tmp_path, capsys):
    save(export(lambda x, y: x + y, (torch.ones(3), torch.tensor(2.0))), tmp_path / "m.pt2")
    assert main(["run", str(tmp_path / "m.pt2"), "--size", "s9=3"]) == 1
    assert capsys.readouterr().err.endswith("has the size of --size s9=3; the sizes are fixed\n")


def test_sizes_of_tensors_of_no_dimensions_are_not_listed(tmp_path, capsys):
    program = export(lambda x, y: x + y, (torch.ones(3), torch.tensor(2.0)), dynamic_shapes=({0: Dim("n")}, None))
    save(program, tmp_path / "m.pt2")
    assert main(["run", str(tmp_path / "m.pt2"), "--size", "s9=3"]) == 1
    assert capsys.readouterr().err.endswith("the sizes are s0\n")


def test_each_output_is_saved(paths):
    assert main(paths("run", "m.pt2", "--input", "x.npy", "--output", "y.npy", "--output", "z.npy")) == 0
    assert [torch.load_npy(path).sum().item() for path in paths("y.npy", "z.npy")] == [12, 12]
