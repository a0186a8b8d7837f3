"""The benchmark for devices runs, as far as a simulated one bears, and says where there is none."""

import os
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).parents[1] / "bench/run"


def run(*options, **environment):
    return subprocess.run([sys.executable, RUN, *options], capture_output=True, text=True, env=os.environ | environment)


def test_all_parts(tmp_path):
    done = run("--quick", "--output", str(tmp_path / "table.md"))
    assert done.returncode == 0, done.stderr + done.stdout
    heads = [line for line in done.stdout.splitlines() if line.startswith("## ")]
    assert heads == ["## Recorded calls", "## Elementwise operators", "## Copies", "## Products of square matrices", "## Small tensors"]
    assert (tmp_path / "table.md").read_text() == done.stdout
    assert "Simulated device" in done.stdout and "differs" not in done.stdout


def test_the_reason_for_missing_devices():
    done = run("--only", "copies", LIBTENSOR_SIM_DEVICES="0")
    assert done.returncode == 1 and done.stderr == "There is no CUDA device to measure: the driver has no device.\n" and not done.stdout


def test_help():
    assert "the time of a launch" in run("--help").stdout
