"""Options that commands share, and options that are made from the settings of an analysis."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from analyses.shared.table import FORMATS

if TYPE_CHECKING:
    from pydantic import BaseModel

    from runs.shared.progress import Progress

Command = TypeVar("Command", bound=Callable[..., Any])
Settings = TypeVar("Settings", bound="BaseModel")

Paths: TypeAlias = tuple[Path, ...]
PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
SEED = click.IntRange(0, 2**63 - 1)


def _all_cores(_: click.Context, __: click.Parameter, asked: int | None) -> int:
    from joblib import cpu_count

    return asked or int(cpu_count())


def _watched(_: click.Context, __: click.Parameter, quiet: bool) -> Progress:
    from runs.shared.progress import choose_progress

    return choose_progress(quiet=quiet)


def on_workers(told: str) -> Callable[[Command], Command]:
    """Give a command ``n_jobs``: as many as the machine has cores, if nothing is asked."""
    kind = click.IntRange(min=1)
    return click.option("--jobs", "n_jobs", type=kind, callback=_all_cores, help=told)


workers = on_workers("Number of parallel workers; default: all cores. Does not change results.")
quietly = click.option(
    "--quiet", "progress", is_flag=True, callback=_watched, help="Show no progress or warnings."
)
seeded = click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed.")
clustered = click.option(
    "cluster",
    "--dask",
    metavar="tcp://ADDRESS|local",
    help="Address of a Dask cluster, or local: two processes on this machine. Does not change "
    "results.",
)


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Give a command several options, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def choice(name: str, values: Sequence[str], told: str) -> Callable[[Command], Command]:
    """Give a command an option with these values, the first of which is the default."""
    names = [name, "format_"] if name == "--format" else [name]
    kind = click.Choice([*values])
    return click.option(*names, type=kind, default=values[0], show_default=True, help=told)


formatted = choice("--format", [*FORMATS], "Output format; csv and json are not rounded.")
published = together(
    formatted,
    click.option("--output", type=FOLDER, help="Folder to write tables, figures and captions to."),
    quietly,
)


in_study_folder = click.option("--output", type=FOLDER, help="Study folder; default: study-NAME.")


def _plugged(what: str) -> Callable[[Command], Command]:
    """Give a command files of a user's own."""
    told = f"Python file with your own {what}. May be repeated."
    return click.option("--plugin", "plugins", multiple=True, type=PATH, help=told)


extensible = _plugged("metrics")
redrawing = _plugged("analysis, which shows its result")


def refuse_typed(names: Collection[str], subject: str) -> None:
    """Refuse options that would be ignored."""
    from runs import InputError

    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        if name in names and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(f"{option.opts[0]} does not apply to {subject}: leave it out.")


class _Options(click.Option):
    """A place among the options of a command, for those that are made from settings."""

    def __init__(self, _: object, *, made: Callable[[], Iterator[click.Option]]) -> None:
        super().__init__(["--settings"], expose_value=False, hidden=True)
        self.made = made


# Before click 8.5 types of parameters name no class in brackets.
class _Assignment(click.ParamType):  # type: ignore[type-arg]
    """A name and what it stands for; digits are a number."""

    name = "NAME=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str | int]:
        """Take the text apart at its first equals sign."""
        name, sign, meant = str(value).partition("=")
        if not sign:
            self.fail(f"{value!r} must have the form NAME=VALUE.", param, ctx)
        return name, int(meant) if meant.isdecimal() else meant


ASSIGNMENT = _Assignment()


def named_columns(option: str, roles: str) -> Callable[[Command], Command]:
    """Give a command an option that names the columns of tables."""
    return click.option(
        option,
        multiple=True,
        type=ASSIGNMENT,
        callback=lambda _, __, pairs: {key: str(name) for key, name in pairs},
        help=f"Name of a column ({roles}), as user=visitor. Default: recognised. May be repeated.",
    )


class SettingsCommand(click.Command):
    """A command with `settings_options`, which are made when its options are asked for."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Give all options, those of settings where their decorator stands."""
        self.params = [
            option
            for parameter in self.params
            for option in (parameter.made() if isinstance(parameter, _Options) else [parameter])
        ]
        return super().get_params(ctx)


