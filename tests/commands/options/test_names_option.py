"""Names of options, which commas separate."""

from __future__ import annotations

import click
import pytest

from hpcbench.commands.options.names_option import names
from hpcbench.errors import UserError

OPTION = click.Option(["--device"])
CONTEXT = click.Context(click.Command("predict"))


@pytest.mark.parametrize(
    ("text", "expected"), [(None, ()), ("t4", ("t4",)), ("t4, l4,t4", ("t4", "l4")), (" node 1 ", ("node 1",))]
)
def test_commas_separate_names_which_may_be_repeated(text: str | None, expected: tuple[str, ...]) -> None:
    assert names(CONTEXT, OPTION, text) == expected


@pytest.mark.parametrize(
    ("text", "what"),
    [("", "the name is empty"), (" , ", "the name is empty"), ("t4,,l4", "'t4,,l4' has an empty name"),
     ("t4,", "'t4,' has an empty name")],
)  # fmt: skip
def test_an_empty_name_is_refused(text: str, what: str) -> None:
    with pytest.raises(UserError) as error:
        names(CONTEXT, OPTION, text)
    assert error.value.what == what
    assert error.value.where == "--device"
    assert "separated by commas" in error.value.hint
