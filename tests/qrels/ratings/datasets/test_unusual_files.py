"""Ratings as shops and logs export them: dates, thousands, events, lists, lines for Excel."""

from typing import Any

import pytest

from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.rating_file import recognise_ratings
from qrels.ratings.datasets.rating_options import RatingOptions
from qrels.ratings.datasets.recognition import RecognisedRatings, read_recognised
from runs import InputError
from runs.tables.roles import Role
from runs.tables.source import Source

# 2026-11-22T00:00:00 and ...T21:30:00 in UTC, in seconds since 1970.
DAY = 1_795_305_600
EVENING = DAY + 21 * 3600 + 30 * 60


def recognised(text: str, **options: Any) -> RecognisedRatings:
    return read_recognised(Source("log.csv", text.encode()), RatingOptions(**options))


def times(*texts: str) -> list[int]:
    lines = [f"u{number},i,{text}\n" for number, text in enumerate(texts)]
    ratings = read_ratings(Source("log.csv", ("user,item,date\n" + "".join(lines)).encode()))
    assert ratings.time is not None
    return [int(time) for time in ratings.time]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20261122", DAY),
        ("2026/11/22", DAY),
        ("2026.11.22", DAY),
        ("2026/11/22 21:30:00", EVENING),
        ("2026.11.22T21:30", EVENING),
        ("11/22/2026 9:30 PM", EVENING),
        ("22.11.2026 09:30pm", EVENING),
        ("11/22/2026 12:00 AM", DAY),
        ("11/22/2026 12:30:00 PM", DAY + 12 * 3600 + 30 * 60),
    ],
)
def test_dates_are_read_in_many_orders(text: str, seconds: int) -> None:
    assert times(text) == [seconds]


def test_dates_of_two_orders_of_the_year_are_read_one_by_one() -> None:
    assert times("2026-11-22", "2026/11/22", "2026-11-22 21:30") == [DAY, DAY, EVENING]


def test_numbers_that_are_no_days_stay_seconds() -> None:
    assert times("20261122", "20261350") == [20261122, 20261350]
    assert times("20260230", "20261122") == [20260230, 20261122]


def test_hours_before_noon_end_at_12() -> None:
    with pytest.raises(InputError, match="does not exist: with AM or PM"):
        times("11/22/2026 13:30 PM")


def test_a_day_as_a_number_is_no_rating() -> None:
    columns = recognised("user,item,w\na,x,20261122\nb,x,20261121\na,y,20261122\n").columns
    assert [column.role for column in columns.columns] == [Role.USER, Role.ITEM, Role.TIME]


def test_marks_of_thousands_are_no_decimal_commas() -> None:
    text = 'user,item,plays\na,x,1\na,y,"1,234"\nb,x,2\n'
    with pytest.raises(InputError, match=r"line 3: the count .*'1,234'.*`--decimal ,`"):
        recognised(text)
    assert recognised(text, decimal=",").ratings.rating.tolist() == [1.0, 1.234, 2.0]
    decimal = 'user,item,hours\na,x,"0,5"\na,y,"1,234"\n'
    assert recognised(decimal).ratings.rating.tolist() == [0.5, 1.234]


@pytest.mark.parametrize("name", ["activity", "event_type", "x"])
def test_events_are_known_by_name_or_values(name: str) -> None:
    text = f"user,item,{name}\na,x,view\na,y,addtocart\nb,x,view\nb,y,purchase\n"
    found = recognised(text)
    [note] = [note for note in found.notes if "All lines count" in note]
    assert "--event" in note
    assert recognised(text, events=["purchase"]).ratings.users.ids.tolist() == ["b"]


def test_one_value_alone_is_no_column_of_events() -> None:
    columns = recognised("user,item,x\na,x,view\na,y,view\n").columns
    assert columns.place(Role.EVENT) is None


def test_lists_of_items_without_a_heading_are_histories() -> None:
    ratings = recognised("1\t12,24,13\n2\t12,30\n3\t24\n").ratings
    assert ratings.items.ids.tolist() == ["12", "13", "24", "30"]
    assert len(ratings) == 6


@pytest.mark.parametrize("line", ["{},{};4;{}", "{}|{};4;{}"])
def test_a_second_mark_in_the_first_field_is_refused(line: str) -> None:
    text = "".join(line.format(user, user + 3, 1_400_000_000 + user) + "\n" for user in range(4))
    with pytest.raises(InputError, match=r"two separators part the lines.*`--separator ';'`"):
        recognised(text)
    assert recognised(text, separator=";").ratings.users.ids.tolist()[0].startswith("0")


def test_a_comma_in_a_name_is_no_separator() -> None:
    text = "user;item;rating\n" + "".join(f"Doe, J{n};i{n % 3};4\n" for n in range(5))
    assert recognised(text).ratings.users.ids.tolist()[0] == "Doe, J0"


def test_names_in_other_scripts_are_no_index() -> None:
    text = "пользователь;товар;оценка\n0;a;5\n1;b;4\n2;a;3\n"
    with pytest.raises(InputError, match="No column is known to hold the users"):
        recognised(text)
    columns = {"user": "пользователь", "item": "товар"}
    found = recognise_ratings(Source("a", text.encode()), RatingOptions(columns=columns))
    assert [column.role for column in found.columns.columns] == [Role.USER, Role.ITEM, Role.RATING]


@pytest.mark.parametrize(
    "heading",
    [
        "kundnr;artikelnr;antal;datum",
        "id_klienta;id_produktu;ilosc;data",
        "N° client;Réf. produit;Qté;Date de commande",
        "Cod. Cliente;Cod. Artículo;Cantidad;Fecha",
        "Codice cliente;Codice articolo;Quantità;Data ordine",
        "asiakasnumero;tuotenumero;maara;pvm",
    ],
)
def test_shops_of_many_languages_are_understood(heading: str) -> None:
    text = f"{heading}\n1001;501;2;22.11.2026\n1002;501;1;23.11.2026\n"
    roles = [column.role for column in recognised(text).columns.columns]
    assert roles == [Role.USER, Role.ITEM, Role.COUNT, Role.TIME]
