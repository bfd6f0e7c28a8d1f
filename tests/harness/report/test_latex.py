"""What the harness writes for papers, through LaTeX itself."""

import subprocess
from pathlib import Path
from shutil import which

import pytest

from analyses.shared.table import Table
from harness.report.study_folder import FinishedStudy
from harness.report.tables import tabulate, titles

needs_tex = pytest.mark.skipif(which("pdflatex") is None, reason="pdflatex is not installed")
SIGNS = r"a_b 50 % & # $ { } ~ ^ \ < > | \" ` [x] * ≤ ± – × ² 2.0e-06"
ODD = Table(
    "odd",
    f"Signs: {SIGNS}",
    SIGNS,
    ["system", "[P]", "*", "95 %", "95 %"],
    [["[a_b]", 0.5, 2e-6, 1e-13, "0.1 to 0.2"], ["*&", 0.25, 0.5, float("nan"), SIGNS[:3]]],
    {1: max, 2: min},
)


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
    study = FinishedStudy.at(finished)
    tables = [tabulate(study, name) for name in titles(study)]
    assert len(tables) > 5
    said = typeset(tmp_path, "".join(table.to_latex() for table in tables))
    assert "Overfull" not in said


@needs_tex
@pytest.mark.skipif(which("pdftotext") is None, reason="pdftotext is not installed")
def test_signs_that_mean_something_to_latex_are_printed(tmp_path: Path) -> None:
    typeset(tmp_path, ODD.to_latex())
    command = ["pdftotext", "-layout", "paper.pdf", "-"]
    answer = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    # Of a line that stands for "_" it gives a blank.
    for signs in ("a b 50 % & # $ {", "< > |", "[x] * ≤ ± –", "[a b]", "*&", "[P]"):
        assert signs in answer.stdout.decode()
