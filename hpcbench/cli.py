"""The command line: a group that imports a command only when it is called, so that --help is quick."""

from __future__ import annotations

import errno
import importlib
import os
import sys

import click

from hpcbench.errors import UserError, nearest
from hpcbench.util.text import printable

# The one-line helps stand here so that listing the commands imports none of them.
COMMANDS = {
    "init": "Make a workspace with a probed site file and examples.",
    "sweep": "Plan an experiment, render its scripts, submit or run them.",
    "tune": "Search the best setting, instead of measuring all of them.",
    "status": "Count the repetitions of a sweep by state, and say why and where.",
    "resume": "Run again what is missing or failed, and nothing else.",
    "cancel": "Cancel the jobs of a sweep that have not ended.",
    "report": "Print the results, best first; write CSV or Parquet.",
    "show": "Tell all about one case: samples, interference, machine, script, log.",
    "compare": "Say of each case whether it is faster or slower than in another sweep.",
    "history": "Follow an experiment over all its sweeps, and mark where it changed.",
    "archive": "Make one file of a sweep, to keep or to read elsewhere.",
    "env": "Build and check the environments that frameworks run in.",
    "doctor": "Say what works here, and what makes numbers worse.",
    "completion": "Print the code that makes your shell complete commands.",
}

EPILOG = """\b
Examples:
  hpcbench init my-study && cd my-study
  hpcbench sweep configs/experiments/quickstart.yaml
  hpcbench status
  hpcbench report --csv results.csv
"""


class LazyGroup(click.Group):
    """Commands are modules of hpcbench.commands, each with a function of its own name."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"hpcbench.commands.{name}"), name)
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        unknown = args and args[0] not in COMMANDS and not args[0].startswith("-")
        if unknown and not context.resilient_parsing:  # completing must not print
            raise click.UsageError(f"no command is called '{args[0]}': {nearest(args[0], COMMANDS)}", context)
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _print_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        import hpcbench

        click.echo(f"hpcbench {hpcbench.__version__}")
        context.exit()


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--workspace",
    "-C",
    envvar="HPCBENCH_WORKSPACE",
    default=".",
    type=click.Path(file_okay=False),
    help="Folder with jobs/ and results/.  [default: the current folder; env HPCBENCH_WORKSPACE]",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version.",
)
@click.pass_context
def group(context: click.Context, workspace: str) -> None:
    """Benchmark deep-learning frameworks on Slurm clusters, from one YAML file to a table of results."""
    context.obj = workspace


def main() -> None:
    """The entry point: every mistake of a user ends in a message and exit status 2, never in a traceback."""
    try:
        status = group.main(standalone_mode=False)
    except click.exceptions.Abort:
        _fail("interrupted", 130)
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except UserError as error:
        _fail(str(error), 2)
    except BrokenPipeError:  # the reader of our output, `head` say, had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _fail(_of_system(error), 2)
    sys.exit(status if isinstance(status, int) else 0)


def _of_system(error: OSError) -> str:
    told = f"{error.filename or 'reading or writing'}: {error.strerror}"
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{told}\n  make room where jobs/ and results/ of the workspace are" if full else told


def _fail(message: str, status: int) -> None:
    click.echo(f"hpcbench: {printable(message)}", err=True)
    sys.exit(status)
