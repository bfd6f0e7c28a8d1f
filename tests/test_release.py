"""A release has its version and date everywhere, in one commit with an annotated tag."""

from pathlib import Path

import pytest

from tests.release import CHANGELOG_FILE, CITATION_FILE, VERSION_FILE, ReleaseError, git, release

CHANGELOG = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.9.0, 2026-01-01\n\n- Old.\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder under git with the files that name the version."""
    (tmp_path / "harness").mkdir()
    (tmp_path / VERSION_FILE).write_text('"""The version."""\n\n__version__ = "0.9.0"\n')
    citation = "cff-version: 1.2.0\nversion: 0.9.0\ndate-released: 2026-01-01\n"
    (tmp_path / CITATION_FILE).write_text(citation)
    (tmp_path / CHANGELOG_FILE).write_text(CHANGELOG)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "user.name", "Somebody")
    git(tmp_path, "config", "user.email", "somebody@example.org")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    return tmp_path


def test_version_and_date_are_written_committed_and_tagged(checkout: Path) -> None:
    assert release(checkout, "0.10.0", date="2026-12-01") == "v0.10.0"
    assert '__version__ = "0.10.0"' in (checkout / VERSION_FILE).read_text()
    expected_citation = "cff-version: 1.2.0\nversion: 0.10.0\ndate-released: 2026-12-01\n"
    assert (checkout / CITATION_FILE).read_text() == expected_citation
    expected_changelog = CHANGELOG.replace("## Unreleased", "## 0.10.0, 2026-12-01")
    assert (checkout / CHANGELOG_FILE).read_text() == expected_changelog
    assert git(checkout, "status", "--porcelain") == ""
    # Only an annotated tag is an object of its own.
    assert git(checkout, "cat-file", "-t", "v0.10.0") == "tag"
    assert git(checkout, "rev-parse", "v0.10.0^{commit}") == git(checkout, "rev-parse", "HEAD")


@pytest.mark.parametrize("version", ["0.8.9", "1.0", "v1.0.0", "1.0.0rc1", ""])
def test_other_versions_are_refused(checkout: Path, version: str) -> None:
    with pytest.raises(ReleaseError):
        release(checkout, version, date="2026-12-01")
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "tag") == ""


def test_a_dirty_tree_is_refused(checkout: Path) -> None:
    (checkout / "new.py").write_text("")
    with pytest.raises(ReleaseError, match="not committed"):
        release(checkout, "0.10.0", date="2026-12-01")
    assert (checkout / CHANGELOG_FILE).read_text() == CHANGELOG


def test_a_release_is_made_once_and_of_something(checkout: Path) -> None:
    release(checkout, "0.10.0", date="2026-12-01")
    with pytest.raises(ReleaseError, match="exists"):
        release(checkout, "0.10.0", date="2026-12-02")
    with pytest.raises(ReleaseError, match="lists nothing"):
        release(checkout, "0.11.0", date="2026-12-02")
