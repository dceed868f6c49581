"""Run the tests with the marker `versions` on the Slurm of each Debian suite; save results as JSON for `make docs`.

`make docs` generates the table of docs/reference/slurm-versions.md from docs/reference/slurm-versions.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree  # nosec B405

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "reference" / "slurm-versions.json"
SUITES = ("bullseye", "bookworm", "trixie", "sid")
PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test: passed, failed or not run, with the reason if it was not run."""

    feature: str
    name: str
    outcome: str
    reason: str = ""


@dataclass(frozen=True)
class Release:
    """The results of one suite, or the reason if its Slurm is not available."""

    suite: str
    version: str = ""
    reason: str = ""
    tests: tuple[Outcome, ...] = field(default=())


def run_release(suite: str, options: list[str]) -> Release:
    """Run the marked tests on the Slurm of a suite."""
    unpacked = subprocess.run([ROOT / "tools" / "slurm-release", suite], capture_output=True, text=True)
    if unpacked.returncode:
        return Release(suite, reason=(unpacked.stderr.strip().splitlines() or ["unknown"])[-1])
    root = Path(unpacked.stdout.strip())
    variables = {"CLUSTER_RELEASE": suite, "PATH": f"{root / 'programs'}:{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.xml"
        pytest = [sys.executable, "-m", "pytest", "tests/cluster", "-m", "versions", f"--junitxml={file}"]
        pytest += ["-o", "junit_family=xunit1", *options]  # which has properties
        subprocess.run(pytest, cwd=ROOT, env={**os.environ, **variables})
        tests = tuple(_tests(file)) if file.exists() else ()
    reason = "" if tests else "pytest ended without results"
    return Release(suite, (root / "version").read_text().strip(), reason, tests)


def _tests(file: Path) -> Iterator[Outcome]:
    # The file is pytest's own.
    for case in ElementTree.parse(file).iter("testcase"):  # noqa: S314 # nosec B314
        features = [each.get("value", "") for each in case.iter("property") if each.get("name") == "feature"]
        skipped = case.find("skipped")
        outcome, reason = PASSED, ""
        if case.find("failure") is not None or case.find("error") is not None:
            outcome = FAILED
        elif skipped is not None:
            outcome, reason = NOT_RUN, skipped.get("message", "")
        for feature in features:
            yield Outcome(feature, case.get("name", ""), outcome, reason)


def merged(before: Release | None, now: Release) -> Release:
    """Return the results of a run of some tests, with the earlier results of other tests on the same version."""
    if before is None or before.version != now.version:
        return now
    new = {test.name: test for test in now.tests}
    old = [new.pop(test.name, test) for test in before.tests]
    return replace(now, tests=(*old, *new.values()))


def saved() -> list[Release]:
    """Return the saved results, in the order of the suites."""
    content = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    return [Release(**{**each, "tests": tuple(Outcome(**test) for test in each["tests"])}) for each in content]


def version_table() -> list[str]:
    """Return the saved results as lines of a Markdown table, followed by what did not pass, with the reasons."""
    releases = saved()
    features = sorted({test.feature for release in releases for test in release.tests})
    heads = [f"{release.version or 'unknown version'} ({release.suite})" for release in releases]
    lines = [f"| feature | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for feature in features:
        lines.append(f"| {feature} | {' | '.join(_cell(release, feature) for release in releases)} |")
    notes = [f"- {release.suite}: not run ({release.reason})" for release in releases if release.reason]
    notes += [
        f"- {release.suite}, `{test.name}`: {test.outcome}" + (f" ({test.reason})" if test.reason else "")
        for release in releases
        for test in release.tests
        if test.outcome != PASSED
    ]
    return [*lines, *([""] if notes else []), *notes]


def _cell(release: Release, feature: str) -> str:
    """Return `passed`, `failed` or `not run`: a feature has passed if each of its tests has."""
    counts = Counter(test.outcome for test in release.tests if test.feature == feature)
    for outcome in (FAILED, NOT_RUN, PASSED):
        if counts[outcome]:
            return f"{outcome} ({counts[outcome]} of {counts.total()})" if len(counts) > 1 else outcome
    return NOT_RUN


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"[default: {' '.join(SUITES)}]")
    parser.add_argument(
        "--pytest", action="append", default=[], metavar="OPTION", help="an option for pytest, e.g. --pytest=-kgpus"
    )
    given = parser.parse_args()
    suites = given.suites or SUITES
    releases = {release.suite: release for release in saved()}
    for suite in suites:
        print(f"== Slurm of {suite}", flush=True)
        found = run_release(suite, given.pytest)
        releases[suite] = merged(releases.get(suite), found) if given.pytest else found
        known = [*SUITES, *(each for each in releases if each not in SUITES)]
        ordered = [asdict(releases[each]) for each in known if each in releases]
        RESULTS.write_text(json.dumps(ordered, indent=1) + "\n")
    failed = False
    for release in (releases[suite] for suite in suites):
        counts = Counter(test.outcome for test in release.tests)
        told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) or NOT_RUN
        print(f"{release.suite}: Slurm {release.version or 'unknown'}: {told} {release.reason}".rstrip())
        # Without the mirror, no test can run. This is an error only in CI, where the mirror must be reachable.
        incomplete = bool(release.reason or counts[NOT_RUN])
        failed |= bool(counts[FAILED]) or (incomplete and os.environ.get("CI") == "true")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
