"""Autocast and gradient scaling."""

import io
import pickle
import threading

import pytest

import libtensor as torch
from libtensor import nn
from libtensor.nn import functional as F

B, H, S, D = torch.bfloat16, torch.float16, torch.float32, torch.float64


def square(dtype=S):
    return torch.eye(3, dtype=dtype) + 1


LOWER = {
    "matmul": lambda x: x @ x,
    "matrix and vector": lambda x: torch.matmul(x, x[0]),
    "mm": lambda x: torch.mm(x, x),
    "bmm": lambda x: torch.bmm(x[None], x[None]),
    "addmm": lambda x: torch.addmm(x, x, x),
    "baddbmm": lambda x: torch.baddbmm(x[None], x[None], x[None]),
    "linear": lambda x: F.linear(x, x, x[0]),
    "conv1d": lambda x: F.conv1d(x[None], x[:, :, None]),
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None]),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x[None, None], x[None, None]),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "prelu": lambda x: F.prelu(x, torch.ones(1)),
    "vecdot": lambda x: torch.linalg.vecdot(x, x),
    "multi_dot": lambda x: torch.linalg.multi_dot([x, x, x]),
    "inner": lambda x: torch.inner(x, x),
    "rnn_tanh_cell": lambda x: torch.rnn_tanh_cell(x, x, x, x, x[0], x[0]),
    "rnn_relu_cell": lambda x: torch.rnn_relu_cell(x, x, x, x, x[0], x[0]),
}
SINGLE = {
    "mse_loss": lambda x: F.mse_loss(x, x),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([0, 1, 2])),
    "nll_loss": lambda x: F.nll_loss(x, torch.tensor([0, 1, 2])),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, x),
    "prod": lambda x: x.prod(),
    "trace": lambda x: x.trace(),
    "cdist": lambda x: torch.cdist(x, x),
    "inv": lambda x: torch.linalg.inv(x),
    "svdvals": lambda x: torch.linalg.svdvals(x),
    "quantile": lambda x: torch.quantile(x, 0.5),
    "reflect": lambda x: F.pad(x[None], (1, 1), mode="reflect"),
    "replicate": lambda x: F.pad(x[None, None, None], (1, 1, 1, 1, 1, 1), mode="replicate"),
    "max_unpool1d": lambda x: F.max_unpool1d(x, torch.arange(3).expand(3, 3), 1),
    "max_pool3d": lambda x: F.max_pool3d(x[None, None], 1),
    "grid_sample": lambda x: F.grid_sample(x[None, None], x[None, :, :2, None].expand(1, 3, 2, 2), align_corners=False),
}
AS_GIVEN = {
    "add": lambda x: x + x,
    "exp": torch.exp,
    "softmax": lambda x: x.softmax(0),
    "sum": lambda x: x.sum(),
    "mv": lambda x: torch.mv(x, x[0]),
    "layer_norm": lambda x: F.layer_norm(x, (3,)),
    "circular": lambda x: F.pad(x[None], (1, 1), mode="circular"),
    "reflect in three dimensions": lambda x: F.pad(x[None, None, None].expand(1, 1, 2, 3, 3), (1,) * 6, mode="reflect"),
    "avg_pool2d": lambda x: F.avg_pool2d(x[None], 1),
}


@pytest.mark.parametrize("low", [B, H])
@pytest.mark.parametrize("given", [S, B, H])
def test_matrix_products_run_in_lower_precision_and_losses_in_float32(low, given):
    with torch.autocast("cpu", dtype=low):
        for name, f in LOWER.items():
            assert f(square(given)).dtype is low, name
        for name, f in SINGLE.items():
            assert f(square(given)).dtype is S, name
        for name, f in AS_GIVEN.items():
            assert f(square(given)).dtype is given, name


def test_autocast_converts_arguments_and_no_others():
    x = square()
    with torch.autocast("cpu"):
        y = x @ x
        assert torch.equal(y, x.to(B) @ x.to(B))
        assert (x.double() @ x.double()).dtype is D
        assert torch.mm(x.to(torch.complex64), x.to(torch.complex64)).dtype is torch.complex64
        assert torch.mm(x.to("meta"), x.to("meta")).dtype is S
        assert torch.mm(x, x, out=torch.empty(3, 3)).dtype is S
        assert x.clone().addmm_(x, x).dtype is S
        assert F.linear(x.to(H), x).dtype is B
    assert (x @ x).dtype is S


def test_joins_promote_to_the_widest():
    x = square()
    with torch.autocast("cpu"):
        assert torch.cat([x, x.to(B)]).dtype is S
        assert torch.stack([x.to(B), x.to(B)]).dtype is B
        assert torch.index_copy(x.to(B), 0, torch.tensor([1]), x[:1]).dtype is S
        assert torch.cat([x, x.to(H)]).dtype is S
        with pytest.raises(RuntimeError, match="Unexpected floating ScalarType in at::autocast::prioritize"):
            torch.cat([x.to(H), x])


