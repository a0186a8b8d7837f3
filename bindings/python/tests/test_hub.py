"""hub: repositories in folders, weights from URLs."""

import hashlib
import io
import sys
import zipfile

import pytest

import libtensor as torch
from libtensor import hub
from libtensor.utils import model_zoo

HUBCONF = """
dependencies = ["math"]
import helper_of_hub

def net(x, scale=2):
    "Doubles, and adds one."
    return x * scale + helper_of_hub.ONE

def _private(): pass
CONSTANT = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_hub_dir", str(tmp_path / "cache"))
    repository = tmp_path / "cache" / "owner_name_main"
    repository.mkdir(parents=True)
    (repository / "hubconf.py").write_text(HUBCONF)
    (repository / "helper_of_hub.py").write_text("ONE = 1")
    yield repository
    sys.modules.pop("helper_of_hub", None)


def test_local_repositories(folder):
    assert hub.load(str(folder), "net", 3, source="local") == 7 and hub.load(folder, "net", 3, scale=5, source="local") == 16
    assert str(folder) not in sys.path
    for model in ("nothing", "CONSTANT"):
        with pytest.raises(RuntimeError, match=f"Cannot find callable {model} in hubconf"):
            hub.load(folder, model, source="local")
    with pytest.raises(ValueError, match='Unknown source: "foo". Allowed values: "github" | "local"'):
        hub.load(folder, "net", source="foo")
    with pytest.raises(FileNotFoundError, match="hubconf.py"):
        hub.load(folder.parent, "net", source="local")
    with open(folder / "hubconf.py", "a") as file:
        file.write("dependencies = ['no_such_module']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_module"):
        hub.load(folder, "net", source="local")
    assert str(folder) not in sys.path


def test_downloaded_repositories(folder, monkeypatch, capsys):
    assert hub.load("owner/name:main", "net", 1, trust_repo=True) == 3 and "Using cache found in" in capsys.readouterr().err
    assert hub.list("owner/name:main", verbose=False) == ["net"] and hub.help("owner/name:main", "net") == "Doubles, and adds one."
    (folder.parent / "trusted_list").unlink()
    monkeypatch.setattr("builtins.input", lambda question: "n")
    with pytest.raises(Exception, match="Untrusted repository"):
        hub.load("owner/name:main", "net", 1)
    monkeypatch.setattr("builtins.input", lambda question: "yes")
    assert hub.load("owner/name:main", "net", 1) == 3 and hub.load("owner/name:main", "net", 1) == 3


def test_folders(monkeypatch):
    monkeypatch.setattr(hub, "_hub_dir", None)
    monkeypatch.setenv("XDG_CACHE_HOME", "/tmp/caches")
    assert hub.get_dir() == "/tmp/caches/torch/hub"
    monkeypatch.setenv("TORCH_HOME", "/tmp/home")
    assert hub.get_dir() == "/tmp/home/hub"
    hub.set_dir("/tmp/chosen")
    assert hub.get_dir() == "/tmp/chosen"


def saved(values):
    file = io.BytesIO()
    torch.save(values, file)
    return file.getvalue()


def test_weights_are_downloaded_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(hub, "_hub_dir", str(tmp_path / "cache"))
    data = saved({"a": torch.ones(2)})
    name = f"weights-{hashlib.sha256(data).hexdigest()[:8]}.pth"
    (tmp_path / name).write_bytes(data)
    url = (tmp_path / name).as_uri()
    assert torch.hub.load_state_dict_from_url(url, check_hash=True)["a"].tolist() == [1, 1]
    assert "Downloading" in capsys.readouterr().err
    (tmp_path / name).unlink()
    assert model_zoo.load_url(url, progress=False, weights_only=True)["a"].tolist() == [1, 1]
    assert not capsys.readouterr().err and [path.name for path in (tmp_path / "cache" / "checkpoints").iterdir()] == [name]


def test_a_wrong_hash_and_a_missing_network_leave_no_file(tmp_path):
    (tmp_path / "w.bin").write_bytes(b"12345")
    with pytest.raises(RuntimeError, match='invalid hash value .expected "beef", got "5994471abb'):
        hub.download_url_to_file((tmp_path / "w.bin").as_uri(), str(tmp_path / "out.bin"), "beef", progress=False)
    with pytest.raises(OSError, match="without a network"):
        hub.load_state_dict_from_url("https://nowhere.invalid/x.pth", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["w.bin"]


def test_archives(tmp_path):
    for name, members in {"one.zip": ["inner.pth"], "two.zip": ["a", "b"], "out.zip": ["../outside.pth"]}.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member in members:
                archive.writestr(member, saved({"a": torch.ones(2)}))
    assert hub.load_state_dict_from_url("https://nowhere.invalid/one.zip", str(tmp_path))["a"].sum() == 2
    with pytest.raises(RuntimeError, match="Only one file"):
        hub.load_state_dict_from_url("https://nowhere.invalid/two.zip", str(tmp_path))
    with pytest.raises(ValueError, match="outside of its folder"):
        hub.load_state_dict_from_url("https://nowhere.invalid/out.zip", str(tmp_path))
