"""Convert output to plain text: without escape sequences, and with each state of a progress bar on its own line."""

import codecs
import re
from typing import Match, Sequence

# ECMA-48: a control sequence (CSI), a string (OSC, DCS, SOS, PM, APC) with its terminator, any other escape.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*(?P<final>[@-~])"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
_MOVES = "ABEFGHfd"  # final characters of control sequences that move the cursor
_NEW_LINES = re.compile(r"\r+\n?|\x08+")
_SILENT = "\0\a\x0e\x0f"  # NUL, bell, and shifts between character sets, e.g. after `tput sgr0` in screen and tmux
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decoded(parts: Sequence[bytes]) -> str:
    """Return bytes as plain text: by their byte order mark, otherwise as UTF-8, with U+FFFD for invalid bytes.

    Bytes are missing between two parts: lines that are incomplete for this reason are left out.
    """
    mark, encoding = next((pair for pair in _MARKS if parts and parts[0].startswith(pair[0])), (b"", "utf-8"))
    texts = []
    for place, part in enumerate(parts):
        text = plain((part if place else part[len(mark) :]).decode(encoding, "replace"))
        if place:
            text = text.partition("\n")[2]
        texts.append(text if place == len(parts) - 1 else text[: text.rfind("\n") + 1])
    return "".join(texts)


def plain(text: str) -> str:
    """Return text without escapes and characters of _SILENT, with `\\n` for other line ends and cursor movements."""
    if "\x1b" in text or not text.isascii():
        text = _ESCAPE.sub(_replacement, text)
    for character in _SILENT:
        text = text.replace(character, "")
    return _NEW_LINES.sub("\n", text)


def _replacement(found: Match[str]) -> str:
    final = found.group("final")
    return "" if final is None else " " if final == "C" else "\n" if final in _MOVES else ""