def test_contexts_nest_and_restore():
    x = square()
    assert not torch.is_autocast_enabled("cpu")
    outer = torch.autocast("cpu")
    with outer as entered:
        assert entered is outer
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is S
            with outer:
                assert (x @ x).dtype is B
            assert not torch.is_autocast_enabled("cpu")
        with torch.autocast("cpu", dtype=H):
            assert (x @ x).dtype is H
            assert torch.get_autocast_dtype("cpu") is H
        assert torch.get_autocast_dtype("cpu") is B and (x @ x).dtype is B
        with pytest.raises(KeyError), torch.autocast("cpu", dtype=H):
            raise KeyError
        assert (x @ x).dtype is B
    assert not torch.is_autocast_enabled("cpu")


def test_decorator():
    @torch.autocast("cpu", dtype=B)
    def product(x):
        """A product."""
        return x @ x

    assert product(square()).dtype is B
    assert product.__name__ == "product" and product.__doc__ == "A product."
    assert not torch.is_autocast_enabled("cpu")


def test_other_threads_keep_their_mode():
    found = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append((square() @ square()).dtype))
        thread.start()
        thread.join()
    assert found == [S]


def test_gradients_have_the_dtype_of_parameters():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3), nn.LayerNorm(3))
    x, y = torch.rand(8, 1, 4, 4), torch.randint(3, (8,))
    with torch.autocast("cpu"):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    low = [p.grad.clone() for p in model.parameters()]
    assert loss.dtype is S and all(g.dtype is S for g in low)
    model.zero_grad()
    F.cross_entropy(model(x), y).backward()
    for a, p in zip(low, model.parameters(), strict=True):
        torch.testing.assert_close(a, p.grad, rtol=0.2, atol=0.02 + 0.1 * p.grad.abs().max().item())


def test_a_parameter_is_converted_once():
    weight = torch.rand(3, 3, requires_grad=True)
    with torch.autocast("cpu"):
        first, second = weight @ weight, torch.mm(weight, weight)
        nodes = {f for y in (first, second) for f, _ in y.grad_fn.next_functions}
        assert len(nodes) == 1
        torch.clear_autocast_cache()
        third = torch.mm(weight, weight)
        assert not {f for f, _ in third.grad_fn.next_functions} & nodes
    with torch.autocast("cpu", cache_enabled=False):
        y = torch.mm(weight, weight)
        assert len({f for f, _ in y.grad_fn.next_functions}) == 2
    (first.float().sum() + second.float().sum()).backward()
    assert weight.grad.dtype is S


def test_the_cache_follows_changed_parameters_and_grad_mode():
    weight, x = torch.ones(2, 2, requires_grad=True), torch.ones(1, 2)
    with torch.autocast("cpu"):
        with torch.no_grad():
            assert not F.linear(x, weight).requires_grad
        y = F.linear(x, weight)
        assert y.requires_grad
        with torch.no_grad():
            weight.mul_(2)
        assert F.linear(x, weight).tolist() == [[4.0, 4.0]]
        weight.data = torch.zeros(2, 2)
        assert F.linear(x, weight).tolist() == [[0.0, 0.0]]


def test_recurrent_layers():
    x = torch.rand(5, 2, 3)
    for low in (S, B):
        with torch.autocast("cpu"):
            assert nn.LSTM(3, 4)(x.to(low))[0].dtype is B
            assert nn.RNN(3, 4)(x.to(low))[0].dtype is B
            assert nn.GRU(3, 4)(x.to(low))[0].dtype is low
            assert nn.MultiheadAttention(4, 2)(*[torch.rand(5, 2, 4, dtype=low)] * 3)[0].dtype is B


def test_under_transforms():
    x = torch.rand(4, 3, 3)
    with torch.autocast("cpu"):
        assert torch.func.vmap(torch.mm)(x, x).dtype is B
        g = torch.func.grad(lambda w: torch.mm(w, w).float().sum())(x[0])
    assert g.dtype is S


def test_device_types():
    for kind in ("cpu", "cuda", "mps", "xpu", "hpu"):
        assert torch.amp.is_autocast_available(kind)
        assert not torch.is_autocast_enabled(kind)
    assert not torch.amp.is_autocast_available("meta")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(3)
    with pytest.raises(RuntimeError, match="device type at start of device string: foo"):
        torch.autocast("foo")
    with pytest.raises(RuntimeError, match="unsupported"):
        torch.autocast("meta", dtype=B)
    with torch.autocast("mps"):
        assert torch.is_autocast_enabled("mps") and not torch.is_autocast_enabled("cpu")
        assert (square() @ square()).dtype is S
    with pytest.warns(UserWarning, match="CPU Autocast only supports dtypes of"), torch.autocast("cpu", dtype=S):
        assert not torch.is_autocast_enabled("cpu")
    with pytest.warns(DeprecationWarning, match="is_autocast_enabled"):
        assert not torch.is_autocast_cpu_enabled()
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available"):
            assert not torch.autocast("cuda")._enabled


def test_state_without_a_context():
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", H)
    try:
        assert (square() @ square()).dtype is H
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", B)
    assert torch.autocast_increment_nesting() == 1 and torch.autocast_decrement_nesting() == 0
    assert torch.is_autocast_cache_enabled()


