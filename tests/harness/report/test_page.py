import re
from pathlib import Path

import pytest

from analyses.shared.measure import Measure
from analyses.shared.result import figures_of
from analyses.validity.validity_result import Validity
from harness.report.page import render_report
from harness.report.study_folder import FinishedStudy
from tests.harness.page import Page
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
    assert render_report(FinishedStudy.at(finished)) == (finished / "report.html").read_bytes()


def test_every_caption_says_what_the_data_are(page: Page, finished: Path) -> None:
    study = FinishedStudy.at(finished)
    files = [finished / "figures" / f"{face.file}.txt" for _, face in study.figures()]
    captions = [study.caption(file.read_text(encoding="utf-8").rstrip()) for file in files]
    assert len(set(captions)) > 8
    assert all(study.manifest.data in caption for caption in captions)
    assert [caption for caption in captions if caption not in page.text] == []


def test_numbers_sort_by_all_their_digits(finished: Path) -> None:
    html = (finished / "report.html").read_text(encoding="utf-8")
    means = FinishedStudy.at(finished).means
    mean = float(means.values[means.measures.index(Measure("P", 20)), 0])
    assert f'data-value="{mean}"' in html


def test_figures_stand_in_the_order_of_their_numbers_after_those_of_the_truth(page: Page) -> None:
    of_truth = {face.place for face in figures_of(Validity)}
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
