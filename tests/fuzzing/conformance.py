"""Compare ``harness evaluate`` with a trec_eval that the user has built, on random small cases.

``python -m tests.fuzzing.conformance --trec-eval PATH --cases 1000 --seed 1``
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from harness.cli.main import main as harness
from harness.trec_eval.measures import LEFT_OUT

TOPICS = ("t1", "t2", "t3", "t10", "t9")
DOCUMENTS = tuple(f"d{number}" for number in range(2, 26))
SCORES = ("1", "1", "0.5", "0.50000001", "16777216", "16777217", "1e39", "1e40", "-3", "0", "2.25")
GRADES = (-2, -1, 0, 0, 0, 1, 1, 2, 3, 4)
CHOSEN = (
    *("P.1,3,7", "recall.2,30", "ndcg_cut.1,5", "map_cut.4", "success.1,2", "relative_P.3"),
    *("iprec_at_recall.0,.25,1", "Rprec_mult.0.5,3", "set_F.0.5", "ndcg.1=3,2=9"),
)
TENTH = 10

Values = dict[tuple[str, str], str]
Evaluator = Callable[["Case", Path], str]
"""Prints what a case scores, of which it finds the files in a folder."""


class StoppedError(Exception):
    """The evaluator printed nothing, or less than all."""


class DisagreementError(AssertionError):
    """The two print different values, for no reason that is known."""


@dataclass(frozen=True)
class Case:
    """A run, judgements and options; grades by topic and document."""

    qrels: dict[str, dict[str, int]]
    run: dict[str, dict[str, str]]
    options: tuple[str, ...]

    @classmethod
    def drawn(cls, random: Random) -> Case:
        """Draw a case; run and qrels have at least one topic in common."""
        common = random.choice(TOPICS)
        judged, ranked = (
            {common, *random.sample(TOPICS, random.randrange(len(TOPICS)))} for _ in range(2)
        )
        grades = {
            topic: {document: random.choice(GRADES) for document in _some(DOCUMENTS, random)}
            for topic in sorted(judged)
        }
        scores = {
            topic: {document: random.choice(SCORES) for document in _some(DOCUMENTS, random)}
            for topic in sorted(ranked)
        }
        return cls(grades, scores, _options(random))

    @property
    def level(self) -> int:
        """Lowest relevant grade."""
        return next(int(option[2:]) for option in self.options if option.startswith("-l"))

    @property
    def is_complete(self) -> bool:
        """Whether averages are over all topics in the qrels."""
        return "-c" in self.options

    @property
    def missing(self) -> set[str]:
        """Topics of the qrels that the run lacks."""
        return set(self.qrels) - set(self.run)

    def may_stop_trec_eval(self, version: int) -> bool:
        """Tell whether trec_eval may stop: at negative grades alone, or 10 at a lone topic."""
        common = set(self.qrels) & set(self.run)
        unjudged = any(max(self.qrels[topic].values()) < 0 for topic in common)
        return unjudged or (version >= TENTH and set(self.qrels) != set(self.run))

    def write(self, folder: Path) -> None:
        """Write both files, the lines of the run in any order."""
        judgements = [
            f"{topic} 0 {document} {grade}\n"
            for topic, grades in self.qrels.items()
            for document, grade in grades.items()
        ]
        lines = [
            f"{topic} Q0 {document} 1 {score} s\n"
            for topic, scores in self.run.items()
            for document, score in scores.items()
        ]
        (folder / "test.qrels").write_text("".join(judgements))
        (folder / "test.run").write_text("".join(lines))


def _some(documents: Sequence[str], random: Random) -> list[str]:
    return random.sample(documents, random.randint(1, len(documents)))


def _options(random: Random) -> tuple[str, ...]:
    measures = random.sample(CHOSEN, 5) if random.random() < 0.3 else ["all_trec"]
    depths = random.choice([[], [], [f"-M{random.choice([1, 3, 10])}"]])
    flags = [flag for flag in ("-c", "-q", "-J") if random.random() < 0.5]
    level = f"-l{random.choice([1, 1, 2, 3, 5])}"
    return (level, *flags, *depths, *(f"-m{measure}" for measure in measures))


@dataclass(frozen=True)
class Difference:
    """A value that the two print differently; "" where one of them prints none.

    The version is trec_eval's first number.
    """

    case: Case
    version: int
    measure: str
    topic: str
    ours: str
    theirs: str

    @property
    def is_of_missing_topic(self) -> bool:
        """Whether it is a line of a topic that the run lacks."""
        return self.topic in self.case.missing


ALLOWED: dict[str, Callable[[Difference], bool]] = {
    "not offered: no number, or trec_eval 10's alone": lambda found: (
        not found.ours
        and not {found.measure, found.measure.rpartition("_")[0]}.isdisjoint(LEFT_OUT)
    ),
    "under -c, trec_eval counts grades above 0 in num_rel of all topics, whatever -l says": (
        lambda found: (
            (found.measure, found.topic) == ("num_rel", "all")
            and found.case.is_complete
            and found.case.level > 1
        )
    ),
    "trec_eval divides by zero and prints nan: -J empties a list": lambda found: (
        "nan" in found.theirs and "-J" in found.case.options
    ),
    "trec_eval 10 divides by zero and prints nan: set_F finds nothing relevant": lambda found: (
        "nan" in found.theirs and found.version >= TENTH and found.measure.startswith("set_F")
    ),
    "under -c -q, trec_eval 9 has no lines of topics that the run lacks": lambda found: (
        found.version < TENTH
        and found.is_of_missing_topic
        and found.case.is_complete
        and not found.theirs
    ),
}
"""The differences that are known, by their reasons."""


@dataclass
class Tally:
    """What was compared, and which differences were allowed, by their reasons."""

    cases: int = 0
    values: int = 0
    stopped: int = 0
    allowed: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.cases:,} cases, {self.values:,} values; trec_eval stopped at {self.stopped:,}"
            + "".join(f"\n{count:,}: {reason}" for reason, count in self.allowed.most_common())
        )


def compare(case: Case, ours: Evaluator, theirs: Evaluator, tally: Tally, *, version: int) -> None:
    """Demand that both print the same, but for what is allowed of a version of trec_eval.

    Raises
    ------
    DisagreementError
        If they do not; the message holds the case.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        case.write(folder)
        tally.cases += 1
        our_values = _values(ours(case, folder))
        try:
            their_values = _values(theirs(case, folder))
        except StoppedError as stopped:
            if not case.may_stop_trec_eval(version):
                raise DisagreementError(f"{case}:\ntrec_eval stops: {stopped}") from None
            tally.stopped += 1
            return
    for key in sorted(our_values.keys() | their_values.keys()):
        tally.values += 1
        values = our_values.get(key, ""), their_values.get(key, "")
        found = Difference(case, version, *key, *values)
        if found.ours != found.theirs:
            tally.allowed[_reason(found)] += 1


