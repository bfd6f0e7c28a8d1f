from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.shared.analysis import Given, SettingError, built_in_analyses
from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measure, Measures
from analyses.shared.publish import write_results
from analyses.shared.result import figures_of, tables_of
from analyses.shared.work import Alone, OtherWorld, StudyWorld
from analyses.validity_sweep import Settings, ValiditySweep, validity_sweep
from analyses.verdicts.world_aspects import WorldAspects
from runs import InputError

MEASURES = Measures([Measure("nDCG", 10), Measure("bpref", 10)])
ASPECTS = ("itself", "nDCG@10", "ideal", "robustness", "power", "wrong")
STRENGTHS = (0.0, 1.0, 2.0)

# By strength: tau with true nDCG@10 of nDCG, which falls, and of bpref, which does not.
VALIDITY = {0.0: (0.9, 0.6), 1.0: (0.6, 0.6), 2.0: (0.3, 0.6)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Worlds(Alone):
    """Worlds in which validity is as stated, with noise of the world's own."""

    name = "worlds"
    noise: float = 0.01

    def in_worlds(self, worlds: Sequence[OtherWorld], study: StudyWorld) -> Iterator[Any]:
        return (WorldAspects(MEASURES, ASPECTS, self.values(world)) for world in worlds)

    def values(self, world: OtherWorld) -> NDArray[np.float64]:
        rng = np.random.default_rng(world.seed)
        valid = np.array(VALIDITY[world.strength]) * world.density
        rows = [valid, valid, [0.97, 0.97], [0.95, 0.9], [0.8, 0.7], [0.02 * world.strength, 0.0]]
        return np.clip(np.array(rows) + self.noise * rng.normal(size=(6, 2)), -1, 1)


def swept(**settings: Any) -> ValiditySweep:
    return validity_sweep(Worlds(seed=3), Settings(strengths=STRENGTHS, worlds=5, **settings))


@pytest.fixture(scope="module")
def found() -> ValiditySweep:
    return swept()


def test_values_are_by_strength_density_and_world() -> None:
    found = swept(densities=(1.0, 0.5))
    assert found.values.shape == (6, 2, 3, 2, 5)
    assert found.densities == (0.5, 1.0)
    expected = np.array([[0.45, 0.9], [0.3, 0.6], [0.15, 0.3]])
    assert found.means[1, 0] == pytest.approx(expected, abs=0.03)


def test_the_order_in_which_points_are_given_does_not_count() -> None:
    turned = Settings(strengths=(2.0, 0.0, 1.0), worlds=5)
    assert (validity_sweep(Worlds(seed=3), turned).values == swept().values).all()


def test_a_world_does_not_depend_on_the_others_that_are_asked_for() -> None:
    few, many = (
        Settings(strengths=strengths, densities=densities, worlds=n).other_worlds(7)
        for strengths, densities, n in (((1.0,), (1.0,), 3), ((0.0, 1.0), (0.5, 1.0), 5))
    )
    assert set(few) < set(many)


def test_every_world_has_a_seed_of_its_own() -> None:
    worlds = [w for seed in (1, 2) for w in Settings().other_worlds(seed)]
    assert len({world.seed for world in worlds}) == 100


def test_what_the_strengths_multiply_is_asked_of_every_world_and_said() -> None:
    worlds = [Settings(bias=bias).other_worlds(7) for bias in ("both", "exposure", "liking")]
    assert [{world.bias for world in some} for some in worlds] == [
        {"both"},
        {"exposure"},
        {"liking"},
    ]
    assert len({tuple(world.seed for world in some) for some in worlds}) == 1
    found = swept(bias="liking")
    assert "does not follow liking, and follows popularity as ever" in found.caption()
    assert found.plot().get_xlabel() == "strength of liking"


def test_measures_that_change_places_beyond_noise_are_named(found: ValiditySweep) -> None:
    assert found.turned == [("nDCG@10", "bpref@10")]
    told = " ".join(found.findings())
    assert "1 of 1 pairs of measures are turned round" in told
    assert "depends on the strength of the bias" in told


def test_measures_that_change_places_within_noise_are_not(found: ValiditySweep) -> None:
    noisy = validity_sweep(Worlds(seed=3, noise=1.0), Settings(strengths=STRENGTHS, worlds=5))
    assert noisy.turned == []
    assert "None of 1 pairs" in " ".join(noisy.findings())


def test_the_best_of_each_strength_are_in_a_table(found: ValiditySweep) -> None:
    rows = found.best().rows
    assert [row[0] for row in rows] == ["0", "1", "2"]
    assert (rows[0][1], rows[2][1]) == ("nDCG@10", "bpref@10")
    # The most robust is nDCG at every strength; its validity falls.
    assert [row[3] for row in rows] == ["nDCG@10"] * 3
    assert [row[4] for row in rows] == pytest.approx([0.9, 0.6, 0.3], abs=0.03)


def test_the_table_is_of_one_aspect(found: ValiditySweep) -> None:
    table = found.by_strength(aspect="robustness")
    assert table.headings == ["measure", "0", "1", "2"]
    assert [row[1] for row in table.rows] == pytest.approx([0.95, 0.9], abs=0.03)
    with pytest.raises(
        InputError, match="there are itself, nDCG@10, ideal, robustness, power, wrong"
    ):
        found.by_strength(aspect="validity")


def test_the_frame_has_every_mean_with_its_limits(found: ValiditySweep) -> None:
    frame = found.to_frame()
    assert len(frame) == 6 * 2 * 3
    row = frame[(frame.aspect == "power") & (frame.metric == "bpref") & (frame.strength == 2)]
    values = found.values[4, 1, 2, 0]
    assert row["mean"].item() == pytest.approx(values.mean())
    assert row.sd.item() == pytest.approx(values.std(ddof=1))
    assert row.low.item() < row["mean"].item() < row.high.item()
    assert row.worlds.item() == 5


def test_differences_are_over_the_same_worlds(found: ValiditySweep) -> None:
    frame = found.frames()["validity_sweep_differences"]
    row = frame[(frame.aspect == "nDCG@10") & (frame.strength == 0)]
    assert row.difference.item() == pytest.approx(0.3, abs=0.03)


def test_the_card_of_a_measure_has_its_validity_at_both_ends(found: ValiditySweep) -> None:
    assert found.about(MEASURES[0]).keys() == {
        "tau with true nDCG@10, bias times 0",
        "tau with true nDCG@10, bias times 2",
    }
    assert found.about(Measure("AP", 5)) == {}


@pytest.mark.parametrize(("strength", "taus"), [(None, [0.6, 0.6]), (2.0, [0.3, 0.6])])
def test_a_measure_is_a_point_of_its_robustness_and_its_validity_at_one_strength(
    found: ValiditySweep, strength: float | None, taus: list[float]
) -> None:
    points = [
        np.ravel(line.get_xydata())
        for line in found.plot_robustness(strength=strength).lines
        if line.get_label() in found.measures.labels
    ]
    assert np.array(points) == pytest.approx(np.array([[0.95, taus[0]], [0.9, taus[1]]]), abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("densities", [(1.0,), (0.5, 1.0)])
def test_every_table_and_figure_can_be_made_from_what_is_kept(
    densities: tuple[float, ...], tmp_path: Path
) -> None:
    path = tmp_path / "kept.npz"
    path.write_bytes(to_evidence(swept(densities=densities)))
    kept = read_evidence(path, ValiditySweep)
    drawn = [face.name for face in figures_of(ValiditySweep) if face.is_of(kept)]
    by_density = ["validity_sweep_density"] if len(densities) > 1 else []
    assert drawn == ["validity_sweep", *by_density, "validity_sweep_robustness"]
    write_results({"validity_sweep": kept}, tmp_path / "kept")
    assert {f"{name}.png" for name in drawn} <= {
        path.name for path in (tmp_path / "kept").iterdir()
    }
    for face in tables_of(ValiditySweep):
        assert (
            len(face.make(kept).rows) == {"validity_sweep": 2, "validity_sweep_best": 3}[face.name]
        )


def test_the_sweep_is_made_only_if_it_is_asked_for() -> None:
    declared = built_in_analyses()["validity_sweep"]
    assert not declared.is_usual_with(("truth", "worlds"))


def test_a_study_without_a_world_is_refused() -> None:
    given = Given(systems=("a", "b"), measures=MEASURES, has_training=True, has_truth=True)
    with pytest.raises(SettingError, match="only where it begins with a simulated one"):
        Settings().check(given)
