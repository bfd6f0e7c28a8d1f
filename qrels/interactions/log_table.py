"""Tables of a log: CSV or Parquet files of any size, checked and read through DuckDB.

Text of queries is made of column names and constants of this project, never of what a file holds.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runs import InputError, Numbering
from runs.shared.errors import as_input_error
from runs.shared.files import PARQUET

MEMORY: Final = "1GB"
"""What DuckDB may use; the rest goes to its temporary folder. Results do not depend on it."""

FIRST_YEAR: Final = 2000
"""Times before are taken for seconds and refused, unless an earlier year is given."""

VECTORS_AT_ONCE: Final = 200
"""Of 2,048 rows each."""

INTEGERS: Final = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
}
COUNTED: Final = r"-?\d{1,18}"
WITH_ZONE: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)"
TIMES: Final = (
    "a time must be whole milliseconds since 1970 in UTC, or a timestamp with its time zone such "
    "as 2026-01-31T20:15:00Z"
)


class Rule(NamedTuple):
    """Which rows are refused: an SQL condition, and a sentence to be formatted with what is wrong.

    That is the value of the column, or of another SQL expression.
    """

    column: str
    broken: str
    finding: str
    value: str | None = None


class ColumnQuery(NamedTuple):
    """How a column is read: an SQL expression, and the rules its values must keep."""

    expression: str
    rules: Sequence[Rule]
    is_id: bool = False


@dataclass(frozen=True, eq=False)
class LogTable:
    """A table of a log: a CSV file, a Parquet file, or all Parquet files of a folder.

    ``source`` is an SQL expression of its rows in any order, with the columns ``log_file`` (number
    of the file, from 1) and ``log_row`` (from 0 in that file) beside its own, whose DuckDB types
    are in ``types``.
    """

    database: LogDatabase
    path: Path
    files: tuple[Path, ...]
    types: Mapping[str, str]
    source: str

    def __contains__(self, name: str) -> bool:
        return name in self.types

    def require(self, *names: str) -> None:
        """Refuse a table that lacks one of these columns."""
        for name in names:
            if name not in self.types:
                close = get_close_matches(name, self.types, n=1)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                found = ", ".join(self.types)
                raise InputError(f"{self.path}: there is no column {name!r} among {found}.{hint}")

    def error(self, column: str, finding: str, *, file: int = 1, row: int = 0) -> InputError:
        """Name the file (from 1), the row (given from 0; without a header) and the column."""
        return InputError(f"{self.files[file - 1]}, row {row + 1}, column {column!r}: {finding}")

    def check_rules(self, rules: Sequence[Rule], source: str | None = None) -> None:
        """Refuse the first row that breaks the first rule that any row breaks.

        Rows are those of the table, or of another SQL expression with ``log_file``, ``log_row``.
        """
        of = source or self.source
        if not rules:
            return
        places = [f"min({PLACE}) FILTER (WHERE {rule.broken})" for rule in rules]
        found = self.database.fetch_row(f"SELECT {', '.join(places)} FROM {of}")
        for rule, place in zip(rules, found, strict=True):
            if place is not None:
                file, row = divmod(place, ROWS_OF_FILE)
                value = rule.value or quote_name(rule.column)
                # A condition may be lost in the statistics of Parquet, which know no NaN.
                first = f"arg_min({value}, {PLACE}) FILTER (WHERE {rule.broken})"
                (wrong,) = self.database.fetch_row(f"SELECT {first} FROM {of}")
                raise self.error(rule.column, rule.finding.format(wrong), file=file, row=row)

    def view(self, name: str, kinds: Mapping[str, Callable[[LogTable, str], ColumnQuery]]) -> None:
        """Check columns, and make a view of them for queries."""
        self.require(*kinds)
        read = {column: kind(self, column) for column, kind in kinds.items()}
        self.check_rules([rule for kind in read.values() for rule in kind.rules])
        columns = [f"{kind.expression} AS {quote_name(column)}" for column, kind in read.items()]
        self.database.run(
            f"CREATE OR REPLACE TEMP VIEW {name} AS "
            f"SELECT log_file, log_row, {', '.join(columns)} FROM {self.source}"
        )

    def read(
        self,
        kinds: Mapping[str, Callable[[LogTable, str], ColumnQuery]],
        *,
        order: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Read columns as arrays, in the order of other columns and then of the file.

        Ids come as their numbering, in the order of their text, and the number of each row's (-1
        for none), int32.
        """
        self.view("log_columns", kinds)
        ids = [name for name, kind in kinds.items() if kind(self, name).is_id]
        for name in ids:
            self.database.number_ids(f"{name}_ids", f"SELECT {quote_name(name)} FROM log_columns")
        columns = [
            f"coalesce({name}_ids.number, -1) AS {name}" if name in ids else f"c.{quote_name(name)}"
            for name in kinds
        ]
        joins = [f"LEFT JOIN {name}_ids ON {name}_ids.id = c.{quote_name(name)}" for name in ids]
        by = [f"{name}_ids.number" if name in ids else f"c.{name}" for name in order]
        arrays = self.database.fetch_arrays(
            f"SELECT {', '.join(columns)} FROM log_columns c {' '.join(joins)} "
            f"ORDER BY {', '.join([*by, 'log_file', 'log_row'])}",
            n_rows=self.database.fetch_row(f"SELECT count(*) FROM {self.source}")[0],
        )
        return {
            name: (self.database.fetch_numbering(f"{name}_ids"), array) if name in ids else array
            for name, array in zip(kinds, arrays, strict=True)
        }


