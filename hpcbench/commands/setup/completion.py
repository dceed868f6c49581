"""hpcbench completion: shell code for completing commands, options and their values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from hpcbench.util.exit_status import exit_statuses

EPILOG = """\b
Examples:
  eval "$(hpcbench completion bash)"      for this shell only
  hpcbench completion bash >> ~/.bashrc
  hpcbench completion zsh >> ~/.zshrc
  hpcbench completion fish > ~/.config/fish/completions/hpcbench.fish
""" + exit_statuses()


@click.command("completion", epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    The script completes commands, options, sweeps, experiments, sites, metrics and cases.

    If hpcbench is installed in a prefix that the shell searches, e.g. /usr/local or ~/.local, completion needs no
    setup: zsh, fish and bash-completion 2.12 or later find the script in share/.
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click has no completion for {shell}")
    click.echo(found(context.find_root().command, {}, "hpcbench", "_HPCBENCH_COMPLETE").source())
