"""The command line: its commands are those that the modules of this folder declare."""

from __future__ import annotations

import errno
import os
import pkgutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from operator import attrgetter
from pathlib import Path
from typing import Any

import click

from harness.cli.console import FAILED, MISUSED, warnings_as_sentences
from harness.own_packages import OWN_PACKAGES, misplaced, require_own_packages
from harness.version import __version__

FOLDER = "harness.cli"
MISPLACED = {
    *(errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
    *(errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS),
}
"""Errors of the system that say that a file or folder cannot be where the user wants it."""

SUMMARY = 1000
"""Characters that a summary may have; it is never cut short."""


class Commands(click.Group):
    """The commands of the folder; each module has a ``GROUP``: place and heading in the help.

    A user's mistake is answered with its sentence and exit code 2, a failure of the machine with
    exit code 1; neither with a traceback. After signal n the exit code is 128 + n.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        return [*_commands()]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under the headings of their modules, with their whole summaries."""
        width = max(map(len, self.list_commands(ctx)))
        for heading, group in _groups():
            with formatter.section(heading):
                named = ((f"{name:<{width}}", command) for name, command in group.items())
                formatter.write_dl([(name, c.get_short_help_str(SUMMARY)) for name, c in named])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command; None if there is none of this name."""
        # Here click looks for the name that may have been meant.
        self.commands = _commands()
        return super().get_command(ctx, cmd_name)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the options; the help, which is one, may find no reader."""
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError:
            if _is_unread():
                sys.exit(0)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Call a command, and say in a sentence what stopped it."""
        if isinstance(sys.stdout, TextIOWrapper):
            # Signs that an encoding lacks are replaced.
            sys.stdout.reconfigure(errors="replace")
        try:
            require_own_packages()
            with ended_like_ctrl_c():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except (KeyboardInterrupt, Exception) as error:
            if isinstance(error, BrokenPipeError) and _is_unread():
                sys.exit(0)
            sentence, code = _answer(error)
            if not sentence:
                raise
        click.echo(sentence, err=True)
        sys.exit(code)


@cache
def _commands() -> dict[str, click.Command]:
    """Give the commands by name, in the order of the help; what they import may be slow."""
    return {name: command for _, group in _groups() for name, command in group.items()}


@cache
def _groups() -> list[tuple[str, dict[str, click.Command]]]:
    """Give the commands of each module in the order of its ``GROUP``, by heading."""
    folder = import_module(FOLDER)
    names = [module.name for module in pkgutil.iter_modules(folder.__path__, f"{FOLDER}.")]
    modules = [module for module in map(import_module, names) if hasattr(module, "GROUP")]
    modules.sort(key=attrgetter("GROUP"))
    groups: list[tuple[str, dict[str, click.Command]]] = []
    for module in modules:
        groups.append((module.GROUP[1], {}))
        for name, command in vars(module).items():
            if isinstance(command, click.Command) and command.callback:
                groups[-1][1][name] = heard = copy(command)
                heard.callback = warnings_as_sentences()(command.callback)
    return groups


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """Let what a batch system or a closed terminal sends end a command as Ctrl-C does.

    What is ignored, as by nohup, stays ignored.
    """

    def end(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    signals = [signal.SIGTERM, signal.SIGHUP] if hasattr(signal, "SIGHUP") else [signal.SIGTERM]
    heard = [each for each in signals if signal.getsignal(each) is not signal.SIG_IGN]
    former = {each: signal.signal(each, end) for each in heard}
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


def _is_unread() -> bool:
    """Tell whether nothing reads the output any more, as with ``| head``; then drop the rest."""
    try:
        print(flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def _answer(error: BaseException) -> tuple[str, int]:
    """Return the sentence and exit code for an error; an empty sentence for a fault of ours."""
    from concurrent.futures import BrokenExecutor

    if isinstance(error, ImportError):
        package = (error.name or "").partition(".")[0]
        return (
            (f"Error: {misplaced(package)}", MISUSED) if package in OWN_PACKAGES else ("", FAILED)
        )

    from runs import InputError
    from runs.shared.ids import escaped

    match error:
        case InputError():
            return "\n".join(map(escaped, f"Error: {error}".split("\n"))), MISUSED
        case KeyboardInterrupt():
            number = next(iter(error.args), signal.SIGINT)
            return "Interrupted. The same command goes on from what is complete.", 128 + number
        case BrokenExecutor():
            sentence = "a worker was stopped, most likely for want of memory; try --jobs 1."
            return f"Failed: {sentence}", FAILED
        case OSError(errno=errno.ENOSPC, filename=place):
            where = Path(place).parent if place else "the folder that is written to"
            return f"Failed: no space is left on the device of {where}.", FAILED
        case OSError(errno=number, filename=str(place)) if number in MISPLACED:
            return f"Error: {place}: {os.strerror(number)}; name another place.", MISUSED
        case MemoryError() | OSError():
            sentence = "memory ran out; use fewer workers (--jobs), or a machine with more memory."
            return f"Failed: {str(error) or sentence}", FAILED
    return "", FAILED


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="harness")
def main() -> None:
    """Study how far ranking metrics can be trusted to compare recommenders."""
