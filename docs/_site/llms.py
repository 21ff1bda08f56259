"""The file llms.txt of the site: every page with its title and a sentence, for programs that read."""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from sentences import describing_sentence

HEAD = """\
# Tammes

> A Python library and a command line for contrastive learning with PyTorch: it trains encoders by comparing
> pairs, and lets you choose which pairs count. Losses are exact at any batch size in linear memory.
"""


def description(document: nodes.document) -> str:
    """Return the sentence that describes a page, or of a record, which has none, its command."""
    paragraphs = document.findall(nodes.paragraph)
    sentence = describing_sentence(
        each.astext() for each in paragraphs if isinstance(each.parent, nodes.section)
    )
    command = next((each.astext() for each in document.findall(nodes.literal_block)), "")
    return sentence or (f"`{command}`" if command and "\n" not in command else "")


def write(app: Sphinx, error: Exception | None) -> None:
    """Write llms.txt beside the pages, in the order of the site."""
    if error is not None or app.builder.format != "html":
        return
    pages: list[str] = []
    waiting = [app.config.root_doc]
    while waiting:
        page = waiting.pop(0)
        pages.append(page)
        inside = app.env.toctree_includes.get(page, [])
        waiting[:0] = [each for each in inside if each not in pages]
    lines = [HEAD]
    for page in pages:
        title = app.env.titles[page].astext()
        sentence = description(app.env.get_doctree(page))
        lines.append(f"- [{title}]({app.builder.get_target_uri(page)}): {sentence}".rstrip(": "))
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True}
