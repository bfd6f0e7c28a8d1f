"""Finding the role of every column of a table.

A person may name columns, one at a time; the rest is recognised. Names decide before values. Values
may only veto what a name says, and propose a role where no name says one. The order of columns
decides only where there is no heading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from runs.shared.errors import InputError, require_known
from runs.tables.hints import Hint, Meaning, hint_of
from runs.tables.roles import Column, Columns, Kind, Reason, Role
from runs.tables.values import Sample


def assign_roles(
    names: Sequence[str],
    samples: Sequence[Sample],
    kind: Kind,
    *,
    named: Mapping[Role, str | int],
    of_format: Mapping[Role, str | int] | None = None,
    has_heading: bool,
    is_without_numbers: bool = False,
    label: str,
) -> Columns:
    """Find the role of every column.

    Parameters
    ----------
    names
        Names of the columns; without a heading, their places.
    samples
        Some values of each column.
    kind
        What the table holds.
    named
        What a person says: names or places of columns, by role.
    of_format
        What the format says of roles that a person does not name; columns may be missing.
    has_heading
        Whether a heading names the columns; without one, their order decides.
    is_without_numbers
        Whether a person says that nothing is rated, so that no rating is looked for.
    label
        The table, for errors.

    Raises
    ------
    InputError
        If a column that a person names is not there.
    """
    assignment = _Assignment(names, samples, kind)
    assignment.name(named, label=label)
    assignment.name_by_format({r: c for r, c in (of_format or {}).items() if r not in named})
    # What a format that fixes columns does not name is not read.
    if not of_format:
        assignment.put_index_aside(has_heading=has_heading)
        if has_heading:
            assignment.by_names()
            assignment.by_values()
            assignment.propose(is_without_numbers=is_without_numbers)
        else:
            assignment.by_order()
        assignment.ask(has_heading=has_heading, is_without_numbers=is_without_numbers)
    assignment.require()
    return Columns(
        kind=kind,
        columns=tuple(assignment.columns),
        has_heading=has_heading,
        questions=tuple(assignment.questions),
    )


class _Assignment:
    """Roles of the columns of one table, as they are found, step by step.

    Parameters
    ----------
    names
        Names of the columns.
    samples
        Some values of each.
    kind
        What the table holds.
    """

    def __init__(self, names: Sequence[str], samples: Sequence[Sample], kind: Kind) -> None:
        self.kind = kind
        self.samples = samples
        self.hints: list[Hint | None] = [hint_of(name) for name in names]
        self.questions: list[str] = []
        self.columns = [
            Column(place, str(name), Role.UNREAD, Reason.NONE, tuple(sample.examples))
            for place, (name, sample) in enumerate(zip(names, samples, strict=True))
        ]

    def name(self, named: Mapping[Role, str | int], *, label: str) -> None:
        """Give columns the roles that a person says."""
        for role, column in named.items():
            self._set(self._place_of(role, column, label=label), role, Reason.NAMED)

    def name_by_format(self, columns: Mapping[Role, str | int]) -> None:
        """Give the columns of a format their roles, as far as they are there."""
        place_of_name = {column.name: column.place for column in reversed(self.columns)}
        for role, column in columns.items():
            place = column if isinstance(column, int) else place_of_name.get(column, -1)
            is_there = 0 <= place < len(self.columns)
            if is_there and self.columns[place].reason == Reason.NONE:
                self._set(place, role, Reason.FORMAT)

    def _place_of(self, role: Role, column: str | int, *, label: str) -> int:
        """Look up the column that a person names, by its name or its place."""
        names = [each.name for each in self.columns]
        if isinstance(column, int):
            if not 0 <= column < len(names):
                raise InputError(
                    f"{label}: no column {column} for the {role}: there are {len(names)}, counted "
                    "from 0."
                )
            return column
        folded = [name.casefold() for name in names]
        if column not in names and column.casefold() not in folded:
            require_known(f"{label}: no column is called", [column], names)
        return names.index(column) if column in names else folded.index(column.casefold())

    def put_index_aside(self, *, has_heading: bool) -> None:
        """Give the column that only counts the rows its role."""
        for column in self._free():
            hint = self.hints[column.place]
            is_called_so = hint is not None and hint.meaning == Meaning.INDEX
            if self.samples[column.place].is_index and is_called_so:
                self._set(column.place, Role.INDEX, Reason.NAME)
        first = self.columns[0]
        if has_heading or first.reason != Reason.NONE or not self.samples[0].is_index:
            return
        moments = [sample for sample in self.samples if sample.is_date or sample.is_unix_time]
        n_further = len(self.columns) - len(moments) - 1
        # User, item and a number are three further columns; then the first counts the rows.
        if n_further < 3 or self.samples[2].is_rating:
            return
        if moments or self.samples[3].is_rating:
            self._set(0, Role.INDEX, Reason.VALUES)
        else:
            self.questions.append(
                f"The first column counts the rows, or holds the users. Say where the users are: "
                f"`{self.kind.option} user=0` or `{self.kind.option} user=1`."
            )

    def by_names(self) -> None:
        """Give each role the column whose name hints at it most clearly."""
        for role, meanings in self.kind.meanings.items():
            if self._has(role) or (role == Role.COUNT and self._has(Role.RATING)):
                continue
            ranked = self._ranked(meanings)
            if not ranked:
                continue
            clearest, place = ranked[0]
            rivals = [other for clearness, other in ranked if clearness == clearest]
            if len(rivals) > 1:
                listed = ", ".join(repr(self.columns[rival].name) for rival in rivals)
                self.questions.append(
                    f"Several columns may be the {role}: {listed}. Name one: "
                    f"`{self.kind.option} {role}={self.columns[rivals[0]].name}`."
                )
                continue
            self._set_unless_vetoed(place, role)

    def _ranked(self, meanings: Sequence[Meaning]) -> list[tuple[tuple[int, int, int], int]]:
        """Rank the columns whose names have one of these meanings: how clear, and the place."""
        ranked = []
        for column in self._free():
            hint = self.hints[column.place]
            if hint is None or hint.meaning not in meanings:
                continue
            if hint.weakness <= self.kind.weakest or hint.meaning == Meaning.NAME:
                clearness = (meanings.index(hint.meaning), hint.weakness, hint.place)
                ranked.append((clearness, column.place))
        return sorted(ranked)

    def _set_unless_vetoed(self, place: int, role: Role) -> None:
        """Give a column the role of its name, unless it cannot hold that."""
        sample = self.samples[place]
        if role in (Role.RATING, Role.COUNT, Role.SCORE) and sample.is_unix_time:
            is_time = Role.TIME in self.kind.meanings and not self._has(Role.TIME)
            remark = f"moments in time, and no {role}s"
            self._set(place, Role.TIME if is_time else Role.UNREAD, Reason.VALUES, remark)
        elif role == Role.TIME and sample.values and not sample.is_time:
            odd = next(text for text in sample.values if not Sample([text]).is_time)
            remark = f"{odd!r} is no time in seconds or milliseconds since 1970, and no date"
            self._set(place, Role.UNREAD, Reason.VALUES, remark)
        elif role == Role.ITEM and sample.is_list and Role.HISTORY in self.kind.meanings:
            self._set(place, Role.HISTORY, Reason.VALUES, "several items in a field")
        else:
            self._set(place, role, Reason.NAME)

    def by_values(self) -> None:
        """Give the one column of dates or of moments the role of the time."""
        if Role.TIME not in self.kind.meanings or self._has(Role.TIME):
            return
        moments = [
            column.place
            for column in self._free()
            if self.samples[column.place].is_date or self.samples[column.place].is_unix_time
        ]
        if len(moments) == 1 and self.columns[moments[0]].reason == Reason.NONE:
            self._set(moments[0], Role.TIME, Reason.VALUES)

    def propose(self, *, is_without_numbers: bool) -> None:
        """Propose a rating by values, and a user or an item where one column is left."""
        if self.kind.name == "ratings" and not (is_without_numbers or self._has_number()):
            numeric = [c for c in self._unnamed() if self.samples[c.place].is_numeric]
            missing = [role for role in self.kind.required if not self._has(role)]
            # A column of numbers may hold the ids that are missing.
            if len(numeric) == 1 and not (missing and len(self._unnamed()) == len(missing)):
                self._set(numeric[0].place, Role.RATING, Reason.PROPOSED)
        missing = [role for role in self.kind.required if not self._has(role)]
        left = self._unnamed()
        if len(missing) == 1 and len(left) == 1 and missing[0] in (Role.USER, Role.ITEM):
            self._set(left[0].place, missing[0], Reason.LEFT)

    def by_order(self) -> None:
        """Give user, item, a number and a time their columns in this order."""
        for role in (Role.USER, Role.ITEM):
            free = self._free()
            if free and not self._has(role):
                self._set(free[0].place, role, Reason.ORDER)
        for column in self._free():
            sample = self.samples[column.place]
            number = next(role for role in (Role.SCORE, Role.RATING) if role in self.kind.meanings)
            is_moment = sample.is_date or sample.is_unix_time
            if sample.is_numeric and not is_moment and not self._has_number():
                self._set(column.place, number, Reason.ORDER)
            elif (
                sample.is_time
                and Role.TIME in self.kind.meanings
                and not self._has(Role.TIME)
                and (is_moment or self._has_number())
            ):
                self._set(column.place, Role.TIME, Reason.ORDER)

    def require(self) -> None:
        """Write down which roles are missing that must be there, and how a person says them."""
        for role in self.kind.required:
            if role == Role.ITEM and self._has(Role.HISTORY):
                continue
            if not self._has(role) and not any(f" the {role}:" in q for q in self.questions):
                self.questions.append(self._missing(role))

    def ask(self, *, has_heading: bool, is_without_numbers: bool) -> None:
        """Write down that it cannot be told which column holds ratings, if that is so."""
        if any(not self._has(role) for role in self.kind.required):
            return
        if self.kind.name != "ratings" or is_without_numbers or self._has_number():
            return
        left = [column for column in self._free() if column.reason == Reason.NONE]
        if has_heading:
            left = [c for c in self._unnamed() if self.samples[c.place].is_numeric]
        if left and not self._has(Role.HISTORY) and not self.questions:
            shown = ", ".join(f"{column.name!r} ({', '.join(column.examples)})" for column in left)
            self.questions.append(
                f"It cannot be told which column holds the ratings: {shown}. Name it: "
                f"`{self.kind.option} rating={left[0].name}`; if nothing is rated: `--implicit`."
            )

    def _missing(self, role: Role) -> str:
        """Ask for the column of a role."""
        free = [column.name for column in self._free()] or [c.name for c in self.columns]
        return (
            f"No column is known to hold the {role}s. Name it: `{self.kind.option} "
            f"{role}={free[0]}` (columns: {', '.join(c.name for c in self.columns)})."
        )

    def _set(self, place: int, role: Role, reason: Reason, remark: str = "") -> None:
        self.columns[place] = replace(self.columns[place], role=role, reason=reason, remark=remark)

    def _has(self, role: Role) -> bool:
        return any(column.role == role for column in self.columns)

    def _has_number(self) -> bool:
        """Tell whether a column holds ratings, counts or scores."""
        return any(self._has(role) for role in (Role.RATING, Role.COUNT, Role.SCORE))

    def _free(self) -> list[Column]:
        """List the columns without a role that nobody has put aside."""
        return [c for c in self.columns if c.role == Role.UNREAD and c.reason == Reason.NONE]

    def _unnamed(self) -> list[Column]:
        """List the columns without a role whose names hint at nothing."""
        return [column for column in self._free() if self.hints[column.place] is None]
