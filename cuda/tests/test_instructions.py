"""The machine code of kernels, by cuda/bench/instructions: its report, and its bars for some units; the program alone checks all."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import pytest

LOADER = importlib.machinery.SourceFileLoader("instructions", str(Path(__file__).resolve().parents[1] / "bench/instructions"))
instructions = importlib.util.module_from_spec(importlib.util.spec_from_loader("instructions", LOADER))
sys.modules["instructions"] = instructions  # where dataclasses look types up
LOADER.exec_module(instructions)

LOG = """ptxas info    : Compiling entry function 'f_float16' for 'sm_90'
ptxas info    : Function properties for f_float16
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 48 bytes cumulative stack size
ptxas info    : Function properties for internal_0
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""
CODE = """
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_1:
        /*0010*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0020*/              @!P0 BRA `(.L_x_2) ;
        /*0030*/                   FADD R4, R4, R5 ;
        /*0040*/                   FADD R4, R4, R5 ;
.L_x_2:
        /*0050*/                   CALL.REL.NOINC `($f$g) ;
        /*0060*/                   STG.E.128 desc[UR4][R2.64], R4 ;
        /*0070*/               @P1 BRA `(.L_x_1) ;
        /*0080*/                   EXIT ;
$f$g:
        /*0090*/                   FADD R4, R4, R5 ;
        /*00a0*/                   RET.REL.NODEC R2 `(f) ;
"""
CONTIGUOUS = ("copy", "arithmetic", "arithmetic_bfloat16", "comparison")
BLOCKS = ("reduce_minmax", "reduce_norm", "reduce_sum", "reduce_var", "scan", "softmax", "sort", "sorting")
NEWEST = ("sm_90", "sm_100")


def test_report_of_the_assembler():
    entry, function = instructions.read_log(LOG).values()
    assert (entry.name, entry.entry, entry.registers, entry.frame, entry.spilled) == ("f_float16", True, 40, 48, 12)
    assert (function.name, function.entry) == ("internal_0", False)
    assert list(entry.misses()) == ["12 bytes of spills"]


def test_shortest_path_of_a_loop():
    assert instructions.Code(CODE).loop() == (7, 16)  # with the two instructions of the function, and without the branch that skips two
    assert [instructions.element_size(name) for name in ("f_float16", "move_8", "f_bool", "f_complex64", "convert")] == [2, 8, 1, 8, None]


@pytest.mark.parametrize(
    "architecture", [pytest.param(name, marks=[] if name in NEWEST else pytest.mark.slow) for name in instructions.ARCHITECTURES]
)
@pytest.mark.parametrize("unit", CONTIGUOUS + BLOCKS)
def test_bars(unit, architecture):
    if unit.endswith("_bfloat16") and architecture == "sm_75":
        pytest.skip("units for bfloat16 require compute capability 8.0")
    for tool in ("ptxas", "nvdisasm"):
        if not instructions.find_tool(tool):
            pytest.skip(f"{tool} is not installed: pip install nvidia-cuda-nvcc-cu12 nvidia-cuda-nvdisasm, or add its folder to PATH")
    missed = [
        f"{f.name}: {', '.join(f.misses())}" for f in instructions.measure(unit, architecture, unit in CONTIGUOUS) if list(f.misses())
    ]
    assert not missed
