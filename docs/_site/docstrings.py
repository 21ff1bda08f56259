"""Docstrings, which are written for readers of the source, as reStructuredText.

Equations are paragraphs indented by four spaces, as on the pages, and characters that mean nothing in a
docstring (`|x|`, `x*`, `a_`) mean something in reStructuredText.
"""

import re

from sphinx.application import Sphinx

CODE = re.compile(r"(``.*?``|`[^`]*`)")
LABELED = re.compile(r"(?:^|(?<=\. ))(Source|Differs|Example|Note): ")
SECTION = re.compile(r"^\s*[A-Z]\w+( \w+)?:\s*$")
COLON = "\x02"
EMPHASIS = re.compile(r"(?<![\w*])\*(\w[^*\n]*[\w.]|\w)\*(?![\w*])")


def escaped(text: str) -> str:
    """Return a line in which nothing but code and emphasis is markup."""
    parts = CODE.split(text)
    for place in range(0, len(parts), 2):
        plain = EMPHASIS.sub("\0\\1\1", parts[place])
        plain = plain.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|")
        plain = re.sub(r"(?<=\w)_(?!\w)", r"\\_", plain)
        parts[place] = plain.replace("\0", "*").replace("\1", "*")
    return "".join(parts)


def as_restructured_text(lines: list[str]) -> list[str]:
    """Return the lines with equations as literal blocks, and other text escaped."""
    result: list[str] = []
    in_section = in_equation = False
    for place, line in enumerate(lines):
        indented = line.startswith("    ")
        if not line.strip():
            result.append(line)
            continue
        if not indented:
            in_equation = False
            in_section = bool(SECTION.match(line))
        after_blank = place > 0 and not lines[place - 1].strip()
        if indented and not in_section:
            if after_blank and not in_equation:
                result.extend(["::", ""])
                in_equation = True
            result.append(line)
        elif line.lstrip().startswith((">>>", "...")) or in_example(lines, place):
            result.append(line)
        else:
            result.append(escaped(LABELED.sub(r"*\1.* ", line)))
    return result


def in_example(lines: list[str], place: int) -> bool:
    """Return whether a line is code or output of an example: no blank line lies between it and `>>>`."""
    while place >= 0 and lines[place].strip():
        if lines[place].lstrip().startswith(">>>"):
            return True
        place -= 1
    return False


def rewrite(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Rewrite a docstring in place, before napoleon reads its sections."""
    lines[:] = as_restructured_text(lines)
    if what in ("attribute", "property", "data"):  # napoleon takes what stands before a colon for a type
        lines[:] = [line.replace(":", COLON) for line in lines]


def restore(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Put back the colons, after napoleon."""
    lines[:] = [line.replace(COLON, ":") for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("autodoc-process-docstring", rewrite, priority=100)
    app.connect("autodoc-process-docstring", restore, priority=900)
    return {"parallel_read_safe": True}
