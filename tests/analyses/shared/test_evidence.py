import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Literal
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.families import Families
from analyses.shared.measure import Measure, Measures
from harness.scoring.means import Means
from runs import InputError


@dataclass(frozen=True, eq=False)
class Finding:
    measures: tuple[Measure, ...]
    values: NDArray[np.float64]
    by_name: dict[str, NDArray[np.float64]]
    names: tuple[str, ...]
    level: float | None


def finding() -> Finding:
    values = np.array([[0.1, np.nan], [1 / 3, -0.0]])
    return Finding(
        measures=(Measure("P", 5), Measure("AP")),
        values=values,
        by_name={"tau b": values[0], "rbo": values[1]},
        names=("a", "b/ü"),
        level=None,
    )


def test_a_result_comes_back_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "finding.npz"
    path.write_bytes(to_evidence(finding()))
    back = read_evidence(path, Finding)
    assert (back.measures, back.names, back.level) == (finding().measures, ("a", "b/ü"), None)
    assert back.values.tobytes() == finding().values.tobytes()
    assert back.by_name.keys() == {"tau b", "rbo"}
    assert back.by_name["rbo"].tobytes() == finding().values[1].tobytes()


def test_equal_results_give_equal_bytes() -> None:
    assert to_evidence(finding()) == to_evidence(finding())


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "finding.npz"
    path.write_bytes(b"not a zip file")
    with pytest.raises(InputError, match="not a result of this analysis"):
        read_evidence(path, Finding)


