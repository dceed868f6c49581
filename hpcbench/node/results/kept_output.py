"""The output of commands, kept next to their records: metrics can be extracted from it again later.

A file SWEEP/output/BATCH/7_3.txt.gz belongs to a file of records. It has an entry for each part of an output, and for
each file with a metric: a line of JSON with the key of the record, the name and the number of bytes; the bytes; a line
end. zless(1) shows the file. If the `offset` of an entry is beyond the end of the previous one, bytes are missing.
"""

import gzip
import json
import os
import sys
from typing import Any, Dict, Iterator, List, Tuple

from ...core import redaction
from ...core.files import appending, write_all
from ...core.record import Record, RecordKey
from ...core.run_spec import PlannedRun
from ..launch import output_copy
from ..launch.output_copy import Part
from ..launch.rank_files import FOLDER, MAX_BYTES, output_of

OUTPUT = "output"  # folder next to that of the records
MOST_BYTES = 256 * 2**20  # per run, before compression
_LEVEL = 6


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
    key = RecordKey(record.job, record.element, record.batch, record.attempt)
    run = {"case": planned.case_id, "repetition": planned.repetition, **key._asdict()}
    room = MOST_BYTES
    try:
        for name, part in _parts(experiment, ranks, scratch):
            room -= len(part.content)
            if room < 0:
                raise OSError("larger than %d MiB" % (MOST_BYTES // 2**20))
            head = json.dumps({**run, **name, "offset": part.offset, "bytes": len(part.content)})
            packed = gzip.compress(b"%s\n%s\n" % (head.encode(), part.content), _LEVEL)
            with appending(beside(path, OUTPUT, ".txt.gz")) as handle:
                write_all(handle, packed)
    except OSError as error:
        print("hpcbench: the output of the command was not kept completely: %s" % error, file=sys.stderr)


def _parts(
    experiment: Dict[str, Any], ranks: List[Dict[str, Any]], scratch: str
) -> Iterator[Tuple[Dict[str, Any], Part]]:
    """Yield each part of each output, and the files with metrics, redacted. Skip files that do not exist."""
    for rank in ranks:
        for name, output in output_of(rank["rank"], scratch)._asdict().items():
            if os.path.exists(output):
                for part in output_copy.parts(output):
                    yield {"rank": rank["rank"], "stream": name}, part
    files = {spec["file"] for spec in (experiment.get("metrics") or {}).values() if spec["file"]}
    for file in sorted(files):
        source = os.path.join(scratch, FOLDER, file)
        if os.path.isfile(source):
            with open(source, "rb") as opened:
                redactor = redaction.Redactor(os.environ)
                content = redactor.fed(opened.read(MAX_BYTES)) + redactor.rest()
            yield {"file": file}, Part(0, content)
