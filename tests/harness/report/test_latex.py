"""What the harness writes for papers, through LaTeX itself."""

import subprocess
from pathlib import Path
from shutil import which

import pytest

from harness.report.study_folder import FinishedStudy
from harness.report.tables import table_titles, tabulate

needs_tex = pytest.mark.skipif(which("pdflatex") is None, reason="pdflatex is not installed")


def typeset(folder: Path, body: str) -> str:
    """Give what pdflatex says of a document in two columns."""
    text = "\\documentclass[twocolumn]{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    (folder / "paper.tex").write_text(f"{text}{body}\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    said = answer.stdout.decode(errors="replace")
    assert answer.returncode == 0, said
    return said


@needs_tex
def test_every_table_of_a_study_fits_its_page(finished: Path, tmp_path: Path) -> None:
    study = FinishedStudy.open(finished)
    tables = [tabulate(study, name) for name in table_titles(study)]
    assert len(tables) > 5
    said = typeset(tmp_path, "".join(table.to_latex() for table in tables))
    assert "Overfull" not in said
