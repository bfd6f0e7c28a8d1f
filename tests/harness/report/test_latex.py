"""What the harness writes for papers, through LaTeX itself."""

import subprocess
from itertools import combinations
from pathlib import Path
from shutil import which

import numpy as np
import pytest

from analyses.shared.measure import Measure, Measures
from analyses.systems import Systems
from harness.report.study_folder import FinishedStudy
from harness.report.tables import table_titles, tabulate

needs_tex = pytest.mark.skipif(which("pdflatex") is None, reason="pdflatex is not installed")

ARTICLE = "\\documentclass[twocolumn]{article}\n"

ACM_COLUMN = """\\documentclass[9pt]{amsart}
\\setlength{\\textwidth}{241.147pt}
\\setlength{\\hsize}{\\textwidth}
\\setlength{\\columnwidth}{\\textwidth}
"""
"""Letters and columns of ACM's class acmart, format sigconf, which builds on amsart."""


def typeset(folder: Path, body: str, *, preamble: str = ARTICLE) -> str:
    """Give what pdflatex says of a document, by default in two columns."""
    text = f"{preamble}\\usepackage{{booktabs}}\n\\begin{{document}}\n{body}\\end{{document}}\n"
    (folder / "paper.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    said = answer.stdout.decode(errors="replace")
    assert answer.returncode == 0, said
    return said


def twenty_systems() -> Systems:
    """Systems of which those more than five ranks apart differ, by four measures."""
    measures = Measures([Measure(name, 10) for name in ("nDCG", "Recall", "AP", "P")])
    shape = (4, 20)
    means = np.tile(np.linspace(0.6, 0.22, 20), (4, 1))
    distances = np.array([second - first for first, second in combinations(range(20), 2)])
    return Systems(
        measures=measures,
        systems=tuple(f"nncosngbr-ub-{number}" for number in range(20)),
        means=means,
        low=means - 0.05,
        high=means + 0.05,
        p_adjusted=np.tile(np.where(distances > 5, 0.01, 0.5), (4, 1)),
        n_scoring_users=np.full(shape, 600),
        n_users=600,
        correction="max-t",
        alpha=0.05,
        permutations=10_000,
        seed=1,
    )


@needs_tex
def test_every_table_of_a_study_fits_its_page(finished: Path, tmp_path: Path) -> None:
    study = FinishedStudy.open(finished)
    tables = [tabulate(study, name) for name in table_titles(study)]
    assert len(tables) > 5
    said = typeset(tmp_path, "".join(table.to_latex() for table in tables))
    assert "Overfull" not in said


@needs_tex
def test_twenty_systems_and_four_measures_fit_a_column_of_acm(tmp_path: Path) -> None:
    written = twenty_systems().to_latex()
    assert r"\begin{table}" in written
    assert "Overfull" not in typeset(tmp_path, written, preamble=ACM_COLUMN)
