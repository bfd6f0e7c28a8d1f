"""Ids as TREC files carry them: themselves, or numbers in their place."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import StringIO

import numpy as np

from runs.shared.ids import first_unfit_id
from runs.shared.numbering import Numbering


def carried(named: Numbering) -> Numbering:
    """Put numbers from 1, all of one width, in the place of ids, if one of them does not fit.

    They are in the order of the ids, so that ties are settled alike.

    Examples
    --------
    >>> carried(Numbering.of(["new york", "rome"])).ids.tolist()
    ['1', '2']
    >>> carried(Numbering.of(["rome"])).ids.tolist()
    ['rome']
    """
    if first_unfit_id(named.ids) is None:
        return named
    width = len(str(len(named)))
    return Numbering(np.array([f"{number:0{width}}" for number in range(1, len(named) + 1)]))


def id_table(pairs: Mapping[str, tuple[Numbering, Numbering]]) -> bytes:
    r"""Write which number stands for which id, as CSV.

    Parameters
    ----------
    pairs
        By kind, "user" or "item": the numbers and the ids.

    Examples
    --------
    >>> cities = Numbering.of(["new york", "rome"])
    >>> id_table({"item": (carried(cities), cities)})
    b'kind,number,id\nitem,1,new york\nitem,2,rome\n'
    """
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["kind", "number", "id"])
    for kind, (numbers, ids) in pairs.items():
        rows = zip(numbers.ids.tolist(), ids.ids.tolist(), strict=True)
        table.writerows([kind, number, id] for number, id in rows)
    return text.getvalue().encode()
