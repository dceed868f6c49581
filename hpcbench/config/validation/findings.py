"""All errors of one file at once, in the order of its lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from hpcbench.config.schema_location import KeyPath, fields_at, written_at, written_part
from hpcbench.config.validation.common_mistakes import canonical, hint_for_value
from hpcbench.config.yaml_document import Document, dotted
from hpcbench.errors import Finding, UserError, closest, nearest
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

ModelT = TypeVar("ModelT", bound=BaseModel)

MOST_LISTED = 20
_ADVICE = re.compile(r"(?:^|[;:] )((?:did you mean|use|write|add|remove|rename|choose) .*)", re.DOTALL)
KeyHint = Callable[[str, str], str]  # a hint for an unknown key of a section, or no text


def _no_hint(key: str, section: str) -> str:
    return ""


class Findings:
    """A collector of the errors of a document: at most one per key, since the others usually follow from the first."""

    def __init__(self, document: Document, key_hint: KeyHint = _no_hint) -> None:
        self.document = document
        self._key_hint = key_hint
        self._found: dict[KeyPath, Finding] = {}

    def within(self, path: KeyPath) -> bool:
        """Return whether the key at `path`, or anything in it, has an error."""
        return any(other[: len(path)] == path for other in self._found)

    def add(self, what: str, path: KeyPath, hint: str = "", *, at: KeyPath | None = None) -> None:
        """Add an error of the key at `path`, located at `at`, unless this key or one around it already has one."""
        if not any(path[:length] in self._found for length in range(len(path) + 1)):
            self._found[path] = Finding(what, self.document.where(path if at is None else at), hint)

    def validated(self, model: type[ModelT], data: Any, prefix: KeyPath = ()) -> ModelT | None:
        """Return the model of the data at `prefix`; add all errors and return None if it is not valid."""
        try:
            return model.model_validate(data)
        except ValidationError as error:
            self.add_schema(error, model, prefix)
            return None

    def add_schema(self, error: ValidationError, model: type[BaseModel], prefix: KeyPath = ()) -> None:
        """Add all errors of pydantic in the data at `prefix`."""
        for details in error.errors(include_url=False):
            self.add_details(details, model, prefix)

    def add_details(self, details: ErrorDetails, model: type[BaseModel], prefix: KeyPath, hint: str = "") -> None:
        """Add one error of pydantic, with a hint: by what users often write, otherwise `hint` or a similar name."""
        location = written_part(details["loc"], self.document.data, prefix)
        path = prefix + location
        if details["type"] == "extra_forbidden":
            key = str(details["loc"][-1])
            known = fields_at(model, location[:-1] if location[-1] == key else location)  # in an axis, it has no line
            meant = canonical(key).rpartition(".")[2]
            hint = f"did you mean '{meant}'?" if meant in known else nearest(key, known)
            self.add(f"unknown key '{key}'", path, self._key_hint(key, dotted(path[:-1])) or hint)
        elif details["type"] == "missing":
            at = prefix + location[: len(details["loc"]) - 1]
            self.add(f"'{dotted(details['loc'])}' is missing", prefix + details["loc"], at=at)
        else:
            what, advice = _worded(details)
            written = written_at(self.document.data, path)
            usual = hint_for_value(str(path[-1]), details["input"], details["type"], dotted(path[:-1]), written)
            self.add(what, path, usual or advice or hint or _similar(details))

    def checked(self, found: ModelT | None) -> ModelT:
        """Return a model that `validated` has returned. Raise UserError with all errors if there are any."""
        if found is None or self._found:
            raise self.error()
        return found

    def error(self) -> UserError:
        """Return the errors in the order of the file, at most MOST_LISTED, as one UserError.

        What is written once, but used several times by an alias, is one error.
        """
        order = {path: position for position, path in enumerate(self.document.places)}
        distinct: dict[tuple[str, str, KeyPath], Finding] = {}
        for path in sorted(self._found, key=lambda path: _position(path, order)):
            finding = self._found[path]
            distinct.setdefault((self.document.line(path), finding.what, path[-1:]), finding)
        first, *more = distinct.values()
        left = len(more) + 1 - MOST_LISTED
        rest = f"and {plural(left, 'more error')} in {self.document.name}" if left > 0 else ""
        return UserError(first.what, where=first.where, hint=first.hint, more=more[: MOST_LISTED - 1], rest=rest)


def _position(path: KeyPath, order: dict[KeyPath, int]) -> int:
    """Return the position of the closest enclosing key that is in the file."""
    lengths = range(len(path), 0, -1)
    return next((order[path[:length]] for length in lengths if path[:length] in order), -1)


def message_of(details: ErrorDetails) -> str:
    """Return the message of an error of pydantic without its prefixes, in the words of YAML."""
    if details["type"] in ("dict_type", "model_type"):
        return "should be a mapping of keys to values"
    if details["type"] in ("bool_type", "bool_parsing"):
        return "should be true or false"
    if details["type"] == "too_short":
        return f"requires at least {plural(details['ctx']['min_length'], 'value')}"
    if details["type"] == "too_long":
        return f"allows at most {plural(details['ctx']['max_length'], 'value')}"
    return details["msg"].removeprefix("Value error, ").removeprefix("Input ")


def _worded(details: ErrorDetails) -> tuple[str, str]:
    """Return what is wrong with a value, and the advice at the end of the message, if any."""
    message, shown = message_of(details), _shown(details["input"])
    advice = _ADVICE.search(message)
    what = message[: advice.start()] if advice else message
    if what and (isinstance(details["input"], dict) or what.startswith(("'", "unknown "))):
        return what, advice[1] if advice else ""
    return f"{shown} is not valid" + (f": {what}" if what else ""), advice[1] if advice else ""


def first_message(error: ValidationError) -> str:
    """Return the first message of a pydantic error, without its prefixes."""
    return message_of(error.errors(include_url=False)[0])


def _similar(details: ErrorDetails) -> str:
    """Return a hint with the allowed value that is similar to the given one, if any."""
    if details["type"] != "literal_error":
        return ""
    return closest(str(details["input"]), re.findall(r"'([^']*)'", details["ctx"]["expected"]))


def _shown(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
