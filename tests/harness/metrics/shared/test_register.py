"""Where metrics are found, and what they are called elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.metrics.shared.metric import metric
from harness.metrics.shared.register import (
    available_metrics,
    built_in_metrics,
    find_metric,
    harness_name,
    installed_metrics,
    plugin_metrics,
    translate_name,
)
from qrels import Judged
from runs import InputError
from runs.shared import members

METRICS = built_in_metrics()


def write_plugin(folder: Path, body: str) -> Path:
    path = folder / "my_metric.py"
    path.write_text(
        "import numpy as np\nfrom harness.metrics.shared.metric import metric\n"
        "@metric('first', source='here')\n"
        f"def first(judged, *, cutoff=None):\n    {body}\n"
    )
    return path


def test_a_plugin_stands_beside_the_built_in_metrics(tmp_path: Path) -> None:
    path = write_plugin(tmp_path, "return judged.relevant[:, 0].astype(float)")
    metrics = available_metrics([path])
    assert list(metrics) == [*built_in_metrics(), "first"]
    assert metrics["first"](Judged(np.array([[1.0]]), np.ones((1, 1)))).tolist() == [1.0]


def test_a_plugin_that_fails_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("import nowhere_to_be_found\n")
    with pytest.raises(
        InputError, match=r"broken\.py, line \d+: .*plug-in fails with ModuleNotFound"
    ):
        available_metrics([path])


def test_a_plugin_without_a_metric_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")
    with pytest.raises(InputError, match=r"no function in it is declared with @metric"):
        available_metrics([path])


def test_a_plugin_may_not_take_a_built_in_name(tmp_path: Path) -> None:
    path = write_plugin(tmp_path, "return None")
    path.write_text(path.read_text().replace("'first'", "'AP'"))
    with pytest.raises(InputError, match="a metric called 'AP' exists already"):
        available_metrics([path])


@pytest.mark.parametrize(
    ("name", "own"),
    [
        *((name, "Success") for name in ("HR", "Hit", "Hits", "HitRate", "hit_ratio", "success")),
        *((name, "AP") for name in ("MAP", "map", "map_cut")),
        *((name, "RR") for name in ("MRR", "recip_rank")),
        ("NDCG", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("P_5", "P@5"),
        ("precision", "P"),
        ("R", "Recall"),
        ("recall.10", "Recall@10"),
        ("F1", "SetF"),
    ],
)
def test_names_of_others_are_answered_with_ours(name: str, own: str) -> None:
    with pytest.raises(InputError, match=f"no metric is called '{name}'; here it is '{own}'"):
        find_metric(name, METRICS)


def test_built_in_metrics_stand_in_alphabetical_order() -> None:
    assert [*METRICS] == sorted(METRICS, key=str.casefold)
    assert {"nDCG", "infAP_trec", "LOO", "Judged"} < {*METRICS}
    assert all(found.name == name == str(found) for name, found in METRICS.items())


def test_metrics_of_ones_own_stand_beside_the_others() -> None:
    mine = metric("mine", source="here")(lambda judged, *, cutoff=None: 0)
    found = available_metrics(user_metrics=[mine @ 5, METRICS["P"](rel=2)])
    assert [*found] == [*METRICS, "mine"]
    assert str(found["mine"]) == "mine"


def test_two_metrics_of_one_name_are_refused() -> None:
    one, other = (metric("mine", source="here")(lambda judged, *, cutoff=None: 0) for _ in range(2))
    with pytest.raises(InputError, match="another metric called 'mine' exists already"):
        available_metrics(user_metrics=[one, other])


def test_a_file_declares_what_is_written_in_it_without_options(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from harness.metrics.shared.metric import metric\n"
        "from harness.metrics.precision import precision\n"
        "@metric('mine', source='here')\n"
        "def mine(judged, *, cutoff=None, p: float = 0.5):\n    return judged.hits(cutoff)\n"
        "steep = mine(p=0.1)\nimported = precision\ntop = mine @ 1\n"
    )
    assert [*plugin_metrics(path)] == ["mine"]


def test_a_name_finds_the_metric_with_its_options_and_no_cut_off() -> None:
    assert str(find_metric("nDCG(gains=exp)@10", METRICS)) == "nDCG(gains=exp)"
    assert str(find_metric("P@all", METRICS)) == "P"
    theirs = find_metric("ir_measures:nDCG(dcg='exp-log2')@10", METRICS)
    assert theirs.name == "ir_measures:nDCG(dcg=exp-log2)"


def test_an_unknown_name_is_answered_with_the_nearest_or_with_the_file_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"'sucess'; .*'Success'.* Your own needs its file"):
        find_metric("sucess", METRICS)
    with pytest.raises(InputError, match=r"called 'diggg'; .*'digg'"):
        find_metric("diggg", METRICS, other_names=["digg"])
    (tmp_path / "digg.py").touch()
    with pytest.raises(InputError, match=r"of the file digg\.py, add `--plugin digg\.py`"):
        find_metric("digg", METRICS)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        (" map ", "AP"),
        ("MAP", "AP"),
        ("MAP@100", "AP@100"),
        ("MAP(rel=2)@all", "AP(rel=2)@all"),
        ("recip_rank", "RR"),
        ("P_5", "P@5"),
        # Of ours and of nobody; of nine cut-offs; with two of them.
        ("AP@5", "AP@5"),
        ("digg@5", "digg@5"),
        ("ndcg_cut", "ndcg_cut"),
        ("P_5@10", "P_5@10"),
        ("P_5@all", "P_5@all"),
        ("ir_measures:P@5", "ir_measures:P@5"),
    ],
)
def test_names_of_others_become_ours(theirs: str, ours: str) -> None:
    assert translate_name(theirs, METRICS) == ours


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("MRR", "RR"),
        ("ndcg_cut_10", "nDCG@10"),
        ("set_F.2", "SetF@2"),
        ("digg", ""),
        ("F-1", "SetF"),
    ],
)
def test_the_name_here_is_looked_up_without_regard_to_case_and_dashes(
    theirs: str, ours: str
) -> None:
    assert harness_name(theirs, METRICS) == ours


def test_metrics_that_are_installed_are_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = metric("installed", source="here")(lambda judged, *, cutoff=None: judged.hits(cutoff))
    for module in ("harness.metrics.shared.register", members.__name__):
        monkeypatch.setattr(
            f"{module}.installed_entry_points", lambda kind: {"installed": (), "other": ()}
        )
    monkeypatch.setattr(
        "harness.metrics.shared.register.load_installed",
        lambda kind, name, of: mine if (kind, name) == ("metrics", "installed") else None,
    )
    assert installed_metrics() == [mine]
    assert find_metric("installed@5", METRICS) == mine
    assert translate_name("installed@5", METRICS) == "installed@5"
    one = Judged(np.array([[1.0]]), np.ones((1, 1)))
    assert find_metric("installed", METRICS)(one).tolist() == [1]