CALLED = {"metrics": "--measure", "format": "--input-format"}
"""Options that are called otherwise than their field in every command."""


def settings_options(
    settings: Callable[[], type[BaseModel]],
    *,
    without: Collection[str] = (),
    names: Mapping[str, str] | None = None,
) -> Callable[[Command], Command]:
    """Give a `SettingsCommand` an option for each field of its settings.

    An option is called as its field, with dashes; one of several values is called by the singular
    and may be repeated. What it accepts, its default and its help are those of the field. It is
    handed to the command under the name of the field; `given` makes the settings of it. The model
    is imported when it is asked for, so that help on all commands need not. Some fields may be left
    without an option; the names are those of options that are called something else, by field.
    """

    def made() -> Iterator[click.Option]:
        for name, facts in settings().model_json_schema()["properties"].items():
            if name not in without:
                yield _option(name, facts, called={**CALLED, **(names or {})}.get(name))

    return click.option(cls=_Options, made=made)


def imported(path: str) -> Callable[[], Any]:
    """Give what imports a model by its path, for `settings_options`."""
    module, _, name = path.rpartition(".")
    return lambda: getattr(import_module(module), name)


def given(settings: type[Settings], options: Mapping[str, Any]) -> Settings:
    """Make the settings of a command's options; what was not given has its default.

    What is no field is left aside.
    """
    from pydantic import ValidationError

    from runs import InputError
    from runs.shared.settings import broken_rule

    chosen = {
        name: value
        for name, value in options.items()
        if name in settings.model_fields and value not in (None, ())
    }
    try:
        return settings(**chosen)
    except ValidationError as error:
        finding, subject = error.errors()[0], ""
        if finding["loc"]:
            # The option of the running command that the field is given by.
            parameters = click.get_current_context().command.params
            subject = next(f"`{p.opts[0]}`" for p in parameters if p.name == finding["loc"][0])
        raise InputError(broken_rule(subject, finding)) from None


TYPES: Mapping[str, click.ParamType[Any]] = {
    "integer": click.INT,
    "number": click.FLOAT,
    "boolean": click.BOOL,
    "string": click.STRING,
}


def _option(name: str, facts: Mapping[str, Any], *, called: str | None) -> click.Option:
    """Make an option of what the JSON schema of the settings says of a field."""
    value = _but_null(facts)
    is_map = _is_assigned(value)
    repeats = is_map or value.get("type") == "array"
    kind = ASSIGNMENT if is_map else _type(name, _but_null(value["items"]) if repeats else value)
    default = facts.get("default")
    dashed = (_singular(name) if repeats else name).replace("_", "-")
    # What is on, or may be, can be turned off.
    is_on = kind is click.BOOL and default is not False
    flag = f"--{dashed}/--no-{dashed}" if is_on else f"--{dashed}"
    return click.Option(
        [called or flag, name],
        type=kind,
        is_flag=True if kind is click.BOOL else None,
        multiple=repeats,
        callback=(lambda _, __, pairs: dict(pairs) or None) if is_map else None,
        default=tuple(default) if repeats and default else default,
        show_default=True,
        metavar=value.get("format", "name").upper() if kind is click.STRING else None,
        help=facts.get("description", "") + " May be repeated." * repeats,
    )


def _is_assigned(facts: Mapping[str, Any]) -> bool:
    """Tell whether texts are given by names."""
    match facts:
        case {"type": "object", "additionalProperties": {"anyOf": kinds}}:
            return {"type": "string"} in kinds
    return False


def _but_null(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a value must be if there is one."""
    kinds = [kind for kind in facts.get("anyOf", ()) if kind.get("type") != "null"]
    return kinds[0] if len(kinds) == 1 else facts


def _type(name: str, facts: Mapping[str, Any]) -> click.ParamType[Any]:
    """Choose the type of an option; bounds are checked by the settings."""
    if "enum" in facts:
        return click.Choice(facts["enum"])
    if facts.get("format") == "path":
        return PATH
    if {"type": "number"} in facts.get("anyOf", ()):
        # A number, or a word for one.
        return click.STRING
    if facts.get("type") not in TYPES:
        raise TypeError(f"no option can be made of the field `{name}`: leave it out.")
    return TYPES[facts["type"]]


def _singular(name: str) -> str:
    """Name one of several."""
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")
