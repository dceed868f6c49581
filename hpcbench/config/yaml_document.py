"""Strict parsing of YAML into plain data with positions, and the base class of schemas.

PyYAML composes the nodes; this module constructs the values, by the core schema of YAML 1.2 and with the merge keys of
YAML 1.1 (https://yaml.org/type/merge.html), for three reasons: errors have file, line and key; `00:10:00` remains the
text that Slurm expects (the number 600 in YAML 1.1); and tags cannot construct objects other than plain data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict

from hpcbench.config.schema_location import KeyPath
from hpcbench.errors import UserError

if TYPE_CHECKING:
    from hpcbench.config.matrix.csv_group import CsvRows

MAX_FILE_BYTES = 10_000_000
MAX_VALUES = 500_000  # including expanded aliases, against alias bombs
MAX_DEPTH = 40
_MAPPING = "write one `key: value` per line"
_SYNTAX = "check the indentation, brackets and quotes of this line and of the one before"


class Model(BaseModel):
    """Base class of all schemas: frozen, strict types, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True)
class Document:
    """A YAML file as plain data, with the line of each key and its text, and the rows of the CSV files in the data."""

    name: str
    data: dict[str, Any]
    places: Mapping[KeyPath, str]
    text: str
    csv_rows: tuple[CsvRows, ...] = ()
    at: tuple[str, ...] = ()  # the rows of the point in which errors are

    @property
    def csv_files(self) -> dict[str, str]:
        """Return the texts of the CSV files by their paths in the document."""
        return {name: text for rows in self.csv_rows for name, text in rows.texts.items()}

    def line(self, path: KeyPath) -> str:
        """Return `file:line` of the closest enclosing key with a known line, otherwise the file."""
        lengths = range(len(path), 0, -1)
        return next((self.places[path[:length]] for length in lengths if path[:length] in self.places), self.name)

    def where(self, path: KeyPath) -> str:
        """Return `file:line: key.path` of the closest enclosing key with a known line, and the other rows of `at`."""
        line = self.line(path)
        rows = ", ".join(row for row in self.at if row != line)
        return (f"{line}: {dotted(path)}" if path else self.name) + (f" ({rows})" if rows else "")

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
            raise UserError(
                "the file is larger than 10 MB", where=str(path), hint="use a range or expressions for its values"
            )
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"the file cannot be read: {error.strerror}", where=str(path), hint="check its permissions"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(
            "the file is not UTF-8 text", where=str(path), hint="save it with the encoding UTF-8"
        ) from error
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Document:
    """Return the document of the text of a YAML mapping. Raise UserError, located at `name`, if it is not valid."""
    root = _compose(text, name)
    if root is None:
        raise UserError("the file is empty", where=name, hint=_MAPPING)
    builder = _Builder(name)
    data = builder.value(root, (), ())
    if not isinstance(data, dict):
        raise UserError("the file must be a mapping of keys to values", where=f"{name}:1", hint=_MAPPING)
    return Document(name, data, builder.places, text)


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
        hint = "indent with spaces: YAML does not allow tabs" if mark and _tab_before(mark, text) else _SYNTAX
        raise UserError(f"not valid YAML: {error.problem}{_alias_at(mark, text)}", where=place, hint=hint) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise UserError(f"not valid YAML: {error}", where=name) from error


def _alias_at(mark: yaml.Mark | None, text: str) -> str:
    """Return a space and the alias at a mark, or an empty text: libyaml does not name an undefined alias."""
    rest = text.splitlines()[mark.line][mark.column :] if mark and mark.line < len(text.splitlines()) else ""
    alias = re.match(r"\*[^\s,\[\]{}]+", rest)
    return f" {alias[0]}" if alias else ""


