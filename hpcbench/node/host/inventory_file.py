"""The path of a node's inventory, separate from inventory.py, whose import takes long."""

import os
import re
import zlib


def path_of(folder: str, name: str) -> str:
    """Return FOLDER/XX/HOST.json. XX is from a checksum, which limits the entries per folder on large clusters."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return os.path.join(folder, "%02x" % (zlib.crc32(name.encode()) & 0xFF), plain + ".json")
