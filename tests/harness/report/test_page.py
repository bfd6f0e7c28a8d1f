import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from analyses.shared.measure import Measure
from analyses.shared.result import figures_of
from analyses.validity.validity_result import Validity
from harness.report.page import INTERVALS, Summary, render_page, render_report, summarise
from harness.report.study_folder import FinishedStudy
from tests.harness.page import Page
from tests.harness.results import discrimination_of, keep
from tests.harness.small import NO_ANALYSES, TREC, TREC_METRICS, run_text, write_qrels, write_run


@pytest.fixture(scope="module")
def page(finished: Path) -> Page:
    return Page((finished / "report.html").read_text(encoding="utf-8"))


def test_the_page_refers_to_nothing_outside(page: Page) -> None:
    assert [ref for ref in page.references if re.match(r"[a-z]+:|//", ref)] == [
        ref for ref in page.references if ref.startswith("data:image/")
    ]


def test_the_page_has_every_image_within(page: Page, finished: Path) -> None:
    images = [ref for ref in page.references if ref.startswith("data:image/svg+xml;base64,")]
    assert len(images) == len(list(finished.glob("figures/*.svg")))


def test_the_page_loads_no_style_or_script_from_elsewhere(finished: Path) -> None:
    html = (finished / "report.html").read_text(encoding="utf-8")
    assert re.search(r"@import|url\(|<script[^>]*\bsrc|<link", html) is None


def test_every_link_into_the_study_folder_leads_to_a_file(page: Page, finished: Path) -> None:
    links = [ref for ref in page.references if not ref.startswith(("data:", "#"))]
    assert links
    assert [link for link in links if not (finished / link).is_file()] == []


def test_every_link_within_the_page_leads_to_a_place(page: Page) -> None:
    anchors = {ref[1:] for ref in page.references if ref.startswith("#")}
    assert anchors <= set(page.ids)


def test_every_element_is_closed(page: Page) -> None:
    assert page.open == []


@pytest.mark.parametrize("number", range(1, 9))
def test_every_figure_has_its_file_and_caption(page: Page, number: int, finished: Path) -> None:
    (caption,) = finished.glob(f"figures/figure{number}_*.txt")
    assert f"{caption.stem}.svg" in page.text
    assert caption.read_text(encoding="utf-8").strip() in page.text


def test_the_page_says_what_ran(page: Page, finished: Path) -> None:
    assert (finished / "study.toml").read_text(encoding="utf-8").strip() in page.text


def test_the_page_is_made_again_from_the_folder(finished: Path) -> None:
    assert render_report(FinishedStudy.open(finished)) == (finished / "report.html").read_bytes()


def test_every_caption_says_what_the_data_are(page: Page, finished: Path) -> None:
    study = FinishedStudy.open(finished)
    files = [finished / "figures" / f"{face.file_stem}.txt" for _, face in study.figures()]
    captions = [study.caption(file.read_text(encoding="utf-8").rstrip()) for file in files]
    assert len(set(captions)) > 8
    assert all(study.manifest.data in caption for caption in captions)
    assert [caption for caption in captions if caption not in page.text] == []


def test_numbers_sort_by_all_their_digits(finished: Path) -> None:
    html = (finished / "report.html").read_text(encoding="utf-8")
    means = FinishedStudy.open(finished).means
    mean = float(means.values[means.measures.index(Measure("P", 20)), 0])
    assert f'data-value="{mean}"' in html


def test_figures_stand_in_the_order_of_their_numbers_after_those_of_the_truth(page: Page) -> None:
    of_truth = {face.sort_key for face in figures_of(Validity)}
    fold = page.ids.index("all")
    for part in (page.ids[:fold], page.ids[fold:]):
        numbers = [int(n[1]) for name in part if (n := re.match(r"figure(\d+)_", name))]
        assert len(numbers) > 3
        assert numbers == sorted(numbers, key=lambda n: (n != 0, n not in of_truth, n))


