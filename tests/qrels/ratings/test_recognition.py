import pytest

from qrels.ratings.datasets.layouts import FileOptions
from qrels.ratings.datasets.recognition import Recognised, recognise
from qrels.ratings.datasets.source import Source
from runs import InputError


def recognised(text: str, name: str = "log.csv", **said: object) -> Recognised:
    return recognise(Source(name, text.encode()), FileOptions.model_validate(said))


@pytest.mark.parametrize("separator", [";", "|", "::", "\t", " "])
def test_the_separator_is_that_of_a_header_with_usual_names(separator: str) -> None:
    lines = ["user,item,rating", "a,x,4", "b,y,5"]
    found = recognised("\n".join(lines).replace(",", separator))
    assert found.options.separator == separator
    assert found.ratings.rating.tolist() == [4.0, 5.0]


@pytest.mark.parametrize("name", ["ratings.dat", "u.txt"])
def test_what_the_guess_of_the_format_reads_is_left_to_it(name: str) -> None:
    text = "1::2::3::4\n" if name == "ratings.dat" else "1\t2\t3\t4\n"
    found = recognised(text, name)
    assert (found.options.separator, found.options.columns) == (None, None)
    assert found.format.startswith("movielens")


def test_without_a_header_columns_are_in_the_usual_order() -> None:
    found = recognised("ann,007,4.5,2024-01-01\nbob,7,3,2024-01-02\n")
    assert found.options.header is False
    assert found.options.columns == {"user": 0, "item": 1, "rating": 2, "time": 3}


def test_columns_of_unknown_names_are_taken_by_what_they_hold_and_that_is_said() -> None:
    found = recognised("reader,title,points,day\nann,x,70,2024-01-01\nbob,y,3,2024-01-02\n")
    assert found.options.columns == {
        "user": "reader", "item": "title", "rating": "points", "time": "day"
    }  # fmt: skip
    assert "No column is called rating; by what it holds, 'points' is it." in found.notes


def test_ids_that_are_numbers_are_not_told_from_ratings() -> None:
    with pytest.raises(InputError, match=r"no column for the user .* in `columns`: user = "):
        recognised("a,b,c\n1,2,3\n")


def test_what_the_user_says_is_kept() -> None:
    columns = {"user": "item", "item": "user", "rating": "b"}
    found = recognised("user,item,a,b\nann,x,1,5\n", columns=columns, duplicates="last")
    assert found.options.columns == columns
    assert found.options.duplicates == "last"
    assert found.ratings.users.ids.tolist() == ["x"]


def test_decimal_commas_are_recognised_in_quotes_too() -> None:
    found = recognised('user,item,rating\nann,x,"4,5"\nbob,y,"3"\n')
    assert found.options.decimal == ","
    assert found.ratings.rating.tolist() == [4.5, 3.0]


def test_gaps_and_repetitions_are_counted() -> None:
    found = recognised("user,item,rating\na,x,1\na,x,2\nb,,3\n")
    assert (found.options.missing, found.options.duplicates) == ("drop", "last")
    assert found.ratings.rating.tolist() == [2.0]
    assert found.notes == (
        "1 of 3 ratings miss a value and are left out.",
        "1 of 2 ratings are of pairs that are rated again: the last is kept.",
    )


def test_times_that_cannot_be_read_are_left_out_and_that_is_said() -> None:
    found = recognised("user,item,rating,date\na,x,1,5 May\n")
    assert found.ratings.time is None
    (note,) = found.notes
    assert note.startswith("The column 'date' is left out: '5 May' is no time")


@pytest.mark.parametrize("name", ["plays", "weight", "count"])
def test_counts_and_weights_are_implicit(name: str) -> None:
    assert recognised(f"user,item,{name}\na,x,12\n").options.implicit


def test_a_file_without_numbers_beside_users_and_items_is_implicit() -> None:
    found = recognised("user,item,colour\na,x,red\n")
    assert found.ratings.rating.tolist() == [1.0]
