from pathlib import Path

import numpy as np
import pytest

from analyses.discrimination import Discrimination
from harness.report.repeats import Repeats
from harness.report.study_folder import FinishedStudy
from harness.study.run import run_study
from harness.study.study import read_study
from recommenders import find_system
from recommenders.shared.system import search_space
from runs import InputError
from tests.conftest import figures_left_out
from tests.exact_csv import read_exactly
from tests.harness.small import (
    METRICS,
    SYSTEMS,
    TREC,
    WORLD,
    contents,
    made_again,
    made_at,
    run_text,
    write_collection,
)

REPEATED = (
    WORLD
    + SYSTEMS
    + METRICS
    + 'report = ["P@5", "P@20", "nDCG@20"]\n'
    + '[analyses]\nnames = ["sparsity", "discrimination"]\n[analyses.sparsity]\nsamples = 3\n'
    + "[repeat]\nseeds = 3\n"
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("repeated")
    with figures_left_out():
        return run_text(REPEATED, base, output=base / "study")


@pytest.fixture(scope="module")
def found(repeated: Path) -> Repeats:
    return FinishedStudy.open(repeated).read_result("repeats", Repeats)


def test_every_seed_has_a_study_of_its_own(repeated: Path, found: Repeats) -> None:
    seeds = [FinishedStudy.open(repeated).manifest.seed + more for more in range(3)]
    assert found.seeds == tuple(seeds)
    folders = [repeated / "seeds" / str(seed) for seed in seeds[1:]]
    assert [FinishedStudy.open(folder).manifest.seed for folder in folders] == seeds[1:]
    runs = [(folder / "runs/popularity.parquet").read_bytes() for folder in (repeated, *folders)]
    assert len(set(runs)) == 3


def test_every_value_is_that_of_the_seeds_own_study(repeated: Path, found: Repeats) -> None:
    frame = found.frames()["repeats"]
    for seed in found.seeds[1:]:
        path = repeated / f"seeds/{seed}/tables/sparsity_areas.csv"
        own = read_exactly(path)
        areas = {(m, k): a for m, k, a in own[["metric", "cutoff", "area"]].values.tolist()}
        of_seed = frame[(frame.seed == seed) & frame.quantity.str.startswith("area, random")]
        for metric, cutoff, value in of_seed[["metric", "cutoff", "value"]].values.tolist():
            assert value == areas[metric, cutoff]


def test_a_second_run_makes_nothing_again(repeated: Path) -> None:
    folders = [repeated, *(repeated / "seeds").iterdir()]
    before = [made_at(folder) for folder in folders]
    run_text(REPEATED, repeated.parent, output=repeated)
    assert [made_at(folder) for folder in folders] == before


def test_a_killed_study_goes_on_where_it_was(repeated: Path, found: Repeats) -> None:
    last = repeated / "seeds" / str(found.seeds[-1])
    before, evidence = made_at(last), contents(repeated, "evidence/*")
    (last / "manifest.json").unlink()
    (last / "evidence/sparsity.npz").unlink()
    (repeated / "evidence/repeats.npz").unlink()
    run_text(REPEATED, repeated.parent, output=repeated)
    assert made_again(last, before) == {"sparsity"}
    assert contents(repeated, "evidence/*") == evidence


def test_given_runs_are_not_repeated(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "study.toml").write_text(TREC + "[repeat]\nseeds = 2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"seeds.*the same for all seeds"):
        run_study(read_study(tmp_path / "study.toml"))


def test_a_metric_at_two_depths_is_two_measures(found: Repeats) -> None:
    labels = [row[0] for row in found.repeats_table().rows]
    assert labels == ["P@5", "P@20", "nDCG@20"] * len(found.quantities)
    assert list(found.measures.reported.labels) == labels[:3]


def test_users_contribute_what_each_seed_s_study_resamples(repeated: Path, found: Repeats) -> None:
    folders = [repeated, *(repeated / "seeds").iterdir()]
    result = [FinishedStudy.open(f).read_result("discrimination", Discrimination) for f in folders]
    deviations = np.array([each.samples.mid_powers.std(axis=1, ddof=1) for each in result])
    place = found.quantities.index("mid-p DP")
    numbers = result[0].measures.indices(found.measures)
    expected = np.sqrt((deviations**2).mean(axis=0))[numbers]
    np.testing.assert_allclose(found.users[place], expected, rtol=1e-9)
    assert "are root mean squares over the repetitions" in found.caption()


VARIED = REPEATED.replace("seeds = 3", "settings = 3")


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("varied")
    with figures_left_out():
        return run_text(VARIED, base, output=base / "study")


def test_every_repetition_draws_other_settings_from_their_ranges(varied: Path) -> None:
    folders = [varied, varied / "settings/2", varied / "settings/3"]
    drawn = [read_study(folder / "study.toml") for folder in folders]
    factors = [study.systems.settings["puresvd"]["factors"] for study in drawn]
    assert len(set(factors)) == 3
    space = search_space(find_system("puresvd").settings)["factors"]
    assert all(number in space for number in factors)
    runs = {name: [f / f"runs/{name}.parquet" for f in folders] for name in ("random", "puresvd")}
    texts = {name: {path.read_bytes() for path in paths} for name, paths in runs.items()}
    assert [len(texts["random"]), len(texts["puresvd"])] == [1, 3]
    found = FinishedStudy.open(varied)
    repeats = found.read_result("repeats", Repeats)
    assert repeats.varied == "settings"
    # What a single analysis says holds over the settings, too.
    power = found.result("discrimination")
    own = repeats.values[repeats.quantities.index("mid-p DP")]
    assert power.over_settings is not None
    shown = power.over_settings[[n for n, row in enumerate(power.over_settings) if row[0] > 0]]
    np.testing.assert_array_equal(shown, own)


def test_settings_that_are_drawn_are_not_trained_again(varied: Path) -> None:
    folders = [varied, *(varied / "settings").iterdir()]
    before = [made_at(folder) for folder in folders]
    run_text(VARIED, varied.parent, output=varied)
    assert [made_at(folder) for folder in folders] == before
