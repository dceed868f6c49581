"""What is installed in the Python that runs this.

Also run by itself, with `python -c`, where hpcbench wants to know it of another Python: so it imports nothing of ours.
"""

import json
import platform
import re
import sys
from importlib import metadata
from typing import Any, Dict, Optional


def installed() -> Dict[str, Any]:
    """Its version and path, and the version of each package by normalized name: of two, the one that is imported."""
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
    """As in PEP 503; None for what an installation that failed has left behind."""
    try:
        return re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower()
    except Exception:
        return None


if __name__ == "__main__":
    print(json.dumps(installed()))
