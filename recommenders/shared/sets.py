"""Sets of systems that a study may name as one."""

from __future__ import annotations

from recommenders.shared.register import systems
from runs import InputError

VALCARCE_2018 = (
    "random",
    "popularity",
    "chi2",
    "kld",
    "rsv",
    "rw",
    "rm1",
    "rm2",
    "lm-wsr-ub",
    "lm-wsr-ib",
    "nncosngbr-ub",
    "nncosngbr-ib",
    "slim",
    "ht",
    "svd",
    "puresvd",
    "bprmf",
    "wrmf",
    "lda",
    "plsa",
    "uir-item",
)
"""The 21 systems of Valcarce, Bellogín, Parapar & Castells (RecSys 2018), section 5."""


def system_set(name: str) -> tuple[str, ...]:
    """Give the systems of a set: "valcarce-2018", or "all" of the register.

    Raises
    ------
    InputError
        If there is no such set.

    Examples
    --------
    >>> len(system_set("valcarce-2018"))
    21
    >>> system_set("some")
    Traceback (most recent call last):
    runs.InputError: there is no set of systems 'some'; there are valcarce-2018, all.
    """
    sets = {"valcarce-2018": VALCARCE_2018, "all": tuple(systems())}
    if name not in sets:
        raise InputError(f"there is no set of systems {name!r}; there are {', '.join(sets)}.")
    return sets[name]
