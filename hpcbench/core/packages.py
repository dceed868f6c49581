"""The packages that are installed in the Python that runs this module.

hpcbench also runs this module with `python -c` in another Python. For this reason it imports no other module of
hpcbench.
"""

import json
import platform
import re
import sys
from email import message_from_string
from email.message import Message
from importlib import metadata
from typing import Any, Dict


def installed() -> Dict[str, Any]:
    """Return version and path of this Python, and the version of each package by its name.

    If a package is installed twice, the version is that of the one that Python imports. Names are normalized as in
    PEP 503.
    """
    packages: Dict[str, str] = {}
    for found in metadata.distributions():
        headers = _headers(found)
        if headers["Name"]:  # otherwise the remains of a failed installation
            packages.setdefault(re.sub(r"[-_.]+", "-", headers["Name"]).lower(), headers["Version"])
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "packages": dict(sorted(packages.items())),
    }


def _headers(found: metadata.Distribution) -> Message:
    """Return the metadata without the description, which would take most of the time to parse; none if unreadable."""
    try:
        text = found.read_text("METADATA") or found.read_text("PKG-INFO") or found.read_text("") or ""
    except Exception:
        text = ""
    return message_from_string(text.partition("\n\n")[0])


if __name__ == "__main__":
    print(json.dumps(installed()))
