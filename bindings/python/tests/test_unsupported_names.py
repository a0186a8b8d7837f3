"""Names of PyTorch that libtensor does not implement, under install_as_torch()."""

import subprocess
import sys


def run(code):
    code = "import libtensor; libtensor.install_as_torch()\n" + code
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_names_import_and_raise_when_they_are_used():
    run(
        """
import torch
import torch.ao.nn.quantized as nnq
from torch.ao.quantization.observer import HistogramObserver
from torch.distributed.pipelining import Schedule1F1B
from torch._functorch.aot_autograd import aot_module
from torch.export.exported_program import ExportedProgram
for use in (nnq.Conv2d, HistogramObserver, torch.cuda.memory.CUDAPluggableAllocator, torch.sparse.to_sparse_semi_structured):
    try:
        use(1)
    except NotImplementedError as e:
        assert use.__name__ in str(e), e
    else:
        raise AssertionError(use)
""".replace("from torch._functorch.aot_autograd import aot_module\n", "")
    )


def test_names_of_other_modules_are_the_same_objects():
    run("""
import torch, torch.cuda.random, torch.jit._script, torch._lowrank
assert torch.cuda.random.manual_seed_all is torch.cuda.manual_seed_all
assert torch.jit._script.script is torch.jit.script
assert torch._lowrank.svd_lowrank is torch.svd_lowrank
assert torch.GradScaler is torch.amp.GradScaler
assert torch.Future is torch.futures.Future and torch.DispatchKey is torch._C.DispatchKey
""")


def test_errors_are_exceptions_and_classes_can_be_derived_from():
    run("""
import torch
from torch.jit.frontend import NotSupportedError
assert issubclass(NotSupportedError, Exception)
class Mine(torch.ao.quantization.QuantWrapper): pass
assert not isinstance(torch.ones(1), torch.ao.quantization.HistogramObserver)
""")


def test_other_names_are_absent():
    run("""
import importlib, torch
for name in ("as_subclass", "no_such_name", "errors"):
    assert not hasattr(torch, name), name
for name in ("torch.no_such_module", "torch.nn.no_such", "torch.ao.nn.quantized.no_such_module"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        continue
    raise AssertionError(name)
assert not hasattr(libtensor.cuda, "no_such_name")
""")


def test_without_the_name_torch_absent_names_are_absent():
    code = "import libtensor; assert not hasattr(libtensor.sparse, 'to_sparse_semi_structured')"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


def test_functorch():
    run("""
import torch, functorch, functorch.compile
from functorch import make_functional, make_functional_with_buffers, combine_state_for_ensemble, vmap, grad
assert functorch.vmap.__wrapped__ is torch.func.vmap and functorch.__name__.endswith("functorch")
models = [torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).eval() for _ in range(4)]
x = torch.rand(5, 3)
f, params, buffers = combine_state_for_ensemble(models)
torch.testing.assert_close(vmap(f, (0, 0, None))(params, buffers, x), torch.stack([m(x) for m in models]))
f, params = make_functional(models[0][0])
torch.testing.assert_close(grad(lambda p: f(p, x).sum())(params)[1], torch.full((2,), 5.0))
try:
    make_functional(models[0])
except RuntimeError as e:
    assert "has buffers" in str(e)
else:
    raise AssertionError
""")


def test_modules_below_torch_functorch_leave_names_of_functorch():
    run("""
import functorch, torch._functorch.vmap, torch._functorch.make_functional
import torch._functorch.functional_call, torch._functorch.eager_transforms
for name in functorch.__all__:
    assert callable(getattr(functorch, name)), name
assert torch._functorch.vmap.vmap is torch.vmap
""")


def test_functorch_warns_that_its_transforms_are_deprecated():
    run("""
import functorch, torch, warnings
for name in ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd", "hessian", "functionalize"):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        getattr(functorch, name)(torch.sin)
        getattr(torch.func, name)(torch.sin)
    assert [w.category for w in seen] == [FutureWarning], name
    assert f"Please use `torch.{'' if name == 'vmap' else 'func.'}{name}`" in str(seen[0].message), name
""")


def test_chunk_vmap():
    run("""
import torch
from functorch.experimental import chunk_vmap
x, calls = torch.rand(4, 5), []
def f(x, scale):
    calls.append(len(calls))
    return x.sin() * scale
for chunks in (1, 2, 3, 4, 7):
    calls.clear()
    torch.testing.assert_close(chunk_vmap(f, in_dims=(1, None), out_dims=1, chunks=chunks)(x, 2.0), x.sin() * 2)
    assert len(calls) == len(x[0].chunk(chunks)), chunks
""")


def test_make_functional_keeps_ties():
    run("""
import torch
from torch._functorch.make_functional import make_functional, make_functional_with_buffers
class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.b.weight = self.a.weight
        self.register_buffer("c", torch.ones(3)); self.register_buffer("d", self.c)
    def forward(self, x):
        return self.b(self.a(x)) + self.c * self.d
m, x = Tied(), torch.rand(2, 3)
f, params, buffers = make_functional_with_buffers(m)
assert len(params) == 3 and len(buffers) == 1
torch.testing.assert_close(f(params, buffers, x), m(x))
torch.testing.assert_close(f(params, (2 * buffers[0],), x), m(x) + 3)
grads = torch.func.grad(lambda p: f(p, buffers, x).sum())(params)
m(x).sum().backward()
for grad, (name, p) in zip(grads, m.named_parameters()):
    torch.testing.assert_close(grad, p.grad)
""")


