"""Optimizers with sparse gradients: random programs of embeddings, bags and ties take the steps of strided gradients, or of the formula."""

import random

import pytest

import libtensor as torch
import libtensor.nn.functional as F
from libtensor import nn, optim

STEPS = 20
DENSE_EQUIVALENTS = {
    "SGD": lambda params: optim.SGD(params, lr=0.1),
    "SGD foreach": lambda params: optim.SGD(params, lr=0.1, foreach=True, maximize=True),
    "SGD with momentum": lambda params: optim.SGD(params, lr=0.05, momentum=0.8),
    "SGD with dampening": lambda params: optim.SGD(params, lr=0.05, momentum=0.5, dampening=0.3),
    "SGD by Nesterov": lambda params: optim.SGD(params, lr=0.05, momentum=0.8, nesterov=True),
    "SGD in a tensor": lambda params: optim.SGD(params, lr=torch.tensor(0.1)),
    "Adagrad": lambda params: optim.Adagrad(params, lr=0.2),
    "Adagrad with decay": lambda params: optim.Adagrad(params, lr=0.2, lr_decay=0.1, initial_accumulator_value=0.5, eps=1e-3),
    "Adagrad foreach": lambda params: optim.Adagrad(params, lr=0.2, foreach=True, maximize=True),
}


class Program(nn.Module):
    """A random program over tables of embeddings: some are used several times, some are tied to a linear layer, some tables are bags."""

    def __init__(self, seed, sparse):
        super().__init__()
        self.plan, self.sparse = random.Random(seed), sparse
        self.width, self.rows = self.plan.randint(1, 4), [self.plan.randint(2, 9) for _ in range(self.plan.randint(1, 3))]
        self.tables = nn.ParameterList()
        for rows in self.rows:
            values = [self.plan.uniform(-1, 1) for _ in range(rows * self.width)]
            self.tables.append(nn.Parameter(torch.tensor(values, dtype=torch.float64).reshape(rows, self.width)))
        self.uses = [
            [self.plan.choice(["embedding", "sum", "mean", "gather", "scaled", "tied"]) for _ in range(self.plan.randint(1, 3))]
            for _ in self.rows
        ]

    def forward(self, step):
        r, total = random.Random(step), 0
        for table, rows, uses in zip(self.tables, self.rows, self.uses, strict=True):
            for use in uses:
                total = total + self.used(r, use, table, rows).sin().sum() + self.used(r, use, table, rows).sum()
        return total / 50

    def used(self, r, use, table, rows):
        indices = torch.tensor([r.randrange(rows) for _ in range(6)])
        if use in ("sum", "mean"):
            return F.embedding_bag(indices.reshape(2, 3), table, mode=use, padding_idx=r.randrange(rows), sparse=self.sparse)
        if use == "gather":
            return table.gather(0, indices.reshape(-1, 1), sparse_grad=self.sparse)
        if use == "scaled":
            return F.embedding(indices, table * 2, sparse=self.sparse)
        made = F.embedding(indices, table, padding_idx=r.randrange(rows), sparse=self.sparse)
        return made @ table.t() if use == "tied" else made


@pytest.mark.parametrize("name", DENSE_EQUIVALENTS)
@pytest.mark.parametrize("seed", range(5))
def test_random_programs_take_the_steps_of_strided_gradients(name, seed):
    programs = [Program(seed, sparse) for sparse in (True, False)]
    steps = [DENSE_EQUIVALENTS[name](program.parameters()) for program in programs]
    layouts = set()
    for step in range(STEPS):
        for program, optimizer in zip(programs, steps, strict=True):
            optimizer.zero_grad(set_to_none=seed % 2 == 0)
            program(step).backward()
            layouts |= {(program.sparse, p.grad.layout) for p in program.parameters()}
            optimizer.step()
    for got, want in zip(programs[0].parameters(), programs[1].parameters(), strict=True):
        torch.testing.assert_close(got, want)
    assert (False, torch.sparse_coo) not in layouts
    if not any("tied" in uses for uses in programs[0].uses):
        assert layouts == {(True, torch.sparse_coo), (False, torch.strided)}


