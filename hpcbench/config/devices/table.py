"""The table of all described devices, by short name and by the names that tools report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hpcbench.config.devices.description import Description
from hpcbench.config.devices.reported_names import plain
from hpcbench.errors import UserError, closest
from hpcbench.util.text import in_list

HOW_TO_LIST = "to list all of them: hpcbench list devices"
HOW_TO_DESCRIBE = "to describe it, write a file in configs/devices of your workspace: docs/reference/devices.md"


@dataclass(frozen=True)
class DeviceTable:
    """Descriptions of devices by short name."""

    descriptions: Mapping[str, Description]
    short_names: Mapping[str, str]  # by each name in its plain form

    def __iter__(self) -> Iterator[str]:
        return iter(self.descriptions)

    def short_name(self, name: str) -> str | None:
        """Return the short name of a device that is given by any of its names; None if it is unknown."""
        return name if name in self.descriptions else self.short_names.get(plain(name))

    def find(self, name: str) -> Description:
        """Return the description of a device that is given by any of its names. Raise UserError if it is unknown."""
        found = self.short_name(name)
        if found is None:
            raise self.not_found([name])
        return self.descriptions[found]

    def not_found(self, names: Sequence[str], others: Iterable[str] = ()) -> UserError:
        """Return the error for unknown names, with the names of devices, or of `others`, that are similar."""
        known = {*self.descriptions, *others}
        near = [closest(name, known) or closest(plain(name).replace(" ", "-"), known) for name in names]
        hints = filter(None, [*near, HOW_TO_LIST, HOW_TO_DESCRIBE])
        what = "device" if len(names) == 1 else "devices"
        shown = in_list([f"'{name}'" for name in names])
        return UserError(f"{what} {shown} not found", hint="\n".join(hints))


def merged(*tables: DeviceTable) -> DeviceTable:
    """Return the devices of all tables. A later table overrides devices and names of earlier ones."""
    return DeviceTable(
        {name: each for table in tables for name, each in table.descriptions.items()},
        {plain_name: name for table in tables for plain_name, name in table.short_names.items()},
    )
