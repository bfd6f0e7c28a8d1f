"""A small study's tables, figures, runs and qrels, as a committed file has them.

Numbers of tables count to nine digits and twelve decimals: the last ones depend on the processor,
whose vector units round exp and log differently; exact p-values have errors of 1e-16. If a change
is meant, write the file anew, and say why in the message of the commit. Figures are compared where
matplotlib is the version that drew them::

    python -m tests.harness.study.test_digests
"""

import json
import re
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.harness.small import WHOLE, as_trec, contents, run_text

KEPT = Path(__file__).with_name("digests.json")
NUMBER = re.compile(r"(?<![\w.-])-?\d+\.\d+(?:e[+-]?\d+)?|(?<![\w.-])-?\d+e-\d+")
DRAWN_BY = "version of matplotlib"
PATTERNS = ("tables/*.csv", "figures/*.svg", "runs/*.parquet", "qrels/*")


def digests_of(folder: Path) -> dict[str, str]:
    """Digests of the files of a study by name."""
    files = {name: b for pattern in PATTERNS for name, b in contents(folder, pattern).items()}
    return {name: sha256(_text(name, content)).hexdigest() for name, content in files.items()}


def _text(name: str, content: bytes) -> bytes:
    """Give lists as TREC's lines, as Parquet's bytes are those of its writer; round tables."""
    if name.endswith(".csv"):
        return NUMBER.sub(lambda found: _rounded(float(found[0])), content.decode()).encode()
    return as_trec(content).encode() if name.endswith(".parquet") else content


def _rounded(number: float) -> str:
    return f"{round(number, 12):.9g}"


def kept() -> dict[str, str]:
    digests: dict[str, str] = json.loads(KEPT.read_text(encoding="utf-8"))
    return digests


def test_tables_figures_runs_and_qrels_are_what_they_were(drawn: Path) -> None:
    before, now = kept(), digests_of(drawn)
    if before.pop(DRAWN_BY) != version("matplotlib"):
        before, now = (
            {n: d for n, d in each.items() if n[-4:] != ".svg"} for each in (before, now)
        )
    changed = sorted(name for name in before | now if before.get(name) != now.get(name))
    if changed:
        pytest.fail(
            f"other contents than before: {', '.join(changed)}. If that is meant, run `python -m "
            f"{__name__}`, and say why in the commit.",
            pytrace=False,
        )


@pytest.mark.parametrize("n_files", [("tables", 19), ("figures", 14), ("runs", 3), ("qrels", 1)])
def test_files_of_every_kind_are_compared(n_files: tuple[str, int]) -> None:
    folder, n = n_files
    assert len([name for name in kept() if name.startswith(f"{folder}/")]) == n


def renew() -> None:
    """Write the digests of the study as it is made now."""
    with TemporaryDirectory() as base:
        folder = run_text(WHOLE, Path(base), output=Path(base) / "study")
        found = {DRAWN_BY: version("matplotlib"), **digests_of(folder)}
        KEPT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    renew()
