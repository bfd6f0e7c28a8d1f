"""Every byte of a small study's tables, figures, runs and qrels, as a committed file has it.

If a change of them is meant, write the file anew, and say why in the message of the commit::

    python -m tests.harness.study.test_digests
"""

import json
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.harness.small import WHOLE, as_trec, contents, run_text

KEPT = Path(__file__).with_name("digests.json")
PATTERNS = ("tables/*.csv", "figures/*.svg", "runs/*.parquet", "qrels/*")


def digests_of(folder: Path) -> dict[str, str]:
    """Digests of the files of a study by name."""
    files = {name: b for pattern in PATTERNS for name, b in contents(folder, pattern).items()}
    return {name: sha256(_text(name, content)).hexdigest() for name, content in files.items()}


def _text(name: str, content: bytes) -> bytes:
    """Give lists as TREC's lines: the bytes of Parquet are those of a version of its writer."""
    return as_trec(content).encode() if name.endswith(".parquet") else content


def kept() -> dict[str, str]:
    digests: dict[str, str] = json.loads(KEPT.read_text(encoding="utf-8"))
    return digests


def test_tables_figures_runs_and_qrels_have_the_bytes_that_they_had(finished: Path) -> None:
    before, now = kept(), digests_of(finished)
    changed = sorted(name for name in before | now if before.get(name) != now.get(name))
    if changed:
        pytest.fail(
            f"other bytes than before: {', '.join(changed)}. If that is meant, run `python -m "
            f"{__name__}`, and say why in the commit.",
            pytrace=False,
        )


@pytest.mark.parametrize("n_files", [("tables", 19), ("figures", 17), ("runs", 3), ("qrels", 1)])
def test_files_of_every_kind_are_compared(n_files: tuple[str, int]) -> None:
    folder, n = n_files
    assert len([name for name in kept() if name.startswith(f"{folder}/")]) == n


def renew() -> None:
    """Write the digests of the study as it is made now."""
    with TemporaryDirectory() as base:
        folder = run_text(WHOLE, Path(base), output=Path(base) / "study")
        KEPT.write_text(json.dumps(digests_of(folder), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    renew()
