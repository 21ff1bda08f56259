"""Files of the project beside docs/ as pages of the site, and the links that lead to them."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from sphinx.application import Sphinx
from study_pages import study_pages

DOCS = Path(__file__).parents[1]
RESULTS = DOCS.parent / "benchmarks/results"
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
RECORDS = """\
# Records

What benchmarks have measured, a page for each day and machine as the benchmark wrote it. The other pages
quote these, and a test compares. [Benchmarks](/benchmarks.md) says what each one measures.

"""
COMMAND = re.compile(r"python benchmarks/[^\n`]*")
LINK = re.compile(r"\]\((?:\.\./)*(?:docs/)?(?P<file>\w[\w/.-]*\.md)(?P<part>#[^)]*)?\)")


def page_of(match: re.Match[str]) -> str:
    """Return a link to a file of the project as a link to the page that shows it."""
    file = match["file"].removeprefix("benchmarks/results/")
    if file == "README.md" and file != match["file"]:
        file = "measured/gpu.md"
    elif (RESULTS / file).exists() and file != "README.md":
        file = f"measured/{file}"
    return f"](/{PAGES.get(file, file)}{match['part'] or ''})"


def write_measured(app: Sphinx) -> None:
    """Write the tables of benchmarks/results as pages in docs/measured, which git ignores."""
    folder = DOCS / "measured"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "studies").mkdir(parents=True)
    texts = {
        "gpu.md" if file.name == "README.md" else file.name: file.read_text(encoding="utf-8")
        for file in sorted(RESULTS.glob("*.md"), reverse=True)
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "records.md").write_text(records_page(texts), encoding="utf-8")
    for name, page in study_pages(RESULTS / "studies").items():
        (folder / name).write_text(page, encoding="utf-8")
    for figure in RESULTS.glob("studies/*/figure.svg"):
        shutil.copy(figure, folder / "studies" / f"{figure.parent.name}.svg")


def records_page(texts: Mapping[str, str]) -> str:
    """Return the page that lists the records, given the text of each by name, those of the last day first."""
    commands = {
        name.removesuffix(".md"): f"`{found[0]}`" if (found := COMMAND.search(text)) else ""
        for name, text in texts.items()
        if name != "gpu.md"
    }
    rows = [f"| [{name}]({name}.md) | {command} |" for name, command in commands.items()]
    table = "\n".join(["| record | command |", "|---|---|", *rows])
    pages = "\n".join([*commands, "gpu"])
    return f"{RECORDS}{table}\n\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"


def on_source(app: Sphinx, docname: str, source: list[str]) -> None:
    """Rewrite the links of a page that is read."""
    source[0] = LINK.sub(page_of, source[0])


def on_include(app: Sphinx, path: Path, parent: str, source: list[str]) -> None:
    """Rewrite the links of a file of the project that a page includes."""
    source[0] = LINK.sub(page_of, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("builder-inited", write_measured)
    app.connect("source-read", on_source)
    app.connect("include-read", on_include)
    return {"parallel_read_safe": True}
