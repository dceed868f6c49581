"""hpcbench help: the help of a command."""

from __future__ import annotations

import click

from hpcbench.util.exit_status import exit_statuses

EPILOG = """\b
Examples:
  hpcbench help sweep
  hpcbench help env build
""" + exit_statuses()


@click.command("help", epilog=EPILOG)
@click.argument("command", nargs=-1)
@click.pass_context
def help_command(context: click.Context, command: tuple[str, ...]) -> None:
    """Show the help of COMMAND, or of hpcbench."""
    shown = context.find_root()
    for word in command:
        group = shown.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{shown.command_path} has no command '{word}'", shown)
        name, found, _ = group.resolve_command(shown, [word])
        if found is not None:
            shown = click.Context(found, shown, name)
    click.echo(shown.get_help())
