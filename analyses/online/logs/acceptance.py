"""Acceptance: which recommendations were followed by what they are meant to bring about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.events import Events
from analyses.online.logs.slates import Flags, Slates
from runs import InputError

Credit = Literal["all", "last"]
LARGEST_KEY: Final = 2**63 - 1


def implicit_clicks(
    slates: Slates,
    *,
    user: NDArray[np.int32],
    item: NDArray[np.int32],
    time: NDArray[np.int64],
    window: int,
    credit: Credit = "all",
) -> Flags:
    """Find shown items with which their user interacts soon after: in [t, t + window].

    Interactions are in any order, of shape (n_events,), over the numbering of the slates (-1 for
    what it does not know) and in milliseconds, as the window is; both its ends count. One counts
    for ``"all"`` lists with its item in whose window it falls, or for the ``"last"`` of them alone;
    of those shown at one time, for the one that stands last. What is found has the shape
    (n_places,).

    Raises
    ------
    InputError
        If the window is negative, or there are too many pairs of user and item for the time that
        the slates span.

    Notes
    -----
    Equation 1.34 of Kasalický (2021), whose window has no unit. User, item and time are made one
    number, so that a binary search finds what would take a join.

    Examples
    --------
    One list is shown at 0 and at 5; the user looks at b at time 6, and at a too late:

    >>> slates = Slates.of([["a", "b"], ["b", "a"]], user=["u", "u"], arm=["A", "A"], time=[0, 5])
    >>> events = {"user": np.array([0, 0]), "item": np.array([1, 0]), "time": np.array([6, 99])}
    >>> implicit_clicks(slates, **events, window=10)
    array([False,  True,  True, False])
    >>> implicit_clicks(slates, **events, window=10, credit="last")
    array([False, False,  True, False])
    """
    if window < 0:
        raise InputError(f"`window` must not be negative, got {window} milliseconds.")
    if credit not in get_args(Credit):
        raise InputError(f"`credit` must be 'all' or 'last', got {credit!r}.")
    if len(slates) == 0:
        return np.zeros(0, dtype=np.bool_)
    begin = int(slates.time.min())
    span = int(slates.time.max()) - begin + window + 1
    near = (time >= begin) & (time - begin < span) & (user >= 0) & (item >= 0)
    keys = _Keys.of(slates, begin=begin, span=span)
    events = keys.of_events(user[near], item[near], time[near])
    return (_credit_all if credit == "all" else _credit_last)(keys, events, window)


@dataclass(frozen=True, eq=False)
class _Keys:
    """Pairs of user and item, and times, as one number: ``place of the pair * span + time``.

    The pairs that were shown, ``user * n_items + item``, rise; there is a key of every place. The
    span is that of times that matter, from the first.
    """

    pairs: NDArray[np.int64]
    shown: NDArray[np.int64]
    n_items: int
    begin: int
    span: int

    @classmethod
    def of(cls, slates: Slates, *, begin: int, span: int) -> _Keys:
        n_items = len(slates.items)
        user = slates.user.astype(np.int64)[slates.slate]
        pairs, places = np.unique(user * n_items + slates.item, return_inverse=True)
        if len(pairs) * span > LARGEST_KEY:
            raise InputError(
                f"{len(pairs):,} pairs of user and item over {span:,} milliseconds do not fit 63 "
                "bits; give the slates in shorter spans of time."
            )
        shown = places * span + (slates.time - begin)[slates.slate]
        return cls(pairs, shown, n_items, begin, span)

    def of_events(
        self, user: NDArray[np.int32], item: NDArray[np.int32], time: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Give the keys of the interactions with what was shown, rising."""
        order = np.argsort(user.astype(np.int64) * self.n_items + item)
        # Needles that rise are found in a quarter of the time, that of sorting included.
        pairs = (user.astype(np.int64) * self.n_items + item)[order]
        places = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
        known = self.pairs[places] == pairs
        return np.sort(places[known] * self.span + (time[order][known] - self.begin))


def _credit_all(keys: _Keys, events: NDArray[np.int64], window: int) -> Flags:
    """Ask for each place whether the next event is of its pair and in its window."""
    following = np.append(events, LARGEST_KEY)[np.searchsorted(events, keys.shown)]
    # A time and its window are below the span: the sum is still a key of the same pair.
    return following <= keys.shown + window


def _credit_last(keys: _Keys, events: NDArray[np.int64], window: int) -> Flags:
    """Ask for each event which place of its pair was the last before it."""
    order = np.argsort(keys.shown, kind="stable")
    shown = keys.shown[order]
    last = np.searchsorted(shown, events, side="right") - 1
    # Keys of two pairs are more than a window apart.
    within = (last >= 0) & (events - shown[last] <= window)
    clicked = np.zeros(len(shown), dtype=np.bool_)
    clicked[order[last[within]]] = True
    return clicked


def explicit_clicks(slates: Slates, *, slate: NDArray[np.int64], item: NDArray[np.int32]) -> Flags:
    """Find shown items, of shape (n_places,), whose click names the list it was made in.

    Of each click the number of its list (-1 for none), and of its item, of shape (n_events,). A
    click on an item that the list does not have counts for nothing.
    """
    n_items = len(slates.items)
    named = (slate >= 0) & (item >= 0)
    return np.isin(slates.slate * n_items + slates.item, (slate * n_items + item)[named])


def followed(slates: Slates, events: Events, *, window: int, credit: Credit) -> Flags:
    """Tell which lists were followed by an interaction with one of their items.

    Window and credit are those of :func:`implicit_clicks`.
    """
    columns: Mapping[str, Any] = {"user": events.user, "item": events.item, "time": events.time}
    return slates.any_place(implicit_clicks(slates, **columns, window=window, credit=credit))
