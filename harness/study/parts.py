"""What a result leaves in the study folder: evidence, tables in full, figures with captions."""

from __future__ import annotations

from collections.abc import Callable

from analyses.shared.evidence import to_evidence
from analyses.shared.publish import figure_files, frame_files
from analyses.shared.result import Result, figures_of
from harness.report.kept_result import keep_result
from harness.report.study_folder import evidence_name, kept_name


def result_files(
    key: str, result: Result, *, is_users: bool = False, worded: Callable[[str], str] = str
) -> dict[str, bytes]:
    """Give the files of a result, by their names in the study folder, in the words of the study.

    What a user's analysis shows is kept: its file may be gone, or another, when it is read.
    """
    files = {evidence_name(key): to_evidence(result)}
    files |= {kept_name(key): keep_result(result)} if is_users else {}
    files |= {f"tables/{name}": content for name, content in frame_files(result).items()}
    for face in figures_of(type(result)):
        if face.is_of(result):
            drawn = figure_files(result, face, kinds=("svg",), worded=worded)
            files |= {f"figures/{face.file}.{ending}": content for ending, content in drawn.items()}
    return files
