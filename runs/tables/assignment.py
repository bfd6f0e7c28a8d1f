"""Finding the role of every column of a table.

A person may name columns, one at a time; the rest is recognised. Names decide before values. Values
may only veto what a name says, and propose a role where no name says one. The order of columns
decides only where there is no heading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

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
    columns_of_format = of_format or {}
    unnamed_by_person = {
        role: column for role, column in columns_of_format.items() if role not in named
    }
    assignment.name_by_format(unnamed_by_person)
    # What a format that fixes columns does not name is not read.
    if not columns_of_format:
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


NUMBER_ROLES: Final = (Role.RATING, Role.COUNT, Role.SCORE)
"""Roles of columns that hold how much: what is rated, counted or scored."""


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
        self.columns: list[Column] = []
        for place, (name, sample) in enumerate(zip(names, samples, strict=True)):
            column = Column(
                place=place,
                name=str(name),
                role=Role.UNREAD,
                reason=Reason.NONE,
                examples=tuple(sample.examples),
            )
            self.columns.append(column)

    def name(self, named: Mapping[Role, str | int], *, label: str) -> None:
        """Give columns the roles that a person says."""
        for role, column in named.items():
            place = self._place_of(role, column, label=label)
            self._set(place, role, Reason.NAMED)

    def name_by_format(self, columns: Mapping[Role, str | int]) -> None:
        """Give the columns of a format their roles, as far as they are there.

        ``columns`` has places or names by role. Of columns of one name the first counts; a column
        that has a role already keeps it.
        """
        place_of_name = {column.name: column.place for column in reversed(self.columns)}
        for role, column in columns.items():
            place = column if isinstance(column, int) else place_of_name.get(column, -1)
            is_there = 0 <= place < len(self.columns)
            if is_there and self.columns[place].reason == Reason.NONE:
                self._set(place, role, Reason.FORMAT)

    def _place_of(self, role: Role, column: str | int, *, label: str) -> int:
        """Look up the column that a person names, by its name or its place.

        Capitals count only where names differ in nothing else. Raises InputError for a column that
        is not there.
        """
        n_columns = len(self.columns)
        if isinstance(column, int):
            if not 0 <= column < n_columns:
                raise InputError(
                    f"{label}: no column {column} for the {role}: there are {n_columns}, counted "
                    "from 0."
                )
            return column
        names = [known_column.name for known_column in self.columns]
        if column in names:
            return names.index(column)
        folded_names = [name.casefold() for name in names]
        folded_column = column.casefold()
        if folded_column not in folded_names:
            require_known(f"{label}: no column is called", [column], names)
        return folded_names.index(folded_column)

    def put_index_aside(self, *, has_heading: bool) -> None:
        """Give the column that only counts the rows (0, 1, 2, ... or from 1) its role.

        That is one called as an index; without a heading, the first column if user, item and a
        number stand behind it. Where these may begin with the first column, that is a question.
        """
        for column in self._free():
            hint = self.hints[column.place]
            is_called_so = hint is not None and hint.meaning == Meaning.INDEX
            if self.samples[column.place].is_index and is_called_so:
                self._set(column.place, Role.INDEX, Reason.NAME)
        has_role = self.columns[0].reason != Reason.NONE
        if has_heading or has_role or not self.samples[0].is_index:
            return
        n_moments = len([sample for sample in self.samples if _is_moment(sample)])
        n_further = len(self.columns) - n_moments - 1
        # User, item and a number are three further columns; then the first counts the rows.
        if n_further < 3 or self.samples[2].is_rating:
            return
        if n_moments or self.samples[3].is_rating:
            self._set(0, Role.INDEX, Reason.VALUES)
            return
        option = self.kind.option
        self.questions.append(
            "The first column counts the rows, or holds the users. Say where the users are: "
            f"`{option} user=0` or `{option} user=1`."
        )

    def by_names(self) -> None:
        """Give each role the column whose name hints at it most clearly.

        ``self.kind.meanings`` has by role what names can mean. Two columns that hint equally
        clearly are a question, with neither of them chosen. A count is not looked for beside a
        rating.
        """
        for role, meanings in self.kind.meanings.items():
            if self._has(role) or (role == Role.COUNT and self._has(Role.RATING)):
                continue
            ranked = self._ranked(meanings)
            if not ranked:
                continue
            highest_clearness, place = ranked[0]
            rival_places = [
                rival_place for clearness, rival_place in ranked if clearness == highest_clearness
            ]
            if len(rival_places) == 1:
                self._set_unless_vetoed(place, role)
                continue
            rivals = [self.columns[rival_place].name for rival_place in rival_places]
            listed = ", ".join(map(repr, rivals))
            self.questions.append(
                f"Several columns may be the {role}: {listed}. Name one: "
                f"`{self.kind.option} {role}={rivals[0]}`."
            )

    def _ranked(self, meanings: Sequence[Meaning]) -> list[tuple[tuple[int, int, int], int]]:
        """Rank the columns whose names have one of these meanings: how clear, and the place.

        The clearest comes first. Clearness is the place of the meaning, the weakness of the hint
        and the place of its word, all from 0; less is clearer.
        """
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
        """Give a column the role of its name, unless it cannot hold that.

        Moments in time are no numbers, and get the role of the time if that is free; what is no
        time is not read; several items in a field are a history, if the kind of table has one.
        """
        sample = self.samples[place]
        if role in NUMBER_ROLES and sample.is_unix_time:
            role_by_values = Role.TIME if self._may_set_time() else Role.UNREAD
            remark = f"moments in time, and no {role}s"
            self._set(place, role_by_values, Reason.VALUES, remark)
        elif role == Role.TIME and sample.values and not sample.is_time:
            odd_value = next(text for text in sample.values if not Sample([text]).is_time)
            remark = f"{odd_value!r} is no time in seconds or milliseconds since 1970, and no date"
            self._set(place, Role.UNREAD, Reason.VALUES, remark)
        elif role == Role.ITEM and sample.is_list and Role.HISTORY in self.kind.meanings:
            self._set(place, Role.HISTORY, Reason.VALUES, "several items in a field")
        else:
            self._set(place, role, Reason.NAME)

    def by_values(self) -> None:
        """Give the one column of events, and the one of dates or moments, their roles.

        Only columns without a role count; where several fit, none gets the role.
        """
        may_set_event = Role.EVENT in self.kind.meanings and not self._has(Role.EVENT)
        event_columns = [c for c in self._free() if self.samples[c.place].are_events]
        if may_set_event and len(event_columns) == 1:
            self._set(event_columns[0].place, Role.EVENT, Reason.VALUES)
        if not self._may_set_time():
            return
        moments = [column for column in self._free() if _is_moment(self.samples[column.place])]
        if len(moments) == 1:
            self._set(moments[0].place, Role.TIME, Reason.VALUES)

    def propose(self, *, is_without_numbers: bool) -> None:
        """Propose a rating by values, and a user or an item where one column is left.

        One is left where one role is missing, and one column has no role and a name that hints at
        nothing. A rating is proposed in tables of ratings alone.
        """
        is_rating_missing = not is_without_numbers and not self._has_number()
        if self.kind.name == "ratings" and is_rating_missing:
            self._propose_rating()
        missing_roles = self._missing_roles()
        unnamed_columns = self._unnamed()
        if len(missing_roles) == 1 and len(unnamed_columns) == 1:
            role = missing_roles[0]
            if role in (Role.USER, Role.ITEM):
                self._set(unnamed_columns[0].place, role, Reason.LEFT)

    def _propose_rating(self) -> None:
        """Propose the one column of numbers whose name hints at nothing as the rating.

        Nothing is proposed where several are such, or the column may hold a missing user or item.
        """
        unnamed_columns = self._unnamed()
        numeric_columns = self._numeric(unnamed_columns)
        n_missing = len(self._missing_roles())
        # A column of numbers may hold the ids that are missing.
        may_be_ids = n_missing > 0 and len(unnamed_columns) == n_missing
        if len(numeric_columns) == 1 and not may_be_ids:
            self._set(numeric_columns[0].place, Role.RATING, Reason.PROPOSED)

    def by_order(self) -> None:
        """Give user, item, a number and a time their columns in this order.

        The number is a score where such tables have one, else a rating. What may be either a number
        or a time is a number if there is none yet, unless it is a date or a moment from 1990 on.
        """
        for role in (Role.USER, Role.ITEM):
            free_columns = self._free()
            if not free_columns or self._has(role):
                continue
            place = free_columns[0].place
            has_lists = self.samples[place].is_list and Role.HISTORY in self.kind.meanings
            if role == Role.ITEM and has_lists:
                self._set(place, Role.HISTORY, Reason.ORDER, "several items in a field")
            else:
                self._set(place, role, Reason.ORDER)
        number = Role.SCORE if Role.SCORE in self.kind.meanings else Role.RATING
        for column in self._free():
            sample = self.samples[column.place]
            is_moment = _is_moment(sample)
            has_number = self._has_number()
            may_be_time = sample.is_time and (is_moment or has_number)
            if sample.is_numeric and not is_moment and not has_number:
                self._set(column.place, number, Reason.ORDER)
            elif may_be_time and self._may_set_time():
                self._set(column.place, Role.TIME, Reason.ORDER)

    def require(self) -> None:
        """Write down which roles are missing that must be there, and how a person says them.

        They become questions, unless one is asked already. A history stands for the item.
        """
        for role in self._missing_roles():
            if role == Role.ITEM and self._has(Role.HISTORY):
                continue
            is_asked = any(f" the {role}:" in question for question in self.questions)
            if not is_asked:
                self.questions.append(self._missing(role))

    def ask(self, *, has_heading: bool, is_without_numbers: bool) -> None:
        """Write down that it cannot be told which column holds ratings, if that is so.

        That is a question where all else is settled, the table is of ratings, and none of its
        columns has ratings, counts or several items, but some column may. Such a column is one of
        numbers whose name hints at nothing; without a heading, any column without a role.
        """
        if self.questions or self._missing_roles():
            return
        if self.kind.name != "ratings" or is_without_numbers:
            return
        if self._has_number() or self._has(Role.HISTORY):
            return
        candidates = self._numeric(self._unnamed()) if has_heading else self._free()
        if not candidates:
            return
        shown_columns = []
        for column in candidates:
            examples = ", ".join(column.examples)
            shown_columns.append(f"{column.name!r} ({examples})")
        listed = ", ".join(shown_columns)
        rated_columns = [c for c in candidates if self.samples[c.place].has_repeats]
        example = rated_columns[0].name if len(rated_columns) == 1 else "NAME"
        self.questions.append(
            f"It cannot be told which column holds the ratings: {listed}. Name it: "
            f"`{self.kind.option} rating={example}`, or, for amounts such as "
            f"quantities, `{self.kind.option} count={example}`; if nothing is rated: `--implicit`."
        )

    def _missing(self, role: Role) -> str:
        """Ask for the column of a role; the example names a column only if it may well be it."""
        likely_columns = [column for column in self._unnamed() if self._may_have_ids(column)]
        example = likely_columns[0].name if len(likely_columns) == 1 else "NAME"
        listed = ", ".join(column.name for column in self.columns)
        return (
            f"No column is known to hold the {role}s. Name it: `{self.kind.option} "
            f"{role}={example}` (columns: {listed})."
        )

    def _may_have_ids(self, column: Column) -> bool:
        """Tell whether values of a column come again, as ids of users and items do."""
        sample = self.samples[column.place]
        return sample.has_repeats and not _is_moment(sample)

    def _set(self, place: int, role: Role, reason: Reason, remark: str = "") -> None:
        column = self.columns[place]
        self.columns[place] = replace(column, role=role, reason=reason, remark=remark)

    def _has(self, role: Role) -> bool:
        return any(column.role == role for column in self.columns)

    def _has_number(self) -> bool:
        """Tell whether a column holds ratings, counts or scores."""
        return any(self._has(role) for role in NUMBER_ROLES)

    def _may_set_time(self) -> bool:
        """Tell whether such a table can have a time, and no column has it yet."""
        return Role.TIME in self.kind.meanings and not self._has(Role.TIME)

    def _missing_roles(self) -> list[Role]:
        """List the roles that must be there and that no column has."""
        return [role for role in self.kind.required if not self._has(role)]

    def _free(self) -> list[Column]:
        """List the columns without a role that nobody has put aside."""
        unread = [column for column in self.columns if column.role == Role.UNREAD]
        return [column for column in unread if column.reason == Reason.NONE]

    def _unnamed(self) -> list[Column]:
        """List the columns without a role whose names hint at nothing."""
        return [column for column in self._free() if self.hints[column.place] is None]

    def _numeric(self, columns: Sequence[Column]) -> list[Column]:
        """Choose the columns whose values are numbers."""
        return [column for column in columns if self.samples[column.place].is_numeric]


def _is_moment(sample: Sample) -> bool:
    """Tell whether the values of a column are dates, or moments from 1990 to 2040 as numbers."""
    return sample.is_date or sample.is_unix_time