@pytest.mark.parametrize("options", [{}, {"betas": (0.5, 0.9)}, {"eps": 1e-3}, {"maximize": True}, {"lr": torch.tensor(0.1)}], ids=str)
def test_sparse_adam_takes_the_steps_of_its_formula(options):
    options = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "maximize": False} | options
    w = torch.linspace(-1, 1, 18, dtype=torch.float64).reshape(6, 3).requires_grad_()
    x = w.detach().clone()
    mean, square = torch.zeros_like(x), torch.zeros_like(x)
    optimizer, plan = optim.SparseAdam([w], **options), random.Random(0)
    beta1, beta2 = options["betas"]
    for step in range(1, STEPS + 1):
        at = torch.tensor([plan.randrange(6) for _ in range(4)])
        optimizer.zero_grad()
        F.embedding(at, w, sparse=True).pow(2).sum().backward()
        optimizer.step()
        rows = at.unique()
        count = torch.tensor([(at == row).sum().item() for row in rows], dtype=x.dtype)
        g = 2 * x[rows] * count[:, None] * (-1 if options["maximize"] else 1)
        mean[rows] = beta1 * mean[rows] + (1 - beta1) * g
        square[rows] = beta2 * square[rows] + (1 - beta2) * g * g
        rate = float(options["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        x[rows] -= rate * mean[rows] / (square[rows].sqrt() + options["eps"])
        torch.testing.assert_close(w.detach(), x)
    state = optimizer.state_dict()["state"][0]
    assert state["step"] == STEPS
    torch.testing.assert_close(state["exp_avg"], mean)
    torch.testing.assert_close(state["exp_avg_sq"], square)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adadelta", "RMSprop", "Rprop", "ASGD"])
def test_other_optimizers_reject_sparse_gradients(name):
    w = torch.ones(3, 2, requires_grad=True)
    F.embedding(torch.tensor([1]), w, sparse=True).sum().backward()
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        getattr(optim, name)([w], lr=0.1).step()
    assert torch.equal(w, torch.ones(3, 2))
    if name == "Adam":
        with pytest.raises(RuntimeError, match="Adam does not support sparse gradients, please consider SparseAdam instead"):
            optim.Adam([w]).step()


def test_rejected_parameters_and_gradients():
    w = torch.ones(3, 2, requires_grad=True)
    sparse, complexes = torch.eye(2).to_sparse().requires_grad_(), torch.ones(2, dtype=torch.complex64, requires_grad=True)
    with pytest.raises(ValueError, match=r"Sparse params at indices \[\[0, 1\]\]: SparseAdam requires dense parameter tensors"):
        optim.SparseAdam([w, sparse])
    with pytest.raises(ValueError, match=r"Complex params at indices \[\[1, 0\]\]: SparseAdam does not support complex parameters"):
        optim.SparseAdam([{"params": [w]}, {"params": [complexes]}])
    w.sum().backward()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        optim.SparseAdam([w]).step()
    w.grad = None
    F.embedding(torch.tensor([1]), w, sparse=True).sum().backward()
    for optimizer, message in (
        (optim.Adagrad([w], weight_decay=0.1), "weight_decay option is not compatible with sparse gradients"),
        (optim.SGD([w], 0.1, fused=True), "does not support sparse gradients"),
        (optim.Adagrad([w], fused=True), "`fused` does not support sparse grad"),
    ):
        with pytest.raises(RuntimeError, match=message):
            optimizer.step()
    assert torch.equal(w, torch.ones(3, 2))


def test_momentum_of_sparse_gradients_rejects_strided_ones():
    w = torch.ones(3, 2, requires_grad=True)
    optimizer = optim.SGD([w], lr=1.0, momentum=0.9)
    F.embedding(torch.tensor([1]), w, sparse=True).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    w.sum().backward()
    with pytest.raises(RuntimeError, match="sum of a sparse and a strided tensor"):
        optimizer.step()
