import json
import re
from hashlib import sha256
from html import escape
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from analyses.online.experiments import read_values
from analyses.shared.evidence import to_evidence
from analyses.shared.result import figures_of
from analyses.sparsity import Sparsity
from harness.cli.main import main
from harness.report.ledger import Entry, Ledger
from harness.report.manifest import read_manifest
from harness.report.open_study import open_study
from harness.report.repeats import Repeats
from harness.report.study_folder import FinishedStudy
from harness.report.tables import tabulate
from harness.study.study import Study
from runs import InputError, InputWarning
from tests.harness.small import (
    ANALYSES,
    METRICS,
    NO_ANALYSES,
    SYSTEMS,
    TREC,
    TREC_METRICS,
    WORLD,
    run_text,
    write_collection,
)

PLUGIN = """
from harness.metrics.shared.metric import metric

@metric("misses", source="by hand", higher_is_better=False)
def misses(judged, *, cutoff=None):
    "Share of the ranks without a relevant item."
    return 1 - judged.hits(cutoff) / cutoff
"""


@pytest.fixture(scope="module")
def with_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a metric of which less is better."""
    base = tmp_path_factory.mktemp("plugin")
    (base / "mine.py").write_text(PLUGIN)
    metrics = METRICS.replace('"nDCG"]', '"misses"]\nplugins = ["mine.py"]')
    return run_text(WORLD + SYSTEMS + metrics + NO_ANALYSES, base, output=base / "study")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"name": "npm"}'])
def test_another_manifest_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InputError, match=r"manifest\.json is not the manifest of a study: "):
        read_manifest(tmp_path)


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no finished study is here"):
        FinishedStudy.open(tmp_path)


def test_a_study_of_a_world_says_so(finished: Path) -> None:
    study = FinishedStudy.open(finished)
    facts = study.manifest.collection
    counts = f"{facts['users']} users, {facts['judgements']} judgements"
    assert study.manifest.data == (
        f"Data: small of a simulated world ({counts}); 3 systems; study seed 3."
    )


@pytest.mark.slow
def test_a_study_of_given_runs_speaks_of_topics(tmp_path: Path) -> None:
    write_collection(tmp_path)
    given = run_text(TREC + TREC_METRICS + ANALYSES, tmp_path, output=tmp_path / "study")
    study = FinishedStudy.open(given)
    page = (given / "report.html").read_text(encoding="utf-8")
    seen = re.sub(r"<[^>]*>", "", page.partition('<details id="provenance">')[0])
    assert "3 topics" in seen
    assert not re.search(
        r"\busers?\b",
        seen.replace("users.csv", "").replace("harness docs users", ""),
        re.IGNORECASE,
    )
    assert "topics" in tabulate(study, "users").title
    drawn = "".join(path.read_text(encoding="utf-8") for path in (given / "figures").glob("*.svg"))
    labels = re.findall(r">([^<>]+)</text>", drawn)
    assert "topics" in labels
    assert not [label for label in labels if "user" in label]
    assert not any(re.search(r"\busers?\b", text, re.IGNORECASE) for text in labels)
    caption = (given / "figures/figure9_users_tau.txt").read_text(encoding="utf-8")
    assert "random subsets of the 3 topics" in caption


@pytest.mark.slow
def test_a_study_of_given_runs_lists_no_system_that_never_ran(given: Path) -> None:
    text = (given / "study.toml").read_text(encoding="utf-8")
    assert "[systems]" not in text
    assert Study.parse(text, source="study.toml", base=given, changes={}).runs is not None


def test_a_result_is_read_back(finished: Path) -> None:
    result = FinishedStudy.open(finished).result("sparsity")
    assert isinstance(result, Sparsity)
    assert np.nanmax(result.taus) == 1.0


def test_a_result_that_the_study_lacks_is_refused(scored: Path) -> None:
    with pytest.raises(InputError, match=r"the study has no 'sparsity'; there are means, coverage"):
        FinishedStudy.open(scored).result("sparsity")


def test_what_is_better_outlives_the_file_of_the_metric(with_plugin: Path) -> None:
    (with_plugin.parent / "mine.py").unlink()
    study = FinishedStudy.open(with_plugin)
    assert study.means.measures.lower_is_better_for == {"misses"}


@pytest.mark.parametrize("command", ["table", "figure", "report", "export"])
def test_a_folder_of_an_older_version_is_refused_with_its_version(
    copied: Path, command: str
) -> None:
    manifest = json.loads((copied / "manifest.json").read_bytes())
    del manifest["results"]
    manifest["versions"]["harness"] = "0.2.0"
    (copied / "manifest.json").write_text(json.dumps(manifest))
    to = ["--output", str(copied.parent / "exported")] if command == "export" else []
    answer = CliRunner().invoke(main, [command, str(copied), *to])
    assert answer.exit_code == 2
    assert answer.stderr == (
        f"Error: {copied}: the study was made by the harness 0.2.0; make it again with `harness "
        "run`.\n"
    )


def test_a_notebook_shows_what_a_study_found(finished: Path) -> None:
    opened = open_study(finished)
    shown = opened._repr_html_()
    assert escape(opened.finished.manifest.lead) in shown
    assert all(escape(finding) in shown for finding in opened.summary().findings)


def test_names_that_spreadsheets_would_run_are_read_as_they_are(tmp_path: Path) -> None:
    for name in ("=a|x", "b"):
        lines = [f"u{n} Q0 {item} 1 {-item} {name}\n" for n in (1, 2) for item in range(5)]
        (tmp_path / f"{name[-1]}.run").write_text("".join(lines))
    (tmp_path / "q.qrels").write_text("u1 0 1 1\nu2 0 3 1\n")
    text = 'name = "x"\n[runs]\npaths = ["*.run"]\n[qrels]\npath = "q.qrels"\n'
    made = run_text(text + "[analyses]\nnames = []\n", tmp_path, output=tmp_path / "study")
    assert "\n'=a|x,nDCG,5," in (made / "tables/means.csv").read_text()
    assert set(open_study(made).frame("means")["system"]) == {"=a|x", "b"}
    assert set(read_values(made)["model"]) == {"=a|x", "b"}


# The ledger


def entry_of(**files: str) -> Entry:
    return Entry(key="k", files=files, seconds=2.0, cpu_seconds=1.5)


def test_a_page_of_the_ledger_is_read_back(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    entry = entry_of(a="0" * 64)
    ledger.write_entry("scores", entry)
    ledger.write_entry("means", entry_of())
    assert ledger.list_parts() == ["means", "scores"]
    assert ledger.entry("scores") == ledger.checked_entry("scores") == entry
    assert json.loads((tmp_path / ".ledger/scores.json").read_text())["seconds"] == 2.0
    ledger.remove_entry("scores")
    assert ledger.list_parts() == ["means"]
    assert ledger.entry("scores") is None


def test_a_damaged_page_says_nothing_and_is_refused_where_it_is_checked(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.write_entry("scores", entry_of())
    (tmp_path / ".ledger/scores.json").write_text("{")
    assert ledger.entry("scores") is None
    with pytest.raises(InputError, match="a page of the ledger of a study"):
        ledger.checked_entry("scores")


def test_a_page_that_names_files_outside_of_the_study_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.write_entry("scores", entry_of(**{"../outside": "0" * 64}))
    for read in (ledger.entry, ledger.checked_entry):
        with pytest.raises(InputError, match="No study wrote this; remove it"):
            read("scores")


def test_files_that_are_not_as_they_were_written_are_named(tmp_path: Path) -> None:
    """By their SHA-256; of a file that is not there, there is none."""
    ledger = Ledger(tmp_path)
    for name in ("kept", "changed", "other"):
        (tmp_path / name).write_text(name)
    written = sha256(b"kept").hexdigest()
    files = {"kept": written, "changed": written, "gone": written, "other": written}
    ledger.write_entry("part", entry_of(**files))
    assert ledger.checksum("kept") == written
    assert ledger.checksum("gone") is None
    assert [*ledger.changed_files()] == ["changed", "gone", "other"]
    assert [*ledger.changed_files(["ch", "o"])] == ["changed", "other"]
    assert [*ledger.changed_files(["kept"])] == []


def test_makers_are_named_by_the_beginning_of_their_hashes() -> None:
    entry = entry_of().model_copy(update={"made_by": {"code": "0123456789abcdef", "numpy": "2.1"}})
    assert entry.makers() == "code 0123456789ab, numpy 2.1"


def test_a_changed_result_is_told_when_the_study_is_opened(copied: Path) -> None:
    """Of other files `harness verify` tells."""
    (copied / "ids.csv").write_text("x")
    FinishedStudy.open(copied)
    (copied / "evidence/sparsity.npz").write_text("x")
    with pytest.warns(InputWarning, match=r"sparsity\.npz: not as the study wrote it"):
        FinishedStudy.open(copied)


# What is read of a study


def test_results_are_in_the_order_of_the_report(finished: Path) -> None:
    """What was scored, what a truth says, then by the numbers of the figures."""
    kinds = FinishedStudy.open(finished).result_classes
    assert [*kinds][:5] == ["answer", "means", "coverage", "validity", "correlation"]
    others = [*kinds.values()][4:]
    first_numbers = [
        min((face.sort_key for face in figures_of(kind)), default=np.inf) for kind in others
    ]
    assert len(others) > 3
    assert first_numbers == sorted(first_numbers)


def test_figures_are_those_of_the_page_that_were_drawn_and_all_others_by_number(
    copied: Path,
) -> None:
    study = FinishedStudy.open(copied)
    names = [face.file_stem for _, face in study.figures()]
    numbers = [face.sort_key for _, face in study.figures()]
    assert numbers == sorted(numbers)
    drawn = [face.file_stem for _, face in study.figures() if face.on_page]
    assert {*drawn} == {path.stem for path in (copied / "figures").glob("*.svg")}
    assert {*names} - {*drawn} == {
        "figure22_validity_robustness",
        "figure24_validity_judgements",
        "figure25_validity_popularity",
    }
    (copied / f"figures/{names[0]}.svg").unlink()
    assert [face.file_stem for _, face in study.figures()] == names[1:]


def test_a_result_is_read_once(finished: Path) -> None:
    study = FinishedStudy.open(finished)
    assert study.result("sparsity") is study.result("sparsity")


def test_numbers_under_other_settings_reach_the_results(copied: Path) -> None:
    """A study that was repeated with two settings of the systems."""
    estimates = FinishedStudy.open(copied).result("sparsity").estimates()
    assert estimates is not None
    values = np.array([[0.5, 0.6], [0.7, 0.8]])
    reported = estimates.measures.reported
    repeats = Repeats(
        measures=reported,
        systems=("a", "b"),
        seeds=(1, 2),
        quantities=(estimates.name,),
        subjects=("s",),
        in_words=("w",),
        values=values[None],
        users=np.ones((1, 2)),
        over_systems=np.ones((1, 2)),
        means=np.ones((2, 2, 2)),
        signs=np.ones(1),
        varied="settings",
    )
    (copied / "evidence/repeats.npz").write_bytes(to_evidence(repeats))
    manifest = json.loads((copied / "manifest.json").read_bytes())
    manifest["results"].append("repeats")
    (copied / "manifest.json").write_text(json.dumps(manifest))
    study = FinishedStudy.open(copied)
    settings = study.result("sparsity").over_settings
    assert settings is not None
    found = settings[[estimates.measures.index(measure) for measure in reported]]
    assert found.tolist() == values.tolist()
    assert np.isnan(settings).sum() == 2 * (len(estimates.measures) - len(reported))
    assert study.result("popularity").over_settings is None
    assert study.result("means").over_settings is None


def test_scores_are_of_topics_where_runs_are_ranked_for_topics(given: Path, finished: Path) -> None:
    assert (FinishedStudy.open(given).unit, FinishedStudy.open(given).units) == ("topic", "topics")
    assert (FinishedStudy.open(finished).unit, FinishedStudy.open(finished).units) == (
        "user",
        "users",
    )
