"""Options that are made from settings."""

from pathlib import Path
from typing import Any, Literal

import click
import pytest
from click.testing import CliRunner, Result
from pydantic import Field, model_validator

from harness.cli.main import Commands
from harness.cli.options import SettingsCommand, given, settings_options
from runs.shared.settings import Section, Sizes, Whole

MISUSED = 2


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
        click.echo(repr(given(settings, asked)))

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
