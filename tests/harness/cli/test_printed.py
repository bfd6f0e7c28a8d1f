"""What commands print, where they print it, and which files they name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from harness.cli.data import QUANTILES, _distributions
from harness.cli.main import main
from qrels import Ratings
from qrels.ratings.datasets.rating_lines import format_rating_lines
from qrels.ratings.world import WorldSettings, make_world
from runs import Numbering
from tests.analyses.online.click_logs import experiment, written
from tests.analyses.online.examples import RATES, VALUES, write, write_grid
from tests.full import Full
from tests.harness.small import WORLD

pytestmark = pytest.mark.slow


def harness(*arguments: str | Path) -> Result:
    texts = [str(argument) for argument in arguments]
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, texts)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Events of 40 users with 20 items."""
    rng = np.random.default_rng(2)
    columns = {
        "user": [f"u{n}" for n in rng.integers(0, 40, 600)],
        "item": [f"i{n}" for n in rng.integers(0, 20, 600)],
        "time": 1_600_000_000_000 + rng.integers(0, 10**9, 600),
    }
    pd.DataFrame(columns).to_csv(tmp_path / "events.csv", index=False)
    return tmp_path / "events.csv"


def test_recalls_are_printed_and_what_they_are_of_is_said_beside(
    events: Path, tmp_path: Path
) -> None:
    asked = ("--share", "0.5", "--beta", "0", "--cutoff", "5", "--quiet", "--jobs", "1")
    answer = harness("recall", events, *asked)
    assert answer.exit_code == 0, answer.stderr
    assert answer.stdout.splitlines()[0] == "Recall of hidden items"
    said = answer.stderr.splitlines()
    assert " test users with " in said[0]
    assert ". Recall by popularity to the power of -beta: " in said[1]
    assert not list(tmp_path.glob("**/*.parquet"))
    harness("recall", events, *asked, "--output", tmp_path / "out")
    assert (tmp_path / "out/ranks.parquet").exists()
    two = ("--model", "a=item-cosines", "--model", "b=item-cosines:neighbours=1")
    printed = harness("recall", events, *asked, *two).stdout
    assert {"a", "b"} < {*printed.split()}
    again = harness("recall", events, "--ranks", tmp_path / "out/ranks.parquet", *asked[2:])
    assert again.exit_code == 0, again.stderr
    assert "events of users without ranks" in again.stderr


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    """Ranks of two systems for 40 users, one twice as good as the other."""
    good = np.random.default_rng(1).integers(1, 100, 40)
    pd.DataFrame({"good": good, "poor": 2 * good}).to_csv(tmp_path / "ranks.csv", index=False)
    return tmp_path / "ranks.csv"


SAMPLED = ("--candidates", "300", "--negatives", "20", "--quiet", "--jobs", "1")


def test_studies_of_samples_are_made_one_by_one_or_all(ranks: Path) -> None:
    few, negatives = ("--repeats", "2"), SAMPLED[2:4]
    options = {"estimates": (*negatives, *few), "ranks": (), "sizes": (), "all": (*negatives, *few)}
    titles = ("Exact metrics", "Ranks of", "Agreement (tau-b)")
    common = (*SAMPLED[:2], *SAMPLED[4:])
    printed = {
        study: harness("sampled", ranks, *common, *more, "--study", study)
        for study, more in options.items()
    }
    found = {
        study: [title in answer.stdout for title in titles] for study, answer in printed.items()
    }
    assert found == {
        "estimates": [True, False, False],
        "ranks": [False, True, False],
        "sizes": [False, False, True],
        "all": [True, True, True],
    }
    n_said = {study: len(answer.stderr.splitlines()) for study, answer in printed.items()}
    assert n_said["all"] == sum(n_said[study] for study in ("estimates", "ranks", "sizes"))
    assert min(n_said.values()) > 0
    usual = harness("sampled", ranks, *common, *options["estimates"])
    assert usual.stdout == printed["estimates"].stdout
    other = harness("sampled", ranks, *common, *options["estimates"], "--seed", "5")
    assert other.stdout != usual.stdout


def test_estimates_from_samples_are_corrected(tmp_path: Path) -> None:
    sampled = np.random.default_rng(1).integers(1, 10, (40, 2))
    path = tmp_path / "sampled.csv"
    pd.DataFrame(sampled, columns=["good", "poor"]).to_csv(path, index=False)
    answer = harness("correct", path, *SAMPLED[:5])
    assert answer.exit_code == 0, answer.stderr
    assert {"good", "poor"} < {*answer.stdout.split()}
    assert answer.stderr
    assert answer.stderr not in answer.stdout
    drawn = [harness("correct", path, *SAMPLED[:5], each).stdout for each in DRAWN]
    assert drawn[0] == answer.stdout
    assert drawn[1] != answer.stdout


