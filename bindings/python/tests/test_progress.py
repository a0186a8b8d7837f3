"""How far files are that are saved and loaded: calls of a function, a bar on a terminal, nothing by default."""

import io
import os
import pty
import subprocess
import sys
import time

import pytest

import libtensor as torch
from libtensor import safetensors
from libtensor._storages import progress

T = torch.ones(3 << 20)  # 12 MiB
KINDS = {
    "pt": (lambda path, **o: torch.save({"t": T}, path, **o), lambda path, **o: torch.load(path, **o)["t"]),
    "safetensors": (
        lambda path, **o: safetensors.save_file({"t": T}, path, **o),
        lambda path, **o: safetensors.load_file(path, mmap=False, **o)["t"],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_callback_receives_the_progress(tmp_path, kind):
    save, load = KINDS[kind]
    calls = []
    save(tmp_path / "a", progress=lambda *call: calls.append(call))
    assert calls[-1] == (T.nbytes, T.nbytes) and sorted(calls) == calls
    calls.clear()
    assert load(tmp_path / "a", progress=lambda *call: calls.append(call)).equal(T)
    size = os.path.getsize(tmp_path / "a")
    assert calls[-1] == (size, size) and sorted(calls) == calls


class Deaf:
    def write(self, text):
        raise OSError("nobody listens")


@pytest.mark.parametrize("stream", [None, Deaf(), "closed"])
def test_a_bar_without_a_terminal_does_not_stop_the_loop(tmp_path, monkeypatch, stream):
    if stream == "closed":
        with open(os.devnull, "w") as stream:
            pass
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "INTERVAL", 0)
    torch.save(T, tmp_path / "a", progress=True)
    assert torch.load(tmp_path / "a", progress=True).equal(T)


def test_progress_is_yes_no_or_a_function(tmp_path):
    with pytest.raises(TypeError, match="progress must be a bool or a function of two arguments, not 'yes'"):
        torch.save(T, tmp_path / "a", progress="yes")


def test_counted_and_moved_elements_agree(tmp_path):
    calls = []
    with progress.shown(lambda *call: calls.append(call), "reading", progress.READ, 3 << 20):
        (tmp_path / "a").write_bytes(bytes(1 << 20))
        (tmp_path / "a").read_bytes()
        deadline = time.monotonic() + 60
        while (not calls or calls[-1][0] < 1 << 20) and time.monotonic() < deadline:
            time.sleep(progress.PAUSE / 10)
    assert 1 << 20 <= calls[-2][0] < 2 << 20 and calls[-1] == (3 << 20, 3 << 20)


def test_exceptions_of_functions_propagate(tmp_path):
    def fail(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="^enough$"):
        torch.save(T, tmp_path / "a", progress=fail)
    for load in (torch.load, lambda path, **o: safetensors.load_file(path, mmap=False, **o)):
        if load is not torch.load:
            safetensors.save_file({"t": T}, tmp_path / "a")
        with pytest.raises(RuntimeError, match="^enough$"):
            load(tmp_path / "a", progress=fail)


def test_an_error_of_the_file_is_told_as_ever(tmp_path, capsys):
    (tmp_path / "a").write_bytes(b"nonsense")
    with pytest.raises(RuntimeError, match="load"):
        torch.load(tmp_path / "a", progress=True)


def test_silent_by_default_and_lines_without_a_terminal(tmp_path, capfd, monkeypatch):
    torch.save(T, tmp_path / "a")
    assert torch.load(tmp_path / "a", progress=False).equal(T)
    monkeypatch.setattr(progress, "INTERVAL", 1e9)  # longer than this takes
    torch.save(T, tmp_path / "a", progress=True)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(progress, "INTERVAL", 0)
    torch.save(T, tmp_path / "a", progress=True)
    assert capfd.readouterr().err.endswith(f"  saving {tmp_path}/a 100% of 12.0 MiB\n")


def test_a_bar_on_a_terminal(tmp_path):
    code = f"import libtensor as torch; torch.save(torch.ones(3 << 20), {str(tmp_path / 'a')!r}, progress=True)"
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True, timeout=120)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert f"[{'#' * 40}] saving {tmp_path}/a 100% of 12.0 MiB\r\n" in shown


@pytest.mark.parametrize("call", [lambda f: torch.save(T, f, progress=True), lambda f: torch.load(f, progress=True)])
def test_file_objects_report_no_progress(call):
    with pytest.raises(ValueError, match="progress needs a path, not a file object"):
        call(io.BytesIO())


def test_storages_count_once(tmp_path):
    calls = []
    torch.save([T, T[5:], torch.eye(2).to_sparse()], tmp_path / "a", progress=lambda *call: calls.append(call))
    assert calls[-1] == (T.nbytes + 2 * 2 * 8 + 2 * 4,) * 2
