"""The notebook of the documentation goes from runs to a figure."""

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "guides" / "notebook.ipynb"
PICTURE = "image/png"


@pytest.fixture(autouse=True)
def backend_of_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kernel choose its backend, as it does outside the tests."""
    monkeypatch.delenv("MPLBACKEND", raising=False)


def executed(notebook: Any, folder: Path) -> list[Any]:
    """Execute a notebook in a new kernel, and give its cells of code."""
    nbclient = pytest.importorskip("nbclient", reason="needs the extra dev")
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=600, resources=resources).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def n_pictures(cell: Any) -> int:
    return sum(PICTURE in output.get("data", {}) for output in cell.outputs)


@pytest.mark.slow
def test_the_notebook_shows_every_figure_that_it_draws(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs the extra dev")
    cells = executed(nbformat.read(NOTEBOOK, as_version=4), tmp_path)
    draws = [any(w in cell.source for w in (".plot(", "subplots(")) for cell in cells]
    assert [n_pictures(cell) for cell in cells] == draws
    assert sum(draws) >= 2
    assert (tmp_path / "robustness.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
@pytest.mark.parametrize("first", ["", "import matplotlib.pyplot"])
def test_figures_after_that_of_a_result_are_shown(first: str, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs the extra dev")
    sources = [
        f"{first}\nimport harness, pandas as pd",
        "scores = pd.DataFrame({'a': [1.0, 2.0, 3.0], 'b': [2.0, 5.0, 4.0]})\n"
        "result = harness.discriminate(scores)\nresult.plot()",
        "from matplotlib import pyplot\npyplot.subplots()",
        "result.plot()",
    ]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells = executed(nbformat.v4.new_notebook(cells=cells), tmp_path)
    assert [n_pictures(cell) for cell in cells] == [0, 1, 1, 1]


def test_the_notebook_is_kept_without_what_it_printed() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"]] == []
