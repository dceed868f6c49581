"""hpcbench completion: shell code for completing commands, options and sweep names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from hpcbench.util.exit_status import exit_statuses

EPILOG = """\b
Examples:
  hpcbench completion bash >> ~/.bashrc
  hpcbench completion zsh >> ~/.zshrc
  hpcbench completion fish > ~/.config/fish/completions/hpcbench.fish
""" + exit_statuses()


@click.command("completion", epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print completion code for SHELL."""
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click has no completion for {shell}")
    click.echo(found(context.find_root().command, {}, "hpcbench", "_HPCBENCH_COMPLETE").source())
