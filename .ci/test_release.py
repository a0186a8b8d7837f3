"""A release is rejected, or written wherever its version belongs."""

import shutil
import subprocess

import pytest
import release


@pytest.fixture
def tree(tmp_path):
    """The files that a release changes, committed, with a changelog of two sections."""
    for name in (*release.PLACES, "capi/tensor.map", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(release.ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.3.0\n- New.\n\n## 1.2.9 (2026-01-02)\n- Old.\n")
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def test_one_version_is_written_everywhere():
    assert len({*release.versions(release.ROOT).values()}) == 1 and "" not in release.versions(release.ROOT).values()


def test_a_release_is_written(tree):
    assert release.find_obstacles(tree, "1.3.0") == []
    release.write(tree, "1.3.0", "2026-02-03")
    assert {*release.versions(tree).values()} == {"1.3.0"}
    assert (tree / "CHANGELOG.md").read_text() == "# Changelog\n\n## 1.3.0 (2026-02-03)\n- New.\n\n## 1.2.9 (2026-01-02)\n- Old.\n"
    assert "TENSOR_PRIVATE_1.3 {" in (tree / "capi/tensor.map").read_text()
    lock = (tree / "bindings/node/package-lock.json").read_text()
    assert lock.count('"1.3.0"') == 2  # of the package by itself, and among the packages


@pytest.mark.parametrize(
    ("version", "changelog", "text"),
    [
        ("1.3", None, "1.3 is no version: MAJOR.MINOR.PATCH"),
        ("1.3.0-rc1", None, "1.3.0-rc1 is no version"),
        ("1.4.0", None, "CHANGELOG.md begins with no section `## 1.4.0`"),
        ("1.2.9", "## 1.2.9 (2026-01-02)\n", "1.2.9 does not come after 1.2.9, the last release"),
        ("1.2.10", "## 1.2.10\n\n## 1.3.0 (2026-01-02)\n", "1.2.10 does not come after 1.3.0, the last release"),
        ("1.3.0", "", "no section"),
    ],
)
def test_releases_that_are_rejected(tree, version, changelog, text):
    if changelog is not None:
        (tree / "CHANGELOG.md").write_text(changelog)
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "other"], cwd=tree, check=True)
    said = release.find_obstacles(tree, version)
    assert any(text in each for each in said) and not any("not committed" in each for each in said)


def test_what_is_not_committed_rejects(tree):
    (tree / "Makefile").write_text((tree / "Makefile").read_text().replace("VERSION := ", "VERSION := 9"))
    said = release.find_obstacles(tree, "1.3.0")
    assert "not committed:\n M Makefile" in said[0] and "versions differ: 9" in said[1]
