"""The command line: a group that imports a command only when it is called, so that --help is quick."""

from __future__ import annotations

import errno
import importlib
import os
import sys

import click

from hpcbench.errors import UserError, nearest
from hpcbench.util.text import printable

# By folder of hpcbench.commands. The one-line descriptions are here so that `hpcbench --help` imports no command.
GROUPS = {
    "run": {
        "sweep": "Plan an experiment, render its scripts, submit or run them.",
        "tune": "Search for the best configuration instead of measuring all of them.",
        "resume": "Run what is missing or failed.",
        "cancel": "Cancel the jobs of a sweep that have not ended.",
    },
    "inspect": {
        "status": "Count the repetitions of a sweep by state, with reasons and nodes.",
        "show": "Show one case: samples, interference, machine, script, log.",
    },
    "analyse": {
        "report": "Print the results, best first; write a page, figures, tables.",
        "compare": "Compare each case with the same case of another sweep.",
        "reparse": "Extract metrics again from stored output, after a pattern changed.",
        "history": "Follow an experiment over all its sweeps, and mark changes.",
    },
    "setup": {
        "init": "Create a workspace with a site file and examples.",
        "env": "Build, check and remove the environments of the frameworks.",
        "doctor": "Check Slurm, environments and machines for problems.",
        "archive": "Pack a sweep into one file, to store or to read elsewhere.",
        "completion": "Print the completion code for a shell.",
    },
}
TITLES = {"run": "Run", "inspect": "Inspect", "analyse": "Analyse", "setup": "Set up"}
FOLDERS = {name: group for group, commands in GROUPS.items() for name in commands}

EPILOG = """\b
Examples:
  hpcbench init my-study && cd my-study
  hpcbench sweep configs/experiments/quickstart.yaml
  hpcbench status
  hpcbench report --csv results.csv
"""


class LazyGroup(click.Group):
    """A command is a module in a folder of hpcbench.commands, with a function NAME_command."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(FOLDERS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in FOLDERS:
            return None
        module = importlib.import_module(f"hpcbench.commands.{FOLDERS[name]}.{name}")
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        unknown = args and args[0] not in FOLDERS and not args[0].startswith("-")
        if unknown and not context.resilient_parsing:  # completing must not print
            raise click.UsageError(f"unknown command '{args[0]}'; {nearest(args[0], FOLDERS)}", context)
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in GROUPS.items():
            with formatter.section(TITLES[group]):
                formatter.write_dl(list(commands.items()))


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
    """Run the command line. A usage error ends in a message and exit status 2, never in a traceback."""
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
    except BrokenPipeError:  # the reader of the output has closed it, for example `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _fail(_of_system(error), 2)
    sys.exit(status if isinstance(status, int) else 0)


def _of_system(error: OSError) -> str:
    message = f"{error.filename or 'reading or writing'}: {error.strerror}"
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{message}\n  free space in the file system of the workspace (jobs/ and results/)" if full else message


def _fail(message: str, status: int) -> None:
    click.echo(f"hpcbench: {printable(message)}", err=True)
    sys.exit(status)
