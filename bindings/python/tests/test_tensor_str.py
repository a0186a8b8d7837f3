"""torch._tensor_str: parts of printed forms."""

import pytest

import libtensor as lt

TENSORS = {
    "scalar": lambda: lt.tensor(3.5),
    "lines": lambda: lt.arange(40.0).reshape(2, 20),
    "summary": lambda: lt.ones(30, 40, dtype=lt.float64),
    "grad": lambda: (lt.ones(3, requires_grad=True) * 2),
    "empty": lambda: lt.zeros(0),
    "bool": lambda: lt.tensor(True),
}


@pytest.mark.parametrize("name", TENSORS)
def test_elements_are_those_of_repr(name):
    x = TENSORS[name]()
    contents = lt._tensor_str._tensor_str(x, len("tensor("))
    assert repr(x).startswith("tensor(" + contents)
    assert repr(x)[len("tensor(" + contents)] in ",)"
    assert x.__repr__(tensor_contents=contents) == repr(x)
    assert lt._tensor_str._str(x, tensor_contents="...") == repr(x).replace(contents, "...")


def test_lines_start_with_the_indentation():
    first, *rest = lt._tensor_str._tensor_str(lt.arange(60.0).reshape(2, 30), 12).split("\n")
    assert rest
    assert all(line.startswith((" " * 13 + "[", " " * 14)) for line in rest)
    assert max(len(line) for line in (" " * 12 + first, *rest)) <= 80


def test_suffixes_are_on_a_new_line_where_they_do_not_fit():
    add = lt._tensor_str._add_suffixes
    assert add("Index([1]", ["a", "b"], 6, False) == "Index([1], a, b)"
    assert add("Index([1]", ["a" * 70, "b"], 6, False) == "Index([1],\n      " + "a" * 70 + ", b)"
    assert add("Index([1]", ["a"], 6, True) == "Index([1],\n      a)"


def test_options_are_restored():
    before = lt.get_printoptions()
    with lt._tensor_str.printoptions(precision=2, sci_mode=True):
        assert repr(lt.tensor([1.5])) == "tensor([1.50e+00])"
        assert lt._tensor_str.PRINT_OPTS.precision == 2
    assert lt.get_printoptions() == before
