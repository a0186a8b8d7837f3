"""Names of PyTorch whose use is inert or not supported: they import, answer truly, and raise NotImplementedError with a reason."""

import importlib
import pkgutil
import subprocess
import sys
import warnings

import pytest

import libtensor as torch

REJECTED = ("distributed", "export", "onnx", "package", "nested", "monitor", "ao.quantization")


def run(code, *options):
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def modules(name):
    """Returns the module and those in it."""
    module = importlib.import_module("libtensor." + name)
    yield module
    for found in pkgutil.walk_packages(getattr(module, "__path__", ()), module.__name__ + "."):
        yield importlib.import_module(found.name)


@pytest.mark.parametrize("name", REJECTED)
def test_unsupported_names_raise_with_a_reason(name):
    rejected = 0
    for module in modules(name):
        for key in getattr(module, "__all__", ()):
            value = getattr(module, key)
            doc = getattr(value, "__doc__", None) or ""
            if not doc.startswith(("Raises NotImplementedError: ", "For annotations; making one raises NotImplementedError: ")):
                continue
            rejected += 1
            with pytest.raises(NotImplementedError, match=rf"torch\.[\w.]*{key}: .*not supported"):
                value(1)
            if isinstance(value, type):
                assert not isinstance(torch.ones(1), value)
    assert rejected > 3


def test_import_of_the_package_loads_none_of_them():
    inert = "_inert _dynamo _inductor compiler distributed jit fx export onnx masked package nested ao types functional"
    run(f"import sys, libtensor; assert not [n for n in {inert.split()} if 'libtensor.' + n in sys.modules]")


@pytest.mark.parametrize("name", ["compile", "jit.script", "jit.trace"])
def test_identity_warns_once(name):
    said = run(f"""
import warnings, libtensor as torch
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    function = lambda x: x + 1
    for _ in range(3):
        assert torch.{name}(function) is function
print(len(caught), caught[0].category.__name__, caught[0].message)
""")
    assert said.startswith(f"1 UserWarning torch.{name}: ") and "as they are" in said


def test_compile_is_the_identity_in_all_forms():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.nn.Linear(2, 2)
        assert torch.compile(module, mode="max-autotune", fullgraph=True, dynamic=True) is module

        @torch.compile
        def f(x):
            return x * 2

        @torch.compile(backend="inductor", options={"a": 1})
        def g(x):
            return x * 3

        assert f(torch.ones(1)).item() == 2 and g(torch.ones(1)).item() == 3
        with pytest.raises(RuntimeError, match="mode or options"):
            torch.compile(f, mode="default", options={"a": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.compile(f, disable=True) is f


def test_decorators_return_the_decorated_function():
    def f(x):
        return x

    for decorator in (torch.compiler.disable, torch.compiler.allow_in_graph, torch._dynamo.disable, torch._dynamo.allow_in_graph):
        assert decorator(f) is f
    for decorator in (torch.jit.ignore, torch.jit.unused, torch.jit.export, torch.jit.script_if_tracing, torch.jit.interface):
        assert decorator(f) is f
    assert (
        torch.compiler.disable(recursive=False)(f) is f and torch.jit.ignore(drop=True)(f) is f and torch._dynamo.optimize("eager")(f) is f
    )
    assert torch._dynamo.disable(reason="no")(f) is f
    with torch._dynamo.config.patch(suppress_errors=True, unknown=1):
        assert torch._dynamo.config.suppress_errors and torch._dynamo.config.unknown == 1
    assert not torch._dynamo.config.suppress_errors and not hasattr(torch._dynamo.config, "unknown")
    with torch.compiler.set_stance("force_eager"):
        assert f(1) == 1


def test_queries_return_the_actual_state():
    for asked in (
        "compiler.is_compiling",
        "compiler.is_dynamo_compiling",
        "compiler.is_exporting",
        "_dynamo.is_compiling",
        "jit.is_scripting",
    ):
        module, _, name = asked.rpartition(".")
        assert getattr(importlib.import_module("libtensor." + module), name)() is False
    assert (
        torch.jit.is_tracing()
        is torch.onnx.is_in_onnx_export()
        is torch.distributed.is_available()
        is torch.distributed.is_initialized()
        is False
    )
    assert torch.mtia.is_available() is torch.mps.is_available() is torch.xpu.is_available() is False
    for name in ("hpu", "npu", "xla", "no_such_name", "__no_such_name__"):
        assert not hasattr(torch, name)
    assert torch._C._get_tracing_state() is None and not torch._C._is_tracing()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        torch.distributed.get_rank()
    assert "libtensor" in torch.__config__.show() and str(torch.get_num_threads()) in torch.__config__.parallel_info()


def test_checks_raise_their_class_of_errors():
    for check, kind in (
        *((torch._check, RuntimeError), (torch._check_index, IndexError), (torch._check_value, ValueError), (torch._check_type, TypeError)),
        (torch._check_not_implemented, NotImplementedError),
    ):
        check(True)
        with pytest.raises(kind, match="two"):
            check(False, lambda: "two")
    torch._check_tensor_all(torch.tensor([True]))
    with pytest.raises(RuntimeError, match="all"):
        torch._check_tensor_all(torch.tensor([True, False]), lambda: "all")
    with pytest.raises(TypeError, match="torch.bool"):
        torch._check_tensor_all(torch.ones(1))
    with pytest.raises(AssertionError, match="words"):
        torch._assert(False, "words")


def test_symbolic_numbers_are_numbers():
    assert torch.sym_int(2.7) == 2 and torch.sym_float(2) == 2.0 and torch.sym_not(False) and torch.sym_ite(True, 1, 2) == 1
    assert (
        torch.sym_max(1, 2.0) == 2.0
        and isinstance(torch.sym_max(3, 2.0), float)
        and torch.sym_min(1, 2) == 1
        and torch.sym_sum([1, 2]) == 3
    )
    assert not isinstance(torch.ones(2).shape[0], torch.SymInt)
    assert torch.cond(torch.tensor(False), torch.sin, torch.cos, (torch.zeros(1),)).item() == 1
    assert torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, torch.ones(1)))[1].item() == 8


