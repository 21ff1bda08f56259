"""Every command that the README and the pages show is one that the command line takes."""

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from tammes.cli.main import COMMANDS as LISTED
from tammes.cli.options.parsing import words_of
from tammes.cli.options.training import training_options
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


def test_the_page_of_the_commands_lists_each_of_them_and_every_part() -> None:
    page = (ROOT / "docs/command_line.md").read_text(encoding="utf-8")
    first = next(line for line in page.splitlines() if line.startswith("    tammes  ="))
    assert first.split("=")[1].split() == " | ".join(command.__name__ for command in LISTED).split()
    parts = {
        f"{name}:{word}"
        for name, (annotation, _) in training_options().items()
        for word in words_of(annotation)
        if word != "usual"
    }
    listed = {line for line in page.splitlines() if re.match(r" {4}[a-z]+:[a-z0-9-]+ ", line + " ")}
    assert parts <= {word for line in listed for word in line.split()}
