import json
import re
from html import escape
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from analyses.online.experiments import read_values
from analyses.sparsity import Sparsity
from harness.cli.main import main
from harness.report.manifest import read_manifest
from harness.report.open_study import open_study
from harness.report.study_folder import FinishedStudy
from harness.report.tables import tabulate
from harness.study.study import Study
from runs import InputError
from tests.harness.small import METRICS, NO_ANALYSES, SYSTEMS, WORLD, run_text

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
        FinishedStudy.at(tmp_path)


def test_a_study_of_a_world_says_so(finished: Path) -> None:
    study = FinishedStudy.at(finished)
    facts = study.manifest.collection
    counts = f"{facts['users']} users, {facts['judgements']} judgements"
    assert study.manifest.data == (
        f"Data: small of a simulated world ({counts}); 3 systems; study seed 3."
    )


@pytest.mark.slow
def test_a_study_of_given_runs_speaks_of_topics(given: Path) -> None:
    study = FinishedStudy.at(given)
    page = (given / "report.html").read_text(encoding="utf-8")
    seen = re.sub(r"<[^>]*>", "", page.partition('<details id="provenance">')[0])
    assert "3 topics" in seen
    assert not re.search(r"\busers?\b", seen.replace("users.csv", ""), re.IGNORECASE)
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
    result = FinishedStudy.at(finished).result("sparsity")
    assert isinstance(result, Sparsity)
    assert np.nanmax(result.taus) == 1.0


def test_a_result_that_the_study_lacks_is_refused(scored: Path) -> None:
    with pytest.raises(InputError, match=r"the study has no 'sparsity'; there are means, coverage"):
        FinishedStudy.at(scored).result("sparsity")


def test_what_is_better_outlives_the_file_of_the_metric(with_plugin: Path) -> None:
    (with_plugin.parent / "mine.py").unlink()
    study = FinishedStudy.at(with_plugin)
    assert study.means.measures.falling == {"misses"}


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
