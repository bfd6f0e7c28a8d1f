"""Ratings as read, in file order: the rules they must keep, checked fast and checked carefully."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np

from qrels.ratings.datasets.rating_options import RatingOptions
from qrels.ratings.ratings import Ratings, pair_numbers, renumbered
from runs import InputError, Numbering
from runs.shared.arrays import Floats, Ints, Longs, Masks, Numbers
from runs.shared.arrow import numpy_array
from runs.shared.ids import LONGEST_ID
from runs.tables.roles import Role
from runs.tables.rows import NotPlain, Places, Rows
from runs.tables.times import A_TIME, iso_seconds, seconds_of_dates, seconds_of_iso, whole_seconds
from runs.tables.values import ISO, NO_NUMBER, NUMBER, SHOP_DATE, THOUSANDS

IDS: Final = (Role.USER, Role.ITEM)
NUMBERS: Final = (Role.RATING, Role.COUNT)

OF_HISTORY: Final = r"[\s,;|]+"
"""What stands between the items of a history."""

Columns: TypeAlias = Mapping[Role, Any]
"""Arrow columns by role: ids as text, numbers and times as text or numbers."""


@dataclass(frozen=True, eq=False)
class RatingTable:
    """Checked ratings in file order; a (user, item) pair may repeat.

    Parameters
    ----------
    users, items
        The ids behind the numbers.
    user, item
        Numbers, int32 of shape (n_ratings,).
    rating
        Ratings or counts, float64 of shape (n_ratings,); ones where nothing is rated.
    time
        Seconds since 1970, int64 of shape (n_ratings,), or None.
    n_without_value
        Number of ratings that were left out, since a value was missing.
    n_unrated
        Number of ratings that were left out, since their value means "not rated".
    """

    users: Numbering
    items: Numbering
    user: Ints
    item: Ints
    rating: Floats
    time: Longs | None
    n_without_value: int = 0
    n_unrated: int = 0

    @property
    def n_read(self) -> int:
        """Number of ratings in the file, also of those that were left out."""
        return len(self.user) + self.n_without_value + self.n_unrated

    @cached_property
    def n_repeated(self) -> int:
        """Number of ratings of a pair that is rated elsewhere in the file, too, less one each."""
        _, is_last = self._rows_by_pair
        return len(self.user) - int(np.count_nonzero(is_last))

    def ratings(self, *, adds_up: bool = False) -> Ratings:
        """Sort the ratings by (user, item), each pair once.

        Of repeated pairs the last in time is kept, or without times, and at equal times, the last
        in the file; its rating is the sum over the pair if ``adds_up``. Columns of ``self`` are of
        shape (n_ratings,), in the order of the file.
        """
        order, is_last = self._rows_by_pair
        last = order
        if self.n_repeated:
            # Ratings of a pair are in the order of their times, or else of the file.
            pairs = pair_numbers(self.user, self.item, len(self.items))
            keys = (pairs,) if self.time is None else (self.time, pairs)
            order = np.lexsort(keys)
            last = order[is_last]
        time = None if self.time is None else self.time[last]
        rating = self.rating[last]
        if adds_up:
            is_first = np.append(True, is_last[:-1])
            first_rows = np.flatnonzero(is_first)
            rating = np.add.reduceat(self.rating[order], first_rows)
        return Ratings(
            users=self.users,
            items=self.items,
            user=self.user[last],
            item=self.item[last],
            rating=rating,
            time=time,
        )

    @cached_property
    def _rows_by_pair(self) -> tuple[Numbers, Masks]:
        """Rows by user, then by item, and which of them are the last of their pair.

        Rows of one pair are in any order. Both are of shape (n_ratings,).
        """
        pairs = pair_numbers(self.user, self.item, len(self.items))
        order = np.argsort(pairs)
        sorted_pairs = pairs[order]
        is_last = np.append(sorted_pairs[1:] != sorted_pairs[:-1], True)
        return order, is_last


def added_up(table: RatingTable, *, label: str) -> tuple[Ratings, int]:
    """Add up the amounts of repeated pairs of user and item, and leave out what was returned.

    Pairs whose amounts come to 0 or less are left out, and users and items without other pairs.

    Parameters
    ----------
    table
        The amounts, negative ones of what was returned.
    label
        The file, for errors.

    Returns
    -------
    The sums, each pair once, with its last time; and the number of pairs that were left out.

    Raises
    ------
    InputError
        If no pair is left.
    """
    sums = table.ratings(adds_up=True)
    is_positive = sums.rating > 0
    n_returned = int(np.count_nonzero(~is_positive))
    if not n_returned:
        return sums, 0
    if not is_positive.any():
        raise InputError(f"{label}: the amounts of every pair of user and item are 0 or less.")
    users, user = renumbered(sums.users, sums.user[is_positive])
    items, item = renumbered(sums.items, sums.item[is_positive])
    left = Ratings(
        users=users,
        items=items,
        user=user,
        item=item,
        rating=sums.rating[is_positive],
        time=None if sums.time is None else sums.time[is_positive],
    )
    return left, n_returned


def read_rating_table(
    rows: Rows, places: Places, options: RatingOptions, *, unique: bool, complete: bool
) -> RatingTable:
    """Read ratings, fast if they keep all rules, else carefully, to say where they do not.

    Parameters
    ----------
    rows
        The file.
    places
        Places of the columns that are read, by role.
    options
        Decimal sign, order of dates, values that mean "not rated".
    unique
        Whether a pair of user and item must not repeat.
    complete
        Whether no value may be missing; otherwise such ratings are left out.

    Returns
    -------
    Ratings in the order of the file. Repeated pairs stay, unless the rows of the file are
    histories: lists of items.

    Raises
    ------
    InputError
        If a rating breaks a rule, naming its line, or if there is none.
    """
    import pyarrow as pa

    places = _with_events(places, options, label=rows.source.label)
    is_history = Role.HISTORY in places
    table = None
    with suppress(NotPlain):
        table = _read_whole(rows, places, options, complete=complete)
    # Arrow keeps the memory of its columns for itself.
    pa.default_memory_pool().release_unused()
    if table is None or (unique and not is_history and table.n_repeated):
        table = _read_carefully(rows, places, options, unique=unique, complete=complete)
    return _without_unrated(table, options.unrated, label=rows.source.label)


def _with_events(places: Places, options: RatingOptions, *, label: str) -> Places:
    """Leave the column of events out of the columns that are read, unless events are chosen.

    ``places`` are positions of columns, by role; ``label`` is what errors call the file. Raises
    InputError if ``options.events`` chooses some, and no column holds events.
    """
    if not options.events:
        return {role: place for role, place in places.items() if role != Role.EVENT}
    if Role.EVENT not in places:
        raise InputError(
            f"{label}: no column is known to hold events, of which {list(options.events)} are to "
            "be read. Name it: `--column event=NAME`."
        )
    return places


def _without_unrated(table: RatingTable, unrated: Sequence[float], *, label: str) -> RatingTable:
    """Leave out the ratings whose value is one of ``unrated``: it means "not rated".

    Users and items without other ratings are left out, too, and the rest is numbered anew. Without
    such values the table itself is returned. Raises InputError, with ``label`` for the file, if no
    rating is left.
    """
    if not unrated:
        return table
    rated = ~np.isin(table.rating, unrated)
    if not rated.any():
        raise InputError(f'{label}: no value is a rating, if {list(unrated)} mean "not rated".')
    users, user = renumbered(table.users, table.user[rated])
    items, item = renumbered(table.items, table.item[rated])
    time = None if table.time is None else table.time[rated]
    n_unrated = int(np.count_nonzero(~rated))
    return RatingTable(
        users=users,
        items=items,
        user=user,
        item=item,
        rating=table.rating[rated],
        time=time,
        n_without_value=table.n_without_value,
        n_unrated=n_unrated,
    )


def _read_whole(
    rows: Rows, places: Places, options: RatingOptions, *, complete: bool
) -> RatingTable:
    """Read whole columns of a file of ratings, and check them; the fast way.

    ``places`` are positions of columns, by role. Rows of other events than the chosen ones are left
    out, and those with a missing value unless ratings must be ``complete``. Raises `NotPlain` if a
    value breaks a rule; the caller then looks for it rating by rating.
    """
    # Decimal commas, and lists of ratings, are read from texts.
    has_numbers = options.decimal == "." and Role.HISTORY not in places
    numbers = (*NUMBERS, Role.TIME) if has_numbers else ()
    columns = rows.columns(places, numbers=numbers)
    if options.events:
        columns = _rows_of_events(columns, options.events)
    n_without_value = 0
    if not complete:
        columns, n_without_value = _complete_rows(columns)
    if Role.HISTORY in columns:
        columns = _with_histories(columns)
    return _checked_table(columns, options, n_without_value=n_without_value)


def _rows_of_events(columns: Columns, events: Sequence[str]) -> Columns:
    """Keep the rows whose event is one of ``events``, and leave out the column of events.

    ``columns`` are Arrow arrays of one length, by role.
    """
    import pyarrow as pa
    import pyarrow.compute as compute

    is_chosen = compute.is_in(columns[Role.EVENT].cast(pa.string()), pa.array(events, pa.string()))
    other_columns: dict[Role, Any] = dict(columns)
    del other_columns[Role.EVENT]
    return _rows_where(other_columns, is_chosen)


def _rows_where(columns: Columns, is_kept: Any) -> Columns:
    """Keep the rows that an Arrow array of truth values marks, as texts in place of dictionaries.

    Ids that no row has any more would stay in a dictionary. ``columns`` are Arrow arrays of one
    length, by role.
    """
    import pyarrow as pa

    rows = {}
    for role, column in columns.items():
        plain = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        rows[role] = plain.filter(is_kept)
    return rows


def _complete_rows(columns: Columns) -> tuple[Columns, int]:
    """Leave out the rows of which a value is missing, in any column.

    ``columns`` are Arrow arrays of one length, by role. Returns the columns of the other rows, and
    the number of rows left out.
    """
    import pyarrow.compute as compute

    if not any(_may_miss_values(column) for column in columns.values()):
        return columns, 0
    complete = _are_complete(columns)
    n_left_out = len(complete) - compute.sum(complete).as_py()
    if not n_left_out:
        return columns, 0
    return _rows_where(columns, complete), n_left_out


def _are_complete(columns: Columns) -> Any:
    """Mark, as an Arrow array of truth values, the rows of which no value is missing.

    ``columns`` are Arrow arrays of one length, by role. Missing are nulls, NaN, and texts that
    stand for a missing value of the role, such as an empty one.
    """
    import pyarrow as pa
    import pyarrow.compute as compute

    n_rows = len(next(iter(columns.values())))
    complete = pa.chunked_array([pa.repeat(True, n_rows)])
    for role, column in columns.items():
        is_dictionary = pa.types.is_dictionary(column.type)
        missing = compute.is_null(column, nan_is_null=not is_dictionary)
        if is_dictionary or pa.types.is_string(column.type):
            texts = pa.array(_missing_texts(role), pa.string())
            missing = compute.or_(missing, compute.is_in(column, texts))
        complete = compute.and_not(complete, missing)
    return complete


def _may_miss_values(column: Any) -> bool:
    """Look quickly for missing values in an Arrow column: NaN, and empty ids that are stored once.

    False only if no value is missing; True for other texts, of which each must be looked at.
    """
    import pyarrow as pa
    import pyarrow.compute as compute

    if column.null_count:
        return True
    if pa.types.is_floating(column.type):
        return compute.any(compute.is_nan(column)).as_py() is True
    if pa.types.is_dictionary(column.type):
        lengths = [compute.utf8_length(chunk.dictionary) for chunk in column.chunks]
        return any(compute.min(of_chunk).as_py() == 0 for of_chunk in lengths)
    return True


def _missing_texts(role: Role) -> tuple[str, ...]:
    """Texts that stand where a value is missing; an id is missing where there is nothing."""
    return ("",) if role in IDS else NO_NUMBER


def _with_histories(columns: Columns) -> Columns:
    """Turn a row with a user's history, a text that lists items, into a row for each item.

    ``columns`` are Arrow arrays by role: user, history, and perhaps one more item that follows on
    the history, and a list of the ratings of its items in the same order. The result has user, item
    and, if there are lists of them, rating, as texts; of repeated pairs the last rating counts, and
    the item behind a history has an empty one. Raises InputError if a list has not as many ratings
    as items.
    """
    import pyarrow as pa

    users = _texts_of(columns[Role.USER])
    histories = _texts_of(columns[Role.HISTORY])
    last_items = _texts_of(columns[Role.ITEM]) if Role.ITEM in columns else [""] * len(users)
    is_rated = Role.RATING in columns
    ratings = _texts_of(columns[Role.RATING]) if is_rated else histories
    rating_of_pair: dict[tuple[str, str], str] = {}
    for user, history, last_item, ratings_of_user in zip(
        users, histories, last_items, ratings, strict=True
    ):
        items = [item for item in _listed(history) if item]
        values = _listed(ratings_of_user) if is_rated else items
        if len(items) != len(values):
            raise InputError(
                f"user {user!r} has {len(items)} items in a list, but {len(values)} ratings."
            )
        rating_of_pair.update(zip([(user, item) for item in items], values, strict=True))
        if last_item:
            rating_of_pair[user, last_item] = ""
    histories_as_rows = {
        Role.USER: [user for user, _ in rating_of_pair],
        Role.ITEM: [item for _, item in rating_of_pair],
    }
    if is_rated:
        histories_as_rows[Role.RATING] = list(rating_of_pair.values())
    return {
        role: pa.chunked_array([pa.array(texts, pa.string())])
        for role, texts in histories_as_rows.items()
    }


def _listed(text: str) -> list[str]:
    """Part a list of items or ratings."""
    return re.split(OF_HISTORY, text.strip("[]() "))


def _texts_of(column: Any) -> list[str]:
    """List the texts of an Arrow column."""
    import pyarrow as pa

    return column.cast(pa.string()).to_pylist()


def _checked_table(
    columns: Columns, options: RatingOptions, *, n_without_value: int
) -> RatingTable:
    """Make ratings of columns without a missing value; raises `NotPlain` if one breaks a rule.

    ``columns`` are Arrow arrays of one length, by role. Without a column of ratings or counts each
    rating is 1. ``n_without_value``: number of ratings that were left out before.
    """
    users, user = _numbered(columns[Role.USER])
    items, item = _numbered(columns[Role.ITEM])
    number_column = next((columns[role] for role in NUMBERS if role in columns), None)
    if number_column is None:
        rating = np.ones(len(user))
    else:
        rating = _numbers(number_column, options.decimal)
    time_column = columns.get(Role.TIME)
    time = None if time_column is None else _times(time_column, options)
    return RatingTable(
        users=users,
        items=items,
        user=user,
        item=item,
        rating=rating,
        time=time,
        n_without_value=n_without_value,
    )


def _numbered(column: Any) -> tuple[Numbering, Ints]:
    """Number the ids of an Arrow column in code-point order.

    Returns the numbering, and the number of the id of each row, int32 of shape (n_rows,). Raises
    `NotPlain` if an id is missing, empty, above 1,000 characters, or has a NUL, or there are no
    rows.
    """
    import pyarrow as pa
    import pyarrow.compute as compute

    if column.null_count or not len(column):
        raise NotPlain
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = encoded.unify_dictionaries().combine_chunks()
    texts = whole.dictionary
    lengths = compute.min_max(compute.utf8_length(texts)).as_py()
    if not 0 < lengths["min"] <= lengths["max"] <= LONGEST_ID:
        raise NotPlain
    if compute.any(compute.match_substring(texts, "\0")).as_py():
        raise NotPlain
    ids = np.array(texts.to_pylist(), dtype=np.str_)
    numbering = Numbering.of(ids)
    numbers_of_texts = numbering.numbers(ids)
    return numbering, numbers_of_texts[numpy_array(whole.indices)]


def _numbers(column: Any, decimal: str) -> Floats:
    """Convert an Arrow column of numbers, or of their texts, to float64 of shape (n_rows,).

    ``decimal`` is the decimal sign of texts, "." or ",". Raises `NotPlain` if a number is missing
    or not finite, or a text is no number.
    """
    import pyarrow as pa
    import pyarrow.compute as compute

    if pa.types.is_string(column.type):
        if not _all_match(column, _number_with(decimal)):
            raise NotPlain
        if decimal != ".":
            column = compute.replace_substring(column, decimal, ".")
    if column.null_count:
        raise NotPlain
    numbers: Floats = numpy_array(column.cast(pa.float64(), safe=False))
    if not np.isfinite(numbers).all():
        raise NotPlain
    return numbers


def _times(column: Any, options: RatingOptions) -> Longs:
    """Convert an Arrow column of times to seconds since 1970 in UTC, int64 of shape (n_rows,).

    Times are numbers, of one unit, dates as in ISO 8601, or dates whose year stands last, in the
    order ``options.dates``. Raises `NotPlain` if one cannot be read.
    """
    import pyarrow as pa

    if pa.types.is_string(column.type) and _all_match(column, SHOP_DATE_FOR_ARROW):
        try:
            return seconds_of_dates(column.to_pylist(), options.dates)
        except InputError:
            raise NotPlain from None
    if pa.types.is_string(column.type) and _all_match(column, ISO):
        seconds = iso_seconds(column)
    else:
        seconds = whole_seconds(_numbers(column, options.decimal))
    if seconds is None:
        raise NotPlain
    return seconds


SHOP_DATE_FOR_ARROW: Final = SHOP_DATE.replace(r"\2", "[./-]")
"""The form of dates without a reference back, which Arrow does not know."""


FIRST_TEXTS = 1000
"""So many texts tell of most columns that they have not all a form."""


def _all_match(column: Any, pattern: str) -> bool:
    """Tell whether all texts of an Arrow column have a form."""
    import pyarrow.compute as compute

    for texts in (column[:FIRST_TEXTS], column):
        matching = compute.match_substring_regex(texts, f"^({pattern})$")
        if compute.all(matching).as_py() is False:
            return False
    return True


def _number_with(decimal: str) -> str:
    return NUMBER.replace(r"\.", re.escape(decimal))


def _read_carefully(
    rows: Rows, places: Places, options: RatingOptions, *, unique: bool, complete: bool
) -> RatingTable:
    """Read ratings one by one, in the order of the file; the slow way.

    ``places`` are positions of columns, by role; ``rows.records(places)`` yields each line's number
    and its texts by role. Lines of other events than the chosen ones are
    left out, and those with a missing value unless ratings must be ``complete``. Raises InputError
    at the line of the first rating that breaks a rule, such as a pair that is repeated if pairs
    must be ``unique``; or if no ratings are left.
    """
    columns: dict[Role, list[Any]] = {role: [] for role in places if role != Role.EVENT}
    line_of_pair: dict[tuple[str, str], int] = {}
    lines: list[int] = []
    n_without_value = 0
    seen_events: set[str] = set()
    for line, record in rows.records(places):
        texts = dict(record)
        event = texts.pop(Role.EVENT, "")
        seen_events.add(event)
        if options.events and event not in options.events:
            continue
        if not complete and any(text in _missing_texts(role) for role, text in texts.items()):
            n_without_value += 1
            continue
        try:
            for role, text in texts.items():
                is_list = role == Role.RATING and Role.HISTORY in texts
                value = text if is_list else _checked(role, text, options)
                columns[role].append(value)
            if Role.HISTORY not in texts:
                _require_first(texts, line, line_of_pair, unit=rows.unit, unique=unique)
        except InputError as error:
            raise rows.error(line, str(error)) from error
        lines.append(line)
    if not lines and options.events:
        raise InputError(
            f"{rows.source.label}: no line has one of the events {list(options.events)}; there "
            f"are {', '.join(sorted(seen_events))}."
        )
    if not lines:
        raise InputError(f"{rows.source.label}: there are no ratings in the file.")
    if Role.TIME in columns:
        columns[Role.TIME] = _checked_times(columns[Role.TIME], lines, rows, options)
    import pyarrow as pa

    arrow_columns: Columns = {
        role: pa.chunked_array([pa.array(values)]) for role, values in columns.items() if values
    }
    if Role.HISTORY in arrow_columns:
        arrow_columns = _with_histories(arrow_columns)
    return _checked_table(arrow_columns, options, n_without_value=n_without_value)


def _require_first(
    texts: Mapping[Role, str],
    line: int,
    line_of_pair: dict[tuple[str, str], int],
    *,
    unit: str,
    unique: bool,
) -> None:
    """Note the line where a pair of user and item is rated first, in ``line_of_pair``.

    ``texts`` are those of the line, by role. Raises InputError for a second rating of the pair if
    pairs must be ``unique``. ``unit`` is what lines are called in the error, such as "line".
    """
    user = texts[Role.USER]
    item = texts[Role.ITEM]
    first = line_of_pair.setdefault((user, item), line)
    if unique and first != line:
        raise InputError(
            f"user {user!r} rates item {item!r} a second time, after {unit} {first}; "
            "duplicates='last' keeps the last, 'sum' adds amounts up."
        )


def _checked_times(
    texts_or_seconds: list[Any], lines: list[int], rows: Rows, options: RatingOptions
) -> list[Any]:
    """Turn dates whose year stands last into seconds, and refuse times of no one unit.

    Parameters
    ----------
    texts_or_seconds
        A number of seconds or parts of them for each rating, or the text of such a date.
    lines
        Number of the line of each rating, for errors.

    Returns
    -------
    Numbers, in the order of the ratings; those of dates are seconds since 1970 in UTC.

    Raises
    ------
    InputError
        If some times are dates and others are not, a date cannot be read, or numbers are of no one
        unit.
    """
    dates = [value for value in texts_or_seconds if isinstance(value, str)]
    if dates:
        odd = next((n for n, v in enumerate(texts_or_seconds) if not isinstance(v, str)), None)
        if odd is not None:
            raise rows.error(lines[odd], "times must all be written alike.")
        try:
            return seconds_of_dates(dates, options.dates).tolist()
        except InputError as error:
            raise InputError(f"{rows.source.label}: {error}") from error
    if whole_seconds(np.array(texts_or_seconds)) is None:
        furthest = int(np.abs(texts_or_seconds).argmax())
        raise rows.error(
            lines[furthest],
            "times must all be in seconds, or all in milli- or microseconds, since 1970 and before "
            f"the year 10000, got {texts_or_seconds[furthest]:.0f}.",
        )
    return texts_or_seconds


def _checked(role: Role, text: str, options: RatingOptions) -> str | float:
    """Check the text of one value by its role, and convert it if it is a number.

    Returns the text of an id, of a history, or of a date whose year stands last; seconds since 1970
    for other dates; and the number of the text otherwise. Raises InputError, which says what the
    value must be, for an id that is empty or too long, and a text that is no finite number.
    """
    if role in IDS:
        return _checked_id(text)
    if role == Role.HISTORY:
        return text
    if role == Role.TIME and re.fullmatch(SHOP_DATE, text):
        return text
    if role == Role.TIME and re.fullmatch(ISO, text):
        return seconds_of_iso(text)
    if re.fullmatch(_number_with(options.decimal), text):
        number = float(text.replace(options.decimal, "."))
        if math.isfinite(number):
            return number
    comma = " with a decimal comma" if options.decimal == "," else ""
    wanted = A_TIME if role == Role.TIME else f"a finite number{comma}"
    if text in NO_NUMBER:
        hint = " missing='drop' leaves such ratings out."
    elif role in NUMBERS and re.fullmatch(THOUSANDS, text):
        hint = (
            " If the comma is the decimal sign: `--decimal ,`. Marks that separate thousands are "
            "not read: leave them out."
        )
    elif role == Role.TIME:
        hint = " Name another column: `--column time=NAME`."
    else:
        hint = f" Name another column: `--column {role}=NAME`; if nothing is rated: `--implicit`."
    raise InputError(f"the {role} must be {wanted}, got {text!r}.{hint}")


def _checked_id(text: str) -> str:
    """Return an id, or raise InputError if it is empty, too long, or has a NUL."""
    if not text:
        raise InputError("an id must not be empty; missing='drop' leaves such ratings out.")
    if "\0" in text:
        raise InputError(f"an id must have no NUL, got {text[:80]!r}.")
    if len(text) > LONGEST_ID:
        raise InputError(
            f"an id must have at most {LONGEST_ID:,} characters, found one of {len(text):,} that "
            f"begins with {text[:40]!r}."
        )
    return text
