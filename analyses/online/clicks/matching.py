"""Clicks matched with the lists that they are credited to, for a whole log or shards of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.click_question import Question
from analyses.online.logs import LogFacts, Logs
from analyses.online.logs import interactions as interacting
from analyses.online.logs import recommendations as recommending
from analyses.online.logs.acceptance import explicit_clicks, followed
from analyses.online.logs.interactions import Intake
from analyses.online.logs.log_facts import Fit
from analyses.online.logs.models import Models
from analyses.online.logs.read_log import read_beside, read_people, read_users
from analyses.online.logs.slates import Events, Flags, Shown, Slates, join_shown
from qrels.interactions.blocks import read_blocks
from qrels.interactions.columns import read_times
from qrels.interactions.shards import Reading, cut_in_shards, hashed
from qrels.interactions.table import LogTable
from runs import InputError
from runs.shared.parallel import processes
from runs.shared.progress import Progress


@dataclass(frozen=True, eq=False)
class MatchedLog:
    """The lists of a log without their items, and which of them were accepted.

    Models, assigned arms and facts are as of `analyses.online.logs.Logs`.
    """

    shown: Shown
    accepted: Flags
    models: Models | None
    assigned: NDArray[np.int32] | None
    facts: LogFacts

    @classmethod
    def of(cls, logs: Logs, question: Question) -> MatchedLog:
        """Match the clicks of a log that was read."""
        accepted = _accepted(logs.slates, logs.events, question)
        return cls(logs.shown, accepted, logs.models, logs.assigned, logs.facts)


def _accepted(slates: Slates, events: Events, question: Question) -> Flags:
    """Tell which lists were accepted, by an interaction of whichever type."""
    if question.window is not None:
        return followed(slates, events, window=question.window, credit=question.credit)
    if slates.clicked is None and events.slate is None:
        raise InputError(
            "explicit clicks (--explicit) must name their list: a column 'rec_id' in the "
            "interactions, or 'clicked' in the recommendations, is needed."
        )
    clicked = np.zeros(len(slates.item), dtype=np.bool_)
    if slates.clicked is not None:
        clicked |= slates.clicked
    if events.slate is not None:
        clicked |= explicit_clicks(slates, slate=events.slate, item=events.item)
    return slates.any_place(clicked)


def intake_of(question: Question) -> Intake:
    """Say how rows are taken in, as is asked; any type of interaction is welcome."""
    arms = None if question.shares is None else [*question.shares]
    return Intake(arms, None, question.rename, question.merged, question.strict)


class _Shard(NamedTuple):
    """What is known of a shard of users: lists, how far they fit, hashes of ids.

    These are of the lists, and of those that clicks name and the shard does not have.
    """

    shown: Shown
    accepted: Flags
    fit: Fit
    ids: NDArray[np.uint64]
    lost: NDArray[np.uint64]


def match_in_shards(
    tables: Mapping[str, LogTable],
    question: Question,
    reading: Reading,
    *,
    n_shards: int,
    progress: Progress,
) -> MatchedLog:
    """Match the clicks of a log in shards of its users, in processes or on a cluster.

    Refused are lists of two users with one id, and what needs all lists at once.
    """
    if question.policy is not None:
        raise InputError(
            "--policy compares lists place by place, which takes the whole log in memory: say "
            f"--shards 1; it would be read in {n_shards} shards."
        )
    recommending.require_columns(tables["recommendations"])
    tables["interactions"].require(*interacting.NEEDED)
    with reading.apart() as folder:
        people = None if question.merged is None else read_people(question.merged)
        cut: dict[str, Any] = {"shards": n_shards, "people": people, "n_jobs": reading.n_jobs}
        with progress("Cutting the log", 1):
            lists, done = (
                cut_in_shards(tables[name], known, folder / name, **cut)
                for name, known in (
                    ("recommendations", recommending.KNOWN),
                    ("interactions", interacting.KNOWN),
                )
            )
        span = _span(tables["recommendations"])
        tasks = (joblib.delayed(_match)(*p, question, span) for p in zip(lists, done, strict=True))
        with progress("Matching clicks with lists", n_shards) as bar:
            shards = []
            for shard in processes(reading.n_jobs, return_as="generator")(tasks):
                shards.append(shard)
                bar.advance()
    return _joined(shards, tables)


def _span(table: LogTable) -> tuple[int, int]:
    """Find the first and the last time of all lists."""
    times = [
        read_times(block.columns["time"], block.fail("time"))
        for block in read_blocks(table, ["time"])
    ]
    if not sum(map(len, times)):
        raise InputError(f"{table.path}: there are no recommendations in the file.")
    return min(int(each.min()) for each in times), max(int(each.max()) for each in times)


def _match(lists: Path, done: Path, question: Question, span: tuple[int, int]) -> _Shard:
    tables = LogTable.open(lists), LogTable.open(done)
    own = read_users(*tables, intake_of(question), span=span)
    accepted = _accepted(own.slates, own.events, question)
    ids, lost = hashed(own.slates.ids.tolist()), hashed(own.lost.tolist())
    return _Shard(own.slates.shown, accepted, own.fit, ids, lost)


def _joined(shards: Sequence[_Shard], tables: Mapping[str, LogTable]) -> MatchedLog:
    """Put the lists of all users together."""
    ids = np.sort(np.concatenate([shard.ids for shard in shards]))
    n_twice = int(np.count_nonzero(ids[1:] == ids[:-1]))
    if n_twice:
        path = tables["recommendations"].path
        raise InputError(
            f"{path}: {n_twice:,} ids stand for lists of two users, which can be set aside only "
            "where the whole log is read: say --shards 1."
        )
    shown, fit = join_shown([each.shown for each in shards]), Fit.joined([e.fit for e in shards])
    lost = np.concatenate([shard.lost for shard in shards])
    of_others = int(np.count_nonzero(np.isin(lost, ids)))
    if of_others:
        set_aside = dict(fit.set_aside)
        set_aside[interacting.OUTSIDE] -= of_others
        set_aside[interacting.OF_OTHERS] += of_others
        fit = replace(fit, set_aside=set_aside)
    models, assigned, facts = read_beside(tables, shown, fit)
    accepted = np.concatenate([shard.accepted for shard in shards])
    return MatchedLog(shown, accepted, models, assigned, facts)
