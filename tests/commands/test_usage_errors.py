"""One form of every message that ends a command: what is wrong, where, the usage, and what to do."""

from __future__ import annotations

import pytest

from hpcbench import cli
from hpcbench.commands.options import usage_errors

SWEEP = "usage: hpcbench sweep [OPTIONS] [EXPERIMENT]\nhint: hpcbench sweep --help\n"
GROUP = "usage: hpcbench [OPTIONS] COMMAND [ARGS]...\nhint: hpcbench --help\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "quickstart", "--locl"], f"error: unknown option --locl; did you mean --local?\n{SWEEP}"),
        (["sweep", "quickstart", "--zzz"], f"error: unknown option --zzz\n{SWEEP}"),
        (["sweep", "--limit", "x", "a"], f"error: --limit: 'x' is not a valid integer\n{SWEEP}"),
        (["sweep", "--limit", "0", "a"], f"error: --limit: 0 is not in the range x>=1\n{SWEEP}"),
        (["sweep", "a", "b", "c"], f"error: unexpected argument 'b c'\n{SWEEP}"),
        (["sweep"], f"error: give either EXPERIMENT or --from SWEEP\n{SWEEP}"),
        (["sweep", "a", "--limit"], f"error: '--limit' requires an argument\n{SWEEP}"),
        (["swep"], f"error: unknown command 'swep'; did you mean 'sweep'?\n{GROUP}"),
        (["plot"], f"error: unknown command 'plot'; did you mean 'report'?\n{GROUP}"),
        (["-C", "nowhere", "Submit"], f"error: unknown command 'Submit'; did you mean 'sweep'?\n{GROUP}"),
        (
            ["env", "biuld"],
            (
                "error: unknown command 'biuld'; did you mean 'build'?\n"
                "usage: hpcbench env [OPTIONS] COMMAND [ARGS]...\nhint: hpcbench env --help\n"
            ),
        ),
        (
            ["compare", "a"],
            "error: missing argument NEW\nusage: hpcbench compare [OPTIONS] BASE NEW\nhint: hpcbench compare --help\n",
        ),
        (
            ["completion", "tcsh"],
            (
                "error: {bash,zsh,fish}: 'tcsh' is not one of 'bash', 'zsh', 'fish'\n"
                "usage: hpcbench completion [OPTIONS] {bash,zsh,fish}\nhint: hpcbench completion --help\n"
            ),
        ),
        (
            ["compare", "a", "b", "--margin", "two"],
            (
                "error: --margin: 'two' is not a number; use e.g. 2% or 0.02\n"
                "usage: hpcbench compare [OPTIONS] BASE NEW\nhint: hpcbench compare --help\n"
            ),
        ),
        (
            ["sweep", "nothing.yaml"],
            (
                "error: 'nothing.yaml' not found\n"
                "hint: name a YAML file, or one in configs/experiments without its suffix\n"
            ),
        ),
        (
            ["sweep", "quickstart", "--set", "nodes"],
            "error: --set: 'nodes' is not KEY=VALUE\nhint: write it as in --set batch_size=64\n",
        ),
    ],
)
def test_a_usage_error_is_one_message_with_the_usage_and_the_help(invoke, arguments, message):
    done = invoke(*arguments, expect=2)
    assert done.stderr == message
    assert done.stdout == ""


def test_a_word_that_is_like_no_command_gets_the_names_of_all(invoke):
    said = invoke("xyzzy", expect=2).stderr
    assert said.startswith("error: unknown command 'xyzzy'; use one of: archive, cancel, ")


def test_the_other_names_of_commands_are_not_commands():
    assert not usage_errors._COMMANDS.keys() & cli.FOLDERS.keys()
    later = {"list", "logs", "rm"}  # named only if the command exists
    assert set(usage_errors._COMMANDS.values()) <= cli.FOLDERS.keys() | later
    assert usage_errors.unknown_command("ls", ["sweep", "list"]) == "unknown command 'ls'; did you mean 'list'?"
    assert usage_errors.unknown_command("ls", ["sweep"]) == "unknown command 'ls'; use one of: sweep"


def test_all_errors_of_a_file_are_printed_with_their_places(invoke):
    (invoke.workspace / "bad.yaml").write_text("name: bad\nmatrx: 1\nparameters:\n  framework: command\n  size: 4\n")
    assert invoke("sweep", "bad.yaml", "--local", expect=2).stderr == (
        "error: unknown key 'matrx'\n"
        "  --> bad.yaml:2: matrx\n"
        "hint: did you mean 'matrix'?\n"
        "\n"
        "error: unknown parameter 'size'\n"
        "  --> bad.yaml:5: parameters.size\n"
        "hint: did you mean 'sizes'?\n"
        "hint: for a parameter of your own program, use it in `command`, or add user_parameters: [size]\n"
    )


def test_more_errors_than_are_printed_are_counted(invoke):
    (invoke.workspace / "bad.yaml").write_text("name: bad\n" + "".join(f"key{number}: 1\n" for number in range(21)))
    said = invoke("sweep", "bad.yaml", "--local", expect=2).stderr
    assert said.count("error: unknown key") == 20
    assert said.endswith("\n\nand 1 more error in bad.yaml\n")


TERMINAL = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}  # rich treats the pipe as a terminal
COLOURED = (
    "\x1b[31merror:\x1b[0m unknown key 'matrx'\n"
    "\x1b[34m  --> \x1b[0mbad.yaml:2: matrx\n"
    "\x1b[36mhint:\x1b[0m did you mean 'matrix'?\n"
)
PLAIN = "error: unknown key 'matrx'\n  --> bad.yaml:2: matrx\nhint: did you mean 'matrix'?\n"


@pytest.mark.parametrize(
    ("variables", "message"),
    [(TERMINAL, COLOURED), ({**TERMINAL, "NO_COLOR": "1"}, PLAIN), ({**TERMINAL, "TERM": "dumb"}, PLAIN), ({}, PLAIN)],
    ids=["terminal", "NO_COLOR", "dumb", "pipe"],
)
def test_an_error_has_colours_only_on_a_terminal_and_without_no_color(invoke, variables, message):
    (invoke.workspace / "bad.yaml").write_text("name: bad\nmatrx: 1\n")
    assert invoke("sweep", "bad.yaml", "--local", expect=2, env=variables).stderr == message


def test_a_warning_has_the_same_form(invoke):
    experiment = invoke.experiment(exclude=[{"nodes": 7}])
    said = invoke("sweep", experiment, "--local", "--dry-run", env=TERMINAL).stderr
    assert "\x1b[33mwarning:\x1b[0m exclude[0] matches no point\n" in said
    assert "warning: exclude[0] matches no point\n" in invoke("sweep", experiment, "--local", "--dry-run").stderr
