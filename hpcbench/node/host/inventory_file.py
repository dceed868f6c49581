"""The file of what is known of a node. Apart from what describes one, which takes long to import and is needed once."""

import os
import re
import zlib


def path_of(folder: str, name: str) -> str:
    """XX is of a checksum, so that no folder has more than a thousand entries on a cluster of 100,000 nodes."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return os.path.join(folder, "%02x" % (zlib.crc32(name.encode()) & 0xFF), plain + ".json")
