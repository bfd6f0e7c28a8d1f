"""Options that are made from settings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import click
import pytest
from click.testing import CliRunner, Result
from joblib import cpu_count
from pydantic import Field, model_validator

from harness.cli.main import Commands
from harness.cli.options import (
    ASSIGNMENT,
    FILE,
    FOLDER,
    OPTION_NAMES,
    PATH,
    SEED,
    SettingsCommand,
    choice_option,
    cluster_option,
    combined_options,
    jobs_option,
    quiet_option,
    refuse_options,
    seed_option,
    settings_from_options,
    settings_options,
    take_text_options,
    text_options,
)
from runs import InputError
from runs.shared.progress import ProgressLines, SilentProgress
from runs.shared.settings import Section, Sizes, Whole
from runs.tables.options import TextOptions

MISUSED = 2
Shown = Callable[..., Any]


class Settings(Section):
    """One field of each kind."""

    draws: Whole = Field(10, ge=1, description="Draws.")
    most: Whole | None = Field(None, ge=3, description="Draws at most.")
    share: float = Field(0.5, gt=0, le=1, description="Share of the users.")
    design: Literal["uniform", "popular"] = Field("uniform", description="How to draw.")
    sizes: Sizes = Field((5, 50), description="Numbers of negatives.")
    studies: tuple[Literal["ranks", "cost"], ...] = Field((), description="What is studied.")
    baseline: str | None = Field(None, description="A system.")
    grey: bool = Field(False, description="Without colours.")
    replace: bool = Field(True, description="Whether to draw again.")
    counts_in: Path | None = Field(None, description="A table.")
    columns: dict[str, str | int] | None = Field(None, description="Where things stand.")
    header: bool | None = Field(None, description="Whether columns have names.")

    @model_validator(mode="after")
    def _enough(self) -> "Settings":
        if self.most is not None and self.most < self.draws:
            raise ValueError("there are fewer draws at most than draws")
        return self


def command_of(settings: Any, **choices: Any) -> click.Command:
    """Make a command that prints the settings it is given."""

    @click.command(cls=SettingsCommand)
    @settings_options(lambda: settings, **choices)
    def show(**asked: Any) -> None:
        click.echo(repr(settings_from_options(settings, asked)))

    return show


class Alone(Commands):
    """The command line with one command, whatever it is called."""

    def __init__(self, command: click.Command) -> None:
        super().__init__()
        self.alone = command

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        return self.alone


def ask(*arguments: str, settings: Any = Settings, **choices: Any) -> Result:
    group = Alone(command_of(settings, **choices))
    return CliRunner(env={"COLUMNS": "100"}).invoke(group, ["show", *arguments])


def options_of(settings: Any, **choices: Any) -> dict[str, click.Option]:
    command = command_of(settings, **choices)
    command.get_params(click.Context(command))
    made = command.params
    return {str(option.name): option for option in made if isinstance(option, click.Option)}


def test_without_options_settings_are_the_defaults() -> None:
    assert ask().stdout == f"{Settings()!r}\n"


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        (["--draws", "3"], {"draws": 3}),
        (["--most", "20"], {"most": 20}),
        (["--share", "1"], {"share": 1.0}),
        (["--design", "popular"], {"design": "popular"}),
        (["--size", "7", "--size", "8"], {"sizes": (7, 8)}),
        (["--study", "cost"], {"studies": ("cost",)}),
        (["--baseline", "als"], {"baseline": "als"}),
        (["--grey"], {"grey": True}),
        (["--no-replace"], {"replace": False}),
        (["--counts-in", "x.csv"], {"counts_in": Path("x.csv")}),
        (["--column", "user=who", "--column", "item=2"], {"columns": {"user": "who", "item": 2}}),
        (["--header"], {"header": True}),
        (["--no-header"], {"header": False}),
    ],
)
def test_every_kind_of_field_is_an_option(arguments: list[str], changes: dict[str, Any]) -> None:
    assert ask(*arguments).stdout == f"{Settings(**changes)!r}\n"


def test_help_has_the_description_and_the_default_of_a_field() -> None:
    help_text = " ".join(ask("--help").stdout.split())
    assert "--draws INTEGER Draws. [default: 10]" in help_text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--size", "5", "--size", "5"], "Error: `--size`: 5 is duplicated.\n"),
        (["--most", "9"], "Error: there are fewer draws at most than draws.\n"),
    ],
)
def test_what_settings_refuse_is_said_of_the_option(arguments: list[str], sentence: str) -> None:
    answer = ask(*arguments)
    assert (answer.exit_code, answer.stderr) == (MISUSED, sentence)


def test_the_value_is_named_where_the_rule_does_not() -> None:
    class Short(Section):
        name: str = Field("a", max_length=1)

    answer = ask("--name", "abc", settings=Short)
    assert answer.stderr == ("Error: `--name` must have at most 1 character, got 'abc'.\n")


def test_a_field_that_is_no_option_is_refused() -> None:
    class Nested(Section):
        settings: dict[str, int] = Field(default={})

    with pytest.raises(TypeError, match="no option can be made of the field `settings`"):
        options_of(Nested)


def test_an_option_is_of_the_kind_of_its_field() -> None:
    found = options_of(Settings)
    kinds = {name: option.type.name for name, option in found.items()}
    assert kinds == {
        "draws": "integer",
        "most": "integer",
        "share": "float",
        "design": "choice",
        "sizes": "integer",
        "studies": "choice",
        "baseline": "text",
        "grey": "boolean",
        "replace": "boolean",
        "counts_in": "path",
        "columns": "NAME=VALUE",
        "header": "boolean",
    }
    assert [n for n, option in found.items() if option.multiple] == ["sizes", "studies", "columns"]
    flags = {n: (o.opts, o.secondary_opts) for n, o in found.items() if o.is_flag}
    assert flags == {
        "grey": (["--grey"], []),
        "replace": (["--replace"], ["--no-replace"]),
        "header": (["--header"], ["--no-header"]),
    }
    assert {
        n: o.default for n, o in found.items() if n in ("draws", "share", "sizes", "design")
    } == {"draws": 10, "share": 0.5, "sizes": (5, 50), "design": "uniform"}
    assert (found["baseline"].metavar, found["draws"].metavar) == ("NAME", None)
    assert found["sizes"].help == "Numbers of negatives. May be repeated."
    assert found["draws"].help == "Draws."
    assert all(option.show_default for option in found.values())


def test_one_of_several_is_called_by_the_singular() -> None:
    names = {name: option.opts[0] for name, option in options_of(Settings).items()}
    assert (names["sizes"], names["studies"], names["columns"]) == ("--size", "--study", "--column")
    assert (names["counts_in"], names["most"]) == ("--counts-in", "--most")


def test_some_fields_are_left_out_and_others_called_otherwise() -> None:
    class Named(Section):
        metrics: tuple[str, ...] = Field((), description="Measures.")
        format: str = Field("a", description="Format.")
        other: float | Literal["all"] = Field("all", description="A number or a word.")

    assert OPTION_NAMES == {"metrics": "--measure", "format": "--input-format"}
    found = options_of(Named, without=["other"], names={"format": "--kind"})
    assert {name: option.opts[0] for name, option in found.items()} == {
        "metrics": "--measure",
        "format": "--kind",
    }
    assert options_of(Named)["other"].type is click.STRING


def test_options_of_settings_stand_where_their_decorator_does() -> None:
    class Few(Section):
        middle: int = Field(1, description="Middle.")

    @click.command(cls=SettingsCommand)
    @click.option("--first")
    @settings_options(lambda: Few)
    @click.option("--last")
    def show(**_: Any) -> None: ...

    for _ in range(2):  # However often they are asked for.
        names = [option.name for option in show.get_params(click.Context(show))]
        assert names[:3] == ["first", "middle", "last"]
        assert len(names) == 4  # And the help.


@pytest.mark.parametrize(
    ("text", "pair"),
    [("a=b", ("a", "b")), ("a=b=c", ("a", "b=c")), ("a=12", ("a", 12)), ("=", ("", ""))],
)
def test_an_assignment_is_taken_apart_at_its_first_sign(text: str, pair: tuple[str, Any]) -> None:
    assert ASSIGNMENT.convert(text, None, None) == pair


def test_what_has_no_sign_is_no_assignment() -> None:
    with pytest.raises(click.BadParameter, match="'a' must have the form NAME=VALUE"):
        ASSIGNMENT.convert("a", None, None)


def asked(option: Callable[[Shown], Shown], *arguments: str) -> dict[str, Any]:
    """Give what a command with an option is handed."""
    handed: dict[str, Any] = {}

    @click.command()
    @option
    def show(**given: Any) -> None:
        handed.update(given)

    answer = CliRunner().invoke(show, [*arguments])
    return handed | ({} if answer.exit_code == 0 else {"said": answer.stderr})


def test_shared_options_have_defaults() -> None:
    jobs = jobs_option("Workers.")
    assert asked(jobs, "--jobs", "3") == {"n_jobs": 3}
    assert asked(jobs)["n_jobs"] == cpu_count()
    assert "--jobs" in asked(jobs, "--jobs", "0")["said"]
    assert asked(seed_option) == {"seed": 0}
    assert "--seed" in asked(seed_option, "--seed", "-1")["said"]
    assert asked(cluster_option) == {"cluster": None}
    assert isinstance(asked(quiet_option, "--quiet")["progress"], SilentProgress)
    assert isinstance(asked(quiet_option)["progress"], ProgressLines)
    assert asked(choice_option("--format", ["a", "b"], "Which.")) == {"format_": "a"}
    assert asked(choice_option("--kind", ["a", "b"], "Which."), "--kind", "b") == {"kind": "b"}


def test_options_of_tables_become_settings() -> None:
    tables = combined_options(text_options("user"), text_options("user", of="qrels"))
    values = asked(tables, "--column", "user=1", "--column", "a=b", "--qrels-encoding", "latin-1")
    assert take_text_options(values) == TextOptions(columns={"user": 1, "a": "b"})
    assert take_text_options(values, of="qrels") == TextOptions(encoding="latin-1")
    assert values == {}
    assert take_text_options(asked(text_options("user"))) is None


def test_options_given_together_stand_in_their_order() -> None:
    @click.command()
    @combined_options(click.option("--one"), click.option("--two"))
    def show(**_: Any) -> None: ...

    assert [option.name for option in show.params] == ["one", "two"]


def test_options_that_were_typed_are_refused_and_defaults_are_not() -> None:
    @click.command()
    @click.option("-o", "--one", default=3)
    @click.option("--two", default=4)
    def show(**_: Any) -> None:
        refuse_options({"one"}, "this")

    runner = CliRunner()
    assert runner.invoke(show, ["--two", "4"]).exit_code == 0
    answer = runner.invoke(show, ["--one", "3"])
    assert isinstance(answer.exception, InputError)
    assert str(answer.exception) == "-o does not apply to this: leave it out."


def test_what_was_not_given_has_its_default_and_what_is_no_field_is_left_aside() -> None:
    options = {"draws": None, "sizes": (), "grey": False, "output": "x", "most": 20}
    assert settings_from_options(Settings, options) == Settings(most=20)


def test_paths_are_of_files_or_of_folders_or_of_both() -> None:
    kinds = [(kind.file_okay, kind.dir_okay) for kind in (PATH, FILE, FOLDER)]
    assert kinds == [(True, True), (True, False), (False, True)]
    assert (SEED.min, SEED.max) == (0, 2**63 - 1)
