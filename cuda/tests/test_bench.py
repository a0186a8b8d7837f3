"""The benchmark of devices: parts, tables, JSON and verdict on the simulated device, the reason for a missing device, and the archive."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"
LOADER = importlib.machinery.SourceFileLoader("cuda_bench_run", str(BENCH / "run"))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("cuda_bench_run", LOADER))
sys.modules["cuda_bench_run"] = bench  # where dataclasses look types up
LOADER.exec_module(bench)


def run(*options, program=BENCH / "run", **environment):
    return subprocess.run([sys.executable, program, *options], capture_output=True, text=True, env=os.environ | environment)


def test_all_parts(tmp_path):
    done = run("--quick", "--table", str(tmp_path / "table.md"), "--json", str(tmp_path / "results.json"))
    assert done.returncode == 0, done.stderr + done.stdout
    parts = [line.removeprefix("## ").lower() for line in done.stdout.splitlines() if line.startswith("## ")]
    assert parts == [*bench.CHECKS, *bench.MEASURED] and (tmp_path / "table.md").read_text() == done.stdout
    assert done.stdout.startswith("# Simulated device") and done.stdout.endswith("\nPASS\n")
    made = json.loads((tmp_path / "results.json").read_text())
    assert {row["part"] for row in made["rows"]} == set(bench.MEASURED) and len(made["rows"]) >= 50
    assert all(row["libtensor"] > 0 for row in made["rows"]) and not made["failures"]
    assert made["counts"]["recorded"]["equal"] > 100 and made["counts"]["laws"]["passed"] > 0


def test_parts_that_exceed_the_time_or_end_with_an_error_fail():
    done = run("--quick", "--only", "recorded", "--minutes", "0.001")
    assert done.returncode == 1 and done.stdout.endswith("\n- recorded: exceeded the time\nFAIL\n")
    done = run("--quick", "--only", "launches", LIBTENSOR_SIM_FAIL="cuLaunchKernel:40:999")
    assert done.returncode == 1 and done.stdout.endswith("FAIL\n") and "\n- launches: " in done.stdout


def test_times_compared_with_pytorch():
    rows = [{"name": "add", "dtype": "float32", "size": str(n), "time_ratio": ratio} for n, ratio in enumerate((0.5, 1.6, 0.9))]
    mean, failures = bench.judge(rows)
    assert mean == pytest.approx((0.5 * 1.6 * 0.9) ** (1 / 3))
    assert failures == ["speed: add of float32 1 takes 1.60 of PyTorch's time, above 1.5"]
    assert bench.judge([*rows, rows[1]])[1][0] == "speed: the geometric mean of 4 times is 1.04 of PyTorch's, above 1.0"
    assert bench.judge([{"name": "add"}]) == (None, [])


def test_tables_contain_the_share_of_the_peak_and_pytorch():
    row = {
        "name": "add",
        "dtype": "float32",
        "size": "8",
        "unit": "GB/s",
        "libtensor": 3000.0,
        "of_peak": 0.625,
        "pytorch": 2900.0,
        "time_ratio": 0.967,
    }
    refused = {"name": "matmul", "dtype": "int32", "size": "8", "unit": "GB/s", "libtensor": 2.0, "pytorch": "addmm_cuda not implemented"}
    lines = bench.table("elementwise", {"rows": [row, refused]}).splitlines()
    assert lines[-2:] == [
        "| add | float32 | 8 | 3e+03 | GB/s | 62 % | 2.9e+03 | 0.967 |",
        "| matmul | int32 | 8 | 2 | GB/s |  | addmm_cuda not implemented |  |",
    ]


def test_the_reason_for_missing_devices():
    done = run("--only", "copies", LIBTENSOR_SIM_DEVICES="0")
    assert done.returncode == 1 and done.stderr == "There is no CUDA device to measure: the driver has no device.\n" and not done.stdout


def test_help():
    assert "The last line is PASS, or FAIL" in run("--help").stdout


def test_the_archive_runs_elsewhere(tmp_path):
    done = run(str(tmp_path / "bench.tar.xz"), "--preset", "0", "--without-packages", program=BENCH / "pack")
    assert done.returncode == 0, done.stderr
    subprocess.run(["tar", "-xf", tmp_path / "bench.tar.xz", "-C", tmp_path], check=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LIBTENSOR_LIBRARY", "PYTHONPATH"))} | {
        "PYTHON": sys.executable
    }
    command = [tmp_path / "cuda-bench/run", "--quick", "--only", "recorded", "--only", "launches"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/")
    assert done.returncode == 0 and done.stdout.endswith("\nPASS\n"), done.stderr + done.stdout
