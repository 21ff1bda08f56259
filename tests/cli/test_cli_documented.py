"""Every command that the README and the pages show is one that the command line takes."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
COMMAND = re.compile(
    r"^(?: {4})?(?:torchrun [^\n]*? -m )?tammes ([a-z]+ (?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE
)
COMMANDS = [
    (page.name, found.replace("\\\n", " ").replace("[--json]", "--json"))
    for page in PAGES
    for found in COMMAND.findall(page.read_text(encoding="utf-8"))
]


def test_commands_are_found_on_the_pages() -> None:
    assert {"README.md", "command_line.md", "training.md"} <= {page for page, _ in COMMANDS}
    assert any("selection:subset --selection.k 128" in words for _, words in COMMANDS)  # goes over lines


@pytest.mark.parametrize(("page", "words"), COMMANDS)
def test_a_documented_command_is_understood(page: str, words: str) -> None:
    command, *rest = shlex.split(words, comments=True)
    assert importlib.import_module(f"tammes.cli.options.{command}").parse(rest) is not None
