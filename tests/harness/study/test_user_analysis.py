"""An analysis of a user's own, in a file that the study names: that of the guide."""

import re
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner, Result

from analyses.shared.result import Result as AnalysisResult
from harness.cli.main import main
from harness.report.open_study import open_study
from harness.report.page import render_report
from harness.report.study_folder import FinishedStudy
from runs import InputError
from tests.conftest import figures_left_blank
from tests.harness.page import Page
from tests.harness.small import (
    ANALYSES,
    METRICS,
    ROOT,
    SYSTEMS,
    VALIDITY,
    WORLD,
    made_again,
    made_at,
    read_frame,
    run_text,
)

pytestmark = pytest.mark.slow

GUIDE = ROOT / "docs/guides/new-analysis.md"
(MY_ANALYSIS,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
FILE, METRIC_FILE = "my_analysis.py", "my_metric.py"
MY_METRIC = """
from typing import Annotated
from annotated_types import Ge, Le
from harness import metric

@metric("missed", source="by hand", higher_is_better=False)
def missed(judged, *, cutoff=None, weight: Annotated[float, Ge(0), Le(1)] = 1.0):
    \"\"\"Share of the ranks without a relevant item.

    Parameters
    ----------
    weight
        What a miss costs.
    \"\"\"
    return weight * (1 - judged.hits(cutoff) / cutoff)
"""
OWN_METRICS = METRICS.replace(
    '"nDCG"]', f'"nDCG", "missed", "missed(weight=0.5)"]\nplugins = ["{METRIC_FILE}"]'
)
STUDY = (
    WORLD
    + SYSTEMS
    + METRICS
    + f'[analyses]\nplugins = ["{FILE}"]\n[analyses.spread]\nbest = 3\n'
    + ANALYSES
    + VALIDITY
)
LINE = len((WORLD + SYSTEMS + METRICS).splitlines()) + 2
"""Where the study names the file."""


def harness(*arguments: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, [*map(str, arguments)])


@pytest.fixture(scope="module")
def base(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the user's file, with the study that names it."""
    base = tmp_path_factory.mktemp("user")
    (base / FILE).write_text(MY_ANALYSIS)
    copytree(finished, base / "study")
    with figures_left_blank():
        run_text(STUDY, base, output=base / "study")
    return base


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with files of both kinds: an analysis and a metric."""
    base = tmp_path_factory.mktemp("measured")
    (base / FILE).write_text(MY_ANALYSIS)
    (base / METRIC_FILE).write_text(MY_METRIC)
    with figures_left_blank():
        run_text(STUDY.replace(METRICS, OWN_METRICS), base, output=base / "study")
    return base


@pytest.fixture
def own(base: Path, tmp_path: Path) -> Path:
    """A copy of that folder, to be damaged."""
    copied = copytree(base, tmp_path / "user")
    run_text(STUDY, copied, output=copied / "study")
    return copied


def test_an_analysis_that_joins_a_study_is_made_alone(finished: Path, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(MY_ANALYSIS)
    folder = copytree(finished, tmp_path / "study")
    before = made_at(folder)
    run_text(STUDY, tmp_path, output=folder)
    assert made_again(folder, before) == {"spread", "drawn-spread"}


def test_a_setting_that_breaks_its_rule_is_refused_with_its_line(base: Path) -> None:
    sentence = (
        rf"study\.toml, line {LINE + 2}: `best` in \[analyses\.spread\] must be "
        r"at least 2, got 1\."
    )
    with pytest.raises(InputError, match=sentence):
        run_text(STUDY.replace("best = 3", "best = 1"), base, output=base / "study")


def test_the_report_shows_its_figure_table_and_sentence(base: Path) -> None:
    html = (base / "study/report.html").read_text(encoding="utf-8")
    page = Page(html)
    assert {"spread", "spread_bars"} <= set(page.ids)
    assert "<caption>Spread</caption>" in html
    assert "The best systems differ most under " in page.text
    assert "Spread of the best systems. Difference between the highest" in page.text


def test_a_changed_file_makes_its_own_result_again_and_no_other(own: Path) -> None:
    before = made_at(own / "study")
    (own / FILE).write_text(MY_ANALYSIS.replace("b[-1] - b[0]", "b[0] - b[-1]"))
    run_text(STUDY, own, output=own / "study")
    assert made_again(own / "study", before) == {"spread", "drawn-spread"}
    assert (read_frame(own / "study", "spread").width < 0).all()


@pytest.fixture
def forbidden(measured: Path, tmp_path: Path) -> Path:
    """A copy of it, with files of the user's that say so when they are run."""
    own = copytree(measured, tmp_path / "own")
    for page in (own / "study/study.toml", own / "study/report.html"):
        page.write_text(page.read_text().replace(str(measured), str(own)))
    for file in (FILE, METRIC_FILE):
        touch = f"import pathlib\npathlib.Path({str(own / 'marker')!r}).touch()\n1 / 0\n"
        (own / file).write_text(touch)
    return own


@pytest.mark.usefixtures("blank_figures")
def test_nothing_that_the_folder_names_is_run(forbidden: Path, tmp_path: Path) -> None:
    study = forbidden / "study"
    report = (study / "report.html").read_bytes()
    opened = open_study(study)
    assert opened.table("spread").rows
    assert opened.summary().findings
    assert {"spread", "spread_bars"} <= {*opened.tables, *opened.figures}
    for arguments in (
        ("report", study),
        ("table", study),
        ("table", study, "spread"),
        ("figure", study),
        ("figure", study, "fig6", "--output", tmp_path / "fig6.svg"),
        ("card", "P@5", study, "--tries", "2", "--output", tmp_path / "card.html"),
        ("export", study, "--output", tmp_path / "exported"),
    ):
        assert harness(*arguments).exit_code == 0, arguments
    assert (study / "report.html").read_bytes() == report
    assert not (forbidden / "marker").exists()


def test_what_is_kept_is_what_the_file_shows(base: Path) -> None:
    kept, anew = open_study(base / "study"), open_study(base / "study", plugins=[base / FILE])
    assert kept.result("spread") != anew.result("spread")
    assert type(anew.result("spread")).__name__ == "Spread"
    assert kept.table("spread").to_text() == anew.table("spread").to_text()
    assert kept.summary() == anew.summary()
    study, own = base / "study", [base / FILE]
    page = render_report(FinishedStudy.open(study, own))
    assert page == render_report(FinishedStudy.open(study))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            MY_ANALYSIS.replace('@analysis("spread", source="by hand")\n', ""),
            r"one function must be declared with @analysis\(\.\.\.\)\.",
        ),
        (MY_ANALYSIS.replace('@analysis("spread"', '@analysis("users"'), "'users' exists already"),
        ("1 / 0\n", "the analysis fails with ZeroDivisionError: division by zero"),
    ],
)
def test_a_file_that_is_no_new_analysis_is_refused_before_any_work(
    tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(
        InputError, match=rf"study\.toml, line {LINE}: .*{FILE}(, line 1)?: .*{sentence}"
    ):
        run_text(STUDY, tmp_path, output=tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_a_file_that_is_missing_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"line {LINE}: .*{FILE}: the analysis does not exist\."):
        run_text(STUDY, tmp_path, output=tmp_path / "study")
    assert not (tmp_path / "study").exists()


@dataclass(frozen=True, eq=False)
class Bare(AnalysisResult):
    """Without numbers or a caption."""


@pytest.mark.parametrize("name", ["frames", "caption"])
def test_a_result_that_lacks_a_method_is_named_with_its_file(name: str) -> None:
    with pytest.raises(InputError, match=f"{Path(__file__).name}: the class Bare has .* `{name}`"):
        getattr(Bare(), name)()
