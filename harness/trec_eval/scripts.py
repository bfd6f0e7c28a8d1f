"""What other tools call our metrics, as data, and the scripts that have them print our means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.metrics.shared.names import parse_name


@dataclass(frozen=True)
class ToolNames:
    """What trec_eval and ir_measures call a metric.

    Parameters
    ----------
    trec_eval
        Its name there; with ``-M n`` where ``trec_eval_cuts``, else with the cut-offs behind it.
    ir_measures
        Its name there, ``{level}`` standing for the relevance level; on runs cut to n where
        ``ir_measures_cuts``, else with the cut-off behind it.
    trec_eval_cuts, ir_measures_cuts
        Whether the measure takes no cut-off there, so that the run must be cut.
    pooled
        Whether it needs the pooled qrels.
    """

    trec_eval: str
    ir_measures: str
    trec_eval_cuts: bool = False
    ir_measures_cuts: bool = False
    pooled: bool = False


def _uncut(trec_eval: str, ir_measures: str, *, pooled: bool = False) -> ToolNames:
    return ToolNames(trec_eval, ir_measures, True, True, pooled)


TOOL_NAMES = {
    "P": ToolNames("P", "P(rel={level})"),
    "Recall": ToolNames("recall", "R(rel={level})"),
    "AP": ToolNames("map_cut", "AP(rel={level})"),
    "nDCG": ToolNames("ndcg_cut", "nDCG"),
    "Success": ToolNames("success", "Success(rel={level})"),
    "RR": ToolNames("recip_rank", "RR(rel={level})", trec_eval_cuts=True),
    "bpref": _uncut("bpref", "Bpref(rel={level})"),
    "infAP": _uncut("infAP", "infAP(rel={level})", pooled=True),
    "infAP_trec": _uncut("infAP", "infAP(rel={level})"),
    "Rprec": _uncut("Rprec", "Rprec(rel={level})"),
    "SetP": _uncut("set_P", "SetP(rel={level})"),
    "SetR": _uncut("set_recall", "SetR(rel={level})"),
    "SetF": _uncut("set_F", "SetF(rel={level})"),
}

OPENING = """\
#!/bin/sh
# The means of the study {study}, by {tool}: run it in this folder.
# Compare with tables/means.csv of the study.{remark}
set -e
for run in runs/*.run; do
  name="$(basename "$run")"
  pooled="qrels/pooled/${{name%.run}}.qrels"
  echo "# $run"
{whole}  for n in {cutoffs}; do
    echo "# $run, cut to $n"
{cut}  done
done
"""
CUT_RUN = """\
    # ir_measures cuts lists for some measures only, so these are of a run that is cut.
    mkdir -p "cut/$n"
    awk -v n="$n" '$4 <= n' "$run" > "cut/$n/$name"
"""
NOTHING = "    :\n"


def trec_eval_script(
    study: str, metrics: Sequence[str], cutoffs: Sequence[int], *, level: int
) -> str:
    r"""Write the commands with which trec_eval prints the means of a study.

    Metrics are named with options, as in its table of means; the level is the lowest relevant grade
    where a metric does not name its own.

    Examples
    --------
    >>> script = trec_eval_script("s", ["P(rel=3)", "RR"], [5, 10], level=4)
    >>> print(*[line.strip() for line in script.splitlines() if "trec_eval -c" in line], sep="\n")
    trec_eval -c -l 3 -m P.5,10 qrels/test.qrels "$run"
    trec_eval -c -l 4 -M "$n" -m recip_rank qrels/test.qrels "$run"
    """
    ranks = ",".join(map(str, cutoffs))
    whole: dict[int, list[str]] = {}
    cut: dict[tuple[int, bool], list[str]] = {}
    for names, metric_level in _all_tool_names(metrics, level):
        if names.trec_eval_cuts:
            measures = cut.setdefault((metric_level, names.pooled), [])
            measures.append(f"-m {names.trec_eval}")
        else:
            whole.setdefault(metric_level, []).append(f"-m {names.trec_eval}.{ranks}")
    return _script(
        study,
        "trec_eval 9 or 10 (four decimals)",
        metrics,
        cutoffs,
        whole=[
            f'  trec_eval -c -l {at} {" ".join(measures)} qrels/test.qrels "$run"\n'
            for at, measures in whole.items()
        ],
        cut=[
            f'    trec_eval -c -l {at} -M "$n" {" ".join(measures)} {_qrels(pooled)} "$run"\n'
            for (at, pooled), measures in cut.items()
        ],
    )


def ir_measures_script(
    study: str, metrics: Sequence[str], cutoffs: Sequence[int], *, level: int
) -> str:
    r"""Write the commands with which ir_measures prints the means of a study.

    Examples
    --------
    >>> script = ir_measures_script("s", ["P(rel=3)", "bpref"], [5, 10], level=4)
    >>> print(*[line.strip() for line in script.splitlines() if "ir_measures -p" in line], sep="\n")
    ir_measures -p 12 qrels/test.qrels "$run" "P(rel=3)@5 P(rel=3)@10"
    ir_measures -p 12 qrels/test.qrels "cut/$n/$name" "Bpref(rel=4)"
    """
    whole: list[str] = []
    cut: dict[bool, list[str]] = {}
    for names, metric_level in _all_tool_names(metrics, level):
        measure = names.ir_measures.format(level=metric_level)
        if names.ir_measures_cuts:
            cut.setdefault(names.pooled, []).append(measure)
        else:
            whole += [f"{measure}@{cutoff}" for cutoff in cutoffs]
    command = "ir_measures -p 12"
    return _script(
        study,
        "ir_measures",
        metrics,
        cutoffs,
        whole=[f'  {command} qrels/test.qrels "$run" "{" ".join(whole)}"\n'] if whole else [],
        cut=[CUT_RUN] * bool(cut)
        + [
            f'    {command} {_qrels(pooled)} "cut/$n/$name" "{" ".join(measures)}"\n'
            for pooled, measures in cut.items()
        ],
    )


def _tool_names(label: str, level: int) -> tuple[ToolNames, int] | None:
    """Give a metric's names elsewhere and its relevance level; no other option has any."""
    parsed = parse_name(label)
    own_level = parsed.options.get("rel", level)
    if parsed.name not in TOOL_NAMES or set(parsed.options) - {"rel"}:
        return None
    return TOOL_NAMES[parsed.name], int(str(own_level))


def _all_tool_names(labels: Sequence[str], level: int) -> list[tuple[ToolNames, int]]:
    found = (_tool_names(label, level) for label in labels)
    return [names for names in found if names is not None]


def _script(
    study: str,
    tool: str,
    metrics: Sequence[str],
    cutoffs: Sequence[int],
    *,
    whole: list[str],
    cut: list[str],
) -> str:
    alone = [label for label in metrics if _tool_names(label, 1) is None]
    return OPENING.format(
        study=study,
        tool=tool,
        remark=f"\n# It has no measure for {', '.join(alone)}." if alone else "",
        whole="".join(whole),
        cut="".join(cut) or NOTHING,
        cutoffs=" ".join(map(str, cutoffs)),
    )


def _qrels(pooled: bool) -> str:
    return '"$pooled"' if pooled else "qrels/test.qrels"
