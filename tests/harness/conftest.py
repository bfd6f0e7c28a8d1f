"""Finished studies that the tests of this folder read; a test that writes takes a copy.

Their figures are blank, but for those of `drawn`.
"""

from pathlib import Path
from shutil import copytree

import pytest

from tests.conftest import figures_left_blank
from tests.harness.small import (
    ANALYSES,
    METRICS,
    NO_ANALYSES,
    RANKED,
    SYSTEMS,
    TREC,
    TREC_METRICS,
    WHOLE,
    WORLD,
    run_text,
    write_collection,
)

EVERY_METRIC = METRICS.replace(
    '"P", "nDCG"', '"P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP"'
).replace("[5, 20]", "[1, 5, 20]")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of a small world with all analyses that a study has by itself."""
    base = tmp_path_factory.mktemp("finished")
    with figures_left_blank():
        return run_text(WHOLE, base, output=base / "study")


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of `finished`, whose figures are drawn."""
    base = tmp_path_factory.mktemp("drawn")
    return run_text(WHOLE, base, output=base / "study")


@pytest.fixture(scope="session")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of the same world that asks for full ranks, to sample negatives."""
    base = tmp_path_factory.mktemp("ranked")
    with figures_left_blank():
        return run_text(RANKED, base, output=base / "study")


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of a small world with all metrics and no analysis."""
    base = tmp_path_factory.mktemp("scored")
    with figures_left_blank():
        return run_text(WORLD + SYSTEMS + EVERY_METRIC + NO_ANALYSES, base, output=base / "study")


@pytest.fixture(scope="session")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two runs made elsewhere, with all analyses."""
    base = tmp_path_factory.mktemp("given")
    write_collection(base)
    with figures_left_blank():
        return run_text(TREC + TREC_METRICS + ANALYSES, base, output=base / "study")


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished study, to be damaged."""
    return copytree(finished, tmp_path / "study")