def _reason(found: Difference) -> str:
    for reason, covers in ALLOWED.items():
        if covers(found):
            return reason
    raise DisagreementError(
        f"{found.case}:\n{found.measure} of {found.topic}: ours {found.ours!r}, trec_eval's "
        f"{found.theirs!r}"
    )


def _values(text: str) -> Values:
    lines = (line.split("\t") for line in text.splitlines())
    return {(measure.strip(), topic): value for measure, topic, value in lines}


def our_evaluator(version: int) -> Evaluator:
    """Print with the command, told to do as a version of trec_eval."""
    precision, rounding = ("double", "nearest") if version >= TENTH else ("single", "up")
    as_version = ["--precision", precision, "--rounding", rounding]

    def printed(case: Case, folder: Path) -> str:
        topics = "qrels" if case.is_complete else "run"
        files = ["--qrels", str(folder / "test.qrels"), str(folder / "test.run")]
        command = ["evaluate", *case.options, "--topics", topics, *as_version, *files]
        answer = CliRunner().invoke(harness, command)
        if answer.exit_code:
            raise DisagreementError(f"{case}:\nours stops: {answer.output}")
        return answer.stdout

    return printed


def trec_eval(binary: Path) -> Evaluator:
    """Print with a binary."""

    def printed(case: Case, folder: Path) -> str:
        command = [str(binary), *case.options, "test.qrels", "test.run"]
        answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if answer.returncode:
            raise StoppedError(f"exit code {answer.returncode}, {answer.stderr.strip()}")
        return answer.stdout

    return printed


def version_of(binary: Path) -> int:
    """Read the first number of the version that a trec_eval says it is.

    Raises
    ------
    ValueError
        If it says none.
    """
    command = [str(binary), "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"(\d+)\.\d+", answer.stdout + answer.stderr)
    if found is None:
        raise ValueError(f"{binary} --version does not say which version of trec_eval it is.")
    return int(found[1])


def main() -> None:
    """Compare so many cases, and stop at the first disagreement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trec-eval", type=Path, required=True)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    binary = arguments.trec_eval.resolve()
    version = version_of(binary)
    ours, theirs = our_evaluator(version), trec_eval(binary)
    tally, random = Tally(), Random(arguments.seed)
    try:
        for _ in range(arguments.cases):
            compare(Case.drawn(random), ours, theirs, tally, version=version)
    except DisagreementError as found:
        sys.exit(f"{tally}\n{found}")
    print(tally)
    if tally.stopped > tally.cases / 2:
        sys.exit("trec_eval stopped at more than half of the cases: nothing is proved.")


if __name__ == "__main__":
    main()
