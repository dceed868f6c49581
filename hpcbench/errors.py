"""The error that reports a mistake of the user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_NAMES_ASKED = 5


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: what, where, and what to do. Each line of the hint is one action."""

    what: str
    where: str = ""
    hint: str = ""

    def __str__(self) -> str:
        located = f"{self.where}: {self.what}" if self.where else self.what
        return "\n  ".join([located, *self.hint.splitlines()])


class UserError(Exception):
    """An error that the user can correct: what is wrong, where, and what to do.

    `more` are further findings in the same file, and `rest` says how many are not listed. The command line prints all
    of it without a traceback and exits with 2.
    """

    def __init__(
        self, what: str, *, where: str = "", hint: str = "", more: Sequence[Finding] = (), rest: str = ""
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint
        self.more = tuple(more)
        self.rest = rest

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return everything that is wrong, in the order of the file."""
        return (Finding(self.what, self.where, self.hint), *self.more)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.findings), *filter(None, [self.rest])])


class NotFoundError(UserError):
    """A sweep or file that the user named does not exist."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known names that begin with `word`, otherwise the closest one, otherwise all."""
    names = sorted(set(known))
    return closest(word, names) or (f"use one of: {', '.join(names)}" if names else "")


def closest(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known names that begin with `word`, otherwise the closest one, otherwise no text."""
    import difflib  # only when something went wrong: --help stays quick

    word, names = word.lower(), {name.lower(): name for name in sorted(known)}
    begun = [name for name in names if word and name.startswith(word)]
    if word not in names and 1 < len(begun) <= MOST_NAMES_ASKED:
        return f"did you mean one of {', '.join(names[name] for name in begun)}?"
    close = begun if len(begun) == 1 else difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f"did you mean '{names[close[0]]}'?" if close else ""


def is_misspelt(word: str, name: str) -> bool:
    """Return whether `word` is `name` with one letter left out or added, or with two neighbours swapped.

    Names that differ in a digit, such as p50 and p5, or in another letter, such as loss_d and loss_g, are both correct.
    """
    short, long = sorted((word, name), key=len)
    fewer = {long[:place] + long[place + 1 :] for place, letter in enumerate(long) if not letter.isdigit()}
    pairs = [place for place in range(len(long) - 1) if long[place : place + 2].isalpha()]
    swapped = {long[:place] + long[place + 1] + long[place] + long[place + 2 :] for place in pairs}
    return word != name and len(short) > 2 and short in fewer | swapped
