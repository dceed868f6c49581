"""Run the commands of the README and the tutorials, and write their output into these pages (`make transcripts`).

Each command is a line with a `$` prompt in a `console` block. A page is one session in a new home folder: exported
variables and the current folder last. A block of code with a title is a file with this name, written when its turn
comes; in an existing YAML file, it replaces its top-level keys. Comments directly above a console block say what to do
with it:

    <!-- skip: REASON -->     do not run it
    <!-- show: REGEX -->      write the lines of the output that match below each command, with `...` between them
    <!-- status: 0 1 -->      it may also end with exit status 1
    <!-- slurm -->            from here on, the commands run on a cluster, mycluster; the first one in the home folder
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "getting-started").glob("*.md"))]
CLUSTER = {
    "CLUSTER_NAME": "mycluster",
    "CLUSTER_NODES": "1",  # several nodes would share the CPUs of this machine
    "CLUSTER_DIR": "/var/lib/hpcbench-transcripts",
    "CLUSTER_PORT": "16000",
}
COLUMNS = 100
REPOSITORY = "https://github.com/hpcbench/hpcbench"
BLOCK = re.compile(
    r"(?P<marks>(?:^ *<!-- .* -->\n)*)"
    r'^(?P<indent> *)```(?P<language>\w+)(?: title="(?P<file>.+)")?\n(?P<text>(?:.*\n)*?)(?P=indent)```$',
    re.MULTILINE,
)
MARK = re.compile(r"<!-- (\w+)(?:: (.*))? -->")


class TranscriptError(Exception):
    """A page whose commands do not do what it says."""


@dataclass(frozen=True)
class Shell:
    """The shell of a page: its commands run one by one; variables and current folder are kept in a file."""

    home: Path
    state: Path

    def __call__(self, command: str, statuses: tuple[int, ...] = (0,)) -> list[str]:
        """Run a command, and return the lines of its output. Raise TranscriptError on another exit status."""
        keep = f'trap \'{{ export -p; printf "cd %q\\n" "$PWD"; }} > "{self.state}"\' EXIT'
        done = subprocess.run(
            ["bash", "-c", f'. "{self.state}"\n{keep}\n{command}'],
            cwd=self.home,
            env=variables(self.home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode not in statuses:
            raise TranscriptError(f"{command!r} ended with exit status {done.returncode}:\n{done.stdout}")
        printed = done.stdout.replace(str(self.home), "~").replace(str(ROOT), "~/hpcbench")
        lines = (line.rstrip() for line in printed.splitlines())
        return [line for line in lines if line]


def variables(home: Path) -> dict[str, str]:
    """Return the variables of a new user, who has this hpcbench, and clones this repository."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("HPCBENCH_", "SLURM_", "SBATCH_"))
    }
    cache = Path.home() / ".cache"
    return kept | {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(home / ".local" / "bin"), os.environ["PATH"]]),
        "COLUMNS": str(COLUMNS),
        "HPCBENCH_ENVS": os.environ.get("HPCBENCH_ENVS", str(cache / "hpcbench" / "environments")),
        "PIP_CACHE_DIR": str(cache / "pip"),
        "UV_CACHE_DIR": str(cache / "uv"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{ROOT}.insteadOf",
        "GIT_CONFIG_VALUE_0": REPOSITORY,
    }


@dataclass(frozen=True)
class Session:
    """The run of one page."""

    shell: Shell
    slurm: Mapping[str, str]

    def block(self, found: re.Match[str]) -> str:
        """Write the file of a block, or run its commands; return the block with their output."""
        marks = dict(MARK.findall(found["marks"]))
        indent = found["indent"]
        lines = [line.removeprefix(indent) for line in found["text"].splitlines()]
        if found["file"]:
            write_file(self.shell.home / found["file"], lines)
        if found["language"] != "console" or "skip" in marks:
            return found[0]
        if "slurm" in marks:
            self.shell("\n".join(["cd", *(f"export {name}='{value}'" for name, value in self.slurm.items())]))
        statuses = tuple(int(word) for word in marks.get("status", "0").split())
        outputs = [(command, self.shell(command.replace("\n> ", "\n"), statuses)) for command in commands(lines)]
        if "show" not in marks:
            return found[0]
        kept = [(command, shown(output, marks["show"])) for command, output in outputs]
        if not any(output for _, output in kept):
            raise TranscriptError(f"no line of the output matches {marks['show']!r}: {outputs}")
        written = [line for command, output in kept for line in (f"$ {command}", *output)]
        body = "".join(f"{indent}{line}\n" for line in "\n".join(written).splitlines())
        return f"{found['marks']}{indent}```console\n{body}{indent}```"