def test_positive_only_qrels_are_warned_of_on_the_page(tmp_path: Path) -> None:
    write_run(tmp_path, "full", {"u1": ["a"]})
    write_run(tmp_path, "partial", {"u1": ["b", "a"]})
    write_qrels(tmp_path, {"u1": {"a": 1}})
    folder = run_text(TREC + TREC_METRICS + NO_ANALYSES, tmp_path, output=tmp_path / "study")
    html = (folder / "report.html").read_text(encoding="utf-8")
    top, _, _ = html.partition('<h2 id="summary">')
    assert "<li>1 of the 1 topics (100 %) has no judged non-relevant item: for them bpref" in top


def test_names_cannot_smuggle_in_html(tmp_path: Path) -> None:
    write_run(tmp_path, "<b>bold</b>", {"u1": ["a"]}, name="1.run")
    write_run(tmp_path, "partial", {"u1": ["b", "a"]}, name="2.run")
    write_qrels(tmp_path, {"u1": {"a": 1, "b": 0}})
    folder = run_text(TREC + TREC_METRICS + NO_ANALYSES, tmp_path, output=tmp_path / "study")
    assert "<b>bold" not in (folder / "report.html").read_text(encoding="utf-8")


# What the page shows, in numbers


@pytest.fixture(scope="module")
def html(finished: Path) -> str:
    return (finished / "report.html").read_text(encoding="utf-8")


def test_the_page_allows_its_own_style_and_script_alone(html: str) -> None:
    rules = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    own = {}
    for kind in ("style", "script"):
        (text,) = re.findall(f"<{kind}>(.*?)</{kind}>", html, flags=re.DOTALL)
        own[kind] = b64encode(sha256(text.encode()).digest()).decode()
    assert rules == [
        f"default-src 'none'; style-src 'sha256-{own['style']}'; script-src "
        f"'sha256-{own['script']}'; img-src data:; base-uri 'none'; form-action 'none'"
    ]


def images_in(html: str) -> dict[str, tuple[str, str]]:
    """Class and alternative text of each image, by the name of the figure."""
    found = re.findall(
        r'<figure id="([^"]*)"[^>]*>\s*<div[^>]*><img class="([^"]*)"[^>]*alt="([^"]*)"', html
    )
    return {name: (kind, unescape(alt)) for name, kind, alt in found}


def test_images_are_four_fifths_of_their_points_wide_at_least(html: str, finished: Path) -> None:
    """Text of 8.5 points then has 7 pixels: .83 pixels for a point, and twice as many at most."""
    images = images_in(html)
    assert len(images) > 8
    for name, (kind, _) in images.items():
        svg = (finished / f"figures/{name}.svg").read_text(encoding="utf-8")
        (points,) = re.findall(r'<svg[^>]* width="([0-9.]+)pt"', svg)
        width = round(0.83 * float(points))
        assert kind == f"w{width}"
        assert f".w{width} {{ min-width: {width}px; width: {2 * width}px; }}" in html


def test_the_first_figure_of_a_result_is_told_by_its_findings_others_by_captions(
    html: str, finished: Path
) -> None:
    result, images = FinishedStudy.open(finished).result("sparsity"), images_in(html)
    first, over_cutoffs = (
        next(face for face in figures_of(type(result)) if face.name == name)
        for name in ("sparsity_metrics", "sparsity_cutoffs")
    )
    findings = " ".join(result.findings())
    assert images[first.file_stem][1] == f"{first.title}. {findings}"
    caption = (
        (finished / f"figures/{over_cutoffs.file_stem}.txt").read_text(encoding="utf-8").strip()
    )
    assert images[over_cutoffs.file_stem][1] == f"{over_cutoffs.title}. {caption}"
    top, _, more = html.partition('<h2 id="all">')
    assert f'<figure id="{first.file_stem}"' in top
    assert f'<figure id="{over_cutoffs.file_stem}"' in more


def section_of(html: str, key: str) -> str:
    """What stands open in the section of a result."""
    (section,) = re.findall(rf'<section>\s*<h2 id="{key}">.*?</section>', html, re.DOTALL)
    return str(section)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "is_open"), [(12, True), (13, False)])
