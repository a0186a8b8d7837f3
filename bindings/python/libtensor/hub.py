"""Models that repositories offer by a file hubconf.py, local or on GitHub, and files of weights that are downloaded once."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import uuid
import warnings
import zipfile
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from ._storages.files import load as _load_file

try:
    from tqdm.auto import tqdm as tqdm
except ImportError:

    class tqdm:  # type: ignore[no-redef]
        """A progress bar without output, if the package tqdm is not installed."""

        def __init__(self, iterable: Any = None, *args: Any, **options: Any) -> None:
            self.iterable = iterable

        def __iter__(self) -> Any:
            return iter(self.iterable)

        def update(self, n: int = 1) -> None:
            """Does nothing."""

        set_postfix = set_description = close = update

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *raised: Any) -> None:
            return None


__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

READ_DATA_CHUNK = 128 * 1024
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
ENV_GITHUB_TOKEN, ENV_TORCH_HOME, ENV_XDG_CACHE_HOME = "GITHUB_TOKEN", "TORCH_HOME", "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
VAR_DEPENDENCY, MODULE_HUBCONF = "dependencies", "hubconf.py"
_TRUSTED_REPO_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")
_hub_dir: str | None = None


class _Progress:
    """Prints the progress of a download, if the package tqdm is not installed."""

    def __init__(self, total: int | None = None, disable: bool = False, **_: Any) -> None:
        self.total, self.disable, self.n = total, disable, 0

    def update(self, n: int) -> None:
        """Adds `n` bytes."""
        self.n += n
        if not self.disable:
            shown = f"{self.n} bytes" if not self.total else f"{100 * self.n / self.total:.1f}%"
            sys.stderr.write("\r" + shown)
            sys.stderr.flush()

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.disable:
            sys.stderr.write("\n")


try:
    from tqdm import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]
except ImportError:
    tqdm = _Progress


def _get_torch_home() -> str:
    cache = os.path.join(os.getenv("XDG_CACHE_HOME", DEFAULT_CACHE_DIR), "torch")
    return os.path.expanduser(os.getenv("TORCH_HOME", cache))


def get_dir() -> str:
    """Returns the folder of downloads: that of `set_dir`, else `$TORCH_HOME/hub`, `$XDG_CACHE_HOME/torch/hub` or `~/.cache/torch/hub`."""
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder of downloads."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _open(url: str) -> Any:
    """Opens a URL. Raises URLError with the reason if the network cannot be reached."""
    headers = {"User-Agent": "torch.hub"}
    token = os.environ.get("GITHUB_TOKEN")
    if token and urlparse(url).hostname in ("github.com", "api.github.com"):
        headers["Authorization"] = f"token {token}"
    try:
        return urlopen(Request(url, headers=headers))
    except HTTPError:
        raise
    except URLError as error:
        raise URLError(f"{error.reason}: {url} cannot be opened; without a network, put the file into {get_dir()}") from error


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Downloads `url` to the file `dst`, which is created atomically. `hash_prefix` is the beginning of its SHA-256; `progress` prints the
    progress.

    Raises URLError without a network, RuntimeError for another hash.
    """
    destination = os.path.expanduser(dst)
    with _open(url) as source:
        length = source.headers.get("Content-Length")
        partial = f"{destination}.{uuid.uuid4().hex}.partial"
        digest = hashlib.sha256()
        try:
            with (
                open(partial, "xb") as file,
                tqdm(total=int(length) if length else None, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024) as bar,
            ):
                while chunk := source.read(READ_DATA_CHUNK):
                    file.write(chunk)
                    digest.update(chunk)
                    bar.update(len(chunk))
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
            os.replace(partial, destination)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(partial)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """Returns the object in the file at `url`. The file is downloaded to `model_dir`, by default `checkpoints` in the folder of downloads,
    unless it exists.

    With `check_hash` the file name, as in `name-0123abcd.pth`, must contain the beginning of its SHA-256. A zip archive of one such file is
    unpacked. `map_location` and `weights_only` are those of `load`. Raises URLError if the download needs a network that is not available.
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        warnings.warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2)
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name if file_name is not None else os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress=progress)
    return _load_file(_unpacked(path, folder), map_location=map_location, weights_only=weights_only)


def _unpacked(path: str, folder: str) -> str:
    """Returns the path of the only file in a zip archive that save has not written, otherwise `path`."""
    if not zipfile.is_zipfile(path):
        return path
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if any(member.filename.endswith("/data.pkl") or member.filename == "data.pkl" for member in members):
            return path
        if len(members) != 1:
            raise RuntimeError("Only one file(not dir) is allowed in the zipfile")
        _extract(archive, folder)
        return os.path.join(folder, members[0].filename)


def _extract(archive: zipfile.ZipFile, folder: str) -> None:
    """Extracts an archive. Raises ValueError for a member that would be outside the folder."""
    root = os.path.realpath(folder)
    for member in archive.namelist():
        if os.path.commonpath([root, os.path.realpath(os.path.join(root, member))]) != root:
            raise ValueError(f"hub: the archive contains a path outside of its folder: {member!r}")
    archive.extractall(folder)


def _import_hubconf(folder: str) -> Any:
    """Returns the module hubconf.py of a folder, which may import its neighbors."""
    path = os.path.join(folder, MODULE_HUBCONF)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    spec = importlib.util.spec_from_file_location(MODULE_HUBCONF, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    missing = [name for name in getattr(module, VAR_DEPENDENCY, None) or () if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


@contextlib.contextmanager
def _on_path(folder: str) -> Any:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _entry(module: Any, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def _parse_repo_info(github: str) -> tuple[str, str, str]:
    """Returns the owner, the repository and the branch or tag of "owner/name:ref"; the default branch is main, or master where that
    fails."""
    repo, _, ref = github.partition(":")
    owner, name = repo.split("/")
    if ref:
        return owner, name, ref
    try:
        with _open(f"https://github.com/{owner}/{name}/tree/main/"):
            return owner, name, "main"
    except HTTPError as error:
        if error.code == 404:
            return owner, name, "master"
        raise
    except URLError as error:
        for branch in ("main", "master"):
            if os.path.exists(f"{get_dir()}/{owner}_{name}_{branch}"):
                return owner, name, branch
        raise RuntimeError(
            f"It looks like there is no internet connection and the repo could not be found in the cache ({get_dir()})"
        ) from error


def _repository(github: str, force_reload: bool, trust_repo: Any, verbose: bool) -> str:
    """Returns the folder of a repository of GitHub, which is downloaded unless it is there."""
    owner, name, ref = _parse_repo_info(github)
    os.makedirs(get_dir(), exist_ok=True)
    plain = re.sub(r"[/\\]", "_", ref)
    folder = os.path.join(get_dir(), f"{owner}_{name}_{plain}")
    _check_trust(owner, f"{owner}_{name}", trust_repo, github)
    if os.path.exists(folder) and not force_reload:
        if verbose:
            sys.stderr.write(f"Using cache found in {folder}\n")
        return folder
    with tempfile.TemporaryDirectory(dir=get_dir()) as scratch:
        archive = os.path.join(scratch, "archive.zip")
        sys.stderr.write(f'Downloading: "https://github.com/{owner}/{name}/zipball/{ref}" to {archive}\n')
        download_url_to_file(f"https://github.com/{owner}/{name}/zipball/{ref}", archive, progress=False)
        with zipfile.ZipFile(archive) as opened:
            _extract(opened, os.path.join(scratch, "files"))
        (top,) = os.listdir(os.path.join(scratch, "files"))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(os.path.join(scratch, "files", top), folder)
    return folder


def _check_trust(owner: str, repository: str, trust_repo: Any, github: str) -> None:
    """Asks on the terminal, once for each repository, whether its code may run, unless `trust_repo` is given."""
    if trust_repo not in (True, False, None, "check"):
        raise ValueError(f'hub: trust_repo must be True, False, None or "check", but is {trust_repo!r}')
    path = Path(get_dir()) / "trusted_list"
    trusted = path.read_text().splitlines() if path.exists() else []
    if repository in trusted or (trust_repo in ("check", None) and owner in _TRUSTED_REPO_OWNERS):
        return
    if trust_repo in (False, "check"):
        answer = input(
            f"The repository {github} does not belong to the list of trusted repositories. Do you trust it and wish to run its code (y/N)? "
        )
        if answer.lower() not in ("y", "yes"):
            raise Exception("Untrusted repository.")
    elif trust_repo is None:
        warnings.warn(
            f"hub: the repository {github} is not trusted, and its code is executed; pass trust_repo=True to trust it", stacklevel=4
        )
        return
    with open(path, "a") as file:
        file.write(repository + "\n")


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Returns `model(*args, **kwargs)` for a function of the file hubconf.py of a repository. This executes the repository's code.

    `source="local"` loads from a folder, `source="github"` from "owner/name" or "owner/name:ref", which is downloaded to `get_dir()` once,
    or each time with `force_reload`. `trust_repo=True` allows its code to run; "check" asks on the terminal. `verbose` prints the path of
    the repository. `skip_validation` is accepted without effect. Raises FileNotFoundError without a hubconf.py, RuntimeError for missing
    dependencies or functions.
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = os.fspath(repo_or_dir)
    if source == "github":
        folder = _repository(folder, force_reload, trust_repo, verbose)
    with _on_path(folder):
        return _entry(_import_hubconf(folder), model)(*args, **kwargs)


def list(
    github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: bool | str | None = "check", verbose: bool = True
) -> Any:
    """Returns the names of the functions in hubconf.py of a GitHub repository. See load."""
    folder = _repository(github, force_reload, trust_repo, verbose)
    with _on_path(folder):
        module = _import_hubconf(folder)
    return [name for name in dir(module) if name[0] != "_" and callable(getattr(module, name))]


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: bool | str | None = "check"
) -> Any:
    """Returns the documentation of a function in hubconf.py of a GitHub repository. See load."""
    folder = _repository(github, force_reload, trust_repo, True)
    with _on_path(folder):
        return _entry(_import_hubconf(folder), model).__doc__
