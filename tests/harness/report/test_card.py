import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analyses.shared.measure import Measures
from harness.cli.main import main
from harness.report.card import metric_card
from harness.report.study_folder import FinishedStudy
from tests.harness.page import Page
from tests.harness.results import keep, sparsity_of

pytestmark = pytest.mark.slow


def card(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["card", *map(str, arguments), "--tries", "2"])


def page_of(name: str, *folders: Path) -> str:
    studies = [FinishedStudy.open(folder) for folder in folders]
    return metric_card(name, studies, tries=2).decode()


@pytest.fixture(scope="module")
def html(finished: Path) -> str:
    return page_of("nDCG@20", finished)


def test_the_card_refers_to_nothing_outside(html: str) -> None:
    assert all(ref.startswith("data:image/svg+xml;base64,") for ref in Page(html).references)
    assert re.search(r"@import|url\(|<script|<link", html) is None
    assert Page(html).open == []


def test_the_card_has_the_laws(html: str) -> None:
    assert "Swapping a relevant item with a non-relevant" in Page(html).text


def test_a_card_made_twice_is_the_same(html: str, finished: Path) -> None:
    assert page_of("nDCG@20", finished) == html


def test_a_metric_may_be_best_that_no_other_beats(copied: Path) -> None:
    keep(copied, "sparsity", sparsity_of({("P", 20): 0.9, ("nDCG", 20): 0.8}, margin=0.05))
    assert ".80 [.75, .85]<" in page_of("nDCG@20", copied)
    assert "], may be best<" in page_of("P@20", copied)


def test_without_a_cutoff_the_deepest_is_meant(finished: Path) -> None:
    assert "<h1>nDCG@20</h1>" in page_of("nDCG", finished)


def test_a_metric_of_the_user_has_a_card(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from harness.metrics.shared.metric import metric\n"
        '@metric("mine", source="by <hand>")\n'
        "def mine(judged, *, cutoff=None):\n"
        '    "Hits."\n'
        "    return judged.hits(cutoff) / 100\n"
    )
    answer = card("mine@5", "--plugin", plugin, "--output", tmp_path / "mine.html")
    assert answer.exit_code == 0
    assert "by &lt;hand&gt;" in (tmp_path / "mine.html").read_text()


def numbers_of(html: str) -> list[list[str]]:
    """The rows of the table of results: cells without markup."""
    (table,) = re.findall(r"<caption>Results in the studies.*?</table>", html, re.DOTALL)
    rows = re.findall(r"<tr><td>(.*?)</td></tr>", table)
    return [re.split(r"</td><td[^>]*>", row) for row in rows]


def test_studies_stand_side_by_side(finished: Path, copied: Path) -> None:
    """Intervals of .75 to .85 in one study; P is the best in the other, where nDCG is beaten."""
    name = "area, random loss of judgements"
    keep(copied, "sparsity", sparsity_of({("P", 20): 0.9, ("nDCG", 20): 0.8}, margin=0.05))
    path = copied / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"study": "copy"}))
    html = page_of("nDCG@20", finished, copied)
    assert re.findall(r'<th scope="col">(.*?)</th>', html)[-2:] == ["small", "copy"]
    (row,) = [row for row in numbers_of(html) if row[0] == name]
    own = FinishedStudy.open(finished).result("sparsity").estimates()
    assert own is not None
    assert row[1].split(", may")[0] == str(own.by_label(own.measures.reported)["nDCG"])
    assert row[2] == ".80 [.75, .85]"


def test_a_number_that_a_study_lacks_is_missing(finished: Path, copied: Path) -> None:
    path = copied / "manifest.json"
    manifest = json.loads(path.read_text())
    results = [name for name in manifest["results"] if name != "popularity"]
    path.write_text(json.dumps(manifest | {"results": results}))
    rows = {row[0]: row[1:] for row in numbers_of(page_of("P@20", finished, copied))}
    lacking = [name for name, cells in rows.items() if cells[1] == "–"]
    assert lacking == ["area, loss of the judgements of popular items"]
    assert all("–" not in cells[0] for cells in rows.values())


def test_the_deepest_cut_off_that_is_reported_is_meant(copied: Path) -> None:
    means = FinishedStudy.open(copied).means
    reported = [measure for measure in means.measures if measure.cutoff == 5]
    measures = Measures(means.measures, reported=reported)
    keep(copied, "means", replace(means, measures=measures))
    assert "<h1>nDCG@5</h1>" in page_of("nDCG", copied)
    only = Measures(means.measures, reported=[m for m in reported if m.metric == "P"])
    keep(copied, "means", replace(means, measures=only))
    assert "<h1>nDCG@20</h1>" in page_of("nDCG", copied)
    assert "<h1>P@20</h1>" in page_of("P@20", copied)


def test_only_built_in_metrics_have_the_notation_of_their_formulas(html: str) -> None:
    assert "R is the number of relevant items of the user" in Page(html).text


def test_a_card_without_a_study_has_the_depth_of_its_name() -> None:
    assert "<h1>P@7</h1>" in page_of("P@7")
    assert "<h1>AP</h1>" in page_of("AP")


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("nDGC@5", "no metric is called 'nDGC'; did you mean 'nDCG'?"),
        ("RR@5", "the study has no metric 'RR'; it has P, nDCG."),
        ("P(rel=2)@5", "the study has no metric 'P(rel=2)'; it has P, nDCG."),
        ("P@7", "has no P@7; it has P@5, P@20."),
    ],
)
def test_a_mistake_is_answered_with_a_sentence(finished: Path, name: str, finding: str) -> None:
    answer = card(name, finished)
    assert answer.exit_code == 2
    assert finding in answer.output
