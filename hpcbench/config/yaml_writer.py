"""Writes plain data as YAML that yaml_document.py reads back as the same data."""

from __future__ import annotations

from typing import Any

import yaml

from hpcbench.config.yaml_document import is_plain_text


def yaml_text(data: dict[str, Any]) -> str:
    """Return data as the text of a YAML file, with the keys in their order."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """PyYAML quotes what YAML 1.1 would take for something else than text; `1e5` is a number only to YAML 1.2."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    safe = is_plain_text(value) and value.isprintable()  # PyYAML takes some line breaks of Unicode for blanks
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, None if safe else '"')


_Dumper.add_representer(str, _text)
