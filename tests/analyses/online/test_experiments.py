from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from analyses.online.arms import ArmSettings, ExperimentWork
from analyses.online.click_agreement import Settings
from analyses.online.experiments import (
    LinkedSystems,
    read_experiment_folder,
    read_experiments,
    read_rates,
    read_values,
)
from analyses.online.logs import Logs
from analyses.online.rates import OverTime
from analyses.recall.recall import measure_recall
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from runs import InputError
from runs.shared.progress import SilentProgress
from tests.analyses.online.examples import RATES, VALUES, experiment, write
from tests.hidden_example import PROFILES, TRAIN_COUNTS, events_of, golden_ranks, numbered

LONG = "model,measure,value\n" + "".join(
    f"{model},{measure},{value}\n"
    for model, values in (("a", (0.1, 0.3)), ("b", (0.2, 0.1)), ("c", (0.3, 0.2)))
    for measure, value in zip(("nDCG@5", "P@5"), values, strict=True)
)
PERIODS = (
    "arm,period,rate,users,recommendations,accepted\n"
    "a,1,0.1,30,100,10\na,2,0.3,10,900,270\nb,1,0.2,5,10,2\n"
)
SYSTEMS = ("c", "b", "a")
SCORES = Scores(
    values=np.array([[[0.3], [0.2], [0.1]], [[0.7], [0.8], [0.9]]]),
    measures=Measures([Measure("P", 5), Measure("misses", 5)]),
    systems=SYSTEMS,
    users=np.array(["u"]),
)


@pytest.mark.parametrize("text", [VALUES, LONG, VALUES.replace(",", "\t")])
def test_wide_and_long_tables_give_the_same_experiment(tmp_path: Path, text: str) -> None:
    paths = write(tmp_path, "values.csv", text), write(tmp_path, "rates.csv", RATES)
    (one,) = read_experiments(*paths)
    assert (one.models, one.measures) == (("a", "b", "c"), ("nDCG@5", "P@5"))
    assert one.values.tolist() == [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]]
    assert one.rates.tolist() == [0.01, 0.02, 0.03]
    assert (one.value_errors, one.rate_errors) == (None, None)


def test_means_of_a_study_have_their_cutoffs(tmp_path: Path) -> None:
    text = "system,metric,cutoff,mean,sd\na,nDCG,5,0.5,0.1\na,AUC,,0.25,0.1\n"
    (tmp_path / "tables").mkdir()
    write(tmp_path / "tables", "means.csv", text)
    found = read_values(tmp_path)
    assert found["measure"].tolist() == ["nDCG@5", "AUC"]
    assert found["value"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model,P@5\n", "line 1: the table has no values."),
        ("model\na\n", "line 1: the table has no values."),
        ("P@5,model\n0.1,a\n", "line 1: the first column must be model or arm or system, found"),
        ("model,P@5,P@5\na,1,2\n", "line 1: column 'P@5' is duplicated."),
        ("model,P@5\na,0.1\nb\n", "line 3: 2 fields expected"),
        ("model,P@5\na,0.1\nb,much\n", "line 3: column 'P@5': a number expected, found 'much'."),
        ("model,P@5\na,nan\n", "line 2: column 'P@5': a number expected, found 'nan'."),
        ("model,P@5\n,0.1\n", "line 2: column 'model': a name is missing."),
        ("model,P@5\na,0.1\na,0.2\n", "line 3: model 'a' has P@5 twice."),
        ("model,measure,value\na,P@5,1\na,P@9,1\nb,P@5,1\n", "line 4: model 'b' has no P@9."),
        ("model,metric,cutoff,mean\na,P,five,1\n", "line 2: the cut-off must be a whole number"),
        ("model,measure,value,experiment\na,P@5,1,X\nb,P@9,1,Y\n", "model 'a' has no P@9."),
    ],
)
def test_a_mistake_in_values_is_reported_with_its_line(
    tmp_path: Path, text: str, sentence: str
) -> None:
    path = write(tmp_path, "values.csv", text)
    with pytest.raises(InputError) as error:
        read_values(path)
    assert str(error.value).startswith(str(path))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("text", "over_time", "expected"),
    [
        (PERIODS, "thesis", {"a": (30 * 0.1 + 10 * 0.3) / 40, "b": 0.2}),
        (PERIODS, "pooled", {"a": 280 / 1000, "b": 0.2}),
        ("model,period,rate\na,1,0.1\na,2,0.3\n", "thesis", {"a": 0.2}),
        ("model,recommendations,accepted\na,200,3\n", "thesis", {"a": 3 / 200}),
    ],
)
def test_periods_are_averaged_by_users_or_pooled(
    tmp_path: Path, text: str, over_time: OverTime, expected: dict[str, float]
) -> None:
    found = read_rates(write(tmp_path, "rates.csv", text), over_time=over_time)
    assert dict(zip(found["model"], found["rate"], strict=True)) == pytest.approx(expected)


