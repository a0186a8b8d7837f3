"""The objects that consecutive hooks of a tensor are given."""

import threading

import pytest

import libtensor as torch


def run(*hooks, **options):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    for hook in hooks:
        y.register_hook(hook)
    return torch.autograd.grad((y * 3).sum().abs(), x, **options)[0].detach()


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_that_change_nothing_share_an_object(create_graph):
    seen = []
    run(seen.append, lambda g: setattr(g, "mark", 1), lambda g: seen.append(g.mark), seen.append, create_graph=create_graph)
    assert seen[0] is seen[2] and seen[1] == 1 and seen[0].mark == 1
    seen.clear()  # with create_graph the gradient refers to the hooks


def test_the_next_hook_gets_the_replacement():
    made, seen = torch.full((3,), 7.0), []
    grad = run(lambda g: made, seen.append)
    assert seen[0] is made and grad.tolist() == [14, 14, 14]


def test_other_gradients_of_the_same_memory_are_other_objects():
    seen = []
    x = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    y = x * 2
    z = y.conj()
    y.register_hook(seen.append)
    z.register_hook(seen.append)
    (z * (1 + 2j)).sum().backward(torch.tensor(1 + 1j))
    assert seen[0] is not seen[1] and seen[0].tolist() != seen[1].tolist()
    seen.clear()
    run(seen.append)
    run(seen.append)
    assert seen[0] is not seen[1]


def test_sparse_gradients_and_transforms():
    seen = []
    w = torch.ones(4, 2, requires_grad=True)
    w.register_hook(seen.append)
    w.register_hook(seen.append)
    torch.nn.functional.embedding(torch.tensor([1, 1]), w, sparse=True).sum().backward()
    assert [g.layout for g in seen] == [torch.sparse_coo] * 2 and w.grad.to_dense().tolist()[1] == [2, 2]

    def f(x):
        y = x * 2
        y.register_hook(lambda g: g + 1)
        y.register_hook(lambda g: g * 10)
        return (y * 3).sum()

    assert torch.func.grad(f)(torch.ones(2)).tolist() == [80, 80]


def test_threads_have_separate_gradients():
    found = []

    def work(k):
        grad = run(lambda g: g * k, lambda g: found.append((k, g.tolist())))
        assert grad.tolist() == [6.0 * k] * 3

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(k, [3.0 * k] * 3) for k in range(1, 9)]
