"""Every command that the README and the pages show is one that the command line takes."""

import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import tyro

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


class ParsedError(Exception):
    """The words were understood; nothing is run."""


def test_commands_are_found_on_the_pages() -> None:
    assert {"README.md", "command_line.md", "training.md"} <= {page for page, _ in COMMANDS}
    assert any("selection:subset --selection.k 128" in words for _, words in COMMANDS)  # goes over lines


@pytest.mark.parametrize(("page", "words"), COMMANDS)
def test_a_documented_command_is_understood(page: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    understand = tyro.cli

    def parse(*arguments: Any, **settings: Any) -> None:
        understand(*arguments, **settings)
        raise ParsedError

    monkeypatch.setattr(tyro, "cli", parse)
    command, *rest = shlex.split(words, comments=True)
    with pytest.raises(ParsedError):
        importlib.import_module(f"tammes.cli.{command}").main(rest)
