"""Options that commands share, and options that are made from the settings of an analysis."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from analyses.shared.table import FORMATS

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from runs.shared.progress import Progress
    from runs.tables.options import TextOptions

Command = TypeVar("Command", bound=Callable[..., Any])
Settings = TypeVar("Settings", bound="BaseModel")

Paths: TypeAlias = tuple[Path, ...]
PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
SEED = click.IntRange(0, 2**63 - 1)


class HelpGroup(NamedTuple):
    """The place of a module's commands in the help, from 1, and their heading."""

    place: int
    heading: str


def _all_cores(_: click.Context, __: click.Parameter, n_jobs: int | None) -> int:
    """Return the number of workers that was asked for; by default the number of cores."""
    from joblib import cpu_count

    return n_jobs or int(cpu_count())


QUIET = "harness.quiet"
VERBOSE = "harness.verbose"
"""Names by which the context of a command keeps whether these options are given."""


def _chosen_progress(context: click.Context, __: click.Parameter, quiet: bool) -> Progress:
    """Choose how progress is shown: not at all if ``quiet``, and as a log if ``--verbose``."""
    from runs.shared.progress import choose_progress

    context.meta[QUIET] = quiet
    return choose_progress(quiet=quiet or context.meta.get(VERBOSE, False))


def _keep_quiet(context: click.Context, __: click.Parameter, quiet: bool) -> None:
    """Keep for the command's end whether it prints no warnings."""
    context.meta[QUIET] = quiet


def _log_to_standard_error(context: click.Context, __: click.Parameter, verbose: bool) -> None:
    """Write what the logger ``harness`` is told to standard error, with the time of day."""
    context.meta[VERBOSE] = verbose
    if not verbose:
        return
    import logging

    from runs.shared.progress import LOGGER

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    context.call_on_close(partial(LOGGER.removeHandler, handler))
    context.call_on_close(partial(LOGGER.setLevel, LOGGER.level))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.DEBUG)


def jobs_option(help_text: str) -> Callable[[Command], Command]:
    """Make the option ``--jobs``, the argument ``n_jobs``; default: number of cores."""
    at_least_one = click.IntRange(min=1)
    return click.option("--jobs", "n_jobs", type=at_least_one, callback=_all_cores, help=help_text)


workers_option = jobs_option(
    "Number of parallel workers; default: all cores. Does not change results."
)
QUIET_HELP = "Print results and errors alone: no progress, no warnings."
quiet_option = click.option(
    "--quiet",
    "progress",
    is_flag=True,
    callback=_chosen_progress,
    help=QUIET_HELP,
)


def with_common_options(command: click.Command) -> click.Command:
    """Copy a command, and add ``--quiet``, if it has none, and ``--verbose``."""
    verbose = click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_log_to_standard_error,
        help="Log what is done, and why, to standard error.",
    )
    quiet = click.Option(
        ["--quiet"], is_flag=True, expose_value=False, callback=_keep_quiet, help=QUIET_HELP
    )
    has_quiet = any("--quiet" in option.opts for option in command.params)
    common = copy(command)
    common.params = [*command.params]
    if not has_quiet:
        common.params.append(quiet)
    common.params.append(verbose)
    return common


seed_option = click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed.")
cluster_option = click.option(
    "cluster",
    "--dask",
    metavar="tcp://ADDRESS|local",
    help="Address of a Dask cluster, or local: two processes on this machine. Does not change "
    "results.",
)


def combined_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine decorators of options into one that adds them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def choice_option(name: str, values: Sequence[str], help_text: str) -> Callable[[Command], Command]:
    """Make an option with these values, the first of which is the default.

    The argument of the command is called as the option; that of ``--format``, ``format_``.
    """
    names = [name, "format_"] if name == "--format" else [name]
    return click.option(
        *names,
        type=click.Choice([*values]),
        default=values[0],
        show_default=True,
        help=help_text,
    )


format_option = choice_option(
    "--format", [*FORMATS], "Output format; csv and json are not rounded."
)
publication_options = combined_options(
    format_option,
    click.option("--output", type=FOLDER, help="Folder to write tables, figures and captions to."),
    quiet_option,
)
"""The options that `publish` reads, and ``--quiet``."""

study_folder_option = click.option(
    "--output", type=FOLDER, help="Study folder; default: study-NAME."
)


def _plugin_option(noun: str) -> Callable[[Command], Command]:
    """Make the option ``--plugin``, the argument ``plugins``; the noun says what files hold."""
    help_text = f"Python file with your own {noun}. May be repeated."
    return click.option("--plugin", "plugins", multiple=True, type=PATH, help=help_text)


metric_plugin_option = _plugin_option("metrics")
analysis_plugin_option = _plugin_option("analysis, which shows its result")
schema_plugin_option = _plugin_option("analyses, whose settings the schema describes")


