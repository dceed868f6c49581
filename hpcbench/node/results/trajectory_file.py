"""Keep the weights of a trajectory next to the records. The name of a file is its checksum: equal ones share it."""

import hashlib
import os
import sys

from ...core.files import write_whole
from ...core.record import Record
from ...core.training.trajectory import FOLDER, file_of
from ..launch.rank_files import TRAJECTORY


def keep(record: Record, scratch: str, path: str) -> None:
    """Copy the weights of a run from its scratch folder to that of the sweep, for a record in the file `path`.

    Print a message, and continue, if they cannot be kept.
    """
    sha256 = record.trajectory.sha256 if record.trajectory else None
    if sha256 is None:
        return
    results = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(path))))
    try:
        with open(os.path.join(scratch, TRAJECTORY), "rb") as file:
            content = file.read()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise OSError("the file changed after the worker wrote it")
        kept = os.path.join(results, FOLDER, file_of(sha256))
        if not os.path.exists(kept):
            write_whole(kept, content, durable=True)
    except OSError as error:
        print("hpcbench: the weights of the trajectory were not kept: %s" % error, file=sys.stderr)
