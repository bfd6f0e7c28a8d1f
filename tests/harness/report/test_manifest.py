"""The folder of a study may come from anybody: what it says is data, whatever it says."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from analyses.shared.evidence import FACTS, read_evidence
from harness.report.ledger import LEDGER, Ledger
from harness.report.manifest import Manifest, read_manifest
from harness.report.study_folder import FinishedStudy
from harness.scoring.means import Means
from runs import InputError
from tests.harness.cli.test_main import harness
from tests.harness.small import contents

Place = tuple[str | int, ...]

HOSTILE = {
    "path": "../../../escaped",
    "absolute": "/escaped",
    "line": "x\ntouch PWNED\n#",
    "shell": "$(touch PWNED)`touch PWNED`;touch PWNED'\"",
    "formula": r"$\frac{$",
    "latex": r"\input{/etc/passwd}%",
    "page": "</style><script>alert(1)</script>",
    "terminal": "\x1b]0;x\x07\ud800",
    "nothing": "",
}
"""Texts that would be more than data where they are not checked or quoted."""


@pytest.fixture
def copy(given: Path, tmp_path: Path) -> Path:
    """A copy of a study of two runs, deep in a folder that its names may try to leave."""
    return copytree(given, tmp_path / "a/b/c/study")


def children_of(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def texts_in(value: Any, place: Place = ()) -> Iterator[Place]:
    """Find every text in a document, however deep."""
    if isinstance(value, str):
        yield place
    for key, child in children_of(value):
        yield from texts_in(child, (*place, key))


def keys_in(value: Any, place: Place = ()) -> Iterator[Place]:
    """Find every key in a document."""
    for key, child in children_of(value):
        if isinstance(value, dict):
            yield (*place, key)
        yield from keys_in(child, (*place, key))


def within(document: Any, place: Place) -> Any:
    for key in place:
        document = document[key]
    return document


def with_text(document: Any, place: Place, text: str) -> Any:
    """Put a text in the place of another."""
    changed = json.loads(json.dumps(document))
    within(changed, place[:-1])[place[-1]] = text
    return changed


def with_key(document: Any, place: Place, text: str) -> Any:
    """Put a text in the place of a key."""
    changed = json.loads(json.dumps(document))
    holder = within(changed, place[:-1])
    items = [(text if key == place[-1] else key, value) for key, value in holder.items()]
    holder.clear()
    holder.update(items)
    return changed


def variants(document: Any, text: str) -> Iterator[Any]:
    """Give the document with the text in each place, one after the other."""
    for place in texts_in(document):
        yield with_text(document, place, text)
    for place in keys_in(document):
        yield with_key(document, place, text)


def read_or_refused(reader: Any) -> Any:
    """Read what may be refused, by a sentence and no other error."""
    try:
        return reader()
    except InputError:
        return None


def manifest_in(folder: Path) -> Any:
    manifest = json.loads((folder / "manifest.json").read_text())
    return {key: value for key, value in manifest.items() if key != "made by"}


def write_manifest(folder: Path, manifest: Any) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest))


def outside(folder: Path) -> dict[str, bytes]:
    """All files that are beside the folders a/b/c, where the study is and commands write."""
    whole = contents(folder, "**/*")
    return {name: content for name, content in whole.items() if not name.startswith("a/b/c/")}


COMMANDS = ("report", "tables", "table", "figure", "export", "verify", "compare", "card")


def call_every_command(study: Path, other: Path) -> dict[str, int]:
    """Call all commands that read the folder of a study; give their exit codes."""
    beside = study.parent
    formats = [f"--run-format={name}" for name in ("parquet", "lenskit", "recbole", "ir_metadata")]
    calls: dict[str, list[str | Path]] = {
        "report": ["report", study],
        "tables": ["table", study],
        "table": ["table", study, "means", "--format", "latex"],
        "figure": ["figure", study, "fig5", "--output", beside / "figure.svg"],
        "export": ["export", study, "--output", beside / "exported", *formats],
        "verify": ["verify", study],
        "compare": ["compare", study, other],
        "card": ["card", "nDCG", study, "--tries", "1", "--output", beside / "card.html"],
    }
    codes = {}
    for name, call in calls.items():
        answer = harness(*call)
        assert answer.exception is None or isinstance(answer.exception, SystemExit), name
        codes[name] = answer.exit_code
    return codes


def run_scripts(folder: Path) -> None:
    """Run the scripts of an export, with tools that do nothing."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("trec_eval", "ir_measures"):
        (tools / name).write_text("#!/bin/sh\n")
        (tools / name).chmod(0o755)
        paths = os.pathsep.join([str(tools), os.environ["PATH"]])
        subprocess.run(["sh", f"{name}.sh"], cwd=folder, env={"PATH": paths}, check=True)


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_text_in_a_manifest_is_read_as_a_text_or_refused(copy: Path, text: str) -> None:
    manifest = manifest_in(copy)
    for changed in variants(manifest, text):
        write_manifest(copy, changed)
        read = read_or_refused(lambda: read_manifest(copy))
        assert read is None or read.study == "given"


