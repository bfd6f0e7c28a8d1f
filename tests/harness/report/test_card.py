import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import main
from harness.report.card import metric_card
from harness.report.study_folder import FinishedStudy
from tests.harness.page import Page
from tests.harness.results import keep, sparsity_of

pytestmark = pytest.mark.slow


def card(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["card", *map(str, arguments), "--tries", "2"])


def page_of(name: str, *folders: Path) -> str:
    studies = [FinishedStudy.at(folder) for folder in folders]
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