def test_script_classes_and_types():
    from typing import Dict, List, Optional, Tuple  # noqa: UP035

    assert torch.jit.isinstance([1, 2], List[int]) and not torch.jit.isinstance([1, "a"], List[int])  # noqa: UP006
    assert torch.jit.isinstance({"a": 1}, Dict[str, int]) and torch.jit.isinstance((1, "a"), Tuple[int, str])  # noqa: UP006
    assert torch.jit.isinstance(None, Optional[int]) and not torch.jit.isinstance(1.5, Optional[int])  # noqa: UP045

    class Net(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        @torch.jit.script_method
        def forward(self, x):
            return self.layer(x)

    assert Net()(torch.ones(3, 2)).shape == (3, 1) and not isinstance(torch.nn.Linear(1, 1), torch.jit.ScriptModule)
    future = torch.jit.fork(torch.add, torch.ones(1), 2)
    assert torch.jit.wait(future).item() == 3
    with pytest.raises(ZeroDivisionError):
        torch.jit.wait(torch.jit.fork(lambda: 1 / 0))
    with pytest.raises(NotImplementedError, match="torch.load"):
        torch.jit.load("a.pt")


def test_futures():
    first, second = torch.futures.Future(), torch.futures.Future()
    both = torch.futures.collect_all([first, second])
    following = first.then(lambda done: done.value() + 1)
    first.set_result(1)
    assert following.wait() == 2 and not both.done()
    with pytest.raises(RuntimeError, match="marked completed once"):
        first.set_result(2)
    second.set_exception(ValueError("no"))
    assert both.wait() == [first, second]
    with pytest.raises(ValueError, match="no"):
        torch.futures.wait_all([first, second])


MASKED = {
    "sum": (0, 6.0),
    "prod": (1, 6.0),
    "amax": (None, 3.0),
    "amin": (None, 1.0),
    "mean": (None, 2.0),
    "var": (None, 1.0),
    "std": (None, 1.0),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_reductions_are_those_of_the_selected_elements(name):
    x = torch.tensor([[1.0, 9.0, 2.0, 3.0], [5.0, 5.0, 5.0, 7.0]])
    mask = torch.tensor([[True, False, True, True], [False, False, False, False]])
    reduce = getattr(torch.masked, name)
    neutral, wanted = MASKED[name]
    row = reduce(x, 1, mask=mask)
    assert row[0].item() == pytest.approx(wanted)
    assert row[1].isnan() or row[1].item() == neutral or row[1].isinf()
    assert torch.equal(reduce(x, 1), getattr(torch, name)(x, 1))
    assert reduce(x, 1, mask=mask, keepdim=True).shape == (2, 1)


def test_masked_softmax_ignores_the_others():
    x, mask = torch.tensor([1.0, 50.0, 2.0]), torch.tensor([True, False, True])
    got = torch.masked.softmax(x, 0, mask=mask)
    assert got[1].item() == 0 and torch.allclose(got[[0, 2]], torch.softmax(x[[0, 2]], 0))


def test_modules_of_distributed_load_by_attribute():
    run("import libtensor as torch; torch.distributed.fsdp.FullyShardedDataParallel; assert not hasattr(torch.distributed, 'no_such_name')")


@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(reverse):
    from libtensor._higher_order_ops import associative_scan

    x = torch.rand(3, 7)
    flip = (lambda t: t.flip(1)) if reverse else (lambda t: t)
    got = associative_scan(lambda a, b: {"p": a["p"] * b["p"], "s": a["s"] + b["s"]}, {"p": x, "s": x}, 1, reverse=reverse)
    assert torch.allclose(got["p"], flip(flip(x).cumprod(1))) and torch.allclose(got["s"], flip(flip(x).cumsum(1)))


def test_private_names_that_packages_import():
    from libtensor._C import _nn
    from libtensor.jit.annotations import BroadcastingList2
    from libtensor.types import Number, _device, _dtype, _float, _int, _layout, _qscheme, _size

    assert BroadcastingList2[int] is None and callable(_nn.gelu)
    assert _nn._parse_to("cpu", torch.float64, non_blocking=True) == (torch.device("cpu"), torch.float64, True, None)
    assert (_device, _dtype, _layout, _qscheme) == (torch.device, torch.dtype, torch.layout, torch.qscheme)
    assert (_int, _float) == (int, float) and isinstance(1.5, Number) and _size is not None


def test_all_of_every_public_module_lists_its_names():
    left = ("dask", "hdf5", "__main__", "_interop", ".lib", "tensorboard")  # those that need other packages
    for found in pkgutil.walk_packages(torch.__path__, "libtensor."):
        if not any(part in found.name for part in left):
            module = importlib.import_module(found.name)
            names = set(getattr(module, "__all__", ())) - set(left)
            assert [name for name in sorted(names) if not hasattr(module, name)] == [], found.name


def test_ranges_for_profilers_are_accepted():
    @torch.cuda.nvtx.range("step {}", 1)
    def step():
        return 3

    assert step() == step() == 3
    with torch.cuda.nvtx.range("block"):
        assert torch.cuda.nvtx.range_push("inner") == torch.cuda.nvtx.range_pop() == -2
    torch.cuda.nvtx.mark("now")
    torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("other thread"))
    with pytest.raises(ValueError, match="as it is"), torch.cuda.nvtx.range("failing"):
        raise ValueError("as it is")


def test_ranges_for_itt_are_accepted():
    with torch.profiler.itt.range("step {}", 1):
        assert torch.profiler.itt.range_push("inner") is torch.profiler.itt.mark("now") is torch.profiler.itt.range_pop() is None
    assert not torch.profiler.itt.is_available()


def test_names_of_operators_that_call_others():
    x, w = torch.rand(2, 3, 5, 5), torch.rand(4, 3, 3, 3)
    assert torch.equal(torch.convolution(x, w, None, [2, 1], [1, 0], [1, 1], False, [0, 0], 1), torch.conv2d(x, w, None, (2, 1), (1, 0)))
    back = torch.convolution(x, w.transpose(0, 1), None, [2], [1], [1], True, [1], 1)
    assert torch.equal(back, torch.conv_transpose2d(x, w.transpose(0, 1), None, 2, 1, 1))
    with pytest.raises(RuntimeError, match=r"convolution: .*\[3, 5, 5\]"):
        torch.convolution(x[0], w, None, [1], [0], [1], False, [0], 1)
    scores = torch.tensor([[[[1.0, 2.0, 3.0], [1.0, 1.0, 5.0]]]])
    half = torch.tensor([False, True, False])
    expected = torch.stack([scores[0, 0, i, [0, 2]].softmax(0) for i in range(2)])
    for mask, kind in ((half.expand(2, 3), 0), (half[None], 1), (half.expand(1, 1, 2, 3), 2)):
        got = torch._masked_softmax(scores, mask, 3, kind)[0, 0]
        assert torch.equal(got[:, 1], torch.zeros(2)) and torch.allclose(got[:, [0, 2]], expected)
    for name in ("_masked_softmax", "_is_all_true", "_is_any_true"):
        with pytest.raises(RuntimeError, match=f"{name}: .*torch.bool.*torch.float32"):
            getattr(torch, name)(scores, *[scores][: name == "_masked_softmax"])


def test_float4_raises_with_its_name():
    for use in (
        lambda: torch.zeros(2, dtype=torch.float4_e2m1fn_x2),
        lambda: torch.ones(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2),
    ):
        with pytest.raises(NotImplementedError, match="torch.float4_e2m1fn_x2 are not supported"):
            use()


def test_queries_of_the_core_module():
    x, core = torch.ones(2), torch._C
    assert core._has_torch_function_unary(x) is False and core._is_torch_function_mode_enabled() is False
    assert core._len_torch_function_stack() == core._len_torch_dispatch_stack() == 0
    with torch.overrides.TorchFunctionMode() as mode:
        assert core._get_function_stack_at(0) is mode
    with torch.utils._python_dispatch.TorchDispatchMode() as mode:
        assert core._get_dispatch_stack_at(0) is core._get_dispatch_mode() is mode and core._len_torch_function_stack() == 0
    assert core._is_alias_of(x, x[:1]) and not core._is_alias_of(x, x.clone()) and core._data_address(x) == x.data_ptr()
    assert core._dispatch_has_kernel("aten::add.Tensor") and "aten::add.Tensor" in core._dispatch_get_all_op_names()
    assert core._get_float32_matmul_precision() == "highest" and core._LinAlgError is torch.linalg.LinAlgError
    assert core._distributed_rpc._is_current_rpc_agent_set() is core._jit_can_fuse_on_cpu() is False
    with pytest.raises(AttributeError, match="_no_such_name"):
        core._no_such_name()


def test_a_private_context_of_backends_that_packages_enter():
    with getattr(torch.backends, "__allow_nonbracketed_mutation")():
        torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.deterministic = False
