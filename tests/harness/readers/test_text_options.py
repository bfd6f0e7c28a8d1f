"""Encoding and separator of runs, judgements and scores: the same in studies, commands, Python."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from harness import InputError, Study, score
from harness.cli.main import main
from harness.readers.judgements import judgements_of
from harness.readers.rankings import read_run_files
from harness.readers.score_files import read_score_tables
from harness.study.collection import collect
from runs import InputWarning
from runs.tables.options import TextOptions

RUN = "topic,docno,score\nq1,niño,2.5\nq1,b,1.5\nq2,b,4\nq2,café,3\n"
QRELS = "topic,docno,grade\nq1,niño,1\nq1,b,0\nq2,café,1\n"
TREC_RUN = "q1 Q0 niño 1 2.5 s\nq1 Q0 b 2 1.5 s\nq2 Q0 b 1 4 s\nq2 Q0 café 2 3 s\n"
TREC_QRELS = "q1 0 niño 1\nq1 0 b 0\nq2 0 café 1\n"
# The reciprocal ranks of q1 and q2 are 1 and 1/2.
MEAN = 0.75

SCORES = "topic,bm25,señal\nq1,.1,.2\nq2,.3,.5\nq3,.2,.2\n"

ENCODINGS = ["latin-1", "cp1252", "utf-16-le", "utf-16-be"]


def harness(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def mean_of(*arguments: str | Path) -> float:
    answer = harness("evaluate", "-m", "recip_rank", *arguments)
    assert answer.exit_code == 0, answer.output
    return float(answer.stdout.split()[-1])


def write(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(("run", "qrels"), [(RUN, QRELS), (TREC_RUN, TREC_QRELS)])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_runs_and_judgements_have_encodings_of_their_own(
    tmp_path: Path, encoding: str, run: str, qrels: str
) -> None:
    run_path = write(tmp_path, "s.run", run, encoding)
    qrels_path = write(tmp_path, "qrels", qrels, "latin-1")
    options = ("--encoding", encoding, "--qrels-encoding", "latin-1")
    assert mean_of("--qrels", qrels_path, run_path, *options) == MEAN
    scores = score(
        run_path,
        qrels_path,
        "RR",
        run_options={"encoding": encoding},
        qrels_options={"encoding": "latin-1"},
    )
    np.testing.assert_array_equal(scores.values, [[[1.0, 0.5]]])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("text", [RUN, TREC_RUN])
@pytest.mark.filterwarnings("ignore:.*byte order mark:runs.InputWarning")
def test_a_byte_order_mark_needs_no_option(tmp_path: Path, encoding: str, text: str) -> None:
    run_path = write(tmp_path, "s.run", text, encoding)
    qrels_path = write(tmp_path, "qrels", TREC_QRELS, encoding)
    scores = score(run_path, qrels_path, "RR")
    np.testing.assert_array_equal(scores.values, [[[1.0, 0.5]]])


def test_a_mark_that_trec_eval_would_read_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, "s.run", TREC_RUN, "utf-8-sig")
    with pytest.warns(InputWarning, match="trec_eval takes it for a part of the first id"):
        [run] = read_run_files([path])
    assert run.users.ids.tolist() == ["q1", "q2"]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16-le"])
@pytest.mark.parametrize("text", [QRELS, TREC_QRELS])
def test_a_wrong_encoding_of_judgements_names_their_option(
    tmp_path: Path, encoding: str, text: str
) -> None:
    path = write(tmp_path, "qrels", text, encoding)
    with pytest.raises(InputError, match=r"`--qrels-encoding \S+`, or `encoding` in \[qrels\]"):
        judgements_of(path)


@pytest.mark.parametrize("separator", ["~", "~~", "\x01"])
def test_a_separator_that_nobody_recognises_is_named(tmp_path: Path, separator: str) -> None:
    run_path = write(tmp_path, "s.csv", RUN.replace(",", separator))
    qrels_path = write(tmp_path, "q.csv", QRELS.replace(",", separator))
    options = ("--separator", separator, "--qrels-separator", separator)
    assert mean_of("--qrels", qrels_path, run_path, *options) == MEAN
    with pytest.raises(InputError, match=r"`--qrels-separator`, or `separator` in \[qrels\]"):
        judgements_of(qrels_path, TextOptions(columns={"user": "topic"}))


@pytest.mark.parametrize("separator", [",", ";", "|", "::"])
def test_lines_of_trec_may_have_other_separators(tmp_path: Path, separator: str) -> None:
    run = write(tmp_path, "s.csv", TREC_RUN.replace(" ", separator))
    qrels_path = write(tmp_path, "q.csv", TREC_QRELS.replace(" ", separator))
    scores = score(run, qrels_path, "RR")
    assert scores.systems == ("s",)
    np.testing.assert_array_equal(scores.values, [[[1.0, 0.5]]])


def test_a_study_names_encoding_and_separator_of_runs_and_judgements(tmp_path: Path) -> None:
    first = write(tmp_path, "a.csv", RUN.replace(",", "~"), "latin-1")
    second = write(tmp_path, "b.csv", RUN.replace(",", "~").replace("2.5", "0.5"), "latin-1")
    qrels_path = write(tmp_path, "q.csv", QRELS.replace(",", "|"), "utf-16-be")
    study = Study(
        name="s",
        runs={"paths": [str(first), str(second)], "separator": "~", "encoding": "latin-1"},
        qrels={"path": qrels_path, "encoding": "utf-16-be", "separator": "|"},
    )
    collection = collect(study)
    assert sorted(collection.items.ids.tolist()) == ["b", "café", "niño"]
    assert [run.system for run in collection.runs] == ["a", "b"]


def test_places_of_columns_are_numbers_in_every_section(tmp_path: Path) -> None:
    text = "\n".join(line for line in RUN.splitlines()[1:])
    run_path = write(tmp_path, "s.csv", text)
    columns = {"item": 1, "user": 0, "score": 2}
    [run] = read_run_files([run_path], TextOptions(columns=columns))
    assert run.score.tolist() == [2.5, 1.5, 4.0, 3.0]
    arguments = [f"--column={name}={place}" for name, place in columns.items()]
    qrels_path = write(tmp_path, "q", TREC_QRELS)
    assert mean_of("--qrels", qrels_path, run_path, *arguments) == MEAN


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("separator", [",", ";", "|", "\t", " ", "~", "::"])
def test_scores_have_encodings_and_separators(
    tmp_path: Path, encoding: str, separator: str
) -> None:
    path = write(tmp_path, "ap.csv", SCORES.replace(",", separator), encoding)
    scores = read_score_tables([path], TextOptions(encoding=encoding, separator=separator))
    assert scores.systems == ("bm25", "señal")
    np.testing.assert_array_equal(scores.values, [[[0.1, 0.3, 0.2], [0.2, 0.5, 0.2]]])
    answer = harness("design", path, "--encoding", encoding, "--separator", separator, "--quiet")
    assert answer.exit_code == 0, answer.output


@pytest.mark.parametrize("separator", [",", ";", "|", "\t", " "])
def test_usual_separators_of_scores_are_recognised(tmp_path: Path, separator: str) -> None:
    path = write(tmp_path, "ap.csv", SCORES.replace(",", separator), "utf-16")
    assert read_score_tables([path]).values.shape == (1, 2, 3)


@pytest.mark.parametrize("command", ["correlate", "discriminate", "design"])
def test_scores_in_another_encoding_name_the_option(tmp_path: Path, command: str) -> None:
    path = write(tmp_path, "ap.csv", SCORES, "latin-1")
    answer = harness(command, path)
    assert answer.exit_code == 2
    assert "`--encoding latin-1`" in answer.stderr
    assert "study" not in answer.stderr


def test_means_have_encodings_and_separators(tmp_path: Path) -> None:
    text = "system~ap~nDCG@10\nbm25~.1~.2\nseñal~.3~.4\nease~.2~.3\n"
    path = write(tmp_path, "means.csv", text, "cp1252")
    answer = harness("correlate", path, "--encoding", "cp1252", "--separator", "~")
    assert answer.exit_code == 0, answer.output


def test_an_option_of_files_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="run_options has no setting 'encodng'"):
        score({"a": {"q": {"d": 1.0}}}, {"q": {"d": 1}}, "RR", run_options={"encodng": "x"})
