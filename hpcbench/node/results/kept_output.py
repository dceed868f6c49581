"""Keep the output of commands next to their records: metrics can be extracted from it again later."""

import os
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from ...core import redaction
from ...core.files import appending, write_all
from ...core.metrics.kept_output import MOST_BYTES, MOST_OF_FILE, SUFFIX, Head, Part, key_of, packed
from ...core.record import Record
from ...core.run_spec import OUTPUT, PlannedRun
from ..launch import output_copy
from ..launch.rank_files import FOLDER, output_of


def beside(path: str, folder: str, suffix: str) -> str:
    """Return SWEEP/FOLDER/BATCH/7_3SUFFIX for records in SWEEP/records/BATCH/7_3.jsonl."""
    batch_folder, name = os.path.split(os.path.abspath(path))
    records, batch = os.path.split(batch_folder)
    return os.path.join(os.path.dirname(records), folder, batch, os.path.splitext(name)[0] + suffix)


def keep(
    planned: PlannedRun,
    record: Record,
    experiment: Dict[str, Any],
    ranks: List[Dict[str, Any]],
    scratch: str,
    path: str,
) -> None:
    """Append the output of a command to the file that belongs to the records in `path`.

    Print a message, and continue, if it cannot be kept.
    """
    if not planned.is_command or not ranks:
        return
    run = {"case": planned.case_id, "run": planned.run, **key_of(record)._asdict()}
    room = MOST_BYTES
    try:
        for name, part in _entries(experiment, ranks, scratch):
            room -= len(part.content)
            if room < 0:
                raise OSError("larger than %d MiB" % (MOST_BYTES // 2**20))
            head = Head(**run, **name._asdict(), offset=part.offset, bytes=len(part.content))
            with appending(beside(path, OUTPUT, SUFFIX)) as handle:
                write_all(handle, packed(head, part.content))
    except OSError as error:
        print("hpcbench: the output of the command was not kept completely: %s" % error, file=sys.stderr)


class _Name(NamedTuple):
    """What an entry holds: a stream of a rank, or a file."""

    complete: bool
    rank: Optional[int] = None
    stream: Optional[str] = None
    file: Optional[str] = None


class _Entry(NamedTuple):
    name: _Name
    part: Part


def _entries(experiment: Dict[str, Any], ranks: List[Dict[str, Any]], scratch: str) -> Iterator[_Entry]:
    """Yield each part of each output, and the files with metrics, redacted. Skip files that do not exist."""
    for rank in ranks:
        complete = bool((rank["facts"] or {}).get("output_complete"))
        for stream, output in output_of(rank["rank"], scratch)._asdict().items():
            if os.path.exists(output):
                for part in output_copy.parts(output):
                    yield _Entry(_Name(complete, rank["rank"], stream), part)
    files = {spec["file"] for spec in (experiment.get("metrics") or {}).values() if spec["file"]}
    for file in sorted(files):
        source = os.path.join(scratch, FOLDER, file)
        if os.path.isfile(source):
            with open(source, "rb") as opened:
                content = opened.read(MOST_OF_FILE)
                complete = not opened.read(1)
            redactor = redaction.Redactor(os.environ)
            yield _Entry(_Name(complete, file=file), Part(0, redactor.fed(content) + redactor.rest()))
