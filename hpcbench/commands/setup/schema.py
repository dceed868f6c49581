"""hpcbench schema: the JSON Schema of a kind of file."""

from __future__ import annotations

import click

from hpcbench.commands.shared.json_schema import KINDS, json_schema_text
from hpcbench.util.exit_status import exit_statuses

EPILOG = """\b
Examples:
  hpcbench schema experiment > experiment.json
  hpcbench schema site | jq '.properties | keys'

\b
An editor with yaml-language-server uses the schema that the first line of a file names:
  # yaml-language-server: $schema=../schemas/experiment.json
""" + exit_statuses()


@click.command("schema", epilog=EPILOG)
@click.argument("kind", type=click.Choice(KINDS))
def schema_command(kind: str) -> None:
    """Print the JSON Schema (draft 2020-12) of experiment, site, recipe or device files.

    With the schema, editors complete keys, show their descriptions and mark errors. `hpcbench init` writes the schemas
    to configs/schemas.
    """
    click.echo(json_schema_text(kind), nl=False)
