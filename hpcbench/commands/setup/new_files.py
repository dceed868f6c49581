"""The files that `hpcbench init` writes, and those that it finds and keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hpcbench.util.console import err


@dataclass(frozen=True)
class NewFiles:
    """A writer of files that changes no existing one."""

    written: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)

    def write(self, file: Path, content: str | bytes, *, replace: bool = False) -> None:
        """Write a new file; with `replace`, also replace one with another content. Create its folder."""
        data = content.encode() if isinstance(content, str) else content
        if file.exists() and not replace:
            self.kept.append(file)
        elif not file.is_file() or file.read_bytes() != data:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            self.written.append(file)

    def print(self) -> None:
        """Print what was written and kept since the last call: a line per file, or per folder with several files."""
        for verb, files in (("kept", self.kept), ("wrote", self.written)):
            for line in _by_folder(files):
                err.print(f"{verb} {line}", soft_wrap=True, markup=False)
            files.clear()


def _by_folder(files: Iterable[Path]) -> Iterator[str]:
    by_folder: dict[Path, list[Path]] = {}
    for file in files:
        by_folder.setdefault(file.parent, []).append(file)
    for folder, found in by_folder.items():
        yield str(found[0]) if len(found) == 1 else f"{folder}/ ({len(found)} files)"
