"""Entries are found, say what they try, and do it."""

import ast
import importlib
import inspect
import pkgutil
import re
from importlib.metadata import version
from pathlib import Path

import pytest

import tammes.papers
from tammes.papers import Entry, entries
from tammes.papers.entry import Request, check_budget


def nothing(request: Request) -> None:
    """An entry that tries nothing."""


def test_every_entry_has_a_name_of_its_own_a_statement_and_a_source():
    found = entries()
    sources = ("arXiv", "Proceedings", "Robinson (2023)", "Weber and Bachman (2022)")
    assert "transport-degeneracy" in [entry.name for entry in found]
    assert len({entry.name for entry in found}) == len(found)
    for entry in found:
        assert len(entry.statement) > 40
        assert any(known in entry.source for known in sources)


def test_every_experiment_has_an_entry():
    """An entry names its module, which the list does not import: one without an entry would go unseen."""
    names = [found.name for found in pkgutil.walk_packages(tammes.papers.__path__, prefix="tammes.papers.")]
    experiments = set()
    for name in names:
        run = vars(importlib.import_module(name)).get("run")
        if inspect.isfunction(run) and run.__module__ == name:
            assert list(inspect.signature(run).parameters) == ["request"]
            experiments.add(name)
    assert experiments == {entry.run.__module__ for entry in entries()}


def remarks_of(source: str) -> list[str]:
    """Return the paragraphs in `REMARKS = (...)` and `remarks=(...)`, what is computed in them as braces."""
    tuples = [
        node.value
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.keyword) and node.arg == "remarks")
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "REMARKS")
    ]
    return [
        "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)
        for each in tuples
        if isinstance(each, ast.Tuple)
        for text in each.elts
        if (parts := text.values if isinstance(text, ast.JoinedStr) else [text])
        if isinstance(text, ast.Constant | ast.JoinedStr)
    ]


def test_remarks_of_pages_are_sentences():
    """A line edit once took the beginning of a paragraph, which no other test reads."""
    found = {
        file: remarks_of(file.read_text())
        for file in Path(tammes.papers.__path__[0]).rglob("*.py")
        if "remarks" in file.read_text().lower()
    }
    assert sum(map(len, found.values())) > 60
    for file, remarks in found.items():
        for remark in remarks:
            # A Greek letter may begin, or a number.
            assert re.match("[^a-z]", remark), (file.name, remark)
            assert remark.endswith("."), (file.name, remark)


def test_entries_come_in_the_order_of_their_names():
    names = [entry.name for entry in entries()]
    assert names == sorted(names)


@pytest.mark.parametrize("name", ["Two Words", "a_b", "", "Straße", "a/b"])
def test_names_can_be_typed(name):
    with pytest.raises(ValueError, match="lower-case letters, digits and hyphens"):
        Entry(name=name, statement="s", source="s", run=nothing)


@pytest.mark.parametrize("texts", [{"statement": " ", "source": "s"}, {"statement": "s", "source": ""}])
def test_texts_are_not_empty(texts):
    with pytest.raises(ValueError, match="must have a statement and a source"):
        Entry(name="a", run=nothing, **texts)


@pytest.mark.parametrize("budget", [0.0, -1.0, 1.5, float("nan")])
def test_budget_is_a_part(budget):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        check_budget(budget)


def test_data_is_given_where_it_is_asked_for(tmp_path):
    plain = Entry(name="a", statement="s", source="s", run=nothing)
    with pytest.raises(ValueError, match="a has all the data it needs"):
        plain.reproduce(tmp_path, budget=1.0, seed=0, data=tmp_path)
    asking = Entry(name="b", statement="s", source="s", run=nothing, data="a folder of texts")
    with pytest.raises(ValueError, match="b needs data: a folder of texts"):
        asking.reproduce(tmp_path, budget=1.0, seed=0, data=None)


# Those that ask for data have tests of their own, which make some.
@pytest.fixture(
    scope="module",
    params=[entry for entry in entries() if entry.data is None],
    ids=lambda entry: entry.name,
)
def reproduced(request, tmp_path_factory) -> Path:
    if request.param.name.startswith("spectral"):
        pytest.importorskip("torch_geometric")
    out = tmp_path_factory.mktemp("papers") / "new" / request.param.name
    request.param.reproduce(out, budget=0.001, seed=0, data=None)
    return out


def test_every_entry_writes_a_table_a_figure_and_a_page(reproduced: Path):
    assert sorted(path.name for path in reproduced.iterdir()) == [
        "figure.svg",
        "findings.json",
        "report.html",
        "study.json",
        "table.csv",
    ]
    entry = next(entry for entry in entries() if entry.name == reproduced.name)
    page = (reproduced / "report.html").read_text(encoding="utf-8")
    assert entry.statement in page
    assert f"tammes reproduce {entry.name}" in page
    assert version("tammes") in page
    assert "<script" not in page
    assert len((reproduced / "table.csv").read_text(encoding="utf-8").splitlines()) > 1


def test_every_entry_is_run_without_learning():
    """In a test of its folder: no verdict on what learning brings may be yes then."""
    files = [
        path for path in Path(__file__).parent.rglob("test_*.py") if "learning=False" in path.read_text()
    ]
    texts = "\n".join(path.read_text() for path in files)
    assert not [
        entry.name
        for entry in entries()
        if entry.name not in texts and entry.name.upper().replace("-", "_") not in texts
    ]