def test_errors_of_periods_add_up_as_independent_ones(tmp_path: Path) -> None:
    text = "model,period,rate,error,users\na,1,0.1,0.03,3\na,2,0.2,0.04,1\n"
    found = read_rates(write(tmp_path, "rates.csv", text))
    assert found["error"].iloc[0] == pytest.approx(np.hypot(0.75 * 0.03, 0.25 * 0.04))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model,rate\n", "line 1: the table has no rates."),
        ("model,rate,user\na,0.1,5\n", "no column 'user'; did you mean 'users'?"),
        ("model,users\na,5\n", "recommendations and accepted are needed, or a column rate."),
        ("model,rate\na,0.1\na,0.2\n", "line 3: model 'a' has a second rate for a period"),
        ("model,rate\na,0.5\nb,50\n", "line 3: a rate is at most 1, got 50"),
        ("model,rate,users\na,0.1,0\n", "column 'users': a whole number from 1 expected, found"),
        ("model,recommendations,accepted\na,5,6\n", "6 recommendations were accepted, of 5."),
        ("model,recommendations,accepted\na,5,-1\n", "a whole number from 0 expected, found '-1'"),
        ("model,rate,error\na,0.1,-1\n", "column 'error': a number from 0 expected, found '-1'."),
        ("model,rate,experiment\na,0.1,\n", "line 2: column 'experiment': a name is missing."),
    ],
)
def test_a_mistake_in_rates_is_reported_with_its_line(
    tmp_path: Path, text: str, sentence: str
) -> None:
    with pytest.raises(InputError) as error:
        read_rates(write(tmp_path, "rates.csv", text))
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("values", "rates", "sentence"),
    [
        (VALUES + "d,1,1\n", RATES, r"'d' of the experiment 'data' is in .*values\.csv alone"),
        (VALUES, RATES + "d,1\n", r"'d' of the experiment 'data' is in .*rates\.csv alone"),
        (VALUES, "model,rate\na,1\nb,1\nc,1\n", "all models of an experiment have the rate 1"),
        ("model,P\na,1\nb,2\n", "model,rate\na,1\nb,.2\n", "at least 3 models are compared"),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    tmp_path: Path, values: str, rates: str, sentence: str
) -> None:
    paths = write(tmp_path, "values.csv", values), write(tmp_path, "rates.csv", rates)
    with pytest.raises(InputError, match=sentence):
        read_experiments(*paths)


def settings(folder: Path, rates: str = RATES) -> Settings:
    return Settings(rates=write(folder, "rates.csv", rates))


def test_means_of_a_metric_of_which_less_is_better_are_negative(tmp_path: Path) -> None:
    falling = replace(SCORES, measures=Measures(SCORES.measures, lower_is_better_for=["misses"]))
    one = settings(tmp_path).link(SYSTEMS).experiment("X", falling)
    assert (one.models, one.rates.tolist()) == (SYSTEMS, [0.03, 0.02, 0.01])
    assert one.values.tolist() == [[0.3, 0.2, 0.1], [-0.7, -0.8, -0.9]]


def test_systems_without_a_rate_are_left_out(tmp_path: Path) -> None:
    linked = settings(tmp_path, RATES + "d,0.04\ne,0.05\n").link(("a", "b", "c", "d", "g"))
    assert (linked.systems, linked.left_out) == (("a", "b", "c", "d"), ("g", "e"))