def _check_depth(text: str, name: str) -> None:
    """Raise UserError for deep nesting, which would crash the interpreter in the recursive composer."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                mark = event.start_mark
                place = f"{name}:{mark.line + 1}" if mark else name
                raise UserError(f"nested deeper than {MAX_DEPTH} levels", where=place, hint="close the brackets")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _tab_before(mark: yaml.Mark, text: str) -> bool:
    lines = text.splitlines()
    return mark.line < len(lines) and "\t" in lines[mark.line][: mark.column + 1]


_PLAIN: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
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


def plain_value(text: str) -> Any:
    """Return the value of a YAML scalar without quotes. Raise ValueError for a number that is too large."""
    for pattern, build in _PLAIN:
        if pattern.match(text):
            value = build(text)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{text} is too large a number")
            return value
    return text


_STANDARD_TAGS = {
    f"tag:yaml.org,2002:{kind}"
    for kind in ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "merge", "value")
}


Parents = tuple[int, ...]  # identities of the nodes around a node


class _Item(NamedTuple):
    """A key of a mapping, its value, and the nodes around the value."""

    key: yaml.ScalarNode
    value: yaml.Node
    parents: Parents


def _is_merge(key: yaml.ScalarNode) -> bool:
    """Return whether a key is `<<` without quotes."""
    return bool(key.tag == "tag:yaml.org,2002:merge")


class _Builder:
    """Constructs plain data from composed nodes, and records the line of each key."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.places: dict[KeyPath, str] = {}
        self.count = 0

    def value(self, node: yaml.Node, path: KeyPath, parents: Parents) -> Any:
        """Return the data of a node. Raise UserError if it is not plain, too large or too deep."""
        self._enter(node, path, parents)
        parents = (*parents, id(node))
        if path:
            self._note(node, path)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, parents)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*path, index), parents) for index, child in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)  # noqa: S101 - the only other kind of node
        return self._scalar(node, path)

    def _enter(self, node: yaml.Node, path: KeyPath, parents: Parents) -> None:
        """Count a node. Raise UserError for too many or too deep nodes, a cyclic alias, or a custom tag."""
        self.count += 1
        if self.count > MAX_VALUES:
            raise self._error(node, path, f"there are more than {MAX_VALUES:,} values once aliases are expanded")
        if len(parents) > MAX_DEPTH:
            raise self._error(node, path, f"nested deeper than {MAX_DEPTH} levels")
        if id(node) in parents:
            raise self._error(node, path, "the alias contains itself")
        if node.tag not in _STANDARD_TAGS:
            raise self._error(node, path, f"the tag {node.tag} is not allowed", "write plain values only")

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, parents: Parents) -> dict[str, Any]:
        data = {}
        for key, item in self._items(node, path, parents).items():
            self._note(item.key, (*path, key))
            data[key] = self.value(item.value, (*path, key), item.parents)
        return data

    def _items(self, node: yaml.MappingNode, path: KeyPath, parents: Parents) -> dict[str, _Item]:
        """Return the items of a mapping by key. Merged keys are at the position of `<<`; the mapping's own keys win."""
        items: dict[str, _Item] = {}
        own: dict[str, int] = {}
        for key_node, child in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._error(key_node, path, "a key must be plain text", 'an expression needs quotes: "{{ ... }}"')
            key = key_node.value
            self._check_writable(key_node, path)
            line = key_node.start_mark.line + 1
            if key in own:
                hint = f"first on line {own[key]}"
                hint = f"{hint}; to merge several mappings: <<: [*one, *other]" if _is_merge(key_node) else hint
                raise self._error(key_node, (*path, key), f"duplicate key '{key}'", hint)
            own[key] = line
            if _is_merge(key_node):
                items = {**items, **self._merged(child, path, parents), **items}
            else:
                items[key] = _Item(key_node, child, parents)
        return items

    def _merged(self, node: yaml.Node, path: KeyPath, parents: Parents) -> dict[str, _Item]:
        """Return the items of the value of a merge key: a mapping, or a list of mappings, of which the first wins."""
        items: dict[str, _Item] = {}
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(source, yaml.MappingNode):
                hint = "to use << as an ordinary key, write it in quotes"
                raise self._error(source, (*path, "<<"), "a merge key requires a mapping or a list of mappings", hint)
            self._enter(source, (*path, "<<"), parents)
            items = {**self._items(source, path, (*parents, id(source))), **items}
            self.count += len(items)
        return items

    def _check_writable(self, node: yaml.ScalarNode, path: KeyPath) -> None:
        if found := _UNWRITABLE.search(node.value):
            raise self._error(
                node, path, f"the text contains {found.group()!r}, which cannot be used in files or commands"
            )

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:
        self._check_writable(node, path)
        if node.style:  # quoted or block scalar: always text
            return node.value
        try:
            return plain_value(node.value)
        except ValueError as error:
            raise self._error(node, path, str(error)) from error

    def _note(self, node: yaml.Node, path: KeyPath) -> None:
        self.places.setdefault(path, f"{self.name}:{node.start_mark.line + 1}")

    def _error(self, node: yaml.Node, path: KeyPath, what: str, hint: str = "") -> UserError:
        place = f"{self.name}:{node.start_mark.line + 1}"
        return UserError(what, where=f"{place}: {dotted(path)}" if path else place, hint=hint)
