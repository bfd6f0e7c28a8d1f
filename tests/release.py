"""Make a release of this folder: ``make release VERSION=0.29.0``.

The version and the date of today are written into harness/version.py, CITATION.cff and the heading
"## Unreleased" of CHANGELOG.md; that is committed, and gets an annotated tag. Nothing is pushed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

UNRELEASED = "## Unreleased"
VERSION_FILE = "harness/version.py"
CITATION_FILE = "CITATION.cff"
CHANGELOG_FILE = "CHANGELOG.md"


class ReleaseError(Exception):
    """Why no release can be made, as a sentence with the remedy."""


def main(version: str) -> int:
    """Make the release in the current folder. The exit code is 0, or 2 if it is refused."""
    try:
        tag = release(Path.cwd(), version, date=datetime.now(UTC).date().isoformat())
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Tagged {tag}. To publish it: git push --follow-tags")
    return 0


def release(folder: Path, version: str, *, date: str) -> str:
    """Write version and date, commit, and tag; returns the tag, such as "v0.29.0".

    ``date`` is of the form 2026-12-01. Raises ReleaseError, before anything is written, if the
    version is not three numbers above the last version's, there are changes that are not committed,
    the tag exists, or the changelog lists nothing under "## Unreleased".
    """
    tag = f"v{version}"
    changelog = (folder / CHANGELOG_FILE).read_text(encoding="utf-8")
    check_version(version, last_version=written_version(folder))
    if git(folder, "status", "--porcelain"):
        raise ReleaseError("There are changes that are not committed: commit or stash them first.")
    if git(folder, "tag", "--list", tag):
        raise ReleaseError(f"The tag {tag} exists: choose a later version.")
    if not lists_changes(changelog):
        raise ReleaseError(f"{CHANGELOG_FILE} lists nothing under {UNRELEASED!r}: say what is new.")

    dated_changelog = changelog.replace(UNRELEASED, f"## {version}, {date}", 1)
    texts = {
        CHANGELOG_FILE: dated_changelog,
        VERSION_FILE: with_lines(folder / VERSION_FILE, {"__version__ =": f'"{version}"'}),
        CITATION_FILE: with_lines(
            folder / CITATION_FILE, {"version:": version, "date-released:": date}
        ),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "commit", "--quiet", "--all", "--message", f"Version {version}")
    git(folder, "tag", "--annotate", tag, "--message", f"Version {version}")
    return tag


def check_version(version: str, *, last_version: str) -> None:
    """Refuse, with ReleaseError, a version that is not three numbers above the last version's."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ReleaseError(f"A version is three numbers, such as 1.2.0, not {version!r}.")
    if numbers_of(version) < numbers_of(last_version):
        raise ReleaseError(f"{version} is before the last version, {last_version}.")


def numbers_of(version: str) -> tuple[int, ...]:
    """Read the numbers of a version: (0, 29, 0) of "0.29.0"."""
    return tuple(int(number) for number in version.split("."))


def written_version(folder: Path) -> str:
    """Read the version that the program has."""
    text = (folder / VERSION_FILE).read_text(encoding="utf-8")
    match = re.search(r'(?m)^__version__ = "(.*)"$', text)
    if match is None:
        raise ReleaseError(f"{VERSION_FILE} has no line __version__ = ...")
    return match[1]


def lists_changes(changelog: str) -> bool:
    """Tell whether there is a line with text between "## Unreleased" and the next version."""
    _, heading, rest = changelog.partition(UNRELEASED)
    changes = rest.partition("\n## ")[0]
    return heading != "" and changes.strip() != ""


def with_lines(path: Path, values: Mapping[str, str]) -> str:
    """Read a text, and write new values into lines by their beginnings, such as "version:".

    Raises ReleaseError if there is not exactly one line with such a beginning.
    """
    text = path.read_text(encoding="utf-8")
    for beginning, value in values.items():
        pattern = rf"(?m)^{re.escape(beginning)} .*$"
        text, n_replaced = re.subn(pattern, f"{beginning} {value}", text)
        if n_replaced != 1:
            raise ReleaseError(
                f"{path.name} has {n_replaced} lines that begin with {beginning!r}, not one."
            )
    return text


def git(folder: Path, *arguments: str) -> str:
    """Run git in the folder, and return what it prints."""
    finished = subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    )
    return finished.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