@pytest.mark.parametrize(
    ("rates", "sentence"),
    [
        ("model,rate\na,1\nb,.2\n", r"at least 3 systems .*, found 2; .*: c\."),
        ("model,rate,experiment\na,1,X\na,.2,Y\n", "one experiment, found X, Y"),
    ],
)
def test_rates_that_do_not_fit_a_study_are_refused(
    tmp_path: Path, rates: str, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        settings(tmp_path, rates).link(SYSTEMS)


def test_an_experiment_refuses_rates_and_errors_that_are_impossible() -> None:
    with pytest.raises(InputError, match="rates must be finite"):
        experiment([[1, 2, 3]], [1, np.nan, 2])
    one = experiment([[1, 2, 3]], [1, 2, 3])
    with pytest.raises(InputError, match="errors must be numbers of at least 0"):
        replace(one, rate_errors=np.array([0.1, -0.1, 0.1]))
    with pytest.raises(InputError, match="the model 'a' occurs twice"):
        replace(one, models=("a", "b", "a"))


def test_items_are_as_popular_as_training_users_made_them_before_the_model_learnt() -> None:
    """What test users did, and what came later, counts for nothing."""
    learnt = np.repeat(np.arange(6), TRAIN_COUNTS).tolist()
    times = [[0] * len(profile) for profile in (*PROFILES, learnt)]
    times[-1].append(9)
    settings = ArmSettings(betas=(1.0,), cutoffs=(2,))
    work = ExperimentWork(
        name="x",
        seed=1,
        progress=SilentProgress(),
        settings=settings,
        logs=Logs(recommendations=Path("lists"), interactions=Path("clicks")),
        events=events_of([*PROFILES, [*learnt, 5]], n_items=6, times=times),
        test_users=numbered(len(PROFILES)),
        ranks={("A", 0): golden_ranks()},
        starts={("A", 0): 5},
        click_arguments={},
    )
    expected = measure_recall(golden_ranks(), TRAIN_COUNTS, settings)["value"]
    assert work.recalls["value"].tolist() == expected.tolist()


# Numbers that are stated by hand


def test_errors_of_counts_are_binomial_or_exact_at_the_ends(tmp_path: Path) -> None:
    """Of 200 lists 3 are accepted; of 10 none, and all: as long as Clopper and Pearson's."""
    text = "model,recommendations,accepted\na,200,3\nb,10,0\nc,10,10\nd,1,1\n"
    found = read_rates(write(tmp_path, "rates.csv", text))
    assert found["rate"].tolist() == pytest.approx([3 / 200, 0, 1, 1])
    longest = binomtest(0, 10).proportion_ci(method="exact").high / norm.ppf(0.975)
    of_one = 0.975 / norm.ppf(0.975)
    expected = [np.sqrt(0.015 * 0.985 / 200), longest, longest, of_one]
    assert found["error"].tolist() == pytest.approx(expected)


def test_rates_that_are_given_go_before_those_of_counts(tmp_path: Path) -> None:
    text = "model,rate,error,recommendations,accepted\na,0.5,0.2,200,3\nb,1,0,200,3\n"
    path = write(tmp_path, "rates.csv", text)
    found = read_rates(path)
    assert found["rate"].tolist() == [0.5, 1]
    assert found["error"].tolist() == [0.2, 0]
    pooled = read_rates(path, over_time="pooled")
    assert pooled["rate"].tolist() == [3 / 200] * 2
    assert pooled["error"].tolist() == [0.2, 0]


def test_errors_of_pooled_periods_weigh_as_lists(tmp_path: Path) -> None:
    text = "model,period,error,recommendations,accepted\na,1,0.03,30,3\na,2,0.04,10,2\n"
    found = read_rates(write(tmp_path, "rates.csv", text), over_time="pooled")
    assert found["rate"].tolist() == pytest.approx([5 / 40])
    assert found["error"].tolist() == pytest.approx([np.hypot(0.75 * 0.03, 0.25 * 0.04)])


def test_without_counts_pooling_is_refused(tmp_path: Path) -> None:
    for text in ("model,rate\na,0.1\n", "model,rate,accepted\na,0.1,1\n"):
        with pytest.raises(InputError, match=r"and accepted are needed\.$"):
            read_rates(write(tmp_path, "rates.csv", text), over_time="pooled")
    with pytest.raises(InputError, match=r"are needed, or a column rate\.$"):
        read_rates(write(tmp_path, "rates.csv", "model,accepted\na,1\n"))


def test_an_error_that_is_not_known_is_missing(tmp_path: Path) -> None:
    found = read_rates(write(tmp_path, "rates.csv", "model,rate\na,0.1\nb,0.2\n"))
    assert found["error"].isna().all()
    assert found["experiment"].tolist() == ["data", "data"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("model,recommendations,accepted\na,5,5\nb,9,10\nc,1,2\n", 3),
        ("model,rate\na,1\nb,1\nc,1.5\nd,2\n", 4),
        ("model,rate,period\na,1,x\na,1,y\na,1,x\n", 4),
        ("model,rate\na,1\n,1\nb,x\n", 3),
        ("model,rate\na,1\nb,x\nc,y\n", 3),
    ],
)
def test_the_first_line_with_a_mistake_is_named(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(InputError, match=f"line {line}"):
        read_rates(write(tmp_path, "rates.csv", text))


def test_whole_numbers_are_written_so(tmp_path: Path) -> None:
    for text in ("model,rate,users\na,0.1,2.0\n", "model,rate,users\na,0.1,1e3\n"):
        with pytest.raises(InputError, match="a whole number from 1 expected, found"):
            read_rates(write(tmp_path, "rates.csv", text))
    found = read_rates(write(tmp_path, "rates.csv", "model,rate,users\na,0.1,1\n"))
    assert found["rate"].tolist() == [0.1]


def test_values_of_a_long_table_may_have_errors(tmp_path: Path) -> None:
    text = "model,measure,value,error\na,P@5,0.1,0.01\na,P@9,0.2,0.02\n"
    found = read_values(write(tmp_path, "values.csv", text))
    assert found["error"].tolist() == [0.01, 0.02]
    # In a wide table, no measure is called error.
    wide = read_values(write(tmp_path, "wide.csv", "model,P@5,error\na,0.1,0.01\n"))
    assert wide["measure"].tolist() == ["P@5"]
    assert wide["error"].isna().all()


def test_the_line_of_a_model_that_lacks_a_measure_is_its_first(tmp_path: Path) -> None:
    text = "model,measure,value\na,P@5,1\na,P@9,1\nb,P@9,1\nb,AP,1\n"
    with pytest.raises(InputError, match=r"line 2: model 'a' has no AP\."):
        read_values(write(tmp_path, "values.csv", text))


def test_experiments_of_tables_have_their_own_rates_and_errors(tmp_path: Path) -> None:
    values = write(
        tmp_path,
        "values.csv",
        "model,experiment,measure,value,error\n"
        + "".join(
            f"{model},{name},P@5,{0.1 * n},{0.01 * n}\n"
            for name in ("X", "Y")
            for n, model in enumerate("abc", start=1)
        ),
    )
    rates = write(
        tmp_path,
        "rates.csv",
        "model,experiment,rate,error\na,X,0.3,0.1\nb,X,0.2,0.2\nc,X,0.1,0.3\n"
        "c,Y,0.6,0\nb,Y,0.5,0\na,Y,0.4,0\n",
    )
    first, second = read_experiments(values, rates)
    assert (first.name, second.name) == ("X", "Y")
    assert first.rates.tolist() == [0.3, 0.2, 0.1]
    assert second.rates.tolist() == [0.4, 0.5, 0.6]
    assert first.rate_errors is not None
    assert first.rate_errors.tolist() == [0.1, 0.2, 0.3]
    assert first.value_errors is not None
    assert first.value_errors.tolist() == [pytest.approx([0.01, 0.02, 0.03])]


def test_a_folder_is_read_with_its_tables_and_names_its_data_set(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    (folder / "tables").mkdir(parents=True)
    for name, text in (("values.csv", VALUES), ("rates.csv", RATES)):
        write(folder / "tables", name, text)
    (one,) = read_experiment_folder(folder)
    assert (one.name, one.measures) == ("shop", ("nDCG@5", "P@5"))
    plain = tmp_path / "plain"
    plain.mkdir()
    write(plain, "values.csv", "model,experiment,P@5\na,X,1\nb,X,2\nc,X,3\n")
    write(plain, "rates.csv", "model,experiment,rate\na,X,0.1\nb,X,0.2\nc,X,0.3\n")
    (named,) = read_experiment_folder(plain)
    assert (named.name, named.measures) == ("X", ("P@5",))


def test_errors_of_means_are_over_users_without_what_moves_all_systems() -> None:
    """Of three users, the scores of b differ from the mean of all by -.1, -.1 and -.1."""
    values = np.array([[[0.1, 0.5, 0.9], [0.3, 0.5, 0.7], [0.8, 0.8, 0.8]]])
    scores = Scores(values, Measures([Measure("P", 5)]), ("a", "b", "c"), np.array(["u", "v", "w"]))
    three = LinkedSystems(("c", "b", "a"), (), np.array([0.3, 0.2, 0.1]), None)
    found = three.experiment("X", scores)
    assert found.values.tolist() == [pytest.approx([0.8, 0.5, 0.5])]
    assert found.value_errors is not None
    apart = values[0] - values[0].mean(axis=0)
    expected = [np.std(own, ddof=1) / np.sqrt(3) for own in apart[[2, 1, 0]]]
    assert found.value_errors.tolist() == [pytest.approx(expected)]
    assert expected[1] == pytest.approx(0, abs=1e-12)
    assert expected[0] == pytest.approx(0.2 / np.sqrt(3))
    assert found.rate_errors is None
    alone = three.experiment("X", SCORES)
    assert alone.value_errors is not None
    assert alone.value_errors.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_three_models_are_enough_and_errors_may_be_0() -> None:
    one = experiment([[1, 2, 3]], [1, 2, 3])
    assert replace(one, rate_errors=np.zeros(3), value_errors=np.zeros((1, 3))).name == "A"
    with pytest.raises(InputError, match="at least 3 models are compared; the models are a, b"):
        experiment([[1, 2]], [1, 2])
    with pytest.raises(InputError, match="errors must be numbers of at least 0"):
        replace(one, value_errors=np.array([[0.1, np.nan, 0.1]]))
    with pytest.raises(InputError, match="the measure 'M' occurs twice"):
        experiment([[1, 2, 3]] * 2, [1, 2, 3], measures=["M", "M"])
