import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from analyses.shared.measure import Measure
from analyses.shared.publish import figure_files
from analyses.shared.result import figures_of
from analyses.validity.validity_result import Validity
from harness.report.page import INTERVALS, Summary, _text_of, render_page, render_report, summarise
from harness.report.study_folder import FinishedStudy
from tests.analyses.shared.test_figures import curves
from tests.harness.page import Page
from tests.harness.results import discrimination_of, keep
from tests.harness.small import NO_ANALYSES, TREC, TREC_METRICS, run_text, write_qrels, write_run


@pytest.fixture(scope="module")
def finished(drawn: Path) -> Path:
    """The finished study whose figures are drawn."""
    return drawn


@pytest.fixture(scope="module")
def page(finished: Path) -> Page:
    return Page((finished / "report.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def html(finished: Path) -> str:
    return (finished / "report.html").read_text(encoding="utf-8")


def test_the_page_refers_to_nothing_outside(page: Page) -> None:
    assert [ref for ref in page.references if re.match(r"[a-z]+:|//", ref)] == [
        ref for ref in page.references if ref.startswith("data:image/")
    ]


def test_the_page_has_every_figure_within_that_is_meant_for_it(html: str, finished: Path) -> None:
    study = FinishedStudy.open(finished)
    declarations = [declaration for _, declaration in study.figures()]
    assert not all(declaration.on_page for declaration in declarations)
    shown = {declaration.file_stem for declaration in declarations if declaration.on_page}
    assert set(drawings_in(html)) == shown
    assert {path.stem for path in finished.glob("figures/*.svg")} == shown


def test_below_every_figure_are_its_numbers_and_its_files(html: str, finished: Path) -> None:
    figures = re.findall(r'<figure id="([^"]*)".*?</figure>', html, flags=re.DOTALL)
    for name, figure in zip(
        figures, re.findall("<figure.*?</figure>", html, re.DOTALL), strict=True
    ):
        files = [
            ref
            for ref in re.findall('href="([^"]*)"', figure)
            if not ref.startswith(("#", "data:"))
        ]
        assert [Path(file).suffix for file in files] == [".csv", ".pdf", ".svg"]
        assert all((finished / file).stat().st_size > 0 for file in files)
        assert {Path(file).stem for file in files[1:]} == {name}


@pytest.mark.parametrize(
    ("figure", "frame"),
    [
        ("figure6_sparsity_metrics", "sparsity"),
        ("figure5_correlation_metrics", "correlation_metrics"),
        ("figure8_pvalues_metrics", "pvalues"),
        ("figure9_users_tau", "users"),
        ("figure0_answer", "answer"),
    ],
)
def test_the_numbers_of_a_figure_are_in_the_table_of_its_name(
    html: str, figure: str, frame: str
) -> None:
    (text,) = re.findall(rf'<figure id="{figure}".*?</figure>', html, flags=re.DOTALL)
    assert f'href="tables/{frame}.csv"' in text


def test_the_page_loads_no_style_or_script_from_elsewhere(finished: Path) -> None:
    html = (finished / "report.html").read_text(encoding="utf-8")
    assert re.search(r"@import|url\((?!#)|<script[^>]*\bsrc|<link", html) is None


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
    assert f"figures/{caption.stem}.svg" in page.references
    assert caption.read_text(encoding="utf-8").strip() in page.text


def test_the_page_says_what_ran(page: Page, finished: Path) -> None:
    assert (finished / "study.toml").read_text(encoding="utf-8").strip() in page.text


def test_the_page_is_made_again_from_the_folder(finished: Path) -> None:
    assert render_report(FinishedStudy.open(finished)) == (finished / "report.html").read_bytes()


def test_every_caption_says_what_the_data_are(page: Page, finished: Path) -> None:
    study = FinishedStudy.open(finished)
    files = [
        finished / "figures" / f"{face.file_stem}.txt"
        for _, face in study.figures()
        if face.on_page
    ]
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


def drawings_in(html: str) -> dict[str, list[str]]:
    """The drawings of each figure, by its name."""
    figures = re.findall(r'<figure id="([^"]*)"(.*?)</figure>', html, flags=re.DOTALL)
    return {name: re.findall("<svg.*?</svg>", figure, re.DOTALL) for name, figure in figures}


def descriptions_in(html: str) -> dict[str, str]:
    """What is said of the first drawing of each figure to those who do not see it, by its name."""
    first = {name: drawings[0] for name, drawings in drawings_in(html).items()}
    return {
        name: unescape(re.findall('aria-label="([^"]*)"', drawing)[0])
        for name, drawing in first.items()
    }


def column_width(window: int) -> float:
    """The width of the column of a page in a window, in pixels; 1 rem are 16 pixels.

    It is 62 rem at most, with 1.2 rem on each side, or .8 in a window of 40 rem or less.
    """
    css = _text_of("page.css")
    assert re.search(r"^body \{ [^}]*max-width: 62rem; padding: \.8rem 1\.2rem;", css, re.MULTILINE)
    assert "@media screen and (max-width: 40rem) { body { padding: .8rem; } }" in css
    assert re.search(r"^figure img, figure svg \{ [^}]*max-width: 100%;", css, re.MULTILINE)
    padding = 0.8 if window <= 16 * 40 else 1.2
    return min(window, 16 * 62) - 2 * 16 * padding


def shown_width(drawing: str, window: int, html: str) -> float:
    """The width of a drawing on the page in a window, in pixels, by the styles of the page."""
    (style,) = re.findall('<svg class="([^"]*)"', drawing)
    usual, least = re.findall(
        rf"^\.{style} {{ width: ([0-9]+)px; min-width: ([0-9]+)px; }}", html, re.MULTILINE
    )[0]
    ((wide, least_wide),) = re.findall(
        rf"^@media screen and \(min-width: ([0-9]+)rem\) {{ \.{style} {{ min-width: ([0-9]+)px",
        html,
        re.MULTILINE,
    )
    if window >= 16 * int(wide):
        least = least_wide
    return max(min(float(usual), column_width(window)), float(least))


@pytest.mark.parametrize(("window", "pixels"), [(1280, 11), (600, 9), (360, 9)])
def test_letters_in_figures_have_their_least_height(html: str, window: int, pixels: float) -> None:
    drawings = [drawing for drawings in drawings_in(html).values() for drawing in drawings]
    assert len(drawings) > 12
    for drawing in drawings:
        (points,) = re.findall(r'viewBox="0 0 ([0-9.]+) ', drawing)
        sizes = [float(size) for size in re.findall(r'font-size="([0-9.]+)"', drawing)]
        scale = shown_width(drawing, window, html) / float(points)
        assert sizes
        assert min(sizes) * scale >= pixels


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*not as the study wrote it")
def test_curves_of_all_measures_fill_the_page_before_a_panel_for_each(copied: Path) -> None:
    """Three curves with bands: points tell their intervals, and no window of 600 scrolls."""
    result = curves(["P", "AP", "RR"], [5], (1.0, 0.5), replicates=20)
    keep(copied, "popularity", result)
    (declaration,) = [face for face in figures_of(type(result)) if face.number == 7]
    drawn = figure_files(result, declaration, kinds=["svg"], with_panels=True)
    for ending, content in drawn.items():
        (copied / f"figures/{declaration.file_stem}.{ending}").write_bytes(content)
    html = render_report(FinishedStudy.open(copied)).decode()
    overlay, panels = drawings_in(html)["figure7_popularity_metrics"]
    for window in (1280, 600):
        assert shown_width(overlay, window, html) == pytest.approx(column_width(window), abs=4)
    titles = [unescape(title) for title in re.findall("<title>([^<]*)</title>", overlay)]
    # Two points of each of three curves.
    assert len([title for title in titles if re.search(r": \S+ \[\S+, \S+\]$", title)]) == 6
    texts = re.findall(">([^<>]*)</text>", panels)
    assert {"P@5", "AP@5", "RR@5"} <= {*texts}
    (figure,) = re.findall('<figure id="figure7.*?</figure>', html, flags=re.DOTALL)
    _, folded = figure.split("<details>")
    assert panels in folded
    assert overlay not in folded


def test_the_first_figure_of_a_result_is_told_by_its_findings_others_by_captions(
    html: str, finished: Path
) -> None:
    result = FinishedStudy.open(finished).result("sparsity")
    descriptions = descriptions_in(html)
    first, over_cutoffs = (
        next(face for face in figures_of(type(result)) if face.name == name)
        for name in ("sparsity_metrics", "sparsity_cutoffs")
    )
    findings = " ".join(result.findings())
    assert descriptions[first.file_stem] == f"{first.title}. {findings}"
    caption = (
        (finished / f"figures/{over_cutoffs.file_stem}.txt").read_text(encoding="utf-8").strip()
    )
    assert descriptions[over_cutoffs.file_stem] == f"{over_cutoffs.title}. {caption}"
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
    assert facts["Gini index of the items"] == "0.1235"
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
    assert "<li>Set <code>a&lt;b</code> of <code>c</code>." in page


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
