"""Read the descriptions of devices: the shipped ones, and those in files of the user, which override them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hpcbench.config.devices.description import Description, DeviceFile, MatrixRates
from hpcbench.config.devices.plausibility import flaws
from hpcbench.config.devices.reported_names import plain
from hpcbench.config.devices.table import DeviceTable, merged
from hpcbench.config.validation.findings import Findings
from hpcbench.config.yaml_document import Document, load_yaml
from hpcbench.util.package_data import shipped

Described = Mapping[str, Mapping[str, Any]]  # the keys of devices as written, by short name
# What else data sheets and tools call the keys.
_CALLED = {
    **dict.fromkeys(("tdp", "tdp_w", "power_w", "power_limit_w", "tbp_w"), "board_power_w"),
    **dict.fromkeys(("sms", "sm", "compute_units", "multiprocessors", "cus", "cores"), "units"),
    **dict.fromkeys(("cores_per_sm", "cores_per_unit", "fp32_lanes"), "lanes_per_unit"),
    **dict.fromkeys(("bandwidth", "bandwidth_gb_per_s", "memory_bandwidth_gb_per_s"), "memory_gb_per_s"),
    **dict.fromkeys(("aliases", "alias", "name"), "names"),
    **dict.fromkeys(("l3_mb", "llc_mb", "cache_mb"), "l2_mb"),
    **dict.fromkeys(("min_power_limit_w", "lowest_power_w"), "lowest_power_limit_w"),
    **dict.fromkeys(("max_mhz", "turbo_mhz", "clock_mhz"), "boost_mhz"),
}


def load_devices(own: Iterable[Path] = ()) -> DeviceTable:
    """Return the shipped devices, and those in the user's own files, which override keys of shipped ones.

    Raise UserError if a file is not valid, with all errors of the file, or if two own devices have the same name.
    """
    ours = {path.resolve() for path in _files()}
    return with_devices(load_yaml(path) for path in own if path.resolve() not in ours)


def with_devices(documents: Iterable[Document]) -> DeviceTable:
    """Return the shipped devices, and those of documents, with the errors of `load_devices`."""
    table, written = _shipped()
    return merged(table, _read(documents, written)[0])


@cache
def _shipped() -> tuple[DeviceTable, Described]:
    return _read(map(load_yaml, _files()), {})


def _files() -> list[Path]:
    return sorted((shipped("configs") / "devices").glob("*.yaml"))


def _read(documents: Iterable[Document], before: Described) -> tuple[DeviceTable, dict[str, Mapping[str, Any]]]:
    """Return the devices of files, and their keys over those of `before`. The files must not have names in common."""
    descriptions: dict[str, Description] = {}
    places: dict[str, tuple[str, str]] = {}  # the device of a plain name, and the file and line of the device
    written = dict(before)
    for document in documents:
        findings = Findings(document, _key_hint)
        given = document.data.get("devices")
        complete = {**document.data, "devices": _completed(given, before)} if isinstance(given, dict) else document.data
        file = findings.validated(DeviceFile, complete)
        for name, description in file.devices.items() if file else ():
            _check(name, description, findings)
            _add_names(name, description, places, findings)
        descriptions |= findings.checked(file).devices
        written |= complete["devices"]
    return DeviceTable(descriptions, {plain_name: name for plain_name, (name, _) in places.items()}), written


def _completed(given: Mapping[str, Any], before: Described) -> dict[str, Any]:
    """Return the keys of devices over those of the same devices in `before`."""
    return {
        name: {**before[name], **keys} if name in before and isinstance(keys, dict) else keys
        for name, keys in given.items()
    }


def _check(name: str, description: Description, findings: Findings) -> None:
    for flaw in flaws(description):
        findings.add(flaw.what, ("devices", name, *flaw.key), flaw.hint)


def _add_names(name: str, description: Description, places: dict[str, tuple[str, str]], findings: Findings) -> None:
    """Add the names of a device to `places`, and an error for each that another device of these files has."""
    path = ("devices", name)
    here = findings.document.line(path)
    for each in (name, *description.names):
        other, place = places.setdefault(plain(each), (name, here))
        if (other, place) != (name, here):
            at = (*path, "names") if each != name else path
            findings.add(f"'{each}' is also the name of the device '{other}'", at, f"{place} has the other one")


def _key_hint(key: str, section: str) -> str:
    """Return a hint for an unknown key of a device, or no text if it is not a usual name of another."""
    if section.startswith("devices."):
        lower = key.lower()
        if lower in _CALLED:
            return f"did you mean '{_CALLED[lower]}'?"
        if lower.startswith(("matrix_", "tensor_", "fp16", "bf16", "tf32", "fp8")):
            return f"rates of matrix products are in matrix_tflops: {{{', '.join(MatrixRates.model_fields)}}}"
    return ""