def test_the_result_of_another_analysis_is_refused(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Other:
        something: int

    path = tmp_path / "other.npz"
    path.write_bytes(to_evidence(Other(1)))
    with pytest.raises(InputError, match="not a result of this analysis"):
        read_evidence(path, Finding)


@dataclass(frozen=True, eq=False)
class Nested:
    finding: Finding
    findings: tuple[Finding, ...]
    measures: Measures


def test_results_within_results_come_back(tmp_path: Path) -> None:
    path = tmp_path / "nested.npz"
    measures = Measures([Measure("P", 5)], lower_is_better_for=["P"])
    path.write_bytes(to_evidence(Nested(finding(), (finding(), finding()), measures)))
    back = read_evidence(path, Nested)
    assert back.findings[1].values.tobytes() == finding().values.tobytes()
    assert back.finding.by_name["rbo"].tobytes() == finding().values[1].tobytes()
    assert back.measures == measures
    assert back.measures.lower_is_better_for == {"P"}


class Run:
    """What leaves a mark when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("run",)


def test_nothing_in_a_file_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "means.npz"
    np.savez(path, facts=np.array('{"values": {"array": "a"}}'), a=np.array([Run()], dtype=object))
    with pytest.raises(InputError, match="not a result of this analysis"):
        read_evidence(path, Means)
    assert capsys.readouterr().out == ""


def test_a_file_that_would_be_larger_unpacked_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, facts=np.array("{}"), a=np.zeros(10_000_000))
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match="not a result of this analysis"):
        read_evidence(path, Means)


def test_an_array_that_says_it_is_larger_than_the_file_is_refused(tmp_path: Path) -> None:
    path, stream = tmp_path / "large.npz", BytesIO()
    facts = np.array("{}")
    header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)}
    np.lib.format.write_array_header_1_0(stream, header)
    np.savez(path, facts=facts)
    with ZipFile(path, "a") as archive:
        archive.writestr("a.npy", stream.getvalue())
    with pytest.raises(InputError, match="not a result of this analysis"):
        read_evidence(path, Means)


def means() -> Means:
    return Means(
        measures=Measures([Measure("P", 5)]),
        systems=("a", "b"),
        values=np.zeros((1, 2)),
        deviations=np.zeros((1, 2)),
        n_users=3,
    )


OTHER_FACTS: dict[str, list[object]] = {
    "systems": [["a", 1], "a", {"array": "values"}, None],
    "values": ["a", [1.0], {"array": "names"}, {"array": "none"}, {"frame": {}}],
    "measures": [
        ["P@5"],
        {"measures": [["P", "5"]], "falling": [], "reported": [0], "grid": []},
        {"measures": [["P", 0]], "falling": [], "reported": [0], "grid": []},
        {"measures": [["P", 5]], "falling": [], "reported": [1], "grid": []},
        {"measures": [[5, 5]], "falling": [], "reported": [0], "grid": []},
    ],
    "average": ["items", 1],
    "unit": [None, 2],
    "other": [1],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in OTHER_FACTS.items() for value in values]
)
def test_a_field_of_another_class_is_refused(tmp_path: Path, key: str, value: object) -> None:
    path = tmp_path / "means.npz"
    path.write_bytes(to_evidence(means()))
    with np.load(path) as file:
        arrays = dict(file)
    facts = json.loads(str(arrays.pop("facts"))) | {key: value}
    arrays["names"] = np.array(["a"])
    with path.open("wb") as stream:
        np.savez(stream, **(arrays | {"facts": np.array(json.dumps(facts))}))
    with pytest.raises(InputError, match="not a result of this analysis"):
        read_evidence(path, Means)


def test_control_characters_in_texts_become_escapes(tmp_path: Path) -> None:
    path = tmp_path / "means.npz"
    odd = replace(means(), measures=Measures([Measure("P\n", 5)]), systems=("a\x1b[2J", "b\n"))
    path.write_bytes(to_evidence(odd))
    back = read_evidence(path, Means)
    assert back.systems == ("a\\x1b[2J", "b\n")
    assert back.measures.metrics == ("P\\n",)


@dataclass(frozen=True, eq=False)
class Typed:
    """A result of ours: each field is checked."""

    whole: int
    fraction: float
    text: str
    choice: Literal["a", "b"]
    pair: tuple[int, str]
    many: tuple[int, ...]
    perhaps: int | None
    marks: NDArray[np.bool_]
    counts: NDArray[np.intp]
    scores: NDArray[np.float64]
    names: NDArray[np.str_]
    by_name: Mapping[str, NDArray[np.float64]]
    part: Finding


Typed.__module__ = "analyses.typed"

RIGHT: dict[str, Any] = {
    "whole": 3,
    "fraction": 0.5,
    "text": "t",
    "choice": "a",
    "pair": (1, "x"),
    "many": (1, 2, 3),
    "perhaps": None,
    "marks": np.array([True]),
    "counts": np.array([1, 2]),
    "scores": np.array([0.5]),
    "names": np.array(["a"]),
    "by_name": {"a": np.array([0.5])},
    "part": finding(),
}


def read_back(path: Path, **changes: Any) -> Typed:
    path.write_bytes(to_evidence(Typed(**RIGHT | changes)))
    return read_evidence(path, Typed)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"fraction": 2},
        {"choice": "b"},
        {"many": ()},
        {"perhaps": 4},
        {"counts": np.array([True])},
        {"counts": np.array([1], dtype=np.uint8)},
        {"scores": np.array([1])},
        {"scores": np.array([False])},
        {"by_name": {}},
    ],
)
def test_a_field_may_be_what_its_annotation_says(changes: dict[str, Any], tmp_path: Path) -> None:
    back = read_back(tmp_path / "typed.npz", **changes)
    for name, value in (RIGHT | changes).items():
        if name not in ("part", "by_name"):
            np.testing.assert_array_equal(getattr(back, name), value)
    assert back.part.names == ("a", "b/ü")


@pytest.mark.parametrize(
    "changes",
    [
        {"whole": 0.5},
        {"whole": True},
        {"fraction": True},
        {"fraction": "1"},
        {"text": 1},
        {"choice": "c"},
        {"choice": 1},
        {"pair": (1,)},
        {"pair": (1, 2)},
        {"pair": (1, "x", 2)},
        {"pair": 1},
        {"many": (1, "x")},
        {"many": 1},
        {"perhaps": "x"},
        {"marks": np.array([1])},
        {"counts": np.array([0.5])},
        {"counts": np.array(["a"])},
        {"scores": np.array(["a"])},
        {"scores": 0.5},
        {"names": np.array([1])},
        {"by_name": {"a": 0.5}},
        {"by_name": {"a": np.array(["x"])}},
        {"by_name": 1},
    ],
)
def test_a_field_that_is_not_what_its_annotation_says_is_refused(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="not a result of this analysis, or damaged"):
        read_back(tmp_path / "typed.npz", **changes)


def test_fields_of_classes_that_are_not_ours_are_not_checked(tmp_path: Path) -> None:
    path = tmp_path / "finding.npz"
    path.write_bytes(to_evidence(replace(finding(), level="none")))  # type: ignore[arg-type]
    assert read_evidence(path, Finding).level == "none"  # type: ignore[comparison-overlap]


@dataclass(frozen=True, eq=False)
class Framed:
    frame: pd.DataFrame


def test_frames_come_back_column_by_column(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "n": [1, 2],
            "share": [0.5, np.nan],
            "name": ["a", None],
            "cutoff": pd.Series([5, None], dtype=object),
            "mark": [True, False],
        }
    )
    path = tmp_path / "frame.npz"
    path.write_bytes(to_evidence(Framed(frame)))
    back = read_evidence(path, Framed).frame
    assert back.columns.tolist() == frame.columns.tolist()
    assert back["n"].dtype == np.int64
    assert back["mark"].dtype == np.bool_
    np.testing.assert_array_equal(back["share"], frame["share"])
    assert back["name"].tolist() == ["a", None]
    assert back["cutoff"].tolist() == [5, None]


def test_measures_keep_their_roles(tmp_path: Path) -> None:
    every = [Measure("P", 1), Measure("P", 5), Measure("AP")]
    measures = Measures(
        every, lower_is_better_for=["AP"], reported=[every[2], every[0]], grid=[every[1]]
    )
    path = tmp_path / "means.npz"
    path.write_bytes(
        to_evidence(
            replace(
                means(), measures=measures, values=np.zeros((3, 2)), deviations=np.zeros((3, 2))
            )
        )
    )
    back = read_evidence(path, Means).measures
    assert (back, back.reported, back.grid) == (measures, measures.reported, measures.grid)
    assert back.lower_is_better_for == {"AP"}


def test_a_file_that_is_packed_or_has_more_than_its_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "finding.npz"
    path.write_bytes(to_evidence(finding()))
    with np.load(path) as file:
        arrays = dict(file)
    np.savez_compressed(path, **arrays)
    with pytest.raises(InputError, match="not a result of this analysis"):
        read_evidence(path, Finding)


def test_fields_keep_their_names_in_evidence_when_they_are_renamed(tmp_path: Path) -> None:
    families = Families(np.array([0, 1]), by_similarity=True, share_of_ties=0.5)
    path = tmp_path / "families.npz"
    path.write_bytes(to_evidence(families))
    with np.load(path) as file:
        facts = json.loads(str(file["facts"]))
    assert facts == {"of": {"array": "of"}, "by_likeness": True, "same": 0.5, "versions": []}
    back = read_evidence(path, Families)
    assert back.family_numbers.tolist() == [0, 1]
    assert (back.by_similarity, back.share_of_ties) == (True, 0.5)
