import json
from pathlib import Path

from harness.report.page import summarise
from harness.report.study_folder import FinishedStudy


def warned(folder: Path) -> str:
    return " ".join(summarise(FinishedStudy.at(folder)).cautions)


def without_validity(folder: Path) -> None:
    """Let a study of a world have no result that knows the truth."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["results"].remove("validity")
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_what_is_right_is_said_by_what_knows_the_truth_if_anything_does(copied: Path) -> None:
    assert "is shown by validity." in warned(copied)
    without_validity(copied)
    assert "none of these numbers" in warned(copied)