DRAWN = ("--replace", "--without-replacement")


def test_an_alarm_and_cautions_of_clicks_are_said_beside(
    tmp_path: Path, logs_of_1970: None
) -> None:
    paths = written(tmp_path, experiment({"A": (90, 0.1), "B": (10, 0.9)}))
    answer = harness("clicks", *paths, "--window", "10 min", "--format", "csv", "--quiet")
    assert "SAMPLE-RATIO MISMATCH" in answer.stderr.splitlines()[-1]
    (tmp_path / "even").mkdir()
    even = written(tmp_path / "even", experiment({"A": (30, 0.1), "B": (30, 0.9)}))
    calm = harness("clicks", *even, "--window", "10 min", "--format", "json", "--quiet")
    assert "MISMATCH" not in calm.stderr
    cautions = json.loads(calm.stdout)["cautions"]
    assert calm.stderr.splitlines() == [f"Caution: {each}" for each in cautions]


def test_short_tables_are_printed_and_all_in_other_formats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = write(tmp_path, "values.csv", VALUES), write(tmp_path, "rates.csv", RATES)
    (tmp_path / "grid").mkdir()
    several = write_grid(tmp_path / "grid")
    chosen: list[tuple[str, ...]] = []
    monkeypatch.setattr("harness.cli.logs.publish", lambda _, only=(): chosen.append(only))
    for paths, more in ((one, ()), (several, ()), (one, ("--format", "json"))):
        answer = harness("online", *paths, "--quiet", *more)
        assert answer.exit_code == 0
        assert answer.stderr
    assert chosen == [("online", "online_intervals"), ("online",), ()]


def ratings_like(rows: list[tuple[int, int, float]]) -> Ratings:
    user, item, rating = (np.array(column) for column in zip(*rows, strict=True))
    return Ratings(
        Numbering.of([f"u{n}" for n in range(4)]),
        Numbering.of([f"i{n}" for n in range(4)]),
        user.astype(np.int32),
        item.astype(np.int32),
        rating.astype(float),
        None,
    )


