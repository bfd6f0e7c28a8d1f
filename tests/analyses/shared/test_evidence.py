import json
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.shared.evidence import read_evidence, to_evidence
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
    measures = Measures([Measure("P", 5)], falling=["P"])
    path.write_bytes(to_evidence(Nested(finding(), (finding(), finding()), measures)))
    back = read_evidence(path, Nested)
    assert back.findings[1].values.tobytes() == finding().values.tobytes()
    assert back.finding.by_name["rbo"].tobytes() == finding().values[1].tobytes()
    assert back.measures == measures
    assert back.measures.falling == {"P"}


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