@pytest.mark.parametrize("cast_inputs", [None, S])
def test_custom_functions(cast_inputs):
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx, x, y):
            seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
            ctx.save_for_backward(x, y)
            return x @ y

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            seen.append(torch.is_autocast_enabled("cpu"))
            x, y = ctx.saved_tensors
            return (grad @ y.mT).to(x.dtype), (x.mT @ grad).to(y.dtype)

    x = torch.rand(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        z = Product.apply(x @ x, x)
    z.sum().backward()
    assert seen == ([(B, True), True] if cast_inputs is None else [(S, False), False])
    assert z.dtype is (B if cast_inputs is None else S) and x.grad.dtype is S


class Steps:
    """An optimizer that subtracts gradients, and counts."""

    def __init__(self, params):
        self.param_groups, self.count = [{"params": list(params)}], 0

    def step(self):
        self.count += 1
        with torch.no_grad():
            for p in self.param_groups[0]["params"]:
                p -= p.grad


def test_scaler_unscales_skips_and_adapts():
    weight = torch.ones(2, requires_grad=True)
    optimizer, scaler = Steps([weight]), torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    with pytest.raises(AssertionError, match="Attempted unscale_ but _scale is None"):
        scaler.unscale_(optimizer)
    scaler.scale((weight * weight).sum() / 2).backward()
    assert weight.grad.tolist() == [4.0, 4.0]
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="already been called on this optimizer since the last update"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) is being called after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled"):
        pickle.dumps(scaler)
    scaler.update()
    assert weight.tolist() == [0.0, 0.0] and scaler.get_scale() == 4.0 and scaler._get_growth_tracker() == 1
    weight.grad = torch.full((2,), float("inf"))
    assert scaler.step(optimizer) is None and optimizer.count == 1
    scaler.update()
    assert scaler.get_scale() == 2.0
    for _ in range(2):
        weight.grad = torch.ones(2)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 4.0 and optimizer.count == 3
    scaler.update(3.0)
    assert scaler.get_scale() == 3.0


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_fused_optimizers_step_as_others(name):
    found = []
    for fused in (False, True):
        weight = torch.ones(3, requires_grad=True)
        optimizer = getattr(torch.optim, name)([weight], lr=0.1, fused=fused)
        scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
        for i in range(5):
            optimizer.zero_grad()
            scaler.scale((weight * weight).sum()).backward()
            if i == 1:
                weight.grad[0] = float("nan")
            if i == 3:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        assert scaler.get_scale() == 32.0
        found.append(weight.detach())
    torch.testing.assert_close(*found)


def test_scaler_state_and_pickles():
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    state = scaler.state_dict()
    assert state == {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 0}
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(state)
    assert other.state_dict() == state
    again = pickle.load(io.BytesIO(pickle.dumps(other)))
    assert again.state_dict() == state and again.scale(torch.ones(1)).item() == 8.0
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        other.load_state_dict({})


def test_scaler_rejects_wrong_use_and_passes_calls_on():
    scaler = torch.amp.GradScaler("cpu")
    t = torch.ones(1)
    made = scaler.scale([t, (t,)])
    assert made[0].item() == made[1][0].item() == 65536.0
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)
    half = torch.ones(2, dtype=H, requires_grad=True)
    half.grad = torch.ones(2, dtype=H)
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(Steps([half]))
    with pytest.raises(AssertionError, match="growth factor must be > 1"):
        torch.amp.GradScaler("cpu", growth_factor=0.5)
    off = torch.amp.GradScaler("cpu", enabled=False)
    assert off.scale(t) is t and off.get_scale() == 1.0 and off.state_dict() == {} and not off.is_enabled()


def test_steps_of_scaling():
    grads, found = [torch.tensor([1.0, float("nan")]), torch.tensor([2.0])], torch.zeros(())
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor(0.5))
    assert found.item() == 1.0 and grads[0][0].item() == 0.5 and grads[1].item() == 1.0
    with pytest.raises(RuntimeError, match="found_inf must be a 1-element tensor"):
        torch._amp_foreach_non_finite_check_and_unscale_(grads, torch.zeros(2), torch.tensor(0.5))
    scale, tracker = torch.tensor(4.0), torch.tensor(1, dtype=torch.int32)
    torch._amp_update_scale_(scale, tracker, torch.tensor(0.0), 2.0, 0.5, 2)
    assert (scale.item(), tracker.item()) == (8.0, 0)
    torch._amp_update_scale_(scale, tracker, torch.tensor(1.0), 2.0, 0.5, 2)
    assert (scale.item(), tracker.item()) == (4.0, 0)


def test_old_names_warn():
    with pytest.warns(FutureWarning, match="torch.amp.autocast\\('cpu'"):
        old = torch.cpu.amp.autocast()
    with old:
        assert (square() @ square()).dtype is B
    with pytest.warns(FutureWarning, match="torch.amp.GradScaler\\('cpu'"):
        assert torch.cpu.amp.GradScaler().is_enabled()
    with pytest.warns(FutureWarning, match="torch.amp.custom_fwd"):
        torch.cuda.amp.custom_fwd(lambda ctx: ctx)
