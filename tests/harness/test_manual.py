"""The manual: every name of the program is explained, also by the names of other tools."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from analyses.shared.analysis import built_in_analyses
from harness import manual
from harness.cli.main import main
from harness.manual import Page, explain, find_mentions, foreign_names
from harness.metrics.shared.register import built_in_metrics
from qrels import splits
from recommenders import systems
from runs import InputError

REPORT = Path(manual.__file__).parent / "report"


def first_title(name: str) -> str:
    return explain(name)[0].title


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("map_cut", "AP"),
        ("map_cut.10", "AP"),
        ("ndcg_cut_10", "nDCG"),
        ("MRR", "RR"),
        ("recip_rank", "RR"),
        ("HR@10", "Success"),
        ("hit rate", "Success"),
        ("11pt_avg", "IAP"),
        ("nDCG(gains=exp)@10", "nDCG"),
        ("infAP", "infAP"),
    ],
)
def test_a_metric_is_found_by_the_names_of_other_tools(name: str, metric: str) -> None:
    assert f"{metric}: a metric" in [explanation.title for explanation in explain(name)]


def test_every_member_of_the_lists_is_explained() -> None:
    titles = {explanation.title for explanation in manual.all_explanations()}
    assert {f"{name}: a metric" for name in built_in_metrics()} <= titles
    assert {f"{name}: an analysis" for name in built_in_analyses()} <= titles
    assert {f"{name}: a system" for name in systems()} <= titles
    assert {f"{name}: a split" for name in splits()} <= titles


def test_an_analysis_is_explained_with_its_settings_and_figures() -> None:
    (analysis, *_) = explain("sparsity")
    assert analysis.title == "sparsity: an analysis"
    assert "`least_nonrelevant`" in analysis.text
    assert "`fig6`" in analysis.text


def test_a_setting_is_explained_for_every_section_that_has_it() -> None:
    (setting,) = [one for one in explain("samples") if one.kind == "setting"]
    assert "`[analyses.sparsity]`" in setting.text
    assert "`[analyses.graded_loss]`" in setting.text


def test_a_term_is_explained_by_the_page_that_is_about_it() -> None:
    assert first_title("discriminative power") == "Tests and discriminative power (tests)"


def test_a_phrase_is_found_in_the_texts() -> None:
    titles = [explanation.title for explanation in find_mentions("trec_eval's infAP")]
    assert "infAP_trec: a metric" in titles


def test_a_misspelt_name_is_answered_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="did you mean 'nDCG'"):
        find_mentions("nDGC")


def test_what_the_report_names_is_explained() -> None:
    texts = [path.read_text(encoding="utf-8") for path in REPORT.glob("*.*")]
    topics = set(re.findall(r'topic="([^"]+)"', "".join(texts)))
    topics |= set(re.findall(r'explained\("([^"]+)"\)', "".join(texts)))
    assert len(topics) >= 5
    assert [topic for topic in topics if not explain(topic)] == []


def test_code_on_a_page_has_no_headings(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("# A and B\n\nText.\n\n## C\n\n```\n# no heading\n```\n\n### D\n\nInner.\n")
    page, section, inner = Page.read(path).explanations()
    assert page.names[-2:] == ("A", "B")
    assert section.text == "```\n# no heading\n```\n\n### D\n\nInner."
    assert inner.text == "Inner."


def test_names_of_other_tools_are_not_those_of_ours() -> None:
    names = {(foreign.tool, foreign.name): foreign.here for foreign in foreign_names()}
    assert names["trec_eval", "map_cut"] == "AP@n"
    assert names["trec_eval", "gm_map"] == "AP(mean=geometric)"
    assert names["trec_eval", "num_q"] == "harness evaluate -m num_q"
    assert names["ir_measures", "SetAP"] == "ir_measures:SetAP"
    assert ("trec_eval", "bpref") not in names


def test_the_command_prints_an_explanation_or_the_names() -> None:
    explained = CliRunner().invoke(main, ["docs", "hit", "rate"])
    assert "Success: a metric" in explained.stdout
    names = CliRunner().invoke(main, ["docs"])
    assert "popularity-percentile" in names.stdout
    unknown = CliRunner().invoke(main, ["docs", "nDGC"])
    assert unknown.exit_code == 2
