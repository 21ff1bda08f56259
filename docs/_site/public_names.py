"""Directive `public-names`: the reference of a package or module, read off its names and their docstrings."""

import re
import sys
from importlib import import_module
from inspect import isroutine
from types import ModuleType
from typing import ClassVar

from docstrings import escaped
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import stringify_annotation

SENTENCE = re.compile(r".+?[.](?=\s+[A-Z]|\s*$)", re.DOTALL)


def public_names(module: ModuleType) -> list[str]:
    """Return the names in `__all__`; for a module without one, the classes and functions it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if not isinstance(getattr(module, name), ModuleType)]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


class PublicNames(SphinxDirective):
    """Table of the public names of a package or module, and then the docstring of each.

    The option `without` names packages whose names have their place elsewhere.
    """

    required_arguments = 1
    option_spec: ClassVar = {"without": str.split}

    def run(self) -> list[nodes.Node]:
        """Return the parsed table and docstrings."""
        module = import_module(self.arguments[0])
        elsewhere = {
            name for other in self.options.get("without", []) for name in public_names(import_module(other))
        }
        names = [name for name in public_names(module) if name not in elsewhere]
        entries = {name: getattr(module, name) for name in names}
        lines = [f".. currentmodule:: {module.__name__}", "", ".. list-table::", "   :widths: auto", ""]
        for name, value in entries.items():
            lines += [f"   * - :py:obj:`{name}`", f"     - {escaped(summary(name, value))}"]
        for name, value in entries.items():
            lines += ["", *documented(name, value)]
        return self.parse_text_to_nodes(StringList(lines, source=module.__name__))


def is_object(value: object) -> bool:
    """Return whether a value has a docstring: a class or a function, and no alias of types or constant."""
    return isinstance(value, type) or isroutine(value)


def summary(name: str, value: object) -> str:
    """Return the first sentence on a public name."""
    text = (value.__doc__ or "") if is_object(value) else constant_docstring(name, value)
    found = SENTENCE.match(text.split("\n\n")[0])
    return " ".join((found[0] if found else text.split("\n\n")[0]).split())


def constant_docstring(name: str, value: object) -> str:
    """Return the string that follows a constant in its module, if there is one."""
    for module in list(sys.modules.values()):
        if module.__name__.startswith("tammes.") and vars(module).get(name) is value:
            lines = ModuleAnalyzer.for_module(module.__name__).find_attr_docs().get(("", name))
            if lines:
                return "\n".join(lines).strip()
    return "Alias of types." if not isinstance(value, (dict, tuple)) else "Constant."


def documented(name: str, value: object) -> list[str]:
    """Return the directive of one name."""
    if isinstance(value, type):
        return [f".. autoclass:: {name}", "   :members:"]
    if isroutine(value):
        return [f".. autofunction:: {name}"]
    lines = [f".. py:data:: {name}", ""]
    if not isinstance(value, (dict, tuple)):
        lines[1:1] = [f"   :type: {stringify_annotation(value, 'smart').replace('~', '')}"]
    return [*lines, *(f"   {escaped(line)}" for line in constant_docstring(name, value).splitlines())]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True}
