from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measure, Measures
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