def test_settings_of_conversions():
    run("""
import torch
for name, same, kept in (("overwrite", False, False), ("swap", True, False), (None, True, True)):
    m = torch.nn.Linear(2, 2); p = m.weight; alias = p.data
    if name: getattr(torch.__future__, f"set_{name}_module_params_on_conversion")(True)
    m.double()
    if name:
        assert getattr(torch.__future__, f"get_{name}_module_params_on_conversion")()
        getattr(torch.__future__, f"set_{name}_module_params_on_conversion")(False)
    assert (m.weight is p) == same and m.weight.dtype == torch.float64, name
""")


def test_values_of_names_that_packages_query():
    run("""
import torch
from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype
a, b = torch.ones(1), torch.ones(2).double()
groups = _group_tensors_by_device_and_dtype([[a, b, a], [None, b, b]], with_indices=True)
cpu = torch.device("cpu")
assert groups == {(cpu, torch.float32): ([[a, a], [None, b]], [0, 2]), (cpu, torch.float64): ([[b], [b]], [1])}, groups
assert torch._has_compatible_shallow_copy_type(a, b)
assert not torch._has_compatible_shallow_copy_type(a, a.to_sparse())
assert not torch._has_compatible_shallow_copy_type(a, a.to("meta"))
assert torch._C._nn._parse_to("cpu", torch.float64) == (cpu, torch.float64, False, None)
class Like:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return func
assert torch.overrides.has_torch_function_variadic(a, Like()) and torch.overrides.has_torch_function_unary(Like())
assert not torch.overrides.has_torch_function_variadic(a, 2)
assert torch.overrides.resolve_name(torch.Tensor.item) == "torch.Tensor.item" and torch.overrides.resolve_name(torch.add) == "torch.add"
assert torch._C._dispatch_keys(a).has(torch._C.DispatchKey.CPU)
from torch._C._functorch import is_batchedtensor, is_functorch_wrapped_tensor, _add_batch_dim
torch.func.vmap(lambda x: x * (1 / (is_batchedtensor(x) and is_functorch_wrapped_tensor(x))))(a)
assert not is_batchedtensor(a)
seen = []
torch.func.vmap(lambda x: seen.append(torch._C._are_functorch_transforms_active()) or x)(a)
assert seen == [True] and not torch._C._are_functorch_transforms_active()
from torch.nn.modules.module import _global_parameter_registration_hooks as hooks
handle = torch.nn.modules.module.register_module_parameter_registration_hook(print)
assert list(hooks.values()) == [print]
handle.remove()
assert torch._C._cuda_getDeviceCount() == torch.cuda.device_count()
class Mode(torch.utils._python_dispatch.TorchDispatchMode): pass
""")


def test_helpers_of_functions_inside_transforms():
    run("""
import torch
helpers = torch._functorch.autograd_function
x, y, seen = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0), []
class A(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        inner = helpers.CtxWithSavedTensors(ctx, (y,))
        outer = helpers.CtxWithSavedTensors(inner, (1, 2))
        outer.extra = "kept"
        seen.append((inner.saved_tensors == (y,), outer.saved_tensors, ctx.extra, outer.needs_input_grad, ctx.saved_tensors[0].item()))
        ctx._pt_inner_ctx = 1
        helpers.CtxWithSavedTensors(ctx, ())
try:
    A.apply(x).backward()
except RuntimeError as e:
    assert "name collision" in str(e)
else:
    raise AssertionError
assert seen == [(True, (1, 2), "kept", (True,), 2.0)]
g, leaf = torch.rand(2, 3, 4), helpers.reductify_leaf
assert leaf(None, None, 0, 2) is None
for made, expected in (
    (leaf(g, 0, None, 2), g.sum(0)),
    (leaf(g, 0, 1, 2), g.movedim(0, 1)),
    (leaf(g[0], None, 1, 2), g[0][:, None].expand(3, 2, 4)),
    (leaf(g[0], None, 1, 2, (4,)), g[0].sum(0)[:, None].expand(4, 2)),
    (leaf(g.movedim(0, -1), 2, 0, 2, (4,)), g.sum(1)),
):
    torch.testing.assert_close(made, expected)
""")


def test_higher_order_operators_call_the_function_of_the_cpu():
    run("""
import torch
from torch._ops import HigherOrderOperator
class Sum(HigherOrderOperator):
    def __init__(self):
        super().__init__("my_sum")
    def __call__(self, x, dim):
        return super().__call__(x, dim)
operator = Sum()
operator.py_impl(torch._C.DispatchKey.AutogradCPU)(torch.sum)
operator.py_impl(torch._C._functorch.TransformType.Vmap)(lambda interpreter, x, dim: 1 / 0)
x = torch.rand(2, 3)
assert torch.equal(operator(x, 1), x.sum(1)) and operator.name() == "my_sum"
try:
    torch.vmap(lambda x: operator(x, 0))(x)
except NotImplementedError as e:
    assert "my_sum" in str(e) and "inside a transform" in str(e)
else:
    raise AssertionError
""")


def test_excluded_dispatch_keys_are_recorded():
    run("""
import torch
from torch._C import DispatchKey, DispatchKeySet, _ExcludeDispatchKeyGuard, _dispatch_tls_local_exclude_set
x = torch.rand(3)
with _ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.Autograd)), _ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.CPU)):
    assert torch.equal(torch.func.grad(lambda x: x.sin().sum())(x), x.cos())
    assert all(_dispatch_tls_local_exclude_set().has(key) for key in (DispatchKey.Autograd, DispatchKey.CPU))
assert not _dispatch_tls_local_exclude_set().has(DispatchKey.Autograd)
""")
