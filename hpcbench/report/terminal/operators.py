"""Profiles of operators on a terminal: clock states, kinds of operators, the longest operators, and their sum."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hpcbench.analysis.results import Results
from hpcbench.report.text.profiles.clock_states import DEFAULT_ONLY, columns_of, sentences_of
from hpcbench.report.text.profiles.operators import (
    kinds_of,
    longest_of,
    no_energy_of_all,
    sentences,
    title_of,
    title_of_states,
)
from hpcbench.report.text.text_columns import as_table, fitting
from hpcbench.util.text import plural, printable

MAX_PROFILES = 6


def print_operators(results: Results, console: Console) -> None:
    """Print the profile of each case: its clock states if there are several, and its operators and their sum."""
    _print_clock_states(results, console)
    shown = results.profiles[:MAX_PROFILES]
    shared = no_energy_of_all(shown)
    for profile in shown:
        console.print(Text(printable(title_of(profile, results)), style="italic"), soft_wrap=True)
        for columns in (kinds_of(profile), longest_of(profile)):
            if columns[0].cells:
                console.print(as_table(fitting(columns, console.width)))
        for sentence in sentences(profile, shared):
            console.print(Text(printable(sentence)), soft_wrap=True)
    if shared:
        console.print(Text(printable(shared)), soft_wrap=True)
    if len(results.profiles) > MAX_PROFILES:
        console.print(f"... and {plural(len(results.profiles) - MAX_PROFILES, 'more profile')}: --html FILE, or --json")


def _print_clock_states(results: Results, console: Console) -> None:
    """Print the step by state of the device for each case with several states."""
    for case in results.clock_states[:MAX_PROFILES]:
        console.print(Text(printable(title_of_states(case, results)), style="italic"), soft_wrap=True)
        console.print(as_table(fitting(columns_of(case), console.width)))
        for sentence in sentences_of(case):
            console.print(Text(printable(sentence)), soft_wrap=True)
    if len(results.clock_states) > MAX_PROFILES:
        left = plural(len(results.clock_states) - MAX_PROFILES, "more case")
        console.print(f"... and {left} with clock states: --html FILE, or --json")
    if results.clock_states:
        console.print(DEFAULT_ONLY, soft_wrap=True)