def test_a_table_of_more_than_twelve_rows_is_folded(
    n_rows: int, is_open: bool, copied: Path
) -> None:
    p = {(f"m{number}", 20): [0.01, 0.02, 0.03] for number in range(n_rows)}
    keep(copied, "discrimination", discrimination_of(p))
    html = render_report(FinishedStudy.open(copied)).decode()
    assert ("<td>m0</td>" in section_of(html, "discrimination")) == is_open
    assert "<td>m0</td>" in html


def test_a_section_shows_one_table_and_one_figure(html: str) -> None:
    section = section_of(html, "discrimination")
    assert section.count("<table") == 1
    assert section.count("<figure") == 1


def test_sections_are_named_for_their_analyses_and_that_of_users_for_the_units(html: str) -> None:
    headings = dict(re.findall(r'<h2 id="([a-z_]*)">([^<]*)</h2>', html))
    assert headings["users"] == "Users"
    assert headings["sparsity"] == "Sparsity"
    assert "means" not in headings
    assert '<details id="means">' in html
    assert "{units}" not in html


def test_a_caption_that_stands_below_the_figure_is_not_repeated(html: str, finished: Path) -> None:
    caption = FinishedStudy.open(finished).result("sparsity").caption()
    assert caption in unescape(html)
    assert f'<p class="note">{caption}' not in unescape(html)


def facts_of(html: str) -> dict[str, str]:
    """The tables of facts: the second cell by the first, of several rows that of the first."""
    rows = re.findall(r"<tr><td>([^<]*)</td><td[^>]*>([^<]*)</td></tr>", html)
    return dict(reversed(rows))


@pytest.mark.slow
def test_facts_are_counts_with_commas_and_shares_of_four_digits(copied: Path) -> None:
    path = copied / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["collection"] |= {"judgements": 12345, "relevance level": 4}
    manifest["collection"]["ratings"] |= {"gini": 0.123456, "is_dense": True, "scale": "stars"}
    manifest["seconds"] = {"split": {"wall": 2.0, "cpu": 1234.56}}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    facts = facts_of(render_report(FinishedStudy.open(copied)).decode())
    assert facts["judgements"] == "12,345"
    assert facts["lowest relevant grade"] == "4"
    assert facts["Gini index of the items&#39; ratings"] == "0.1235"
    assert facts["is dense"] == "True"
    assert facts["scale"] == "stars"
    assert facts["split"] == "1234.6"
    assert facts["harness"] == manifest["versions"]["harness"]


@pytest.mark.slow
def test_code_in_cautions_is_set_as_code(copied: Path) -> None:
    path = copied / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(manifest | {"warnings": ["Set `a<b` of `c`."]}), encoding="utf-8")
    page = render_report(FinishedStudy.open(copied)).decode()
    assert "<li>Set <code>a&lt;b</code> of <code>c</code>.</li>" in page


def test_a_page_without_a_style_or_script_allows_none() -> None:
    page = render_page("parts.html").decode()
    assert "Content-Security-Policy" not in page


def test_a_summary_has_the_answer_or_the_first_eight_findings() -> None:
    findings = tuple(f"finding {number}" for number in range(9))
    lines = repr(Summary((), findings, ("mind",))).splitlines()
    assert lines == ["Summary: 9 findings, 1 caution", *findings[:8], lines[-1]]
    answered = repr(Summary(("answer",), findings, ())).splitlines()
    assert answered[:2] == ["Summary: 9 findings, 0 cautions", "answer"]
    assert len(answered) == 3
    shown = Summary(("answer",), ("finding",), ("mind",))._repr_html_()
    assert re.findall(r"<p>(\w+)</p>", shown) == ["answer", "finding", "mind"]


def test_the_summary_has_every_finding_once_and_the_answer_apart(finished: Path) -> None:
    study = FinishedStudy.open(finished)
    summary = summarise(study)
    results: dict[str, Any] = dict(study.results())
    answer = results.pop("answer")
    assert summary.answer == tuple(answer.findings())
    found = [finding for result in results.values() for finding in result.findings()]
    assert summary.findings == tuple(dict.fromkeys(filter(None, found)))
    assert INTERVALS not in summary.cautions


@pytest.mark.slow
def test_without_an_answer_the_summary_says_what_intervals_are(scored: Path) -> None:
    assert summarise(FinishedStudy.open(scored)).cautions[-1] == INTERVALS
