"""Flags of other software, and the questions about it."""

import pytest

import libtensor as torch

backends = torch.backends


def test_unused_saved_tensors_are_not_available():
    for module in (backends.cudnn, backends.cusparselt, backends.kleidiai, backends.mkl, backends.mkldnn, backends.mps, backends.nnpack):
        assert module.is_available() is False
    assert not backends.openmp.is_available() and not backends.opt_einsum.is_available() and not backends.xnnpack.enabled
    assert backends.cudnn.version() is None and backends.opt_einsum.get_opt_einsum() is None
    for device in (torch.xpu, torch.mps):
        assert device.is_available() is False and device.device_count() == 0


@pytest.mark.parametrize(
    ("module", "changes"),
    [
        (backends.cudnn, {"enabled": False, "benchmark": True, "deterministic": True, "allow_tf32": False, "benchmark_limit": 3}),
        (backends.mkldnn, {"enabled": False, "deterministic": True, "allow_tf32": False}),
        (backends.nnpack, {"enabled": False}),
        (backends.miopen, {"immediate": True}),
        (backends.opt_einsum, {"enabled": False, "strategy": "greedy"}),
    ],
)
def test_flags_are_kept_and_restored(module, changes):
    before = {name: getattr(module, name) for name in changes}
    with module.flags(**changes):
        assert {name: getattr(module, name) for name in changes} == changes
        with pytest.raises(KeyError), module.flags(**before):
            assert {name: getattr(module, name) for name in changes} == before
            raise KeyError
        assert {name: getattr(module, name) for name in changes} == changes
    assert {name: getattr(module, name) for name in changes} == before
    name = next(iter(changes))
    setattr(module, name, changes[name])
    assert getattr(module, name) == changes[name]
    setattr(module, name, before[name])
    with pytest.raises(TypeError, match="nothing"):
        module.set_flags(nothing=1)


def test_precision_of_products():
    matmul = backends.cuda.matmul
    matmul.fp32_precision = "tf32"
    assert matmul.allow_tf32 and torch.get_float32_matmul_precision() == "high"
    matmul.fp32_precision = "ieee"
    assert not matmul.allow_tf32 and torch.get_float32_matmul_precision() == "highest"
    with pytest.raises(RuntimeError, match="Unknown precision: bad"):
        matmul.fp32_precision = "bad"
    with pytest.raises(AttributeError, match="Unknown attribute nothing"):
        matmul.nothing = 1
    backends.cudnn.conv.fp32_precision = "ieee"
    assert backends.cudnn.conv.fp32_precision == "ieee" and backends.cudnn.rnn.fp32_precision == "tf32"
    backends.cudnn.conv.fp32_precision = "tf32"
    with pytest.raises(RuntimeError, match="Unknown precision"):
        backends.mkldnn.matmul.fp32_precision = "bad"


def test_kernels_of_attention():
    with backends.cuda.sdp_kernel(enable_flash=False, enable_math=False):
        assert not backends.cuda.flash_sdp_enabled() and not backends.cuda.math_sdp_enabled() and backends.cuda.mem_efficient_sdp_enabled()
    assert backends.cuda.flash_sdp_enabled() and backends.cuda.math_sdp_enabled() and backends.cuda.cudnn_sdp_enabled()
    backends.cuda.enable_cudnn_sdp(False)
    assert not backends.cuda.cudnn_sdp_enabled()
    backends.cuda.enable_cudnn_sdp(True)
    backends.mha.set_fastpath_enabled(False)
    assert not backends.mha.get_fastpath_enabled()
    backends.mha.set_fastpath_enabled(True)


def test_engines_of_quantized_operators():
    assert backends.quantized.engine in backends.quantized.supported_engines
    with pytest.raises(RuntimeError, match="bad is not a valid value for quantized engine"):
        backends.quantized.engine = "bad"
    backends.quantized.engine = backends.quantized.engine
