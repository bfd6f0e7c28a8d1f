"""Where settings of a system are worth searching: ranges and choices, as data beside the field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pydantic import BaseModel

Value: TypeAlias = int | float | str | bool

KEY = "search"
DIGITS = 3


@dataclass(frozen=True)
class Range:
    """Numbers between two bounds, both included: whole ones if both bounds are.

    Parameters
    ----------
    low, high
        The bounds, rising.
    log
        Whether ratios count, not differences: as many numbers from 1 to 10 as from 10 to 100.

    Raises
    ------
    ValueError
        If the bounds do not rise, or ``log`` goes with a bound that is not above 0.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"the bounds of a range must rise, got {self.low} and {self.high}.")
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic range must begin above 0, got {self.low}.")

    @property
    def is_whole(self) -> bool:
        """Whether only whole numbers are meant."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def __contains__(self, value: Value) -> bool:
        return not isinstance(value, str) and self.low <= value <= self.high

    def at(self, position: float) -> Value:
        """Give the number at a position from 0 to 1, the bounds being at the ends.

        Examples
        --------
        >>> Range(1.0, 100.0, log=True).at(0.5), Range(1, 4).at(0.99)
        (10.0, 4)
        """
        half = 0.5 if self.is_whole else 0.0
        low, high = self.low - half, self.high + half
        if self.log:
            return self.tidy(math.exp(math.log(low) + position * math.log(high / low)))
        return self.tidy(low + position * (high - low))

    def tidy(self, number: float) -> Value:
        """Round to a whole number or to three significant digits, within the bounds.

        Examples
        --------
        >>> Range(10.0, 5000.0).tidy(123.456), Range(10, 5000).tidy(123.456)
        (123.0, 123)
        """
        rounded = round(number) if self.is_whole else float(f"{number:.{DIGITS}g}")
        return min(max(rounded, self.low), self.high)

    def read(self, text: str) -> Value:
        """Read a number of this range back."""
        return int(text) if self.is_whole else float(text)

    def __str__(self) -> str:
        return f"{self.low} to {self.high}" + (", log" if self.log else "")


@dataclass(frozen=True)
class Choice:
    """One of some values, all worth trying equally.

    Parameters
    ----------
    values
        What there is to choose from.

    Raises
    ------
    ValueError
        If there are fewer than two values, or one is duplicated.
    """

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if len({str(value) for value in self.values}) < max(len(self.values), 2):
            raise ValueError(f"a choice needs two different values or more, got {self.values}.")

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def at(self, position: float) -> Value:
        """Give the value at a position from 0 to below 1.

        Examples
        --------
        >>> Choice(("mle", "nln")).at(0.4)
        'mle'
        """
        return self.values[int(position * len(self.values))]

    def read(self, text: str) -> Value:
        """Read a value of this choice back.

        Raises
        ------
        ValueError
            If there is no such value.
        """
        return self.values[[str(value) for value in self.values].index(text)]

    def __str__(self) -> str:
        return ", ".join(str(value) for value in self.values)


Place: TypeAlias = Range | Choice


def search_space(settings: type[BaseModel]) -> Mapping[str, Place]:
    """Find which settings are searched, and where.

    Examples
    --------
    >>> from recommenders import systems
    >>> search_space(systems()["ease"].settings)
    {'regularization': Range(low=10.0, high=5000.0, log=True)}
    """
    extras = {name: field.json_schema_extra for name, field in settings.model_fields.items()}
    found: dict[str, Any] = {
        name: extra[KEY]
        for name, extra in extras.items()
        if isinstance(extra, dict) and KEY in extra
    }
    return {
        name: Choice(**data) if "values" in data else Range(**data) for name, data in found.items()
    }
