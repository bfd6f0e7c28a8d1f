"""Tables of a log: CSV or Parquet files of any size, checked and read through DuckDB.

The text of queries holds column names and constants of this project, never values in a file.
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
from typing import Any, Final, NamedTuple, TypeAlias

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
"""Number of blocks of 2,048 rows that are fetched at once."""

INTEGERS: Final = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
}
"""DuckDB's types of whole numbers."""

MILLISECONDS: Final = r"-?\d{1,18}"
TIME_WITH_ZONE: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)"
TIMES: Final = (
    "a time must be whole milliseconds since 1970 in UTC, or a timestamp with its time zone such "
    "as 2026-01-31T20:15:00Z"
)


class Rule(NamedTuple):
    """A rule that rows of a column must keep.

    ``column``: name of the column; ``condition``: an SQL condition that holds for rows that break
    the rule; ``finding``: a sentence with a place {} for the value that breaks it; ``value``: SQL
    expression of that value, by default the column.
    """

    column: str
    condition: str
    finding: str
    value: str | None = None


class ColumnQuery(NamedTuple):
    """How a column is read: an SQL expression, rules of its values, and whether it holds ids."""

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
        """Raise an InputError if the table lacks one of the columns with these names.

        ``self.types`` has the type of each column by name. The message suggests a close name.
        """
        for name in names:
            if name not in self.types:
                close_names = get_close_matches(name, self.types, n=1)
                hint = f" Did you mean {close_names[0]!r}?" if close_names else ""
                columns = ", ".join(self.types)
                raise InputError(f"{self.path}: there is no column {name!r} among {columns}.{hint}")

    def error(self, column: str, finding: str, *, file: int = 1, row: int = 0) -> InputError:
        """Make an error that names the file, the row and the column.

        ``file`` counts from 1, ``row`` from 0, without a header; in the sentence it is from 1.
        """
        path = self.files[file - 1]
        return InputError(f"{path}, row {row + 1}, column {column!r}: {finding}")

    def check_rules(self, rules: Sequence[Rule], source: str | None = None) -> None:
        """Raise an InputError if a row breaks a rule, for the first such rule and its first row.

        ``rules`` are in this order; the condition of a rule holds for rows that break it, and its
        finding words the error. Rows are those of the table, or of ``source``: another SQL
        expression of rows, with the columns ``log_file`` (from 1) and ``log_row`` (from 0).
        """
        if not rules:
            return
        rows = source or self.source
        first_places = [f"min({PLACE}) FILTER (WHERE {rule.condition})" for rule in rules]
        columns = ", ".join(first_places)
        places = self.database.fetch_row(f"SELECT {columns} FROM {rows}")
        for rule, place in zip(rules, places, strict=True):
            if place is None:
                continue
            # A place is file times ROWS_OF_FILE plus row.
            file, row = divmod(place, ROWS_OF_FILE)
            value = rule.value or quote_name(rule.column)
            # A condition may be lost in the statistics of Parquet, which know no NaN.
            first_value = f"arg_min({value}, {PLACE}) FILTER (WHERE {rule.condition})"
            (wrong_value,) = self.database.fetch_row(f"SELECT {first_value} FROM {rows}")
            finding = rule.finding.format(wrong_value)
            raise self.error(rule.column, finding, file=file, row=row)

    def view(self, name: str, readers: Mapping[str, ColumnReader]) -> None:
        """Check columns, and create a temporary SQL view of them, called ``name``.

        ``readers``: functions that make the SQL expression and the rules of a column, by the name
        of the column. The view has these columns, and before them ``log_file`` and ``log_row``, the
        numbers of file and row. Raises InputError if a column is missing or breaks a rule.
        """
        self.require(*readers)
        rules: list[Rule] = []
        columns = []
        for column, reader in readers.items():
            query = reader(self, column)
            rules.extend(query.rules)
            columns.append(f"{query.expression} AS {quote_name(column)}")
        self.check_rules(rules)
        self.database.run(
            f"CREATE OR REPLACE TEMP VIEW {name} AS "
            f"SELECT log_file, log_row, {', '.join(columns)} FROM {self.source}"
        )

    def read(
        self, readers: Mapping[str, ColumnReader], *, order: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Read columns as arrays.

        Parameters
        ----------
        readers
            Functions that make the SQL expression and the rules of a column, by the name of the
            column, such as `id_column`.
        order
            Columns by which rows are sorted, ids by their numbers; then rows are as in the file.

        Returns
        -------
        By column: an array of shape (n_rows,); for ids a pair of their numbering, in the order of
        their text, and the number of each row's id, int32, -1 for none.

        Raises
        ------
        InputError
            If a column is missing or breaks a rule.
        """
        self.view("log_columns", readers)
        id_names = [name for name, reader in readers.items() if reader(self, name).is_id]
        for name in id_names:
            query = f"SELECT {quote_name(name)} FROM log_columns"
            self.database.number_ids(f"{name}_ids", query)
        (n_rows,) = self.database.fetch_row(f"SELECT count(*) FROM {self.source}")
        query = _columns_query(list(readers), id_names, order)
        arrays = self.database.fetch_arrays(query, n_rows=n_rows)
        columns: dict[str, Any] = dict(zip(readers, arrays, strict=True))
        for name in id_names:
            numbering = self.database.fetch_numbering(f"{name}_ids")
            columns[name] = (numbering, columns[name])
        return columns


ColumnReader: TypeAlias = Callable[[LogTable, str], ColumnQuery]
"""Makes the query of the column of a table that has a name."""

ROWS_OF_FILE: Final = 2**40
PLACE: Final = f"(log_file::BIGINT * {ROWS_OF_FILE} + log_row)"
"""SQL expression of file and row as one number."""


def _columns_query(names: Sequence[str], id_names: Sequence[str], order: Sequence[str]) -> str:
    """Write the query of columns of the view ``log_columns``, with numbers in place of ids.

    The numbers of ids, of the columns ``id_names``, are in tables such as ``user_ids``; -1 stands
    for none. ``order``: columns by which rows are sorted before they are as in the file.
    """
    columns = []
    for name in names:
        if name in id_names:
            columns.append(f"coalesce({name}_ids.number, -1) AS {name}")
        else:
            columns.append(f"c.{quote_name(name)}")
    joins = []
    for name in id_names:
        joins.append(f"LEFT JOIN {name}_ids ON {name}_ids.id = c.{quote_name(name)}")
    sort_keys = []
    for name in order:
        sort_keys.append(f"{name}_ids.number" if name in id_names else f"c.{name}")
    sort_keys += ["log_file", "log_row"]
    return (
        f"SELECT {', '.join(columns)} FROM log_columns c {' '.join(joins)} "
        f"ORDER BY {', '.join(sort_keys)}"
    )


@dataclass(frozen=True, eq=False)
class LogDatabase:
    """A DuckDB database that lasts as long as a log is read; see `log_database`.

    Times before ``first_year`` are refused.
    """

    connection: Any
    first_year: int

    def open(self, path: str | Path) -> LogTable:
        """Open a CSV or Parquet file, or a folder, and read names and types of its columns.

        Raises InputError if it cannot be read, or a folder has no Parquet files.
        """
        path = Path(path)
        if path.is_dir():
            files = tuple(sorted(path.rglob("*.parquet"), key=str))
            if not files:
                raise InputError(f"{path}: the folder has no file *.parquet.")
            return self._open_parquet(path, files)
        with as_input_error(_unreadable(path), OSError), path.open("rb") as stream:
            is_parquet = stream.read(len(PARQUET)) == PARQUET
        if is_parquet:
            return self._open_parquet(path, (path,))
        return self._open_csv(path)

    def _open_parquet(self, path: Path, files: tuple[Path, ...]) -> LogTable:
        """Describe Parquet files as one table; each query reads them anew.

        ``path`` is the file or the folder of ``files``, for messages. A column that some of the
        files lack is NULL there. Raises InputError if a file cannot be read.
        """
        listed_files = ", ".join(map(quote_text, files))
        # DuckDB takes the names of files for patterns.
        escaped_names = [escape(str(file)) for file in files]
        patterns = ", ".join(map(quote_text, escaped_names))
        rows = (
            f"read_parquet([{patterns}], union_by_name = true, hive_partitioning = false, "
            "filename = 'log_name', file_row_number = true)"
        )
        described = self.run(f"DESCRIBE SELECT * EXCLUDE (log_name, file_row_number) FROM {rows}")
        types = {}
        for name, type_name, *_ in described.fetchall():
            types[str(name)] = str(type_name)
        source = (
            "(SELECT * EXCLUDE (log_name, file_row_number), "
            f"list_position([{listed_files}], log_name) AS log_file, file_row_number AS log_row "
            f"FROM {rows})"
        )
        return LogTable(self, path, files, types, source)

    def _open_csv(self, path: Path) -> LogTable:
        """Copy a CSV file into a temporary table of the database, so that it is parsed once.

        Its first line names the columns; all of them are text, and an empty field is NULL. Raises
        InputError if the file is empty, no UTF-8 or no valid CSV, or has two columns of one name.
        """
        import duckdb

        with (
            as_input_error(_unreadable(path), UnicodeDecodeError),
            path.open(newline="", encoding="utf-8-sig") as lines,
        ):
            names = next(csv.reader(lines), [])
        repeated_name = next((name for name in names if names.count(name) > 1), None)
        if repeated_name is not None:
            raise InputError(f"{path}: two columns are called {repeated_name!r}.")
        if not names:
            raise InputError(f"{_unreadable(path)} (the file is empty).")
        types = ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in names)
        n_tables = self.fetch_row("SELECT count(*) FROM duckdb_tables()")[0]
        table = f"csv_{n_tables}"
        rows = (
            f"read_csv({quote_text(escape(str(path)))}, columns = {{{types}}}, "
            "auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
            "nullstr = '')"
        )
        try:
            self.connection.execute(f"CREATE TEMP TABLE {table} AS SELECT * FROM {rows}")
        except duckdb.Error as error:
            raise _csv_error(path, error) from error
        source = f"(SELECT *, 1 AS log_file, rowid AS log_row FROM {table})"
        column_types = dict.fromkeys(names, "VARCHAR")
        return LogTable(self, path, (path,), column_types, source)

    def run(self, query: str) -> Any:
        """Run a query, and return DuckDB's result.

        Raises InputError if it fails, with the Parquet files that it reads: the queries of this
        program are right, so that their content is wrong.
        """
        import duckdb

        try:
            return self.connection.execute(query)
        except duckdb.Error as error:
            parquet_files = dict.fromkeys(re.findall(r"'([^']*\.parquet)'", query))
            files = ", ".join(parquet_files) or "the log"
            raise InputError(f"{_unreadable(files)} ({_first_line(error)}).") from error

    def fetch_row(self, query: str) -> tuple[Any, ...]:
        """Run a query, and return the only row of its result."""
        return self.run(query).fetchone()

    def fetch_arrays(self, query: str, *, n_rows: int | None = None) -> list[NDArray[Any]]:
        """Run a query, and return the columns of its result, each of shape (n_rows,).

        The result must have no missing values; it is never in memory twice. ``n_rows``: its number
        of rows; by default another query counts them. Raises InputError if the query fails.
        """
        if n_rows is None:
            n_rows = self.fetch_row(f"SELECT count(*) FROM ({query})")[0]
        result = self.run(query)
        chunk = result.fetch_df_chunk(VECTORS_AT_ONCE)
        columns = [np.empty(n_rows, dtype=dtype) for dtype in chunk.dtypes]
        first_row = 0
        while len(chunk):
            end_row = first_row + len(chunk)
            for column, (_, values) in zip(columns, chunk.items(), strict=True):
                column[first_row:end_row] = values
            first_row = end_row
            chunk = result.fetch_df_chunk(VECTORS_AT_ONCE)
        return columns

    def number_ids(self, table: str, query: str) -> None:
        """Create a temporary table of the distinct ids of a query and their numbers, from 0.

        Its columns are id, in the order of text, and number. The query has one column.
        """
        self.run(
            f"CREATE OR REPLACE TEMP TABLE {table} AS "
            "SELECT id, (row_number() OVER (ORDER BY id) - 1)::INTEGER AS number "
            f"FROM (SELECT DISTINCT id FROM ({query}) AS ids (id) WHERE id IS NOT NULL)"
        )

    def fetch_numbering(self, table: str) -> Numbering:
        """Fetch the ids in a temporary table with columns id and number, in the order of numbers.

        Numbers count from 0 in the order of text, as `number_ids` makes them.
        """
        result = self.run(f"SELECT id FROM {table} ORDER BY number")
        ids = [np.empty(0, dtype=np.str_)]
        while len(chunk := result.fetch_df_chunk(VECTORS_AT_ONCE)):
            ids.append(chunk["id"].to_numpy().astype(np.str_))
        return Numbering(np.concatenate(ids))


@contextmanager
def log_database(
    folder: Path | None = None, *, first_year: int | None = None, n_jobs: int | None = None
) -> Iterator[LogDatabase]:
    """Start DuckDB for the time of a with-block; no data of it stay.

    Data that exceed its memory are in a temporary subfolder, which is removed at the end. Nothing
    is downloaded.

    Parameters
    ----------
    folder
        Folder of the subfolder, which is made if missing; default: that of the system.
    first_year
        Times before this year are refused; default: 2000.
    n_jobs
        Number of threads; default: all cores.
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
    """Write the SQL expression of a column of ids, as text, and the rules of its values.

    An empty id is NULL; it breaks a rule unless ids are optional. Raises InputError if the column
    holds neither text nor whole numbers.
    """
    column_type = table.types[name]
    if column_type != "VARCHAR" and column_type not in INTEGERS:
        raise table.error(name, f"ids must be text or whole numbers, found {column_type}.")
    expression = f"nullif({quote_name(name)}::VARCHAR, '')"
    rules = []
    if not optional:
        # The condition of a rule holds for rows that break it.
        finding = "an id must not be empty."
        rules.append(Rule(column=name, condition=f"{expression} IS NULL", finding=finding))
    return ColumnQuery(expression, rules, is_id=True)


def time_column(table: LogTable, name: str) -> ColumnQuery:
    """Write the SQL expression of a column of times, and the rules of its values.

    The expression is in milliseconds since 1970 in UTC, rounded down. Missing and invalid times,
    and those before the year ``table.database.first_year``, break a rule.
    Raises InputError for a column of another type, also for timestamps without a time zone.
    """
    column = quote_name(name)
    expression = _milliseconds(table, name)
    year = table.database.first_year
    first_day = np.datetime64(f"{year:04}-01-01", "ms")
    earliest = int(first_day.astype(np.int64))
    too_early = (
        f"a time must be of the year {year} or later, got {{}} ms: seconds? If it is right, give "
        "an earlier --first-year."
    )
    is_invalid = f"{column} IS NOT NULL AND {expression} IS NULL"
    # The condition of a rule, its second part, holds for rows that break it.
    given_rule = Rule(name, f"{column} IS NULL", "a time must be given.")
    valid_rule = Rule(name, is_invalid, f"{TIMES}, got {{!r}}.")
    year_rule = Rule(name, f"{expression} < {earliest}", too_early, value=expression)
    return ColumnQuery(expression, [given_rule, valid_rule, year_rule])


def _milliseconds(table: LogTable, name: str) -> str:
    """Write the SQL expression of a column of times as milliseconds; NULL for invalid ones.

    Raises InputError for a column of another type, also for timestamps without a time zone.
    """
    column = quote_name(name)
    column_type = table.types[name]
    if column_type == "VARCHAR":
        is_number = f"regexp_full_match({column}, {quote_text(MILLISECONDS)})"
        has_zone = f"regexp_full_match({column}, {quote_text(TIME_WITH_ZONE)})"
        three_decimals = rf"regexp_replace({column}, '(\.\d{{3}})\d+', '\1')"
        return (
            f"CASE WHEN {is_number} THEN TRY_CAST({column} AS BIGINT) "
            f"WHEN {has_zone} THEN epoch_ms(TRY_CAST({three_decimals} AS TIMESTAMPTZ)) END"
        )
    if column_type in INTEGERS:
        return f"TRY_CAST({column} AS BIGINT)"
    if column_type == "TIMESTAMP WITH TIME ZONE":
        return f"epoch_ms({column})"
    if column_type == "TIMESTAMPTZ_NS":
        return f"epoch_ns({column}) // 1000000"
    if column_type.startswith("TIMESTAMP"):
        raise table.error(name, f"{TIMES}; the column has timestamps without one.")
    raise table.error(name, f"{TIMES}, found {column_type}.")


def number_column(table: LogTable, name: str, *, optional: bool = False) -> ColumnQuery:
    """Write the SQL expression of a column of numbers, float64, and the rules of its values.

    Text that is no number, and an infinite number, break a rule. So does a missing number, unless
    numbers are optional; then it is NaN.
    """
    column = quote_name(name)
    number = f"TRY_CAST({column} AS DOUBLE)"
    is_no_number = f"{number} IS NULL"
    if optional:
        is_no_number = f"{column} IS NOT NULL AND {is_no_number}"
    # The condition of a rule, its second part, holds for rows that break it.
    number_rule = Rule(name, is_no_number, "a number must be given, got {!r}.")
    finite_rule = Rule(name, f"NOT isfinite({number})", "a number must be finite.")
    return ColumnQuery(f"coalesce({number}, 'nan'::DOUBLE)", [number_rule, finite_rule])


def quote_name(name: str) -> str:
    """Quote the name of a column for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(value: object) -> str:
    """Quote a text for SQL."""
    return "'" + str(value).replace("'", "''") + "'"


def _unreadable(path: object) -> str:
    return f"{path}: cannot be read as Parquet or CSV"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _csv_error(path: Path, error: Exception) -> InputError:
    """Translate an error of DuckDB about a CSV file into an InputError.

    If a row has a wrong number of fields, the message names the row, from 1 below the heading, and
    both numbers; otherwise it is the first line of DuckDB's.
    """
    line = re.search(r"CSV Error on Line: (\d+)", str(error))
    widths = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", str(error))
    if line is None or widths is None:
        return InputError(f"{_unreadable(path)} ({_first_line(error)}).")
    n_expected, n_found = widths.groups()
    # The header is the first line.
    row = int(line[1]) - 1
    return InputError(f"{path}, row {row}: {n_expected} fields expected, found {n_found}.")
