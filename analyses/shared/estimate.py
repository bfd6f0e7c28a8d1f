"""A value with its 95 % interval, and how both are printed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from analyses.shared.number_format import rounded, rounded_ratio, supported_decimals


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; NaN for an unknown limit."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the interval is known and excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def interval(self) -> str:
        """The limits in brackets, such as "[.64, .73]"; empty where one is not known."""
        return self.bracketed(self.decimals)

    def bracketed(self, decimals: int, *, by_ratio: bool = False) -> str:
        """Print the limits with so many decimals, in brackets; empty where one is not known.

        With ``by_ratio``, small limits are printed in powers of ten; see `rounded_ratio`.
        """
        if math.isnan(self.low) or math.isnan(self.high):
            return ""
        print_number = rounded_ratio if by_ratio else rounded
        return f"[{print_number(self.low, decimals)}, {print_number(self.high, decimals)}]"

    @property
    def decimals(self) -> int:
        """Decimals that the interval supports; see `number_format.supported_decimals`."""
        return supported_decimals(self.low, self.high)

    def printed(self, decimals: int, *, by_ratio: bool = False) -> str:
        """Print the value, and its limits if both are known: ".69 [.64, .73]".

        With ``by_ratio``, small numbers are printed in powers of ten; see `rounded_ratio`.
        """
        print_number = rounded_ratio if by_ratio else rounded
        limits = self.bracketed(decimals, by_ratio=by_ratio)
        return f"{print_number(self.value, decimals)} {limits}".rstrip()

    def __str__(self) -> str:
        return self.printed(self.decimals)
