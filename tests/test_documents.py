"""The examples in the documents run, and their links lead somewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import torch
import yaml
from PIL import Image

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CITED = re.compile(r"\b([A-Z][^\W\d_]+)(?: et al\.| and [A-Z][^\W\d_]+)?\s\(((?:19|20)\d\d)\)")
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")

EPOCHS = re.compile(r"\bepochs=\d+")


@pytest.fixture
def _files_of_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with what examples name without writing it: photographs, and articles of many sentences."""
    monkeypatch.chdir(tmp_path)
    generator = torch.Generator().manual_seed(0)
    for number in range(8):
        file = tmp_path / f"photographs/{('cats', 'dogs')[number % 2]}/{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        pixels = torch.randint(0, 256, (48, 64, 3), dtype=torch.uint8, generator=generator)
        Image.fromarray(pixels.numpy()).save(file)
    words = ["cats", "dogs", "rain", "rivers", "sleep", "fall", "from", "to", "the", "city"]
    for name, documents in (("corpus", 30), ("others", 2)):
        for number in range(documents):
            drawn = torch.randint(0, len(words), (80, 6), generator=generator).tolist()
            sentences = [" ".join(words[each] for each in row).capitalize() + "." for row in drawn]
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / f"{number}.txt").write_text("\n".join(sentences))


@pytest.mark.usefixtures("_files_of_the_reader")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_examples_run(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each block with the names of those before it, and one epoch of each training.

    Blocks marked `py` instead of `python` are outlines, with dots or names where the reader fills in.
    """
    names: dict[str, object] = {}
    for block in BLOCK.findall(document.read_text()):
        exec(compile(EPOCHS.sub("epochs=1", block), document.name, "exec"), names)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), target


def test_there_are_examples_to_run() -> None:
    assert len(BLOCK.findall((ROOT / "README.md").read_text())) >= 1


def test_what_is_cited_is_in_the_bibliography() -> None:
    """An entry's key begins with its first author and its year."""
    sources = [*DOCUMENTS, *sorted((ROOT / "src").rglob("*.py"))]
    cited = {match for source in sources for match in CITED.findall(source.read_text())}
    keys = re.findall(r"^@\w+\{(\w+),", (ROOT / "src/tammes/references.bib").read_text(), re.MULTILINE)
    assert ("Robinson", "2023") in cited
    missing = [
        f"{author} ({year})"
        for author, year in sorted(cited)
        if not any(key.startswith(author.lower().replace("é", "e") + year) for key in keys)
    ]
    assert not missing


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
    assert citation["keywords"] == project["keywords"]


def test_the_conda_recipe_asks_for_what_the_package_does() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
    needed = []
    for dependency in project["project"]["dependencies"]:
        name, version = dependency.split(">=")
        needed.append(f"{named.get(name, name)} >={version}")
    recipe = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text())
    python, *others = recipe["requirements"]["run"]
    assert others == needed
    assert python == "python >=${{ python_min }}"
    assert f">={recipe['context']['python_min']}" == project["project"]["requires-python"]
    assert recipe["context"]["version"] == project["project"]["version"]
    assert recipe["build"]["python"]["entry_points"] == [
        f"{name} = {target}" for name, target in project["project"]["scripts"].items()
    ]
    assert recipe["about"]["summary"] == project["project"]["description"]
    assert set(project["build-system"]["requires"]) == {"hatchling>=1.27"}
    assert "hatchling >=1.27" in recipe["requirements"]["host"]


def test_the_steps_of_a_release_name_each_file_that_has_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    steps = (ROOT / "CONTRIBUTING.md").read_text().partition("## Releases")[2].splitlines()
    first = next(line for line in steps if line.startswith("1. Write the version"))
    files = [ROOT / "pyproject.toml", *ROOT.glob("*.cff"), *(ROOT / "conda").iterdir()]
    having = {str(file.relative_to(ROOT)) for file in files if version in file.read_text()}
    assert having == set(re.findall(r"`([^`]+)`", first.partition(";")[0]))
