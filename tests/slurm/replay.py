#!/usr/bin/env -S python3 -I
"""A Slurm that answers as recorded: symbolic links to this file, named like Slurm's commands, in a folder `commands`.

Next to it are the folder `sample`, of one version, the folder `base`, whose files count where `sample` has none, and
`arrays.json` with the names of the arrays that sbatch was given. The IDs are those of the recording. With a file `uid`,
all jobs belong to this user, who has no name.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

HERE = Path(sys.argv[0]).parent.parent  # of the link, not of this file
ARRAYS = HERE / "arrays.json"
NAMELESS = HERE / "uid"
Answer = tuple[int, list[str], str]  # exit status, standard output and error


def lines(name: str) -> list[str]:
    own = HERE / "sample" / name
    return (own if own.exists() else HERE / "base" / name).read_text().splitlines()


def all_lines(name: str) -> list[str]:
    """The lines of the recorded version, followed by those that replace some of them."""
    folders = dict.fromkeys((HERE / folder).resolve() for folder in ("base", "sample"))
    return [line for folder in folders if (folder / name).exists() for line in (folder / name).read_text().splitlines()]


def table(name: str) -> list[dict[str, str]]:
    head, *rows = (line.split("|") for line in lines(name))
    return [dict(zip(head, row, strict=True)) for row in rows]


def message(name: str) -> Answer:
    _, status, output, errors = {row.split("|")[0]: row for row in all_lines("messages.txt")}[name].split("|")
    return int(status), [output] if output else [], errors


def submitted() -> dict[str, str]:
    """The name of each array by its ID."""
    return dict(json.loads(ARRAYS.read_text())) if ARRAYS.exists() else {}


def option(name: str) -> str:
    """The value of an option; of sacctmgr, without dashes."""
    found = [word.partition("=")[2] for word in sys.argv if word.lstrip("-").partition("=")[0] == name]
    return found[-1] if found else ""


def formatted(rows: list[dict[str, str]]) -> list[str]:
    """The fields of each row that --format names: by letters, or separated by commas."""
    wanted = option("format")
    if "%" in wanted:
        return ["|".join(row[name] for name in wanted.split("|")) for row in rows]
    return ["|".join(row.get(name, "") for name in wanted.split(",")) for row in rows]


def sbatch() -> Answer:
    """Give the array the ID of a recorded one of its size. The recording names them study-1.job-NNN.XX."""
    size = int(option("array").partition("%")[0].partition("-")[2]) + 1
    kinds = {1: ("aa", "bb", "ee"), 3: ("cc",), 5: ("dd",)}[size]
    recorded = {row["%j"].rpartition(".")[2]: row["%F"] for row in table("squeue.txt")}
    array = next(recorded[kind] for kind in kinds if recorded[kind] not in submitted())
    ARRAYS.write_text(json.dumps({**submitted(), array: option("job-name")}))
    for row in table("squeue.txt"):
        if row["%F"] == array and row["%N"]:  # has started: slurmd opens its log
            Path(option("output").replace("%A", array).replace("%a", row["%K"])).touch()
    return 0, [array], ""


def squeue() -> Answer:
    rows, names, wanted = table("squeue.txt"), submitted(), set(filter(None, option("jobs").split(",")))
    if len(wanted) == 1 and not wanted & {row["%F"] for row in rows}:
        return message("unknown-id")
    if NAMELESS.exists():
        rows = [{**row, "%U": NAMELESS.read_text()} for row in rows]
        status, output, errors = message("unknown-user")
        if errors and option("user"):
            return status, output, errors
    chosen = [row for row in rows if not wanted or row["%F"] in wanted]
    return 0, formatted([{**row, "%j": names.get(row["%F"], row["%j"])} for row in chosen]), ""


def sacct() -> Answer:
    names, wanted = submitted(), option("jobs").split(",")
    rows = [(re.split(r"\D", row["JobID"])[0], row) for row in table("sacct.txt")]
    chosen = [{**row, "JobName": names.get(array, row["JobName"])} for array, row in rows if array in wanted]
    return 0, formatted(chosen), ""


def scontrol() -> Answer:
    if "ping" in sys.argv:
        return 0, lines("ping.txt"), ""
    if "config" in sys.argv:
        return 0, all_lines("config.txt"), ""
    job, _, index = sys.argv[-1].partition("_")
    found = [line for line in lines("jobs.txt") if re.search(rf"\b(Array)?JobId={job}\b", line)]
    if not found or not index:
        return (0, found, "") if found else message("unknown-id-scontrol")
    found = [line for line in found if int(index) in indices(line)]
    if found:
        return 0, found, ""
    status, output, errors = message("unknown-element")
    return status, [named(line, sys.argv[-1]) for line in output], named(errors, sys.argv[-1])


def named(text: str, element: str) -> str:
    """A message of the recording, for this element."""
    return re.sub(r"\d+_\d+", element, text)


def indices(job: str) -> set[int]:
    """The indices of `ArrayTaskId=0,2-4%1`."""
    found = re.search(r"ArrayTaskId=([\d,-]+)", job)
    ranges = [part.split("-") for part in found[1].split(",")] if found else []
    return {index for part in ranges for index in range(int(part[0]), int(part[-1]) + 1) if int(part[-1]) < 10**5}


def sinfo() -> Answer:
    return 0, formatted(table("sinfo.txt")), ""


def sacctmgr() -> Answer:
    return 0, formatted(table("qos.txt" if "qos" in sys.argv else "assoc.txt")), ""


if __name__ == "__main__":
    status, output, errors = globals()[Path(sys.argv[0]).name]()
    sys.stdout.writelines(f"{line}\n" for line in output)
    sys.stderr.write(errors)
    sys.exit(status)
