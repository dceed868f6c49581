"""The command line: sections with usage, options, examples and exit status, from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from typing import NamedTuple

import click

from hpcbench import cli
from hpcbench.commands.options.option_conventions import variable_of
from hpcbench.util.exit_status import MEANINGS
from reference_parts.tables import code, markdown_table

_DEFAULT = re.compile(r" *\[(?:default: (?P<default>[^\]]*?))?(?:; )?(?P<range>\d*[<=]*x[<>=]+\d+[<=\d]*)?\]")
_STATUS = "Exit status: "


class Command(NamedTuple):
    """A command with the words that call it: `env build`."""

    words: tuple[str, ...]
    command: click.Command

    @property
    def context(self) -> click.Context:
        """Return a context in which the command has its full name."""
        return click.Context(self.command, info_name=" ".join(("hpcbench", *self.words)))


def every_command() -> list[Command]:
    """Return all commands in the order of `hpcbench --help`, each before its subcommands."""
    context = click.Context(cli.group)
    return [each for name in cli.FOLDERS for each in _with_members((name,), cli.group.get_command(context, name))]


def command_line() -> list[str]:
    """Return the sections of all commands, by the groups of `hpcbench --help`."""
    lines: list[str] = []
    for group, names in cli.GROUPS.items():
        lines += [f"## {cli.TITLES[group]}", ""]
        for each in every_command():
            if each.words[0] in names:
                lines += _section(each)
    return lines[:-1]


def global_options() -> list[str]:
    """Return the table of the options of hpcbench itself."""
    return _options(Command((), cli.group))


def exit_statuses() -> list[str]:
    """Return the table of all exit statuses."""
    return markdown_table(("status", "meaning"), MEANINGS.items())


def conditions() -> list[str]:
    """Return the table of the conditions for 1 and 3, of the commands that have any."""
    rows = []
    for each in every_command():
        found = dict(re.findall(r"(\d+) ([^;]+)(?:; |\.$)", _exit_status(each.command)))
        if found.keys() & {"1", "3"}:
            rows.append((code(" ".join(each.words)), found.get("1", ""), found.get("3", "")))
    return markdown_table(("command", "1", "3"), rows)


def variables() -> list[str]:
    """Return the table of the variable of each option."""
    rows = [
        (code(variable), code(" ".join(("hpcbench", *each.words, _long(option)))))
        for each in (Command((), cli.group), *every_command())
        for option in each.command.params
        if isinstance(option, click.Option) and not option.hidden and not option.is_eager
        for variable in [option.envvar or variable_of(option, *each.words)]
    ]
    return markdown_table(("variable", "option"), rows)


def _with_members(words: tuple[str, ...], command: click.Command | None) -> Iterator[Command]:
    assert command is not None  # noqa: S101
    yield Command(words, command)
    if isinstance(command, click.Group):
        for name, member in command.commands.items():
            yield from _with_members((*words, name), member)


def _section(each: Command) -> list[str]:
    command, context = each.command, each.context
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    depth = "#" * (2 + len(each.words))
    lines = [f"{depth} hpcbench {' '.join(each.words)}", "", "```text", usage, "```", ""]
    lines += _paragraphs(command.help or "")
    if any(isinstance(parameter, click.Option) for parameter in command.params):
        lines += [*_options(each), ""]
    epilog = (command.epilog or "").replace(_exit_status(command), "")
    lines += _paragraphs(epilog)
    if status := _exit_status(command):
        conditions = status.removeprefix(_STATUS).rstrip(".").split("; ")
        lines += ["**Exit status**", "", *(f"- {condition}" for condition in conditions), ""]
    return lines


def _exit_status(command: click.Command) -> str:
    """Return the paragraph of a help that lists the exit statuses; empty without one."""
    return next((each for each in (command.epilog or "").split("\n") if each.startswith(_STATUS)), "")


def _options(each: Command) -> list[str]:
    rows = []
    for parameter in each.command.params:
        if isinstance(parameter, click.Option) and (record := parameter.get_help_record(each.context)):
            rows.append((code(record[0]), *_meaning(record[1])))
    return markdown_table(("option", "default", "meaning"), rows)


def _meaning(text: str) -> tuple[str, str]:
    """Return the default of an option, and its help without it."""
    default, limits = "", ""
    for found in _DEFAULT.finditer(text):
        default = found["default"] or default
        limits = f" ({code(found['range'].replace('x', 'N'))})" if found["range"] else limits
    return default, _DEFAULT.sub("", text) + limits


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help as Markdown: those after \\b are code."""
    lines: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", cleandoc(text)):
        if not paragraph.startswith("\b"):
            lines += [" ".join(paragraph.split()), ""] if paragraph.strip() else []
            continue
        shown = paragraph.strip("\b\n").splitlines()
        title = shown.pop(0) if shown and shown[0].endswith(":") and not shown[0].startswith(" ") else ""
        language = "console" if title == "Examples:" else "text"
        body = [_prompted(line, language) for line in shown]
        lines += [*([title, ""] if title else []), f"```{language}", *body, "```", ""]
    return lines


def _prompted(line: str, language: str) -> str:
    """Return a line of an example with a prompt, and with its explanation, after several spaces, as a comment."""
    if language == "text":
        return line
    text = line.removeprefix("  ")
    if text.startswith(" "):
        return text
    command, _, explanation = re.sub(r"  +", "\0", text, count=1).partition("\0")
    return f"$ {command}" + (f"  # {explanation}" if explanation else "")


def _long(option: click.Option) -> str:
    return max(option.opts, key=len)