ROWS_OF_FILE: Final = 2**40
PLACE: Final = f"(log_file::BIGINT * {ROWS_OF_FILE} + log_row)"


@dataclass(frozen=True, eq=False)
class LogDatabase:
    """A DuckDB database that lasts as long as a log is read; see `log_database`."""

    connection: Any
    first_year: int

    def open(self, path: str | Path) -> LogTable:
        """Open a table, and read the names and types of its columns."""
        path = Path(path)
        if path.is_dir():
            files = tuple(sorted(path.rglob("*.parquet"), key=str))
            if not files:
                raise InputError(f"{path}: the folder has no file *.parquet.")
            return self._of_parquet(path, files)
        what = f"{path}: cannot be read as Parquet or CSV"
        with as_input_error(what, OSError), path.open("rb") as stream:
            is_parquet = stream.read(len(PARQUET)) == PARQUET
        return self._of_parquet(path, (path,)) if is_parquet else self._of_csv(path)

    def _of_parquet(self, path: Path, files: tuple[Path, ...]) -> LogTable:
        listed = ", ".join(map(quote_text, files))
        # DuckDB takes the names of files for patterns.
        patterns = ", ".join(quote_text(escape(str(file))) for file in files)
        rows = (
            f"read_parquet([{patterns}], union_by_name = true, hive_partitioning = false, "
            "filename = 'log_name', file_row_number = true)"
        )
        described = self.run(f"DESCRIBE SELECT * EXCLUDE (log_name, file_row_number) FROM {rows}")
        kinds = {str(name): str(kind) for name, kind, *_ in described.fetchall()}
        source = (
            f"(SELECT * EXCLUDE (log_name, file_row_number), list_position([{listed}], log_name) "
            f"AS log_file, file_row_number AS log_row FROM {rows})"
        )
        return LogTable(self, path, files, kinds, source)

    def _of_csv(self, path: Path) -> LogTable:
        """Copy a CSV file, whose every field is text, so that it is parsed once."""
        import duckdb

        what = f"{path}: cannot be read as Parquet or CSV"
        with (
            as_input_error(what, UnicodeDecodeError),
            path.open(newline="", encoding="utf-8-sig") as lines,
        ):
            names = next(csv.reader(lines), [])
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{path}: two columns are called {twice!r}.")
        if not names:
            raise InputError(f"{path}: cannot be read as Parquet or CSV (the file is empty).")
        kinds = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in names)
        table = f"csv_{self.fetch_row('SELECT count(*) FROM duckdb_tables()')[0]}"
        rows = (
            f"read_csv({quote_text(escape(str(path)))}, columns = {{{kinds}}}, "
            "auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
            "nullstr = '')"
        )
        try:
            self.connection.execute(f"CREATE TEMP TABLE {table} AS SELECT * FROM {rows}")
        except duckdb.Error as error:
            raise _csv_error(path, error) from error
        source = f"(SELECT *, 1 AS log_file, rowid AS log_row FROM {table})"
        return LogTable(self, path, (path,), dict.fromkeys(names, "VARCHAR"), source)

    def run(self, query: str) -> Any:
        """Run a query; what DuckDB refuses then, it finds in the files."""
        import duckdb

        try:
            return self.connection.execute(query)
        except duckdb.Error as error:
            files = ", ".join(dict.fromkeys(re.findall(r"'([^']*\.parquet)'", query))) or "the log"
            told = f"{files}: cannot be read as Parquet or CSV"
            raise InputError(f"{told} ({_first_line(error)}).") from error

    def fetch_row(self, query: str) -> tuple[Any, ...]:
        """Give the only row of a result."""
        return self.run(query).fetchone()

    def fetch_arrays(self, query: str, *, n_rows: int | None = None) -> list[NDArray[Any]]:
        """Give the columns of a result without missing values, which is never in memory twice."""
        if n_rows is None:
            n_rows = self.fetch_row(f"SELECT count(*) FROM ({query})")[0]
        result = self.run(query)
        part, first = result.fetch_df_chunk(VECTORS_AT_ONCE), 0
        columns = [np.empty(n_rows, dtype=kind) for kind in part.dtypes]
        while len(part):
            for column, (_, values) in zip(columns, part.items(), strict=True):
                column[first : first + len(part)] = values
            first += len(part)
            part = result.fetch_df_chunk(VECTORS_AT_ONCE)
        return columns

    def number_ids(self, table: str, query: str) -> None:
        """Make a table of the distinct ids of a query and their numbers, in the order of text."""
        self.run(
            f"CREATE OR REPLACE TEMP TABLE {table} AS "
            "SELECT id, (row_number() OVER (ORDER BY id) - 1)::INTEGER AS number "
            f"FROM (SELECT DISTINCT id FROM ({query}) AS ids (id) WHERE id IS NOT NULL)"
        )

    def fetch_numbering(self, table: str) -> Numbering:
        """Give the ids of a table of `number_ids`."""
        result = self.run(f"SELECT id FROM {table} ORDER BY number")
        ids = [np.empty(0, dtype=np.str_)]
        while len(part := result.fetch_df_chunk(VECTORS_AT_ONCE)):
            ids.append(part["id"].to_numpy().astype(np.str_))
        return Numbering(np.concatenate(ids))


