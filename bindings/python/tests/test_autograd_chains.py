"""Views of views that are written to: gradients go back in one step if the indices determine it, otherwise view by view."""

import pytest

import libtensor as torch

# A base of 24 elements and the views of it, each a view of the one before.
CHAINS = {
    "slices": ([4, 6], [lambda t: t[1:], lambda t: t[:, 2:], lambda t: t[1:]]),
    "steps": ([24], [lambda t: t[::2], lambda t: t[1::3], lambda t: t[:2]]),
    "turned": ([4, 6], [lambda t: t.t(), lambda t: t[1:], lambda t: t.t(), lambda t: t[::2]]),
    "sizes": ([24], [lambda t: t.view(2, 3, 4), lambda t: t.permute(2, 0, 1), lambda t: t[1:3], lambda t: t.unsqueeze(1)]),
    "diagonals": ([2, 3, 4], [lambda t: t.diagonal(0, 1, 2), lambda t: t[:, 1:], lambda t: t.diagonal()]),
    "windows side by side": ([24], [lambda t: t.unfold(0, 4, 4), lambda t: t[:, 1:], lambda t: t[2]]),
    "places": ([24], [lambda t: t.as_strided([3, 4], [5, 1], 2), lambda t: t[1:], lambda t: t.as_strided([2, 2], [5, 1], 8)]),
    "elements of none": ([4, 6], [lambda t: t[1:], lambda t: t[:, 6:], lambda t: t.view(0)]),
    "a base that lies in steps": ([2, 12], [lambda t: t[0], lambda t: t[1:], lambda t: t.view(11)[::2]]),
}
# Of which the last one alone has no element twice.
OVERLAPPING = {
    "windows": ([24], [lambda t: t.unfold(0, 4, 2), lambda t: t[:, 1:], lambda t: t[::2]]),
    "parts of windows": ([24], [lambda t: t.unfold(0, 4, 2), lambda t: t[1:], lambda t: t[:, 0]]),
    "one element many times": ([24], [lambda t: t[3:5], lambda t: t[1:], lambda t: t.expand(5), lambda t: t[1:2]]),
    "one row many times": ([4, 6], [lambda t: t[1], lambda t: t.expand(3, 6), lambda t: t[1], lambda t: t[::2]]),
    "places": ([24], [lambda t: t.as_strided([3, 4], [2, 1], 2), lambda t: t[1:], lambda t: t[:, :2]]),
}
PARTS = {
    "real": [lambda t: t[1:], lambda t: t.real, lambda t: t[:, 1:]],
    "imag": [lambda t: t.t(), lambda t: t.imag, lambda t: t[1:]],
    "view_as_real": [lambda t: t[1:], torch.view_as_real, lambda t: t[..., 1], lambda t: t[1:]],
    "view_as_complex": [torch.view_as_real, lambda t: t[1:], torch.view_as_complex, lambda t: t[:, 2:]],
}
# Bases with other memory orders than that of their elements.
BASES = {
    "itself": lambda t: t * 1,
    "turned": lambda t: (t * 1).transpose(0, -1).contiguous().transpose(0, -1),
    "in steps": lambda t: torch.stack([t, t], -1)[..., 1],
}


def written(views, base, at, factor):
    """What becomes of a base, and of all views in a chain, where view number `at` is written to."""
    tensors = [base]
    for i, view in enumerate(views):
        tensors.append(view(tensors[-1]))
        if i == at:
            tensors[-1].copy_(tensors[-1].clone().sin() * factor)
    return [t * (i + 2) for i, t in enumerate(tensors)]


def check(views, x, base, places):
    factor = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    for at in places:
        assert torch.autograd.gradcheck(lambda x, f, at=at: written(views, base(x), at, f), (x, factor))
        assert torch.autograd.gradgradcheck(lambda x, f, at=at: written(views, base(x), at, f), (x, factor))


@pytest.mark.slow
@pytest.mark.parametrize("chain", CHAINS)
def test_chains_of_views_that_are_written_to(chain):
    torch.manual_seed(1)
    sizes, views = CHAINS[chain]
    check(views, torch.rand(sizes, dtype=torch.float64, requires_grad=True), BASES["itself"], range(len(views)))


@pytest.mark.slow
@pytest.mark.parametrize("base", ["turned", "in steps"])
@pytest.mark.parametrize("chain", ["slices", "turned", "diagonals", "a base that lies in steps"])
def test_chains_of_views_of_bases_with_other_layouts(chain, base):
    torch.manual_seed(1)
    sizes, views = CHAINS[chain]
    views = views[: 2 if "steps" in chain else None]
    check(views, torch.rand(sizes, dtype=torch.float64, requires_grad=True), BASES[base], range(len(views)))


@pytest.mark.parametrize("chain", OVERLAPPING)
def test_chains_of_views_that_overlap(chain):
    torch.manual_seed(1)
    sizes, views = OVERLAPPING[chain]
    check(views, torch.rand(sizes, dtype=torch.float64, requires_grad=True), BASES["itself"], [len(views) - 1])


@pytest.mark.slow
@pytest.mark.parametrize("chain", PARTS)
def test_chains_of_views_of_parts_of_complex_numbers(chain):
    torch.manual_seed(2)
    check(PARTS[chain], torch.rand(4, 6, dtype=torch.complex128, requires_grad=True), BASES["itself"], range(len(PARTS[chain])))


def test_a_long_chain():
    x = torch.ones(300, 2, dtype=torch.float64, requires_grad=True)
    base = x * 1
    view = base
    for _ in range(299):
        view = view[1:]
        view.mul_(1.01)
    base.sum().backward()
    assert torch.allclose(x.grad, (1.01 ** torch.arange(300, dtype=torch.float64)).unsqueeze(1).expand(300, 2))


def test_a_chain_that_is_turned_in_place():
    x = torch.rand(2, 3, 4, dtype=torch.float64, requires_grad=True)

    def function(x):
        base = x * 1
        view = base[1]
        view.t_()
        view[1:].mul_(3)
        view.unsqueeze_(0)
        view[:, 0].mul_(view[:, 1].clone())
        return base.clone(), view * 2

    assert torch.autograd.gradcheck(function, (x,)) and torch.autograd.gradgradcheck(function, (x,))