@pytest.mark.slow
def test_no_text_of_a_manifest_is_run_or_leads_out_of_the_target(
    copy: Path, given: Path, tmp_path: Path
) -> None:
    manifest, texts = manifest_in(copy), cycle(HOSTILE.values())
    for place in texts_in(manifest):
        changed = with_text(manifest, place, next(texts))
        write_manifest(copy, changed)
        if place[0] != "results" and read_or_refused(lambda: read_manifest(copy)) is not None:
            manifest = changed
    write_manifest(copy, manifest)
    before = outside(tmp_path)
    assert call_every_command(copy, given) == dict.fromkeys(COMMANDS, 0)
    run_scripts(copy.parent / "exported")
    assert outside(tmp_path) == before
    assert list(tmp_path.rglob("PWNED")) == []
    page = (copy / "report.html").read_text()
    assert "<script>alert" not in page
    assert "\x1b" not in page


@pytest.mark.parametrize("name", ["../../../escaped", "/escaped", "x\ntouch PWNED\n#", "", ".x"])
def test_a_name_of_a_study_that_is_no_name_of_a_folder_is_refused(copy: Path, name: str) -> None:
    write_manifest(copy, manifest_in(copy) | {"study": name})
    for command in ("report", "table", "figure", "verify"):
        answer = harness(command, copy)
        assert answer.exit_code == 2
        assert "manifest.json is not the manifest of a study: `study` must" in answer.stderr


OF_OTHER_TYPES: list[Any] = [
    None,
    True,
    1,
    -1.5,
    float("nan"),
    10**100,
    "x",
    [],
    [[]],
    {},
    {"x": {"y": [0]}},
]


@pytest.mark.slow
def test_a_value_of_another_type_is_refused_or_does_no_harm(copy: Path) -> None:
    manifest = manifest_in(copy)
    for place in keys_in(manifest):
        for value in OF_OTHER_TYPES:
            write_manifest(copy, with_text(manifest, place, value))
            read_or_refused(lambda: read_manifest(copy))


@pytest.mark.parametrize(
    ("collection", "rule"),
    [
        ({"relevance level": "1"}, "whole number from 0 on as 'relevance level'"),
        ({"topics": -1}, "whole number from 0 on as 'topics'"),
        ({"topics": 0, "topics without relevant items": 1}, "more topics without relevant items"),
        ({"ratings": 7}, "an object as 'ratings'"),
        ({"split": {"test_ratings_older_than_training": "x"}}, "a share from 0 to 1"),
        ({"split": {"test_ratings_older_than_training": 1.01}}, "a share from 0 to 1"),
        ({"split": {"training_ratings_newer_than_test": -0.01}}, "a share from 0 to 1"),
        ({"judgements": True}, "whole number from 0 on as 'judgements'"),
        ({"judgements": 1.5}, "whole number from 0 on as 'judgements'"),
        ({"users": 1, "users without judged non-relevant items": 2}, "more users without judged"),
        ({"topics without relevant items": 4, "topics": 3}, "not have more topics without"),
        ({"split": 7}, "an object as 'split'"),
        ({"truth": 7}, "an object as 'truth'"),
    ],
)
def test_numbers_of_a_collection_are_those_that_can_be_computed_with(
    copy: Path, collection: dict[str, Any], rule: str
) -> None:
    manifest = manifest_in(copy)
    write_manifest(copy, manifest | {"collection": manifest["collection"] | collection})
    with pytest.raises(InputError, match=rf"`collection` must .*{rule}"):
        read_manifest(copy)


@pytest.mark.parametrize(
    "collection",
    [
        {"topics": 3, "topics without relevant items": 3},
        {"topics": 0, "judgements": 0, "relevance level": 0},
        {"split": {"test_ratings_older_than_training": 1}},
        {"split": {"training_ratings_newer_than_test": 0.0}},
        {"ratings": {}, "truth": {}},
    ],
)
def test_numbers_at_their_limits_are_read(copy: Path, collection: dict[str, Any]) -> None:
    manifest = manifest_in(copy)
    write_manifest(copy, manifest | {"collection": collection})
    assert read_manifest(copy).collection == collection


@pytest.mark.parametrize(
    ("versions", "named"),
    [
        ({"harness": "0.2.0"}, "the harness 0.2.0; "),
        ({"harness": "1234567890" * 3}, "the harness 12345678901234567890; "),
        ({"harness": 2}, "the harness of old; "),
        ({}, "the harness of old; "),
        ("0.2.0", "the harness of old; "),
    ],
)
def test_a_manifest_of_an_old_version_is_named_by_what_its_version_begins_with(
    copy: Path, versions: Any, named: str
) -> None:
    manifest = manifest_in(copy) | {"versions": versions}
    del manifest["results"]
    write_manifest(copy, manifest)
    with pytest.raises(InputError, match=f"was made by {named}"):
        read_manifest(copy)


