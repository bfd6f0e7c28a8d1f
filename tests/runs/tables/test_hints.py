"""What names of columns hint at."""

import pytest

from runs.tables.hints import Hint, Meaning, hint_of, words_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Kd.-Nr.", ["kd", "nr"]),
        ("bookRating", ["book", "rating"]),
        ("HTMLPage", ["html", "page"]),
        ("item_id:token", ["item", "id"]),
        ("item_id_list:token_seq", ["item", "id", "list"]),
        ("review/overall", ["review", "overall"]),
        ("Straße", ["strasse"]),
        ("évaluation", ["evaluation"]),
        (" ", []),
        (3, ["3"]),
    ],
)
def test_names_are_parted_into_words(name: object, words: list[str]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("meaning", "names"),
    [
        (
            Meaning.USER,
            "user userId USER-ID uid customer_no cust visitorid steamid Kunde",
        ),
        (Meaning.USER, "client_id usuario utilisateur reviewerID profileName buyer session_id"),
        (Meaning.TOPIC, "qid query-id topic q_id query"),
        (
            Meaning.ITEM,
            "item iid movieId ISBN sku_code Art.Nr asin parent_asin docno title",
        ),
        (Meaning.ITEM, "corpus-id produit producto Artikel business_id movie_title listing page"),
        (Meaning.GRADE, "rating Book-Rating stars relevance label overall Bewertung valoracion"),
        (Meaning.SCORE, "score sim prediction"),
        (
            Meaning.COUNT,
            "plays play_count qty Menge hours_played seconds watch_time",
        ),
        (
            Meaning.TIME,
            "timestamp date order_dt purchased_at Bestelldatum unixReviewTime",
        ),
        (Meaning.EVENT, "event event_type behavior"),
        (Meaning.RANK, "rank"),
        (Meaning.SYSTEM, "system run_id tag model Algorithm"),
        (Meaning.MEASURE, "measure metric"),
        (Meaning.HISTORY, "item_id_list item_history"),
        (
            Meaning.ATTRIBUTE,
            "price category product_category is_read net_amount review_text",
        ),
    ],
)
def test_a_name_hints_at_what_its_column_holds(meaning: Meaning, names: str) -> None:
    hints = {name: hint_of(name) for name in names.split()}
    expected = dict.fromkeys(hints, meaning)
    if meaning == Meaning.EVENT:
        # The kind of an event is called by its last word.
        expected.pop("event_type")
    assert {n: hint.meaning if hint else None for n, hint in hints.items() if n in expected} == (
        expected
    )


@pytest.mark.parametrize("name", ["u", "w", "n", "x1", "author", "subreddit", "id", "nota", "mid"])
def test_other_names_hint_at_nothing(name: str) -> None:
    assert hint_of(name) is None


def test_an_empty_name_is_that_of_an_index() -> None:
    assert hint_of("") == Hint(0, 0, Meaning.INDEX)


@pytest.mark.parametrize(
    ("clear", "weak"),
    [
        ("asin", "parent_asin"),
        ("movie_id", "movie_title"),
        ("user_id", "user_name"),
        ("item", "article"),
        ("user", "session"),
    ],
)
def test_the_clearer_name_counts(clear: str, weak: str) -> None:
    first, second = hint_of(clear), hint_of(weak)
    assert first is not None
    assert second is not None
    assert (first.weakness, first.place) < (second.weakness, second.place)
