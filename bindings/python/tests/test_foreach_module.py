"""torch.foreach: functions over lists of tensors."""

import pytest

import libtensor as torch


def test_results_are_tuples_and_in_place_returns_the_list():
    inputs = [torch.ones(2), torch.zeros(3)]
    made = torch.foreach.add(inputs, 1)
    assert isinstance(made, tuple) and [t.tolist() for t in made] == [[2, 2], [1, 1, 1]] and inputs[0].tolist() == [1, 1]
    assert torch.foreach.add_(inputs, 1) is inputs and inputs[1].tolist() == [1, 1, 1]
    assert torch.foreach.zero_(tuple(inputs))[0] is inputs[0] and inputs[0].tolist() == [0, 0]


@pytest.mark.parametrize("name", [name for name in torch.foreach.__all__ if not name.endswith("_")])
def test_names_have_the_operators_of_lists(name):
    function = getattr(torch.foreach, name)
    assert function.__name__ == name and function.__doc__
    tensors = [torch.full((2, 2), 0.5), torch.full((1, 1), 0.25)]
    extra = {
        "addcdiv": [tensors, tensors],
        "addcmul": [tensors, tensors],
        "lerp": [tensors, 0.5],
        "copy": [tensors],
        "norm": [],
        "max": [],
        "clone": [],
    }
    lists = ("add", "sub", "mul", "div", "maximum", "minimum", "clamp_max", "clamp_min", "pow", "mm")
    args = extra.get(name, [tensors] if name in lists else [])
    one = [[arg[k] if isinstance(arg, list) else arg for arg in args] for k in range(2)]
    plain = {"norm": torch.linalg.vector_norm, "max": torch.max, "clone": torch.clone}.get(name) or getattr(torch, name)
    assert all(torch.equal(made, plain(t, *one[k])) for k, (made, t) in enumerate(zip(function(tensors, *args), tensors, strict=True)))


def test_unknown_names_and_empty_lists():
    assert not hasattr(torch.foreach, "mm_") and "add_" in dir(torch.foreach)
    with pytest.raises(RuntimeError, match="at least one tensor"):
        torch.foreach.add([], 1)
