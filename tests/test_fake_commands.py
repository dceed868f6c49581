from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def test_a_fake_command_replaces_a_link_and_leaves_the_tool_behind_it_alone(
    fake_commands: Callable[..., Path], tmp_path: Path
) -> None:
    tool = tmp_path / "tool"
    tool.write_text("the real one")
    folder = fake_commands()
    (folder / "tool").symlink_to(tool)
    fake_commands(tool="exit 0")
    assert tool.read_text() == "the real one"
    assert "exit 0" in (folder / "tool").read_text()
