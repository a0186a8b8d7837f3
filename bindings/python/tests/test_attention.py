"""examples/attention learns what PyTorch learned, draws it, and says where it does not."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "attention"


def run(folder, out):
    return subprocess.run([sys.executable, str(folder / "attention.py"), str(out)], capture_output=True, text=True, timeout=300)


def test_the_losses_are_those_that_pytorch_had(tmp_path):
    done = run(EXAMPLE, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "foretells he cat sat on the mat. the rat sat on the cat." in done.stdout
    assert (tmp_path / "attention.svg").read_text().count("<rect") == 4 * 46 * 47 // 2 + 4 + 1


def test_it_fails_where_one_differs(tmp_path):
    copy = shutil.copytree(EXAMPLE, tmp_path / "copy", ignore=shutil.ignore_patterns("__pycache__"))
    recorded = json.loads((copy / "recorded.json").read_text())
    recorded["losses"][-1] += 1e-6
    (copy / "recorded.json").write_text(json.dumps(recorded))
    done = run(copy, tmp_path)
    assert done.returncode == 1 and "1.0e-06 apart at most" in done.stdout
