"""Every command that the README and the pages show is one that the command line takes."""

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from tammes.training.command import Command

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


@pytest.fixture
def run_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A run at the address that the pages resume from, in fsspec's store in memory."""
    monkeypatch.chdir(tmp_path)
    files = {
        "/bucket/runs/pets/config.yaml": "",
        "/bucket/runs/pets/command.json": Command(
            words=("simclr", "--data", "digits", "--temperature", "0.2"), folder=tmp_path
        ).to_json(),
    }
    store = fsspec.filesystem("memory")
    store.pipe({name: text.encode() for name, text in files.items()})
    yield
    store.rm("/bucket", recursive=True)


@pytest.mark.usefixtures("run_in_memory")
@pytest.mark.parametrize(("page", "words"), COMMANDS)
def test_a_documented_command_is_understood(page: str, words: str) -> None:
    command, *rest = shlex.split(words.replace("s3://", "memory://"), comments=True)
    assert importlib.import_module(f"tammes.cli.options.{command}").parse(rest) is not None
