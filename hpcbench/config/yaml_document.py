"""Strict parsing of YAML into plain data with positions, and validation by a schema.

PyYAML composes the nodes; this module constructs the values, by the core schema of YAML 1.2, for three reasons: errors
have file, line and key; `00:10:00` remains the text that Slurm expects (the number 600 in YAML 1.1); and tags cannot
construct objects other than plain data.
"""

from __future__ import annotations

import math
import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from hpcbench.errors import UserError, nearest

KeyPath = tuple[str | int, ...]
ModelT = TypeVar("ModelT", bound=BaseModel)

MAX_FILE_BYTES = 10_000_000
MAX_VALUES = 500_000  # including expanded aliases, against alias bombs
MAX_DEPTH = 40


class Model(BaseModel):
    """Base class of all schemas: frozen, strict types, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True)
class Document:
    """A YAML file as plain data, with the line of each key."""

    name: str
    data: dict[str, Any]
    places: Mapping[KeyPath, str]

    def where(self, path: KeyPath) -> str:
        """Return `file:line: key.path` of the closest enclosing key with a known line."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.places:
                return f"{self.places[path[:length]]}: {dotted(path)}"
        return f"{self.name}: {dotted(path)}" if path else self.name

    def error(self, what: str, path: KeyPath, hint: str = "") -> UserError:
        """Return a UserError located at a key."""
        return UserError(what, where=self.where(path), hint=hint)


def dotted(path: KeyPath) -> str:
    """Return a key path as text: `zip[0].nodes` for `("zip", 0, "nodes")`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def load_yaml(path: Path) -> Document:
    """Return the document of a YAML file. Raise UserError if it cannot be read, is too large or is not valid YAML."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UserError("the file is larger than 10 MB", where=str(path))
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise UserError("is not UTF-8 text", where=str(path)) from error
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Document:
    """Return the document of the text of a YAML mapping. Raise UserError, located at `name`, if it is not valid."""
    root = _compose(text, name)
    if root is None:
        raise UserError("the file is empty", where=name)
    builder = _Builder(name)
    data = builder.value(root, (), ())
    if not isinstance(data, dict):
        raise UserError("the file must be a mapping of keys to values", where=f"{name}:1")
    return Document(name, data, builder.places)


def parse_value(text: str, name: str) -> Any:
    """Return a YAML value of the command line. Raise UserError, located at `name`, if it is not valid."""
    root = _compose(text, name)
    return None if root is None else _Builder(name).value(root, (), ())


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _compose(text: str, name: str) -> yaml.Node | None:
    try:
        _check_depth(text, name)
        return yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}" if mark else name
        hint = "indent with spaces: YAML does not allow tabs" if mark and _tab_before(mark, text) else ""
        raise UserError(f"not valid YAML: {error.problem}", where=place, hint=hint) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise UserError(f"not valid YAML: {error}", where=name) from error


