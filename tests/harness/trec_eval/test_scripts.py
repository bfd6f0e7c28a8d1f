from collections.abc import Callable

import pytest

from harness.trec_eval.export import TOOL_NAMES, ir_measures_script, trec_eval_script

Script = Callable[..., str]

WRITERS = (trec_eval_script, ir_measures_script)


@pytest.mark.parametrize("script_of", WRITERS)
def test_a_metric_that_no_tool_names_is_named(script_of: Script) -> None:
    script = script_of("s", ["P", "half", "nDCG(gains=exp)"], [5], level=4)
    assert "# It has no measure for half, nDCG(gains=exp)." in script


@pytest.mark.parametrize("script_of", WRITERS)
def test_every_name_gets_a_command(script_of: Script) -> None:
    script = script_of("s", list(TOOL_NAMES), [5, 10], level=4)
    tool = "trec_eval" if script_of is trec_eval_script else "ir_measures"
    for names in TOOL_NAMES.values():
        assert getattr(names, tool).format(level=4) in script


def test_the_papers_infap_takes_the_pooled_qrels_alone() -> None:
    lines = trec_eval_script("s", ["bpref", "infAP"], [5], level=4).splitlines()
    assert [line.split()[-2] for line in lines if "trec_eval -c" in line] == [
        "qrels/test.qrels",
        '"$pooled"',
    ]


def test_a_level_of_its_own_is_a_command_of_its_own() -> None:
    lines = trec_eval_script("s", ["P", "P(rel=2)"], [5], level=4).splitlines()
    assert [line.split()[3] for line in lines if "trec_eval -c" in line] == ["4", "2"]
