"""Writing of plain data as YAML that yaml_document.py parses to equal data."""

from __future__ import annotations

from typing import Any

import yaml

from hpcbench.config.yaml_document import is_plain_text


def yaml_text(data: dict[str, Any]) -> str:
    """Return data as YAML text, with the keys in their order."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """A dumper that also quotes text that is a number in YAML 1.2 only, such as `1e5`, and uses no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    safe = is_plain_text(value) and value.isprintable()  # PyYAML parses some Unicode line breaks as spaces
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, None if safe else '"')


def _list(dumper: yaml.SafeDumper, values: list[Any]) -> yaml.Node:
    """Return a list of plain values on one line, as in `nodes: [1, 2, 4]`."""
    plain = not any(isinstance(value, list | dict) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=plain)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
