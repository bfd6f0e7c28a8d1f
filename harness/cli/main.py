"""The command line: its commands are those that the modules of this folder declare."""

from __future__ import annotations

import errno
import os
import pkgutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from operator import attrgetter
from pathlib import Path
from typing import Any

import click

from harness.cli.console import EXIT_FAILED, EXIT_MISUSED, warnings_as_sentences
from harness.cli.options import with_common_options
from harness.own_packages import misplaced, own_package_of, require_own_packages
from harness.version import __version__

FOLDER = "harness.cli"
PATH_ERRNOS = {
    *(errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
    *(errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS),
}
"""Errors of the system that say that a file or folder cannot be where the user wants it."""

SUMMARY_LENGTH = 1000
"""Characters that a summary may have; it is never cut short."""


class Commands(click.Group):
    """The commands of the folder; each module has a ``GROUP``: place and heading in the help.

    A user's mistake is answered with its sentence and exit code 2, a failure of the machine with
    exit code 1; neither with a traceback. After signal n the exit code is 128 + n.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of the commands, in the order of the help."""
        return [*_commands()]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under the headings of their modules, with their whole summaries."""
        width = max(map(len, self.list_commands(ctx)))
        for heading, commands in _groups():
            rows = []
            for name, command in commands.items():
                summary = command.get_short_help_str(SUMMARY_LENGTH)
                rows.append((f"{name:<{width}}", summary))
            with formatter.section(heading):
                formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Look up a command; None if none has this name."""
        # Here click looks for the name that may have been meant.
        self.commands = _commands()
        return super().get_command(ctx, cmd_name)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the options; exit with code 0 if nothing reads the help that they ask for."""
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError:
            if _is_unread():
                sys.exit(0)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Call a command; print the sentence for an error, and exit with its code.

        Exit with 0 if nothing reads the output. A fault of the harness is raised, as are the
        errors that click prints itself. Before the call, standard output is set to replace signs
        that its encoding lacks, and it is checked that no other package hides one of the harness.
        """
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        try:
            require_own_packages()
            with signals_as_interrupts():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except (KeyboardInterrupt, Exception) as error:
            if isinstance(error, BrokenPipeError) and _is_unread():
                sys.exit(0)
            sentence, exit_code = _sentence_and_code(error)
            if not sentence:
                raise
        click.echo(sentence, err=True)
        sys.exit(exit_code)


@cache
def _commands() -> dict[str, click.Command]:
    """Collect the commands by name, in the order of the help; what they import may be slow."""
    commands_by_name: dict[str, click.Command] = {}
    for _, commands in _groups():
        commands_by_name.update(commands)
    return commands_by_name


@cache
def _groups() -> list[tuple[str, dict[str, click.Command]]]:
    """Collect heading and commands, by name, of each module, in the order of its ``GROUP``.

    Modules are those of the folder `FOLDER` that have a ``GROUP``. The commands are copies that
    print warnings of the input as sentences, with the options ``--quiet`` and ``--verbose``.
    """
    folder = import_module(FOLDER)
    module_names = [module.name for module in pkgutil.iter_modules(folder.__path__, f"{FOLDER}.")]
    modules = [module for module in map(import_module, module_names) if hasattr(module, "GROUP")]
    modules.sort(key=attrgetter("GROUP"))
    groups: list[tuple[str, dict[str, click.Command]]] = []
    for module in modules:
        commands: dict[str, click.Command] = {}
        for name, command in vars(module).items():
            if isinstance(command, click.Command) and command.callback:
                command_in_full = with_common_options(command)
                command_in_full.callback = warnings_as_sentences()(command.callback)
                commands[name] = command_in_full
        groups.append((module.GROUP.heading, commands))
    return groups


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt, as Ctrl-C does, for SIGTERM and SIGHUP while the block runs.

    Batch systems and closed terminals send them. A signal that is ignored, as by nohup, stays
    ignored. The interrupt holds the number of the signal.
    """

    def interrupt(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    signals = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP"):
        signals.append(signal.SIGHUP)
    former_handlers: dict[signal.Signals, Any] = {}
    for number in signals:
        if signal.getsignal(number) is not signal.SIG_IGN:
            former_handlers[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in former_handlers.items():
            signal.signal(number, handler)


def _is_unread() -> bool:
    """Return whether nothing reads the output any more, as with ``| head``; then discard it."""
    try:
        print(flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def _sentence_and_code(error: BaseException) -> tuple[str, int]:
    """Return the sentence to print for an error, and the exit code.

    The code is `EXIT_MISUSED` for mistakes of the user, such as an InputError or a path that cannot
    be; `EXIT_FAILED` for failures of the machine; 128 + n for signal n. The sentence is empty for a
    fault of the harness, which is shown with its traceback.
    """
    from concurrent.futures import BrokenExecutor

    if isinstance(error, ImportError):
        package = own_package_of(error)
        if package is not None:
            return f"Error: {misplaced(package)}", EXIT_MISUSED
        return "", EXIT_FAILED

    from runs import InputError
    from runs.shared.ids import escaped

    match error:
        case InputError():
            lines = f"Error: {error}".split("\n")
            return "\n".join(map(escaped, lines)), EXIT_MISUSED
        case KeyboardInterrupt():
            number = error.args[0] if error.args else signal.SIGINT
            sentence = "Interrupted. The same command goes on from what is complete."
            return sentence, 128 + number
        case BrokenExecutor():
            sentence = "a worker was stopped, most likely for want of memory; try --jobs 1."
            return f"Failed: {sentence}", EXIT_FAILED
        case OSError(errno=errno.ENOSPC, filename=path):
            place = Path(path).parent if path else "the folder that is written to"
            return f"Failed: no space is left on the device of {place}.", EXIT_FAILED
        case OSError(errno=number, filename=str(path)) if number in PATH_ERRNOS:
            return f"Error: {path}: {os.strerror(number)}; name another place.", EXIT_MISUSED
        case MemoryError() | OSError():
            sentence = "memory ran out; use fewer workers (--jobs), or a machine with more memory."
            return f"Failed: {str(error) or sentence}", EXIT_FAILED
    return "", EXIT_FAILED


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="harness")
def main() -> None:
    """Study how far ranking metrics can be trusted to compare recommenders."""
