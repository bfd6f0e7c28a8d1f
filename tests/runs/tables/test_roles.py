"""The role of every column of a table, and why it has it."""

import csv
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from random import Random

import pytest

from runs import InputError
from runs.tables.assignment import assign_roles
from runs.tables.roles import (
    PROPOSALS,
    QRELS,
    RATINGS,
    RUNS,
    SCORES,
    Columns,
    Kind,
    Reason,
    Role,
    named_roles,
    require_settled,
)
from runs.tables.screen import column_rows, columns_as_text, options_for
from runs.tables.values import Sample

HEADINGS = Path(__file__).parents[4] / "shared" / "cases" / "headings.csv"

LETTERS = {
    **{"u": Role.USER, "i": Role.ITEM, "r": Role.RATING, "c": Role.COUNT, "s": Role.SCORE},
    **{"k": Role.RANK, "t": Role.TIME, "e": Role.EVENT, "h": Role.HISTORY, "-": Role.UNREAD},
    **{"x": Role.INDEX, "y": Role.SYSTEM, "m": Role.MEASURE},
}

OWN_HEADINGS = [
    ("timestamp,visitorid,event,itemid,transactionid", "t u e i -"),
    ("rating,title,text,asin,parent_asin,user_id,timestamp", "r - - i - u t"),
    ("reviewerID,asin,overall,unixReviewTime", "u i r t"),
    ("review_id,user_id,business_id,stars,date", "- u i r t"),
    ("InvoiceNo,StockCode,Quantity,InvoiceDate,CustomerID", "- i c t u"),
    ("t_dat,customer_id,article_id,price", "t u i -"),
    ("user_id,anime_id,rating", "u i r"),
    ("utente,prodotto,valutazione,data_ora", "u i r t"),
    ("gebruiker,boek,beoordeling", "u i r"),
    ("Benutzer;Titel;Sterne;Datum", "u i r t"),
]
"""Headings of data sets that people have, and of other languages."""


def values(letter: str, random: Random, *, are_numbers: bool) -> Sample:
    """Draw values of a column of a role; ids are numbers or texts."""
    n = 60
    draws: dict[str, Callable[[], str]] = {
        "u": lambda: str(random.randrange(30)) if are_numbers else f"u{random.randrange(30)}",
        "i": lambda: str(random.randrange(30)) if are_numbers else f"b{random.randrange(30)}",
        "r": lambda: str(random.randint(1, 5)),
        "?": lambda: str(random.randint(1, 5)),
        "s": lambda: f"{random.random():.3f}",
        "k": lambda: str(random.randint(1, 10)),
        "t": lambda: str(1_400_000_000 + random.randrange(10**8)),
        "c": lambda: str(random.choice([1] * 8 + [2, 3, 17])),
        "e": lambda: random.choice(["view", "cart"]),
        "-": lambda: f"{20 * random.random():.2f}",
    }
    return Sample([draws[letter]() for _ in range(n)])


def assign(
    names: list[str], samples: list[Sample], kind: Kind = RATINGS, **said: int | str
) -> Columns:
    return assign_roles(
        names,
        samples,
        kind,
        named=named_roles(said, kind),
        has_heading=True,
        label="any",
    )


def headings() -> list[tuple[str, str]]:
    if not HEADINGS.exists():
        return []
    with HEADINGS.open(encoding="utf-8", newline="") as stream:
        return [(row["heading"], row["roles"]) for row in csv.DictReader(stream)]


@pytest.mark.parametrize("are_numbers", [False, True])
@pytest.mark.parametrize(("heading", "roles"), [*OWN_HEADINGS, *headings()])
def test_columns_have_their_roles_in_every_order(
    heading: str, roles: str, are_numbers: bool
) -> None:
    """A question mark stands for a column that may only be proposed, or asked about."""
    names = heading.split(";" if ";" in heading else ",")
    letters = roles.split()
    kind = RUNS if {"s", "k"} & {*letters} else RATINGS
    random = Random(7)
    orders = list(permutations(range(len(names))))
    for order in random.sample(orders, min(len(orders), 24)):
        samples = [values(letters[at], random, are_numbers=are_numbers) for at in order]
        columns = assign([names[at] for at in order], samples, kind)
        for at, column in zip(order, columns.columns, strict=True):
            if letters[at] == "?":
                is_open = column.role in (Role.UNREAD, Role.TIME) or column.reason in PROPOSALS
                assert is_open, (column, columns.questions)
            else:
                assert column.role == LETTERS[letters[at]], column
        if "?" not in letters:
            assert columns.questions == ()


def test_names_override_one_at_a_time_and_the_rest_is_recognised() -> None:
    random = Random(1)
    names = ["reader", "book", "mark", "timestamp"]
    samples = [values(letter, random, are_numbers=False) for letter in "uirt"]
    columns = assign(names, samples, rating="mark")
    assert [column.role for column in columns.columns] == ["user", "item", "rating", "time"]
    assert columns.column(Role.RATING) is columns.columns[2]
    assert columns.columns[2].reason == Reason.NAMED
    assert columns.questions == ()


