"""The one error that a user's mistake becomes."""

from __future__ import annotations

from collections.abc import Iterable

MOST_NAMES_ASKED = 5


class UserError(Exception):
    """An error that the user can correct: what is wrong, where, and what to do.

    The command line prints it without a traceback and exits with 2.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        located = f"{self.where}: {self.what}" if self.where else self.what
        return f"{located}\n  {self.hint}" if self.hint else located


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known names that begin with `word`, otherwise the closest one, otherwise all."""
    import difflib  # only when something went wrong: --help stays quick

    word, names = word.lower(), {name.lower(): name for name in sorted(known)}
    begun = [name for name in names if word and name.startswith(word)]
    if word not in names and 1 < len(begun) <= MOST_NAMES_ASKED:
        return f"did you mean one of {', '.join(names[name] for name in begun)}?"
    close = begun if len(begun) == 1 else difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{names[close[0]]}'?"
    return f"known are: {', '.join(names.values())}" if names else ""