def test_distributions_are_of_users_and_items_with_ratings() -> None:
    ratings = ratings_like([(0, 0, 1.0), (0, 1, 5.0), (0, 2, 5.0), (1, 0, 2.5)])
    found = _distributions(ratings, [1.0, 2.5, 5.0])
    assert QUANTILES == (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
    for kind, counts in (("user", [3, 1]), ("item", [2, 1, 1])):
        for share in QUANTILES:
            expected = np.quantile(counts, share)
            assert found[f"ratings per {kind}, {share:.0%} quantile"] == pytest.approx(expected)
    shares = {name: value for name, value in found.items() if name.startswith("share rated")}
    assert shares == {"share rated 1": 0.25, "share rated 2.5": 0.25, "share rated 5": 0.5}


def test_where_a_world_is_is_printed_or_said_beside(tmp_path: Path) -> None:
    settings = WorldSettings(n_users=60, n_items=80, n_ratings=1500, min_ratings=10, gini=0.5)
    (tmp_path / "r.csv").write_bytes(format_rating_lines(make_world(settings).ratings))
    like = ("world", "--quiet", "--like", tmp_path / "r.csv")
    where = f"The world is in {(tmp_path / 'a').resolve()}\n"
    text = harness(*like, "--output", tmp_path / "a")
    assert text.stdout.endswith(where)
    assert text.stderr == ""
    frames = harness(*like, "--output", tmp_path / "b", "--format", "csv")
    assert frames.stderr == where.replace("/a\n", "/b\n")
    assert "The world" not in frames.stdout
    alone = harness(*like)
    assert "The world" not in alone.stdout
    assert alone.stdout.splitlines()[0].strip() == "Distributions"


def test_what_a_search_found_is_printed_with_the_file_of_the_study(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(WORLD)
    asked = ("--trials", "1", "--jobs", "1", "--quiet", "--output", tmp_path / "out")
    answer = harness("tune", tmp_path / "s.toml", "puresvd", *asked)
    assert answer.exit_code == 0, answer.stderr
    assert answer.stdout.startswith("Tuning: nDCG@10 on the validation part\n")
    assert answer.stdout.endswith(f"The tuned study is {(tmp_path / 's-tuned.toml').resolve()}\n")
    assert (tmp_path / "out/tuning").is_dir()
    (tmp_path / "t.toml").write_text(WORLD + "[systems.settings.ease]\nmax_gigabytes = 1e-6\n")
    failed = harness("tune", tmp_path / "t.toml", "ease", *asked)
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert failed.stderr.startswith("Failed: all trials of ease failed, the first: ")
    assert not (tmp_path / "t-tuned.toml").exists()


def test_studies_are_compared_with_findings_below_or_beside(finished: Path, tmp_path: Path) -> None:
    means = pd.read_csv(finished / "tables/means.csv")
    rows = means.assign(measure=means["metric"] + "@" + means["cutoff"].astype(str))
    published = rows[["system", "measure", "mean"]].rename(columns={"mean": "value"})
    published.to_csv(tmp_path / "published.csv", index=False)
    asked = ("compare", finished, tmp_path / "published.csv")
    text, latex = harness(*asked), harness(*asked, "--format", "latex")
    assert text.exit_code == 0, text.stderr
    assert text.stderr == ""
    assert latex.stderr
    finding = latex.stderr.splitlines()[0]
    assert finding in text.stdout
    assert finding not in latex.stdout
    with_page = harness(*asked, "--output", tmp_path / "page")
    assert "The page is " in with_page.stdout.splitlines()[-1]
    beside = harness(*asked, "--output", tmp_path / "other", "--format", "latex")
    assert "The page is " in beside.stderr.splitlines()[-1]


def test_pages_and_figures_are_named_where_they_are(copied: Path, tmp_path: Path) -> None:
    (copied / "report.html").unlink()
    report = harness("report", copied)
    assert report.stdout == f"The report is {(copied / 'report.html').resolve()}\n"
    assert (copied / "report.html").exists()
    card = harness("card", "P@5", copied, "--tries", "1", "--output", tmp_path / "card.html")
    assert card.stdout == f"The card is {(tmp_path / 'card.html').resolve()}\n"
    figure = harness("figure", copied, "fig1", "--output", tmp_path / "f.svg")
    *caption, where = figure.stdout.splitlines()
    assert caption
    assert where == f"The figure is {(tmp_path / 'f.svg').resolve()}"


def test_parts_of_a_study_are_named_with_what_made_them(finished: Path) -> None:
    lines = harness("verify", finished).stdout.splitlines()
    parts = [
        part for line in lines if ": by " in line for part in line.split(": by ")[0].split(", ")
    ]
    ledger = sorted(path.stem for path in (finished / ".ledger").glob("*.json"))
    assert sorted(parts) == ledger
    n_files = int(lines[-1].split()[-1].rstrip("."))
    files = [
        name
        for path in (finished / ".ledger").glob("*.json")
        for name in json.loads(path.read_text())["files"]
    ]
    assert n_files == len(files)


def test_a_study_that_ran_says_how_to_export_it(tmp_path: Path, blank_figures: None) -> None:
    (tmp_path / "s.toml").write_text(
        WORLD + '[systems]\nnames = ["random", "popularity"]\n[analyses]\nnames = []\n'
    )
    asked = ("--quiet", "--jobs", "1", "--output", tmp_path / "my study")
    answer = harness("run", tmp_path / "s.toml", *asked)
    folder = tmp_path / "my study"
    assert answer.stdout.splitlines() == [
        "To write its runs and qrels for trec_eval: "
        f"harness export '{folder}' --output '{folder}-export'",
        f"The report is {(folder / 'report.html').resolve()}",
    ]


def test_correlations_are_printed_in_every_form(tmp_path: Path) -> None:
    (tmp_path / "means.csv").write_text("system,ap,rr\na,.1,.2\nb,.2,.3\nc,.3,.1\n")
    printed = {
        form: harness("correlate", tmp_path / "means.csv", "--format", form)
        for form in ("text", "csv", "json", "latex", "markdown")
    }
    assert len({answer.stdout for answer in printed.values()}) == 5
    assert len({answer.stderr for answer in printed.values()}) == 1
    assert printed["csv"].stdout.startswith("metric_a,cutoff_a,")
    assert [*json.loads(printed["json"].stdout)]
    assert printed["markdown"].stdout.startswith("**")
    assert not (tmp_path / "None").exists()
    harness("correlate", tmp_path / "means.csv", "--output", tmp_path / "new")
    assert (tmp_path / "new").is_dir()


@pytest.mark.parametrize(
    ("command", "label"), [("world", "Fitting a world"), ("online", "Permuting rates")]
)
def test_every_bar_is_full_when_its_work_ends(
    command: str, label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = WorldSettings(n_users=60, n_items=80, n_ratings=1500, min_ratings=10, gini=0.5)
    (tmp_path / "r.csv").write_bytes(format_rating_lines(make_world(settings).ratings))
    tables = write(tmp_path, "values.csv", VALUES), write(tmp_path, "rates.csv", RATES)
    progress = Full()
    monkeypatch.setattr("runs.shared.progress.choose_progress", lambda quiet: progress)
    asked = ("--like", tmp_path / "r.csv") if command == "world" else tables
    assert harness(command, *asked).exit_code == 0
    assert (label, 1) in progress.work


def test_cards_end_with_one_line_break_and_have_two_between_them() -> None:
    alone = harness("check", "P@5", "--tries", "1").stdout
    assert alone.endswith(".\n")
    assert not alone.endswith("\n\n")