@contextmanager
def log_database(
    folder: Path | None = None, *, first_year: int | None = None, n_jobs: int | None = None
) -> Iterator[LogDatabase]:
    """Start DuckDB, which keeps what is larger than its memory in a temporary subfolder.

    The subfolder is removed. Nothing is downloaded. Times before the first year are refused.
    """
    import duckdb

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="harness-log-", dir=folder) as scratch:
        config: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "memory_limit": MEMORY,
            "temp_directory": scratch,
        }
        if n_jobs is not None:
            config["threads"] = str(n_jobs)
        connection = duckdb.connect(config=config)
        try:
            connection.execute("SET enable_progress_bar = false")
            yield LogDatabase(connection, FIRST_YEAR if first_year is None else first_year)
        finally:
            connection.close()


def id_column(table: LogTable, name: str, *, optional: bool = False) -> ColumnQuery:
    """Ids: text or whole numbers, none of them empty unless they are optional."""
    found = table.types[name]
    if found != "VARCHAR" and found not in INTEGERS:
        raise table.error(name, f"ids must be text or whole numbers, found {found}.")
    expression = f"nullif({quote_name(name)}::VARCHAR, '')"
    rule = Rule(name, f"{expression} IS NULL", "an id must not be empty.")
    return ColumnQuery(expression, [] if optional else [rule], is_id=True)


def time_column(table: LogTable, name: str) -> ColumnQuery:
    """Times as milliseconds since 1970 in UTC, rounded down; local times are refused."""
    column, found = quote_name(name), table.types[name]
    rules = [Rule(name, f"{column} IS NULL", "a time must be given.")]
    wrong = f"{TIMES}, got {{!r}}."
    if found == "VARCHAR":
        counted, zoned = (
            f"regexp_full_match({column}, {quote_text(pattern)})"
            for pattern in (COUNTED, WITH_ZONE)
        )
        digits = rf"regexp_replace({column}, '(\.\d{{3}})\d+', '\1')"
        expression = (
            f"CASE WHEN {counted} THEN TRY_CAST({column} AS BIGINT) "
            f"WHEN {zoned} THEN epoch_ms(TRY_CAST({digits} AS TIMESTAMPTZ)) END"
        )
    elif found in INTEGERS:
        expression = f"TRY_CAST({column} AS BIGINT)"
    elif found == "TIMESTAMP WITH TIME ZONE":
        expression = f"epoch_ms({column})"
    elif found == "TIMESTAMPTZ_NS":
        expression = f"epoch_ns({column}) // 1000000"
    elif found.startswith("TIMESTAMP"):
        raise table.error(name, f"{TIMES}; the column has timestamps without one.")
    else:
        raise table.error(name, f"{TIMES}, found {found}.")
    rules.append(Rule(name, f"{column} IS NOT NULL AND {expression} IS NULL", wrong))
    year = table.database.first_year
    earliest = int(np.datetime64(f"{year:04}-01-01", "ms").astype(np.int64))

    early = (
        f"a time must be of the year {year} or later, got {{}} ms: seconds? If it is right, give "
        "an earlier --first-year."
    )
    rules.append(Rule(name, f"{expression} < {earliest}", early, value=expression))
    return ColumnQuery(expression, rules)


def number_column(table: LogTable, name: str, *, optional: bool = False) -> ColumnQuery:
    """Finite numbers, none of them missing unless they are optional: NaN."""
    column = quote_name(name)
    number = f"TRY_CAST({column} AS DOUBLE)"
    given = f"{column} IS NOT NULL AND " * optional
    rules = [
        Rule(name, f"{given}{number} IS NULL", "a number must be given, got {!r}."),
        Rule(name, f"NOT isfinite({number})", "a number must be finite."),
    ]
    return ColumnQuery(f"coalesce({number}, 'nan'::DOUBLE)", rules)


def quote_name(name: str) -> str:
    """Write a name of a column for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(value: object) -> str:
    """Write a text for SQL."""
    return "'" + str(value).replace("'", "''") + "'"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _csv_error(path: Path, error: Exception) -> InputError:
    """Say what DuckDB could not read, and in which row, if it says so."""
    line = re.search(r"CSV Error on Line: (\d+)", str(error))
    widths = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", str(error))
    if line is None or widths is None:
        return InputError(f"{path}: cannot be read as Parquet or CSV ({_first_line(error)}).")
    expected, found = widths.groups()
    # The header is the first line.
    row = int(line[1]) - 1
    return InputError(f"{path}, row {row}: {expected} fields expected, found {found}.")
