"""Acceptance: which recommendations were followed by what they are meant to bring about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from analyses.online.logs.slates import Events, Flags, Slates
from runs import InputError

Credit = Literal["all", "last"]


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
        If the window is negative, or the credit is unknown.

    Notes
    -----
    Equation 1.34 of Kasalický (2021), whose window has no unit.

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
    import pandas as pd

    matched: dict[str, Any] = {"on": "time", "by": "pair", "tolerance": window}
    n_items, of_user = len(slates.items), slates.user.astype(np.int64)[slates.slate]
    shown = pd.DataFrame(
        {"pair": of_user * n_items + slates.item, "time": slates.time[slates.slate]}
    )
    shown["place"] = np.arange(len(shown))
    known = (user >= 0) & (item >= 0)
    pairs = user[known].astype(np.int64) * n_items + item[known]
    events = pd.DataFrame({"pair": pairs, "time": time[known]})
    events = events[events["pair"].isin(shown["pair"])]
    shown, events = (rows.sort_values("time", kind="stable") for rows in (shown, events))
    if credit == "all":
        found = pd.merge_asof(shown, events.assign(is_next=True), direction="forward", **matched)
        found = found[found["is_next"].notna()]
    else:
        found = pd.merge_asof(events, shown, **matched).dropna(subset="place")
    clicked = np.zeros(len(slates.item), dtype=np.bool_)
    clicked[found["place"].to_numpy(np.intp)] = True
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