def test_a_manifest_names_the_version_of_the_harness(copy: Path) -> None:
    write_manifest(copy, manifest_in(copy) | {"versions": {"python": "3.12"}})
    with pytest.raises(InputError, match="must name the version of the 'harness'"):
        read_manifest(copy)


def test_a_study_without_ratings_has_no_counts_of_them() -> None:
    manifest = Manifest.of_unfinished(study="x", results=["means"])
    assert manifest.ratings == {}
    assert manifest.results == ("means",)
    assert manifest.ranked_for == "users"


def test_a_study_without_judgements_has_nothing_to_export(copy: Path, tmp_path: Path) -> None:
    write_manifest(copy, manifest_in(copy) | {"collection": {"users": 3, "interactions": 7}})
    answer = harness("export", copy, "--output", tmp_path / "exported")
    assert answer.exit_code == 2
    assert "the study has no judgements" in answer.stderr


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_text_in_a_ledger_is_read_as_a_text_or_refused(copy: Path, text: str) -> None:
    page, ledger = copy / LEDGER / "scores.json", Ledger(copy)
    for changed in variants(json.loads(page.read_text()), text):
        page.write_text(json.dumps(changed))
        entry = read_or_refused(lambda: ledger.checked_entry("scores"))
        assert entry is None or all(ledger.path_of(name) for name in entry.files)


def test_a_page_of_the_ledger_that_cannot_be_read_is_named(copy: Path) -> None:
    page = copy / LEDGER / "scores.json"
    page.write_text('{"key": "", "files": [], "seconds": 0, "cpu_seconds": 0}')
    answer = harness("verify", copy)
    assert answer.exit_code == 2
    assert f"{page} is not a page of the ledger of a study: `files` must be" in answer.stderr


def put_facts(path: Path, facts: str) -> None:
    """Put other facts into a file of evidence."""
    with np.load(path) as file:
        arrays = dict(file)
    with path.open("wb") as stream:
        np.savez(stream, **(arrays | {FACTS: np.array(facts)}))


def facts_in(path: Path) -> str:
    with np.load(path) as file:
        return str(file[FACTS])


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_text_in_evidence_is_read_as_a_text_or_refused(copy: Path, text: str) -> None:
    path = copy / "evidence/means.npz"
    for changed in variants(json.loads(facts_in(path)), text):
        put_facts(path, json.dumps(changed))
        read_or_refused(lambda: read_evidence(path, Means))


@pytest.mark.slow
@pytest.mark.parametrize("text", ["line", "shell", "path"])
def test_no_name_of_a_metric_is_run(copy: Path, tmp_path: Path, text: str) -> None:
    path = copy / "evidence/means.npz"
    put_facts(path, facts_in(path).replace('"nDCG"', json.dumps(f"nDCG{HOSTILE[text]}")))
    answer = harness("export", copy, "--output", tmp_path / "exported")
    assert answer.exit_code in (0, 2)
    if answer.exit_code == 0:
        run_scripts(tmp_path / "exported")
    assert list(tmp_path.rglob("PWNED")) == []


@pytest.mark.parametrize("command", ["report", "table", "figure"])
def test_results_that_do_not_fit_together_are_refused_in_a_sentence(
    copy: Path, command: str
) -> None:
    path = copy / "evidence/correlation.npz"
    facts = json.loads(facts_in(path))
    put_facts(path, json.dumps(with_key(facts, ("values", "mapping", "tau-b"), "x")))
    more = {"report": [], "table": ["correlation"], "figure": ["fig5"]}
    answer = harness(command, copy, *more[command])
    assert answer.exit_code == 2
    assert f"{copy}" in answer.stderr
    assert "the results do not fit together; `harness run` makes them again" in answer.stderr


def test_files_that_links_lead_out_to_are_not_read(copy: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    (copy / "ids.csv").symlink_to(secret)
    answer = harness("export", copy, "--output", tmp_path / "exported")
    assert answer.exit_code == 2
    assert "the file 'ids.csv' is not in the folder" in answer.stderr


STYLE = "text.usetex: True\ntext.latex.preamble: \\input{/etc/passwd}\n"


@pytest.mark.parametrize("suffix", ["", ".mplstyle"])
def test_a_folder_cannot_name_the_file_of_a_style(copy: Path, tmp_path: Path, suffix: str) -> None:
    style = tmp_path / f"theirs{suffix}"
    style.write_text(STYLE + "axes.facecolor: 123456\n")
    write_manifest(copy, manifest_in(copy) | {"figures": {"style": str(style), "width": 2.0}})
    answer = harness("figure", copy, "fig5", "--output", tmp_path / "figure.svg")
    assert answer.exit_code == 0
    assert "is not one that matplotlib ships" in answer.stderr
    drawn = (tmp_path / "figure.svg").read_text()
    assert 'width="144pt"' in drawn
    assert "#123456" not in drawn


def test_a_folder_may_name_a_style_of_matplotlibs(copy: Path) -> None:
    write_manifest(copy, manifest_in(copy) | {"figures": {"style": "grayscale"}})
    assert FinishedStudy.open(copy).figure_options.style == "grayscale"