def refuse_options(names: Collection[str], subject: str) -> None:
    """Raise InputError if one of these options of the running command was typed by the user.

    ``names`` are the arguments of the command, of which each option has one; ``subject`` names what
    ignores them.
    """
    from runs import InputError

    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        is_typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if name in names and is_typed:
            raise InputError(f"{option.opts[0]} does not apply to {subject}: leave it out.")


class _SettingsPlaceholder(click.Option):
    """A place among the options of a command, for those that are made from settings."""

    def __init__(self, _: object, *, make_options: Callable[[], Iterator[click.Option]]) -> None:
        super().__init__(["--settings"], expose_value=False, hidden=True)
        self.make_options = make_options


# Before click 8.5 types of parameters name no class in brackets.
class _Assignment(click.ParamType):  # type: ignore[type-arg]
    """A name and its value; a value of digits is an integer."""

    name = "NAME=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str | int]:
        """Split the text at its first equals sign; fail, as click does, without one."""
        name, sign, text = str(value).partition("=")
        if not sign:
            self.fail(f"{value!r} must have the form NAME=VALUE.", param, ctx)
        return name, int(text) if text.isdecimal() else text


ASSIGNMENT = _Assignment()


TEXT_OPTIONS = ("columns", "separator", "encoding")
"""Fields of `TextOptions`, and arguments of commands that read tables."""


def text_options(roles: str, *, of: str = "") -> Callable[[Command], Command]:
    """Make the options that say how tables are read: ``--column``, ``--separator``, ``--encoding``.

    Their arguments, called as in `TEXT_OPTIONS`, are None where nothing is said. Settings are made
    of them by `take_text_options`.

    Parameters
    ----------
    roles
        What the columns hold that may be named, for the help.
    of
        What the tables hold, such as "qrels", if a command reads tables of two kinds: then the
        options and the arguments begin with it.
    """
    prefix = f"{of}-" if of else ""
    files = of or "tables"
    return combined_options(
        click.option(
            f"--{prefix}column",
            _argument("columns", of),
            multiple=True,
            type=ASSIGNMENT,
            callback=_as_dictionary,
            help=f"Name or number (from 0) of a column of {files} ({roles}), as user=visitor. "
            "Default: recognised. May be repeated.",
        ),
        click.option(
            f"--{prefix}separator",
            _argument("separator", of),
            help=f"Separator between the fields of {files}. Default: recognised.",
        ),
        click.option(
            f"--{prefix}encoding",
            _argument("encoding", of),
            help=f"Encoding of {files}, such as latin-1. Default: utf-8.",
        ),
    )


def take_text_options(option_values: dict[str, Any], *, of: str = "") -> TextOptions | None:
    """Take the arguments of `text_options` out of those of a command, and make settings of them.

    Returns None if nothing is said. Raises InputError for a value that breaks a rule.
    """
    values: dict[str, Any] = {}
    for name in TEXT_OPTIONS:
        value = option_values.pop(_argument(name, of))
        if value is not None:
            values[name] = value
    if not values:
        return None
    # Settings take long to import.
    from runs.tables.options import TextOptions

    return TextOptions(**values)


def _argument(name: str, of: str) -> str:
    """Name the argument of a command for a field of `TextOptions`; see `text_options`."""
    return f"{of}_{name}" if of else name


