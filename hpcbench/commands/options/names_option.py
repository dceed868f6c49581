"""Names on the command line, which commas separate."""

from __future__ import annotations

import click

from hpcbench.errors import UserError


def names(_: click.Context, option: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Return the different names of an option; none without the option. Raise UserError if a name is empty."""
    if text is None:
        return ()
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if "" in found:
        what = f"'{text}' has an empty name" if any(found) else "the name is empty"
        raise UserError(what, where=option.opts[0], hint="name one, or several separated by commas")
    return found
