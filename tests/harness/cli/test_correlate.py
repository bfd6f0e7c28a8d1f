import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analyses.correlation import Settings
from analyses.shared.estimate import Estimate
from harness.cli.main import main
from harness.cli.score_tables import correlate_files
from tests.harness.small import ROOT

DATA = ROOT.parent / "shared/data/trec-per-topic"
MEANS = "system,ap,nDCG@10,rr\na,0.1,0.2,0.5\nb,0.2,0.3,0.5\nc,0.3,0.1,0.5\n"


@pytest.fixture
def means(tmp_path: Path) -> Path:
    """By ap c is best, then b; by nDCG@10 b, then a: one of three pairs agrees. By rr all tie."""
    path = tmp_path / "means.csv"
    path.write_text(MEANS)
    return path


@pytest.fixture
def topics(tmp_path: Path) -> list[Path]:
    """Two tables of scores, four topics by three systems."""
    (tmp_path / "x_ap.csv").write_text("a,b,c\n.1,.2,.3\n.2,.3,.2\n.1,.1,.5\n.3,.2,.4\n")
    (tmp_path / "x_p10.csv").write_text("a,b,c\n.1,.3,.3\n.1,.3,.2\n.1,.4,.5\n.3,.2,.3\n")
    return [tmp_path / "x_ap.csv", tmp_path / "x_p10.csv"]


def correlate(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["correlate", *map(str, arguments)])


@pytest.mark.slow
def test_measures_stand_down_and_across(means: Path) -> None:
    answer = correlate(means)
    assert answer.exit_code == 0
    lines = [line.split() for line in answer.stdout.splitlines()]
    assert lines == [
        ["ap", "nDCG@10", "rr"],
        ["ap", "1.000", "-.333", "–"],
        ["nDCG@10", "-.333", "1.000", "–"],
        ["rr", "–", "–", "–"],
    ]


def test_a_measure_that_ties_all_systems_is_warned_of(means: Path) -> None:
    assert "Warning: all systems have the same mean by rr" in correlate(means).stderr


def test_data_of_a_study_have_every_cutoff(finished: Path) -> None:
    printed = correlate(finished, "--replicates", "0", "--format", "csv").stdout
    rows = csv.DictReader(io.StringIO(printed))
    assert {row["cutoff_a"] for row in rows} == {"5", "20"}


def test_the_caption_is_said_apart_from_the_table(means: Path) -> None:
    answer = correlate(means)
    assert "Kendall's tau-b between the orderings of 3 systems" in answer.stderr
    assert "Kendall" not in answer.stdout


def test_the_csv_holds_all_digits_of_every_pair(means: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(correlate(means, "--format", "csv").stdout)))
    assert len(rows) == 9
    assert (rows[1]["metric_a"], rows[1]["metric_b"], rows[1]["cutoff_b"]) == ("ap", "nDCG", "10")
    assert float(rows[1]["tau"]) == -1 / 3


def test_the_latex_is_a_table_with_its_caption(tmp_path: Path) -> None:
    (tmp_path / "means.csv").write_text("run,ndcg_cut_10,ap\na,1,2\nb,2,3\n")
    lines = correlate(tmp_path / "means.csv", "--format", "latex").stdout.splitlines()
    assert lines[2].startswith(r"  \caption{Agreement of measures. Kendall's tau-b between")
    assert r"    ndcg\_cut\_10 & 1.000 & 1.000 \\" in lines


def test_scores_per_topic_give_intervals(topics: list[Path]) -> None:
    found = correlate_files(topics, Settings(replicates=50, every_pair=True), seed=1)
    assert found.n_users == 4
    assert found.low[0, 1] <= found.taus[0, 1] <= found.high[0, 1]
    shown = correlate(*topics, "--replicates", "50", "--seed", "1").stdout
    assert str(Estimate(found.taus[0, 1], found.low[0, 1], found.high[0, 1])) in shown


def test_scores_of_one_measure_are_not_enough(topics: list[Path]) -> None:
    answer = correlate(topics[0])
    assert answer.exit_code == 2
    assert answer.stderr == (
        f"Error: {topics[0]}: scores of the one measure x_ap, topic by topic; a second table is "
        "needed to compare it with.\n"
    )


def test_a_coefficient_that_there_is_not_is_refused(means: Path) -> None:
    assert "no coefficient is called 'tau'" in correlate(means, "--coefficient", "tau").stderr


@pytest.mark.slow
def test_table_figure_and_caption_are_written(means: Path, tmp_path: Path) -> None:
    answer = correlate(means, "--output", tmp_path / "new", "--coefficient", "rbo")
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert {f"correlation_metrics.{kind}" for kind in ("csv", "png", "svg", "txt")} <= names
    assert answer.exit_code == 0


@pytest.mark.slow
def test_no_recommender_is_imported(means: Path) -> None:
    code = (
        "import sys\nfrom harness.cli.main import main\n"
        f"try: main(['correlate', {str(means)!r}])\n"
        "except SystemExit: print({'recommenders', 'lenskit', 'torch'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.stdout.splitlines()[-1] == "set()", answer.stderr


@pytest.mark.skipif(not DATA.is_dir(), reason="the TREC scores are not beside the repository")
@pytest.mark.parametrize("collection", ["adhoc5", "adhoc8", "web2010", "web2013"])
def test_real_scores_per_topic_are_correlated(collection: str) -> None:
    paths = sorted(DATA.glob(f"{collection}_*.csv"))
    found = correlate_files(paths, Settings(replicates=0), seed=0)
    assert len(found.measures) == len(paths)
    assert (found.taus > 0.5).all()
