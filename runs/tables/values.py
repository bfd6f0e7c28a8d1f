"""What a column can hold, judged by some of its values: numbers, times, an index, several items.

Numbers are written as in `NUMBER`, also with a decimal comma. Times are seconds, milliseconds or
microseconds since 1970, ISO dates, or dates with the day or the month first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

NUMBER: Final = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""A number. Python's `float` also takes "1_0", "nan", spaces and digits of other scripts."""

WITH_COMMA: Final = NUMBER.replace(r"\.", ",")
"""A number with a decimal comma."""

NO_NUMBER: Final = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
"""What stands where a number is missing."""

CLOCK: Final = r"[ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?( ?[AaPp][Mm])?"
ISO: Final = (
    r"[0-9]{4}(-[0-9]{2}-|/[0-9]{2}/|\.[0-9]{2}\.)[0-9]{2}"
    r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
"""A day, or a moment with or without a zone; without one it is in UTC. The year stands first."""

COMPACT: Final = r"(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])"
"""A day as a number: 20261122."""

THOUSANDS: Final = r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+"
"""A number whose commas may separate thousands."""

EVENTS: Final = (
    *("view", "views", "click", "clicks", "cart", "addtocart", "add_to_cart", "basket", "purchase"),
    *("add_to_basket", "buy", "order", "transaction", "checkout", "remove_from_cart", "wishlist"),
    *("favorite", "favourite", "like", "share", "play", "skip", "impression", "rate", "download"),
    *("listen", "watch", "search", "detail", "pv", "fav"),
)
"""Events of logs, in small letters."""

SHOP_DATE: Final = rf"([0-9]{{1,2}})([./-])([0-9]{{1,2}})\2([0-9]{{4}})({CLOCK})?"
"""A date whose year stands last, with the day or the month first."""

EARLIEST_UNIX: Final = 631_152_000
"""1990, in seconds since 1970: before, nobody logged."""

LATEST_UNIX: Final = 2_208_988_800
"""2040, in seconds since 1970."""

UNITS: Final = (1, 10**3, 10**6)
"""Seconds, milliseconds and microseconds."""

FEW: Final = 0.1
"""Largest share of values that may be no number in a column of numbers: these are told later."""

HIGHEST_MONTH: Final = 12

HIGHEST_RATING: Final = 10
MOST_RATINGS: Final = 21
"""Most values of a scale: half points from 0 to 10."""


@dataclass(frozen=True)
class Sample:
    """Some values of one column, as texts.

    Parameters
    ----------
    texts
        The values, in the order of the file; "" where one is missing.
    """

    texts: Sequence[str]

    @cached_property
    def values(self) -> list[str]:
        """The values that are not missing."""
        return [text for text in self.texts if text not in NO_NUMBER]

    @cached_property
    def numbers(self) -> list[float]:
        """The values that are numbers, also with a decimal comma."""
        return [float(text.replace(",", ".")) for text in self.values if is_number(text)]

    @property
    def examples(self) -> list[str]:
        """The first three values that differ."""
        return list(dict.fromkeys(self.values))[:3]

    @property
    def is_numeric(self) -> bool:
        """Whether nearly all values are numbers, one odd one or a tenth of them aside."""
        n_odd = len(self.values) - len(self.numbers)
        return len(self.numbers) > n_odd and n_odd <= max(1, FEW * len(self.values))

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self._all_are(lambda text: is_number(text)) and all(
            number.is_integer() for number in self.numbers
        )

    @property
    def is_date(self) -> bool:
        """Whether all values are dates."""
        return self._all_are(is_date)

    @property
    def is_unix_time(self) -> bool:
        """Whether all values are moments from 1990 to 2040, in seconds or parts of them."""
        if not self._all_are(lambda text: is_number(text)):
            return False
        return any(
            all(EARLIEST_UNIX <= number / unit <= LATEST_UNIX for number in self.numbers)
            for unit in UNITS
        )

    @property
    def is_time(self) -> bool:
        """Whether all values can be read as times, be they ever so long ago."""
        return self._all_are(lambda text: is_number(text) or is_date(text))

    @property
    def is_index(self) -> bool:
        """Whether the values count the rows, from 0 or 1."""
        if len(self.texts) < 2 or len(self.numbers) < len(self.texts):
            return False
        first = self.numbers[0]
        counted = [first + place for place in range(len(self.numbers))]
        return first in (0.0, 1.0) and self.numbers == counted

    @property
    def is_rating(self) -> bool:
        """Whether the values are numbers of a scale: at most 21 that differ, from -1 to 10."""
        is_small = all(-1 <= number <= HIGHEST_RATING for number in self.numbers)
        return self.is_numeric and is_small and len(set(self.numbers)) <= MOST_RATINGS

    @property
    def is_list(self) -> bool:
        """Whether most values are several ids: words with a digit each, or in brackets."""
        lists = [text for text in self.values if is_list(text)]
        return 2 * len(lists) > len(self.values)

    @property
    def are_events(self) -> bool:
        """Whether the values are events of a log, and not all the same."""
        events = {text.casefold() for text in self.values}
        return len(events) > 1 and events.issubset(EVENTS)

    @property
    def has_repeats(self) -> bool:
        """Whether a value occurs twice."""
        return len(set(self.values)) < len(self.values)

    def _all_are(self, holds: Callable[[str], bool]) -> bool:
        return bool(self.values) and all(map(holds, self.values))


def is_list(text: str) -> bool:
    """Tell several ids from a title: each has a digit, or they stand in brackets."""
    if re.fullmatch(r"\[.*\]|\(.*,.*\)", text):
        return True
    words = re.split(r"[ ,;|]+", text)
    return len(words) > 1 and all(any(sign.isdigit() for sign in word) for word in words)


def is_number(text: str) -> bool:
    """Tell whether a text is a number, also one with a decimal comma."""
    return re.fullmatch(NUMBER, text) is not None or re.fullmatch(WITH_COMMA, text) is not None


def is_date(text: str) -> bool:
    """Tell whether a text has the form of a date: year first, year last, or as one number."""
    return any(re.fullmatch(form, text) is not None for form in (ISO, SHOP_DATE, COMPACT))


def date_orders(texts: Iterable[str]) -> set[str]:
    """List the orders, "dmy" and "mdy", in which all dates whose year stands last exist.

    Examples
    --------
    >>> date_orders(["11/22/2026"]), sorted(date_orders(["01.02.2026"]))
    ({'mdy'}, ['dmy', 'mdy'])
    """
    orders = {"dmy", "mdy"}
    for text in texts:
        parts = re.fullmatch(SHOP_DATE, text)
        if parts is None:
            continue
        if int(parts[1]) > HIGHEST_MONTH:
            orders.discard("mdy")
        if int(parts[3]) > HIGHEST_MONTH:
            orders.discard("dmy")
    return orders
