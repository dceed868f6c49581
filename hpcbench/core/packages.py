"""The packages that are installed in the Python that runs this module.

hpcbench also runs this module with `python -c` in another Python. For this reason it imports no other module of
hpcbench.
"""

import json
import platform
import re
import sys
from importlib import metadata
from typing import Any, Dict, Optional


def installed() -> Dict[str, Any]:
    """Return version and path of this Python, and the version of each package by its normalized name.

    If a package is installed twice, the version is that of the one that Python imports.
    """
    packages: Dict[str, str] = {}
    for found in metadata.distributions():
        name = _name(found)
        if name:
            packages.setdefault(name, found.version)
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "packages": dict(sorted(packages.items())),
    }


def _name(found: metadata.Distribution) -> Optional[str]:
    """Return the name of a package, normalized as in PEP 503, or None for the remains of a failed installation."""
    try:
        return re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower()
    except Exception:
        return None


if __name__ == "__main__":
    print(json.dumps(installed()))
