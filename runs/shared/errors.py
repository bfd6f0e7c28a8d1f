"""The error that says what is wrong with what the user gave."""

from __future__ import annotations

from os import PathLike


class InputError(ValueError):
    """Input or usage breaks a rule; the message is a sentence a user can act on."""

    __module__ = "runs"

    @classmethod
    def at(cls, path: str | PathLike[str], line: int, finding: str) -> InputError:
        """Name the file and its physical line (from 1) before the finding.

        Examples
        --------
        >>> str(InputError.at("als.run", 12, "six fields expected, found 5."))
        'als.run, line 12: six fields expected, found 5.'
        """
        return cls(f"{path}, line {line}: {finding}")


class InputWarning(UserWarning):
    """Input that can be used, but may not be what the user meant."""

    __module__ = "runs"
