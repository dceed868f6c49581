"""The usage errors of click in the form of all errors: what is wrong, the usage, and how to get help."""

from __future__ import annotations

import re

import click

from hpcbench.errors import Finding, nearest

# Names that other tools have for a command.
_COMMANDS = {
    **dict.fromkeys(("start", "submit", "launch", "bench", "benchmark"), "sweep"),
    **dict.fromkeys(("search", "optimize", "optimise", "autotune"), "tune"),
    **dict.fromkeys(("continue", "retry", "restart", "rerun"), "resume"),
    **dict.fromkeys(("stop", "kill", "abort", "scancel"), "cancel"),
    **dict.fromkeys(("ps", "watch", "queue", "squeue", "jobs", "progress"), "status"),
    **dict.fromkeys(("view", "info", "inspect", "describe"), "show"),
    **dict.fromkeys(("log", "tail", "cat", "output"), "logs"),
    **dict.fromkeys(("browse", "page", "html", "serve"), "open"),
    **dict.fromkeys(("ls", "sweeps", "experiments", "models", "metrics", "sites"), "list"),
    **dict.fromkeys(("plot", "results", "summary", "table", "figures", "csv", "export"), "report"),
    **dict.fromkeys(("diff", "check-regression"), "compare"),
    **dict.fromkeys(("trend", "timeline"), "history"),
    **dict.fromkeys(("new", "setup", "create", "configure"), "init"),
    **dict.fromkeys(("environment", "environments", "build", "install"), "env"),
    **dict.fromkeys(("check", "checkup", "diagnose"), "doctor"),
    **dict.fromkeys(("pack", "bundle", "zip", "save"), "archive"),
    **dict.fromkeys(("delete", "del", "remove", "clean", "prune"), "rm"),
}
_EXTRA = re.compile(r"Got unexpected extra arguments? \((.*)\)", re.DOTALL)
_NO_COMMAND = re.compile(r"No such command '(.*)'\.?", re.DOTALL)


def finding_of(error: click.ClickException) -> Finding:
    """Return what is wrong by an error of click, with the command that explains the usage as the hint."""
    context = getattr(error, "ctx", None)
    return Finding(_what(error, context), hint=f"{context.command_path if context else 'hpcbench'} --help")


def usage_of(error: click.ClickException) -> str:
    """Return the usage of the command in one line, as `hpcbench sweep [OPTIONS] [EXPERIMENT]`."""
    context = getattr(error, "ctx", None)
    return " ".join([context.command_path, *context.command.collect_usage_pieces(context)]) if context else ""


def _what(error: click.ClickException, context: click.Context | None) -> str:
    if isinstance(error, click.MissingParameter):
        return _missing(error)
    if isinstance(error, click.NoSuchOption):
        similar = sorted(error.possibilities or (), key=lambda name: name[:3] != error.option_name[:3])
        return f"unknown option {error.option_name}" + (f"; did you mean {similar[0]}?" if similar else "")
    no_command = _NO_COMMAND.match(error.message)
    if no_command and context and isinstance(context.command, click.Group):
        return unknown_command(no_command[1], context.command.list_commands(context))
    wrong = error.param if isinstance(error, click.BadParameter) else None
    return f"{_name(wrong)}: {_reworded(error.message)}" if wrong else _reworded(error.message)


def _reworded(message: str) -> str:
    """Return a message of click without its capital and full stop, and in the words of this project."""
    extra = _EXTRA.match(message)
    if extra:
        return f"unexpected argument '{extra[1]}'"
    message = message.removeprefix("Option ").removesuffix(".").replace("valid integer range", "valid integer")
    return message[:1].lower() + message[1:]


def unknown_command(name: str, known: list[str]) -> str:
    """Return the message about a command that does not exist, with the one that is meant."""
    meant = _COMMANDS.get(name.lower())
    return f"unknown command '{name}'; " + (f"did you mean '{meant}'?" if meant in known else nearest(name, known))


def _missing(error: click.MissingParameter) -> str:
    if error.param is None:
        return "an argument is missing"
    return f"missing {error.param.param_type_name} {_name(error.param)}"


def _name(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=len) if isinstance(parameter, click.Option) else parameter.human_readable_name