def commands(lines: list[str]) -> list[str]:
    """Return the commands among the lines of a block, each with its continuation lines."""
    return re.findall(r"^\$ (.+(?:\n> .*)*)", "\n".join(lines), re.MULTILINE)


def shown(output: list[str], pattern: str) -> list[str]:
    """Return the lines that match, and what was wrapped of them, with `...` in place of others between them."""
    kept: list[str] = []
    before, gap = "", False  # the line before if it was kept; whether lines were left out after the last one kept
    for line in output:
        if re.search(pattern, line) or wrapped(before, line):
            kept += ["...", line] if kept and gap else [line]
            before, gap = line, False
        else:
            before, gap = "", True
    return kept


def wrapped(before: str, line: str) -> bool:
    """Return whether a line is the rest of the one before, where its first word did not fit; no row of a table is."""
    full = len(before) <= COLUMNS < len(f"{before} {line.split()[0]}")
    return full and not before.startswith(" ") and not line.startswith(" ")


def write_file(path: Path, lines: list[str]) -> None:
    """Write a file; if it exists and is YAML, replace only the top-level keys that the lines have."""
    before: list[str] = []
    if path.exists() and path.suffix == ".yaml":
        keys = tuple(line.partition(":")[0] + ":" for line in lines if line[:1].isalpha())
        before = list(without_keys(path.read_text(encoding="utf-8").splitlines(), keys))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*before, *lines, ""]), encoding="utf-8")


def without_keys(lines: list[str], keys: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of YAML that do not belong to these top-level keys."""
    inside = False
    for line in lines:
        if line[:1] not in ("", " ", "-", "#"):
            inside = line.startswith(keys)
        if not inside:
            yield line


def run_page(page: Path, home: Path, slurm: Mapping[str, str]) -> str:
    """Run the commands of a page in this home folder, and return its text with their output."""
    with NamedTemporaryFile() as state:
        session = Session(Shell(home, Path(state.name)), slurm)
        return BLOCK.sub(session.block, page.read_text(encoding="utf-8"))


def on_slurm(page: Path) -> bool:
    """Return whether commands of a page need a cluster."""
    return "<!-- slurm -->" in page.read_text(encoding="utf-8")


def pytorch_module(folder: Path) -> dict[str, str]:
    """Make a module with PyTorch, as a cluster has it; return the variables of a shell that sees it."""
    programs = folder / "pytorch" / "bin"
    module = folder / "modulefiles" / "pytorch" / "2.13"
    for parent in (programs, module.parent):
        parent.mkdir(parents=True)
    (programs / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    (programs / "python3").chmod(0o755)
    module.write_text(f"#%Module1.0\nprepend-path PATH {programs}\n", encoding="utf-8")
    return {"MODULEPATH": str(folder / "modulefiles")}


@contextmanager
def cluster() -> Iterator[dict[str, str]]:
    """Start the cluster of the pages, yield the variables that select it, and stop it at the end."""
    tool = [str(ROOT / "tools" / "cluster")]
    subprocess.run([*tool, "up"], env=os.environ | CLUSTER, check=True, stdout=subprocess.DEVNULL)
    try:
        with TemporaryDirectory() as folder:
            yield {"SLURM_CONF": f"{CLUSTER['CLUSTER_DIR']}/slurm.conf", **pytorch_module(Path(folder))}
    finally:
        subprocess.run([*tool, "down"], env=os.environ | CLUSTER, check=True)


def main(names: list[str]) -> None:
    """Update the pages with these names, or all of them."""
    pages = [page for page in PAGES if not names or page.name in names]
    with ExitStack() as stack:
        slurm = stack.enter_context(cluster()) if any(map(on_slurm, pages)) else {}
        for page in pages:
            print(page.relative_to(ROOT), flush=True)
            with TemporaryDirectory() as home:
                page.write_text(run_page(page, Path(home), slurm), encoding="utf-8")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except TranscriptError as error:
        sys.exit(str(error))