def test_a_moment_in_time_is_no_rating() -> None:
    random = Random(1)
    samples = [values(letter, random, are_numbers=False) for letter in "uit"]
    columns = assign(["user", "item", "rating"], samples)
    assert columns.columns[2].role == Role.TIME
    assert columns.columns[2].remark == "moments in time, and no ratings"


def test_what_only_a_person_can_tell_is_asked() -> None:
    random = Random(1)
    samples = [values(letter, random, are_numbers=True) for letter in "uir"]
    columns = assign(["a", "b", "mark"], samples)
    (first, second) = columns.questions
    assert "No column is known to hold the users" in first
    assert "No column is known to hold the items" in second
    with pytest.raises(InputError) as refused:
        require_settled(columns, label="log.csv", table=columns_as_text)
    answer = str(refused.value)
    assert answer.startswith("log.csv: No column is known to hold the users")
    assert "`--column user=NAME`" in answer


def test_a_proposal_is_refused_until_it_is_named() -> None:
    random = Random(1)
    samples = [values(letter, random, are_numbers=False) for letter in "uir"]
    columns = assign(["user", "item", "mark"], samples)
    assert [column.name for column in columns.proposals] == ["mark"]
    with pytest.raises(
        InputError, match="'mark' may be the rating: name it, `--column rating=mark`"
    ):
        require_settled(columns, label="log.csv", table=columns_as_text)
    named = assign(["user", "item", "mark"], samples, rating="mark")
    require_settled(named, label="log.csv", table=columns_as_text)


ORDERS = [
    ([["a"], ["b"]], ["user", "item"]),
    ([["a"], ["b"], ["3"]], ["user", "item", "rating"]),
    ([["a"], ["b"], ["3"], ["9"]], ["user", "item", "rating", "time"]),
    ([["a"], ["b"], ["2024-01-01"]], ["user", "item", "time"]),
    ([["a"], ["b"], ["1444040000"]], ["user", "item", "time"]),
    ([["a"], ["b"], ["play"], ["4.5"]], ["user", "item", "unread", "rating"]),
    ([["0", "1"], ["a", "b"], ["x", "y"], ["3", "4"], ["2024-01-01", "2024-01-02"]],
     ["index", "user", "item", "rating", "time"]),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "roles"), ORDERS)
def test_without_a_heading_order_decides(columns: list[list[str]], roles: list[str]) -> None:
    assigned = assign_roles(
        [str(place) for place in range(len(columns))],
        [Sample(texts) for texts in columns],
        RATINGS,
        named={},
        has_heading=False,
        label="any",
    )
    assert [column.role for column in assigned.columns] == roles
    assert assigned.questions == ()


def test_a_third_column_of_text_without_a_heading_is_not_left_out_in_silence() -> None:
    assigned = assign_roles(
        ["0", "1", "2"],
        [Sample(["u"]), Sample(["i"]), Sample(["4/5", "3/5"])],
        RATINGS,
        named={},
        has_heading=False,
        label="any",
    )
    (question,) = assigned.questions
    assert "which column holds the ratings: '2' (4/5, 3/5)" in question
    assert "`--implicit`" in question


@pytest.mark.parametrize(
    ("kind", "names", "roles"),
    [
        (QRELS, ["query-id", "corpus-id", "score"], ["user", "item", "rating"]),
        (RUNS, ["user", "item", "rating", "rank"], ["user", "item", "score", "rank"]),
        (SCORES, ["topic", "bm25", "item-knn"], ["user", "unread", "unread"]),
        (SCORES, ["user-knn", "item-knn"], ["unread", "unread"]),
        (SCORES, ["name", "measure", "qid", "value"], ["system", "measure", "user", "score"]),
    ],
)
def test_names_mean_what_the_table_holds(kind: Kind, names: list[str], roles: list[str]) -> None:
    samples = [Sample(["1", "2", "1"]) for _ in names]
    assert [column.role for column in assign(names, samples, kind).columns] == roles


@pytest.mark.parametrize(
    ("said", "finding"),
    [
        ({"usr": "a"}, "no column of ratings is called 'usr'; did you mean 'user'?"),
        ({"user": -1}, "columns are numbered from 0, got -1 for the user"),
        ({"user": "a", "item": "a"}, "`columns` must be different"),
        ({"user": "c"}, "any: no column is called 'c'"),
        ({"user": 5}, "any: no column 5 for the user: there are 2, counted from 0"),
    ],
)
def test_columns_that_are_not_there_are_refused(said: dict[str, str | int], finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        assign(["a", "b"], [Sample(["1"]), Sample(["2"])], RATINGS, **said)


def test_the_screen_shows_every_column_with_the_reason() -> None:
    samples = [Sample(["ann", "bob"]), Sample(["x" * 40]), Sample(["9.5"])]
    columns = assign(["customer", "product", "price"], samples)
    assert column_rows(columns) == [
        ("customer", "ann, bob", "user", "by its name"),
        ("product", "x" * 23 + "…", "item", "by its name"),
        ("price", "9.5", "unread", ""),
    ]
    assert options_for(columns) == "--column user=customer --column item=product"
    lines = columns_as_text(columns).splitlines()
    assert [line.split()[0] for line in lines] == ["column", "customer", "product", "price"]
