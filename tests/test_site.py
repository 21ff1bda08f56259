"""The site has a place for every public name, command, page and example, and its links lead somewhere."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import tammes
from tammes.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
# Pages that the build writes: examples as they run, and tables of benchmarks/results.
WRITTEN = ("gallery/", "measured/")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMES = re.compile(r"^\.\. public-names:: (\S+)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+://)(?P<file>[\w./-]*\.md)?#(?P<part>[\w-]+)\)")
# Packages whose names are for the command line and the entries of `tammes reproduce`.
INSIDE = ("tammes.cli", "tammes.papers.")


def documented() -> list[str]:
    """The modules of the reference."""
    pages = sorted((DOCS / "api").glob("*.rst"))
    return [module for page in pages for module in NAMES.findall(page.read_text())]


def names_of(module: ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if not isinstance(getattr(module, name), ModuleType)]
    return [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]


def public_packages() -> list[str]:
    source = Path(tammes.__file__).parent
    files = [file for file in sorted(source.rglob("__init__.py")) if file.parent != source]
    names = [".".join(file.parent.relative_to(source.parent).parts) for file in files]
    return [
        name
        for name, file in zip(names, files, strict=True)
        if "__all__" in file.read_text() and not name.startswith(INSIDE)
    ]


def test_every_public_name_is_in_the_reference() -> None:
    modules = [import_module(name) for name in documented()]
    places = {id(getattr(module, name)) for module in modules for name in names_of(module)}
    missing = [
        f"{package}.{name}"
        for package in ["tammes", *public_packages()]
        for name in names_of(import_module(package))
        if id(getattr(import_module(package), name)) not in places
    ]
    assert not missing


def test_every_command_has_its_section() -> None:
    commands = [command.__name__ for command in COMMANDS]
    sections = re.findall(r"^## tammes (\w+)", (DOCS / "command_line.md").read_text(), re.MULTILINE)
    assert sorted(commands) == sorted(sections)


def pages_below(page: str) -> set[str]:
    """A page and those that its tables of contents lead to."""
    found = {page}
    for content in TOCTREE.findall((DOCS / f"{page}.md").read_text()):
        entries = [line for line in content.splitlines() if line and not line.startswith(":")]
        for entry in entries:
            if entry.startswith(WRITTEN):
                continue
            assert (DOCS / f"{entry}.md").exists() or (DOCS / f"{entry}.rst").exists(), entry
            found |= pages_below(entry) if (DOCS / f"{entry}.md").exists() else {entry}
    return found


def test_every_page_is_reached_from_the_first() -> None:
    pages = {
        file.relative_to(DOCS).with_suffix("").as_posix()
        for file in [*DOCS.glob("*.md"), *(DOCS / "api").glob("*.rst")]
    }
    assert pages_below("index") == pages


def anchors_of(file: Path) -> set[str]:
    """The names that headings have in links."""
    headings = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.name)
def test_links_to_sections_lead_to_one(page: Path) -> None:
    for link in LINK.finditer(page.read_text()):
        target = (page.parent / link["file"]).resolve() if link["file"] else page
        assert link["part"] in anchors_of(target), link[0]


@pytest.mark.parametrize(
    ("paragraphs", "sentence"),
    [
        (
            ["with a purpose for each: the weights. The rest.", "A step makes two views."],
            "A step makes two views.",
        ),
        (["Everything is drawn from", "Each page has one."], "Each page has one."),
        (
            ["Ash et al. (2022), sec. 4 and D.1: k varies.\nSo does B."],
            "Ash et al. (2022), sec. 4 and D.1: k varies.",
        ),
        (
            ["Sizes (cf. Table 1) vary by 2.5 to 3, e.g. A and B. Yes."],
            "Sizes (cf. Table 1) vary by 2.5 to 3, e.g. A and B.",
        ),
        (["Which one? That one."], "Which one?"),
        (["AMD EPYC, torch 2.13.0"], ""),
    ],
)
def test_a_page_is_described_by_its_first_whole_sentence(
    paragraphs: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_site"))
    assert import_module("sentences").describing_sentence(paragraphs) == sentence


def test_every_example_has_a_title_and_a_picture() -> None:
    examples = sorted((ROOT / "examples").glob("*.py"))
    assert len(examples) == 12
    for example in examples:
        text = example.read_text()
        assert re.match(r'"""\n.+\n=+\n\n', text), example.name
        assert "plt.show()" in text or "_repr_html_" in text, example.name
