"""The command line: a group that imports a command only when it is called, so that --help is quick."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from hpcbench.commands.options.option_conventions import PREFIX, apply_conventions, one_of
from hpcbench.errors import Finding, UserError
from hpcbench.util.closed_pipe import end_quietly
from hpcbench.util.gc_pause import without_garbage_collection

# By folder of hpcbench.commands. The one-line descriptions are here so that `hpcbench --help` imports no command.
GROUPS = {
    "run": {
        "run": "Measure a program without an experiment file.",
        "sweep": "Measure all cases of an experiment: submit jobs, or run locally.",
        "profile": "Time each operator of the networks of an experiment.",
        "tune": "Find the best configuration with few measurements.",
        "resume": "Start the missing and failed runs of a sweep.",
        "cancel": "Cancel the pending and running jobs of a sweep.",
    },
    "inspect": {
        "status": "Count the runs of a sweep by state, with reasons and nodes.",
        "show": "Show one case: measurements, interference, machine, script, log.",
        "logs": "Print the logs of runs, or follow an active run.",
        "open": "Open the report page of a sweep in the browser.",
        "list": "List sweeps, experiments, models, devices, metrics, sites or environments.",
    },
    "analyse": {
        "report": "Print the results, best first; write a page, figures or tables.",
        "compare": "Compare each case with the same case of another sweep.",
        "gate": "Run an experiment, compare it with a baseline, and return a verdict.",
        "reparse": "Extract metrics again from stored output, e.g. with a new pattern.",
        "history": "Show the results of an experiment over time, and detect changes.",
    },
    "predict": {
        "predict": "Predict time, power and energy on devices, and choose one.",
        "predictor": "Fit and evaluate models of time, power and energy.",
    },
    "setup": {
        "init": "Create a workspace with a site file and examples.",
        "env": "Build, check and remove the environments of the frameworks.",
        "doctor": "Check Slurm, environments and machines for problems.",
        "schema": "Print the JSON Schema of experiment, site, recipe or device files.",
        "archive": "Pack a sweep into one file, for storage or another machine.",
        "rm": "Delete sweeps.",
        "completion": "Print the completion script for a shell.",
        "help": "Show the help of a command.",
    },
}
TITLES = {"run": "Run", "inspect": "Inspect", "analyse": "Analyse", "predict": "Predict", "setup": "Set up and manage"}
FOLDERS = {name: group for group, commands in GROUPS.items() for name in commands}
COLORS = ("auto", "always", "never")
COMPLETION = "_HPCBENCH_COMPLETE"  # click completes if this variable is set

EPILOG = """\b
Examples:
  hpcbench init my-study && cd my-study
  hpcbench sweep quickstart
  hpcbench status
  hpcbench report
"""


class LazyGroup(click.Group):
    """A command is a module in a folder of hpcbench.commands, with a function NAME_command."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(FOLDERS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in FOLDERS:
            return None
        with without_garbage_collection():
            module = importlib.import_module(f"hpcbench.commands.{FOLDERS[name]}.{name}")
        command: click.Command = getattr(module, f"{name}_command")
        return apply_conventions(command, name)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Parse the options; a closed pipe ends the help quietly."""
        try:
            return super().make_context(*args, **options)
        except BrokenPipeError:
            end_quietly()

    def invoke(self, context: click.Context) -> Any:
        """Run the command. A usage error in its options names the command; a closed pipe ends it quietly."""
        try:
            return super().invoke(context)
        except click.UsageError as error:
            name = context.invoked_subcommand
            command = self.get_command(context, name) if name and error.ctx is None else None
            if command:
                error.ctx = click.Context(command, info_name=name, parent=context)
            raise
        except BrokenPipeError:  # click would exit with 1, which means that a run failed
            end_quietly()

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return commands and options that begin with a word, without importing the commands."""
        texts = {name: text for commands in GROUPS.values() for name, text in commands.items()}
        found = [CompletionItem(name, help=text) for name, text in texts.items() if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, context, incomplete)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in GROUPS.items():
            with formatter.section(TITLES[group]):
                formatter.write_dl(list(commands.items()))


def _print_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        import hpcbench

        click.echo(f"hpcbench {hpcbench.__version__}")
        context.exit()


def _use_color(context: click.Context, parameter: click.Parameter, when: str) -> None:
    if when != "auto" and not context.resilient_parsing:
        from hpcbench.util.console import err, out

        for console in (out, err):
            console.use_color(when)


def _be_quiet(context: click.Context, parameter: click.Parameter, quiet: bool) -> None:
    if quiet and not context.resilient_parsing:
        from hpcbench.util.console import err

        err.quiet = True


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--workspace",
    "-C",
    envvar=f"{PREFIX}_WORKSPACE",
    default=".",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Use this workspace, the folder with jobs/ and results/.  [default: the current folder]",
)
@click.option(
    "--color",
    type=click.Choice(COLORS),
    metavar=one_of(COLORS),
    default="auto",
    show_default=True,
    envvar=f"{PREFIX}_COLOR",
    expose_value=False,
    callback=_use_color,
    help="Print colors; with auto, only on a terminal and only if NO_COLOR is not set.",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    envvar=f"{PREFIX}_QUIET",
    expose_value=False,
    callback=_be_quiet,
    help="Print only results and errors, without messages and progress.",
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version.",
)
@click.pass_context
def group(context: click.Context, workspace: str) -> None:
    """Benchmark deep-learning frameworks on Slurm clusters, from one YAML file to a table of results.

    Each option can also be set by an environment variable, e.g. HPCBENCH_SWEEP_DRY_RUN=1 for `sweep --dry-run`.
    """
    context.obj = workspace


def main() -> None:
    """Run the command line. A usage error ends in a message and exit status 2, never in a traceback."""
    if COMPLETION in os.environ:
        _complete()
    try:
        status = group.main(standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _fail(Finding("interrupted"), 130)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        _fail_with_usage(error)
    except UserError as error:
        _fail(error, 2)
    except OSError as error:
        _fail(_of_system(error), 2)
    sys.exit(status if isinstance(status, int) else 0)


def _complete() -> None:
    """Print what completes the word at the cursor, and exit. An error prints nothing: the shell is being typed into."""
    try:
        group.main(standalone_mode=False)
    except Exception:
        sys.exit(1)


def _of_system(error: OSError) -> Finding:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "free space in the file system of the workspace (jobs/ and results/)" if full else ""
    where, what = str(error.filename or ""), error.strerror or str(error)
    return Finding(what if where else f"reading or writing failed: {what}", where, hint)


def _fail(error: UserError | Finding, status: int) -> NoReturn:
    from hpcbench.util.console import print_error  # only when something went wrong: --help stays quick

    print_error(error)
    sys.exit(status)


def _fail_with_usage(error: click.ClickException) -> NoReturn:
    from hpcbench.commands.options.usage_errors import finding_of, usage_of
    from hpcbench.util.console import print_error

    print_error(finding_of(error), usage_of(error))
    sys.exit(2)
