"""Keep the weights of a trajectory next to the records. The name of a file is its checksum: equal ones share it."""

import hashlib
import os
import sys

from ...core.files import no_link, write_whole
from ...core.record import Record
from ...core.training.trajectory import FOLDER, file_of
from ..launch.rank_files import TRAJECTORY


def keep(record: Record, scratch: str, path: str) -> bool:
    """Copy the weights of a run from its scratch folder to that of the sweep, for a record in the file `path`.

    Call it before the record is appended, which names the file. Return whether the weights are kept, if there are any.
    Print a message if they cannot be kept: `scratch` has the only copy.
    """
    sha256 = record.trajectory.sha256 if record.trajectory else None
    if sha256 is None:
        return True
    results = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(path))))
    try:
        with open(os.path.join(scratch, TRAJECTORY), "rb", opener=no_link) as file:
            content = file.read()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise OSError("the file changed after the worker wrote it")
        kept = os.path.join(results, FOLDER, file_of(sha256))
        if not os.path.exists(kept):
            write_whole(kept, content, durable=True)
        return True
    except OSError as error:
        print("hpcbench: the weights of the trajectory were not kept: %s (%s)" % (error, scratch), file=sys.stderr)
        return False