class SettingsCommand(click.Command):
    """A command with `settings_options`, which are made when its options are asked for."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """List all options and arguments, those of settings where their decorator stands."""
        parameters: list[click.Parameter] = []
        for parameter in self.params:
            if isinstance(parameter, _SettingsPlaceholder):
                parameters.extend(parameter.make_options())
            else:
                parameters.append(parameter)
        self.params = parameters
        return super().get_params(ctx)


OPTION_NAMES = {"metrics": "--measure", "format": "--input-format"}
"""Options that have another name than their field in every command, by field."""


def settings_options(
    load_settings: Callable[[], type[BaseModel]],
    *,
    without: Collection[str] = (),
    names: Mapping[str, str] | None = None,
) -> Callable[[Command], Command]:
    """Give a `SettingsCommand` an option for each field of its settings.

    An option is called as its field, with dashes; one of several values is called by the singular
    and may be repeated. What it accepts, its default and its help are those of the field. The
    command gets it under the name of the field; `settings_from_options` makes the settings of it.

    Parameters
    ----------
    load_settings
        Imports the class of the settings, when options are asked for: help on all commands need
        not import it. See `lazy_class`.
    without
        Fields that get no option.
    names
        Other names of options, by field.
    """
    option_names = {**OPTION_NAMES, **(names or {})}

    def make_options() -> Iterator[click.Option]:
        schema = load_settings().model_json_schema()
        for name, field in schema["properties"].items():
            if name not in without:
                yield _option_of_field(name, field, declaration=option_names.get(name))

    return click.option(cls=_SettingsPlaceholder, make_options=make_options)


def lazy_class(path: str) -> Callable[[], Any]:
    """Make a function that imports a class, given as "module.Class", and returns it."""
    module, _, name = path.rpartition(".")
    return lambda: getattr(import_module(module), name)


def settings_from_options(
    settings_class: type[Settings], option_values: Mapping[str, Any]
) -> Settings:
    """Make settings from the options of a command, by name of their field.

    An option that is None or () was not given: the field has its default. Options that are no
    field are ignored. Raises InputError, which names the option if one field is at fault, for the
    first value that breaks a rule.
    """
    from pydantic import ValidationError

    values: dict[str, Any] = {}
    for name, value in option_values.items():
        is_unset = value is None or value == ()
        if name in settings_class.model_fields and not is_unset:
            values[name] = value
    try:
        return settings_class(**values)
    except ValidationError as error:
        raise _error_of_option(error.errors()[0]) from None


def _error_of_option(details: ErrorDetails) -> Exception:
    """Make an InputError of what pydantic refuses, with the option of the running command.

    ``details`` is one of the errors of pydantic. No option is named where the rule is of several
    fields.
    """
    from runs import InputError
    from runs.shared.settings import broken_rule

    subject = ""
    if details["loc"]:
        field_name = details["loc"][0]
        parameters = click.get_current_context().command.params
        option = next(option for option in parameters if option.name == field_name)
        subject = f"`{option.opts[0]}`"
    return InputError(broken_rule(subject, details))


TYPES: Mapping[str, click.ParamType[Any]] = {
    "integer": click.INT,
    "number": click.FLOAT,
    "boolean": click.BOOL,
    "string": click.STRING,
}


def _option_of_field(
    name: str, field: Mapping[str, Any], *, declaration: str | None
) -> click.Option:
    """Make an option of a field of settings, given by its JSON schema.

    ``name`` is that of the field, and of the argument of the command. ``declaration`` is what the
    user types, such as "--measure"; None for the name of the field with dashes, in the singular if
    there may be several values. A flag that is on, or may be None, has a second form, "--no-...".
    An object of texts becomes repeated pairs NAME=VALUE, and a dictionary for the command, or None.
    Raises TypeError for a schema that no option can have.
    """
    schema = _without_null(field)
    is_map = _is_map_of_texts(schema)
    is_repeated = is_map or schema.get("type") == "array"
    if is_map:
        option_type: click.ParamType[Any] = ASSIGNMENT
    else:
        value_schema = _without_null(schema["items"]) if is_repeated else schema
        option_type = _option_type(name, value_schema)
    is_flag = option_type is click.BOOL
    default = field.get("default")
    if is_repeated and default:
        default = tuple(default)
    if declaration is None:
        dashed = (_singular(name) if is_repeated else name).replace("_", "-")
        can_be_turned_off = is_flag and default is not False
        declaration = f"--{dashed}/--no-{dashed}" if can_be_turned_off else f"--{dashed}"
    help_text = field.get("description", "")
    if is_repeated:
        help_text += " May be repeated."
    return click.Option(
        [declaration, name],
        type=option_type,
        is_flag=True if is_flag else None,
        multiple=is_repeated,
        callback=_as_dictionary if is_map else None,
        default=default,
        show_default=True,
        metavar=schema.get("format", "name").upper() if option_type is click.STRING else None,
        help=help_text,
    )


def _as_dictionary(
    _: click.Context, __: click.Parameter, pairs: Sequence[tuple[str, Any]]
) -> dict[str, Any] | None:
    """Make a dictionary of pairs of name and value; None if there is no pair."""
    return dict(pairs) or None


def _is_map_of_texts(schema: Mapping[str, Any]) -> bool:
    """Return whether a JSON schema is of texts by name, such as columns by their roles."""
    match schema:
        case {"type": "object", "additionalProperties": {"anyOf": alternatives}}:
            return {"type": "string"} in alternatives
    return False


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the only alternative of a JSON schema beside null; else the schema itself."""
    alternatives = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    return alternatives[0] if len(alternatives) == 1 else schema


def _option_type(name: str, schema: Mapping[str, Any]) -> click.ParamType[Any]:
    """Choose the type of an option by the JSON schema of its field.

    Bounds are checked by the settings. Raises TypeError for a schema that no option can have.
    """
    if "enum" in schema:
        return click.Choice(schema["enum"])
    if schema.get("format") == "path":
        return PATH
    if {"type": "number"} in schema.get("anyOf", ()):
        # A number, or a word for one.
        return click.STRING
    if schema.get("type") not in TYPES:
        raise TypeError(f"no option can be made of the field `{name}`: leave it out.")
    return TYPES[schema["type"]]


def _singular(plural: str) -> str:
    """Derive the singular of an English plural in -s or -ies."""
    if plural.endswith("ies"):
        return f"{plural[:-3]}y"
    return plural.removesuffix("s")
