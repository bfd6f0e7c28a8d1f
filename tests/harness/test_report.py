import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness.report import read_manifest, render_report
from runs import InputError
from tests.harness.small import (
    NO_ANALYSES,
    TREC,
    TREC_METRICS,
    run_text,
    write_qrels,
    write_run,
)


class Page(HTMLParser):
    """What a page refers to, how it nests, and what it says."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.references += [values[name] for name in ("src", "href") if name in values]
        self.ids += [values["id"]] if "id" in values else []
        if tag not in ("meta", "img", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


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
    assert re.search(r"@import|url\(|<script|<link", html) is None


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
def test_every_figure_has_its_number_and_caption(page: Page, number: int, finished: Path) -> None:
    (caption,) = finished.glob(f"figures/figure{number}_*.txt")
    assert f"Figure {number}." in page.text
    assert caption.read_text(encoding="utf-8").strip() in page.text


def test_the_page_says_what_ran(page: Page, finished: Path) -> None:
    assert (finished / "study.toml").read_text(encoding="utf-8").strip() in page.text


def test_the_page_is_made_again_from_the_folder(finished: Path) -> None:
    assert render_report(finished) == (finished / "report.html").read_bytes()


def test_a_study_without_analyses_has_a_page(scored: Path) -> None:
    text = Page((scored / "report.html").read_text(encoding="utf-8")).text
    assert "Mean scores at cut-off 20" in text


def test_positive_only_qrels_are_warned_of_on_the_page(tmp_path: Path) -> None:
    write_run(tmp_path, "full", {"u1": ["a"]})
    write_run(tmp_path, "partial", {"u1": ["b", "a"]})
    write_qrels(tmp_path, {"u1": {"a": 1}})
    folder = run_text(TREC + TREC_METRICS + NO_ANALYSES, tmp_path, output=tmp_path / "study")
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert '<p class="warning">the qrels hold relevant items only' in html


def test_names_cannot_smuggle_in_html(tmp_path: Path) -> None:
    write_run(tmp_path, "<b>bold</b>", {"u1": ["a"]}, name="1.run")
    write_run(tmp_path, "partial", {"u1": ["b", "a"]}, name="2.run")
    write_qrels(tmp_path, {"u1": {"a": 1, "b": 0}})
    folder = run_text(TREC + TREC_METRICS + NO_ANALYSES, tmp_path, output=tmp_path / "study")
    assert "<b>bold" not in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"name": "npm"}'])
def test_another_manifest_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InputError, match=r"manifest\.json: not the manifest of a study"):
        read_manifest(tmp_path)


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no finished study is here"):
        render_report(tmp_path)
