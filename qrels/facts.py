"""Counts of judgements, and what metrics cannot tell with them."""

from __future__ import annotations

import warnings

from qrels.qrels import Qrels
from runs import InputWarning


def judgement_facts(qrels: Qrels) -> dict[str, int]:
    """Count judgements, and the users for whom a metric can say little."""
    n_relevant, n_nonrelevant = qrels.per_user(qrels.relevant), qrels.per_user(qrels.nonrelevant)
    return {
        "users": qrels.n_users,
        "judgements": len(qrels.items),
        "relevant judgements": int(qrels.relevant.sum()),
        "relevance level": qrels.relevance_level,
        "users without relevant items": int((n_relevant == 0).sum()),
        "users without judged non-relevant items": int((n_nonrelevant == 0).sum()),
    }


def warn_of_one_kind(qrels: Qrels) -> None:
    """Warn of metrics that collapse because all judgements, or all of each user, are of a kind."""
    n_relevant, n_nonrelevant = qrels.per_user(qrels.relevant), qrels.per_user(qrels.nonrelevant)
    if not qrels.relevant.any():
        finding = f"{nothing_relevant(qrels)} What asks for relevant items is 0; nDCG does not."
        warnings.warn(finding, InputWarning, stacklevel=2)
    elif not qrels.nonrelevant.any():
        finding = (
            "the qrels hold relevant items only: bpref becomes Recall, and infAP becomes Recall "
            "less a small term."
        )
        warnings.warn(finding, InputWarning, stacklevel=2)
    elif not ((n_relevant > 0) & (n_nonrelevant > 0)).any():
        finding = "no user has both relevant and judged non-relevant items: bpref becomes Recall."
        warnings.warn(finding, InputWarning, stacklevel=2)


def nothing_relevant(qrels: Qrels) -> str:
    """Say that no judgement reaches the relevance level."""
    return (
        f"no judgement is relevant: the highest grade is {qrels.grades.max()}, the relevance level "
        f"{qrels.relevance_level}."
    )