def _check_depth(text: str, name: str) -> None:
    """Raise UserError for deep nesting, which would crash the interpreter in the recursive composer."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                mark = event.start_mark
                place = f"{name}:{mark.line + 1}" if mark else name
                raise UserError(f"nested deeper than {MAX_DEPTH} levels", where=place)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _tab_before(mark: yaml.Mark, text: str) -> bool:
    lines = text.splitlines()
    return mark.line < len(lines) and "\t" in lines[mark.line][: mark.column + 1]


_PLAIN: tuple[tuple[re.Pattern[str], typing.Callable[[str], Any]], ...] = (
    (re.compile(r"(?:null|Null|NULL|~|)\Z"), lambda text: None),
    (re.compile(r"(?:true|True|TRUE)\Z"), lambda text: True),
    (re.compile(r"(?:false|False|FALSE)\Z"), lambda text: False),
    (re.compile(r"[-+]?[0-9]{1,100}\Z"), int),
    (re.compile(r"0x[0-9a-fA-F]{1,80}\Z"), lambda text: int(text, 16)),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z"), float),
)
# Files, paths and arguments cannot contain NUL and lone surrogates, which are not valid in UTF-8.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def is_plain_text(text: str) -> bool:
    """Return whether YAML parses unquoted `text` as text."""
    return not any(pattern.match(text) for pattern, _ in _PLAIN)


_STANDARD_TAGS = {
    f"tag:yaml.org,2002:{kind}"
    for kind in ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "merge", "value")
}


class _Builder:
    """Constructs plain data from composed nodes, and records the line of each key."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.places: dict[KeyPath, str] = {}
        self.count = 0

    def value(self, node: yaml.Node, path: KeyPath, parents: tuple[int, ...]) -> Any:
        self.count += 1
        if self.count > MAX_VALUES:
            raise self._error(node, path, f"more than {MAX_VALUES:,} values once aliases are expanded")
        if len(parents) > MAX_DEPTH:
            raise self._error(node, path, f"nested deeper than {MAX_DEPTH} levels")
        if id(node) in parents:
            raise self._error(node, path, "an alias that contains itself")
        if node.tag not in _STANDARD_TAGS:
            raise self._error(node, path, f"the tag {node.tag} is not allowed", "write plain values only")
        parents = (*parents, id(node))
        if isinstance(node, yaml.MappingNode):
            return {key: self.value(child, (*path, key), parents) for key, child in self._items(node, path)}
        if isinstance(node, yaml.SequenceNode):
            self._note(node, path)
            return [self.value(child, (*path, index), parents) for index, child in enumerate(node.value)]
        self._note(node, path)
        assert isinstance(node, yaml.ScalarNode)  # noqa: S101 - the only other kind of node
        return self._scalar(node, path)

    def _items(self, node: yaml.MappingNode, path: KeyPath) -> Iterator[tuple[str, yaml.Node]]:
        seen: dict[str, int] = {}
        for key_node, child in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._error(key_node, path, "a key must be plain text", 'an expression needs quotes: "{{ ... }}"')
            key = key_node.value
            self._check_writable(key_node, path)
            line = key_node.start_mark.line + 1
            if key in seen:
                raise self._error(
                    key_node,
                    (*path, key),
                    f"duplicate key '{key}'",
                    f"it is first on line {seen[key]}",
                )
            seen[key] = line
            self.places.setdefault((*path, key), f"{self.name}:{line}")
            yield key, child

    def _check_writable(self, node: yaml.ScalarNode, path: KeyPath) -> None:
        if found := _UNWRITABLE.search(node.value):
            raise self._error(
                node, path, f"the text contains {found.group()!r}, which cannot be used in files or commands"
            )

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:
        self._check_writable(node, path)
        if node.style:  # quoted or block scalar: always text
            return node.value
        for pattern, build in _PLAIN:
            if pattern.match(node.value):
                value = build(node.value)
                if isinstance(value, float) and not math.isfinite(value):
                    raise self._error(node, path, f"{node.value} is too large a number")
                return value
        return node.value

    def _note(self, node: yaml.Node, path: KeyPath) -> None:
        self.places.setdefault(path, f"{self.name}:{node.start_mark.line + 1}")

    def _error(self, node: yaml.Node, path: KeyPath, what: str, hint: str = "") -> UserError:
        place = f"{self.name}:{node.start_mark.line + 1}"
        return UserError(what, where=f"{place}: {dotted(path)}" if path else place, hint=hint)


def build(model: type[ModelT], document: Document) -> ModelT:
    """Return the validated model of a document. Raise UserError, with file, line and key, if it is not valid."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        raise schema_error(error, model, document) from error


def first_message(error: ValidationError) -> str:
    """Return the first message of a pydantic error, without its prefixes."""
    message: str = error.errors(include_url=False)[0]["msg"]
    return message.removeprefix("Value error, ").removeprefix("Input ")


def schema_error(
    error: ValidationError, model: type[BaseModel], document: Document, prefix: KeyPath = (), hint: str = ""
) -> UserError:
    """Return the first error of pydantic as a UserError with file, line and key, and similar names for unknown keys."""
    finding = error.errors(include_url=False)[0]
    location = _written_part(tuple(finding["loc"]), document, prefix)
    path = prefix + location
    if finding["type"] == "extra_forbidden":
        known = _fields_at(model, location[:-1])
        return document.error(f"unknown key '{location[-1]}'", path, nearest(str(location[-1]), known))
    if finding["type"] == "missing":
        missing = finding["loc"]
        return document.error(f"'{dotted(tuple(missing))}' is missing", prefix + location[: len(missing) - 1])
    message = first_message(error)
    if isinstance(finding["input"], dict):
        return document.error(message, path, hint)
    return document.error(f"{_shown(finding['input'])} is not valid: {message}", path, hint)


def _written_part(location: KeyPath, document: Document, prefix: KeyPath) -> KeyPath:
    """Return `location` without the names of union members that pydantic adds."""
    here: Any = document.data
    for part in prefix:
        here = _inside(here, part)
    kept: KeyPath = ()
    for part in location:
        here = _inside(here, part)
        if here is not _ABSENT or not kept:
            kept = (*kept, part)
    return kept


_ABSENT = object()


def _inside(container: Any, part: str | int) -> Any:
    try:
        return container[part]
    except (KeyError, IndexError, TypeError):
        return _ABSENT


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _fields_at(model: type[BaseModel], path: KeyPath) -> set[str]:
    """Return the keys that the schema allows at `path`, by its annotations."""
    annotation: Any = model
    for part in path:
        annotation = _unwrapped(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            fields = {field.alias or name: field for name, field in annotation.model_fields.items()}
            if part not in fields:
                return set()
            annotation = fields[str(part)].annotation
        else:
            annotation = (typing.get_args(annotation) or (None,))[-1]
    annotation = _unwrapped(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {field.alias or name for name, field in annotation.model_fields.items()}
    return set()


def _unwrapped(annotation: Any) -> Any:
    """Return `X` for `X | None`, other annotations unchanged."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
        return kinds[0]
    return annotation
