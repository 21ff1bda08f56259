"""A stopped study loses nothing, does nothing twice, and ends where an unbroken one does."""

import dataclasses
import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tammes.papers.entry import Entry, Request
from tammes.papers.page import Numbers, PaperPage
from tammes.papers.protocol import Protocol
from tammes.papers.sharing import Sharing
from tammes.papers.study import Results, Study, complete


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    corpus: str
    k: int
    rate: float
    collisions: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    accuracy: float
    folds: tuple[float, ...] = (1 / 3, 1e-17)


CELLS = [
    Setting(corpus='a "quoted", name', k=k, rate=rate, collisions=collisions)
    for k in (1, 10)
    for rate in (0.1, 1 / 3)
    for collisions in (True, False)
]


def score(cell: Setting) -> Score:
    return Score(accuracy=(cell.k + cell.rate) / (3 + cell.collisions))


def finished(path: Path, cells=tuple(CELLS), measure=score) -> dict[Setting, Score]:
    return complete(Results(path, Setting, Score), cells, measure, name=str)


def test_what_is_written_is_read_back_to_the_last_digit(tmp_path):
    expected = {cell: score(cell) for cell in CELLS}
    assert finished(tmp_path / "table.csv") == expected
    assert Results(tmp_path / "table.csv", Setting, Score).known == expected


def test_numbers_in_a_tuple_are_one_column(tmp_path):
    path = tmp_path / "table.csv"
    Results(path, Setting, Score).append(CELLS[0], Score(accuracy=0.5, folds=(0.25, 0.75)))
    header, line = path.read_text().splitlines()
    assert (header.split(",")[-1], line.split(",")[-1]) == ("folds", "0.25 0.75")
    path.write_text(f"{header}\n{line.replace('0.75', 'many')}\n")
    with pytest.raises(ValueError, match=r"line 2: expected .*folds, got .*0\.25 many"):
        Results(path, Setting, Score)


def test_a_cell_that_is_done_has_a_line_where_there_is_no_terminal(tmp_path, capsys):
    finished(tmp_path / "table.csv", cells=CELLS[:2])
    assert capsys.readouterr().err.splitlines() == [f"1 of 2: {CELLS[0]}", f"2 of 2: {CELLS[1]}"]
    finished(tmp_path / "table.csv", cells=CELLS[:3])
    assert capsys.readouterr().err.splitlines() == [f"3 of 3: {CELLS[2]}"]


def test_a_stop_between_two_cells_counts_the_cells_too(tmp_path):
    def name(cell: Setting) -> str:
        if cell == CELLS[3]:
            raise KeyboardInterrupt
        return str(cell)

    with pytest.raises(KeyboardInterrupt, match="stopped with 3 of 8 cells measured"):
        complete(Results(tmp_path / "table.csv", Setting, Score), CELLS, score, name=name)


@pytest.mark.parametrize("stop", [0, 1, 5])
def test_a_stopped_study_goes_on_and_ends_as_an_unbroken_one(tmp_path, stop):
    unbroken, broken = tmp_path / "unbroken.csv", tmp_path / "broken.csv"
    finished(unbroken)
    calls: list[Setting] = []

    def interrupted(cell: Setting) -> Score:
        if len(calls) == stop:
            raise KeyboardInterrupt
        calls.append(cell)
        return score(cell)

    with pytest.raises(KeyboardInterrupt, match=f"stopped with {stop} of 8 cells measured"):
        finished(broken, measure=interrupted)
    finished(broken, measure=lambda cell: calls.append(cell) or score(cell))
    assert calls == CELLS
    assert broken.read_bytes() == unbroken.read_bytes()


def page_of(known: dict[Setting, Score]) -> PaperPage:
    return PaperPage(
        title=f"{len(known)} settings",
        overview=Figure(),
        findings=(),
        figures=(),
        numbers=Numbers(header=("k",), rows=(), note=""),
        settings={},
    )


def request_to(out: Path) -> Request:
    entry = Entry(name="a", statement="It is so.", source="Theorem 1", run=lambda request: None)
    return Request(entry=entry, out=out, budget=0.5, seed=3)


def study_of(measure, *, page=page_of, partial=False) -> Study[Setting, Score]:
    return Study(
        cells=CELLS,
        scores=Score,
        measure=measure,
        name=str,
        protocol=Protocol(seeds=[3, 4], controls=["chance"], measured_on="test rows"),
        page=page,
        partial=partial,
    )


def stopping(stop: int):
    def interrupted(cell: Setting) -> Score:
        if stop < len(CELLS) and cell == CELLS[stop]:
            raise KeyboardInterrupt
        return score(cell)

    return interrupted


def test_a_study_writes_a_table_a_figure_and_a_page(tmp_path):
    out = tmp_path / "new" / "folder"
    study_of(score).run(request_to(out))
    assert sorted(path.name for path in out.iterdir()) == [
        "figure.svg",
        "findings.json",
        "report.html",
        "study.json",
        "table.csv",
    ]
    page = (out / "report.html").read_text(encoding="utf-8")
    command = "tammes reproduce a --budget 0.5 --seed 3"
    for words in ("8 settings", "It is so.", "Theorem 1", command, "3, 4", "chance", "test rows"):
        assert words in page


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"budget": 0.25}, "budget: 0.5 there, 0.25 now"),
        ({"data": Path("texts")}, "data:  there, texts now"),
        ({"learning": False}, "learning: True there, False now"),
    ],
)
def test_a_study_is_not_resumed_with_other_settings(tmp_path, changed, difference):
    request = request_to(tmp_path)
    study_of(score).run(request)
    table = (tmp_path / "table.csv").read_bytes()
    with pytest.raises(ValueError, match=difference):
        study_of(score).run(dataclasses.replace(request, **changed))
    assert (tmp_path / "table.csv").read_bytes() == table


def test_a_study_is_resumed_where_its_data_are_the_working_folder(tmp_path, monkeypatch):
    texts = tmp_path / "texts"
    texts.mkdir()
    monkeypatch.chdir(texts)
    request = dataclasses.replace(request_to(tmp_path / "out"), data=Path())
    assert "--data texts" in request.command
    study_of(score).run(request)
    study_of(score).run(dataclasses.replace(request, data=texts))


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(ValueError, match=r"expected a folder for the study, got the file .*out"):
        study_of(score).run(request_to(tmp_path / "out"))


def test_a_study_is_not_resumed_with_other_data_of_the_same_name(tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("one")
    # The results may be below the data, and grow; so may those of another study.
    request = dataclasses.replace(request_to(texts / "out"), data=texts)
    for out in ("out", "other", "out"):
        study_of(score).run(dataclasses.replace(request, out=texts / out))
    settings = json.loads((texts / "out/study.json").read_text())
    assert settings["data files"].startswith("1 file, checksum ")
    (texts / "a.txt").write_text("two")
    with pytest.raises(ValueError, match=r"data files: 1 file, checksum .* there, 1 file, checksum .* now"):
        study_of(score).run(request)
    # A study of an older version does not know its files.
    del settings["data files"]
    (texts / "out/study.json").write_text(json.dumps(settings))
    study_of(score).run(request)


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"seeds": [3]}, "seeds: 3, 4 there, 3 now"),
        (
            {"search": {"k": [1, 2]}, "searched_on": "validation rows"},
            "searched: nothing there, k: 1, 2; chosen on validation rows now",
        ),
    ],
)
def test_a_study_is_not_resumed_with_other_seeds_or_another_search(tmp_path, changed, difference):
    study = study_of(score)
    study.run(request_to(tmp_path))
    other = dataclasses.replace(study, protocol=dataclasses.replace(study.protocol, **changed))
    with pytest.raises(ValueError, match=difference):
        other.run(request_to(tmp_path))


def test_a_table_from_before_the_settings_were_written_is_resumed(tmp_path):
    finished(tmp_path / "table.csv")
    study_of(stopping(0)).run(request_to(tmp_path))
    assert (tmp_path / "study.json").exists()


@pytest.mark.parametrize("content", ["no settings", "[1]", 5_000 * "["])
def test_settings_that_cannot_be_read_are_refused(tmp_path, content):
    (tmp_path / "study.json").write_text(content)
    with pytest.raises(ValueError, match=r"expected the settings of a study in .*study\.json"):
        study_of(score).run(request_to(tmp_path))


@pytest.mark.parametrize("stop", [0, 3, 8])
def test_a_partial_study_shows_what_it_has_measured_though_it_is_stopped(tmp_path, stop):
    shown: list[dict[Setting, Score]] = []

    def page(known: dict[Setting, Score]) -> PaperPage:
        shown.append(known)
        return page_of(known)

    study = study_of(stopping(stop), page=page, partial=True)
    if stop == len(CELLS):
        study.run(request_to(tmp_path))
    else:
        with pytest.raises(KeyboardInterrupt, match=f"stopped with {stop} of 8 cells measured"):
            study.run(request_to(tmp_path))
    assert shown == ([{cell: score(cell) for cell in CELLS[:stop]}] if stop else [])
    assert (tmp_path / "report.html").exists() == bool(stop)


def test_another_study_has_no_page_until_it_is_complete(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        study_of(stopping(5)).run(request_to(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.json", "table.csv"]
    study_of(score).run(request_to(tmp_path))
    assert "8 settings" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_there_may_be_nothing_to_show(tmp_path):
    study_of(score, page=lambda known: None).run(request_to(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.json", "table.csv"]


@pytest.mark.parametrize("cut", [1, 7, 20])
def test_a_line_that_was_cut_off_is_measured_again(tmp_path, cut):
    path, whole = tmp_path / "table.csv", tmp_path / "whole.csv"
    finished(whole)
    path.write_bytes(whole.read_bytes()[:-cut])
    assert len(Results(path, Setting, Score).known) == len(CELLS) - 1
    calls: list[Setting] = []
    finished(path, measure=lambda cell: calls.append(cell) or score(cell))
    assert calls == CELLS[-1:]
    assert path.read_bytes() == whole.read_bytes()


def test_other_settings_are_other_cells(tmp_path):
    finished(tmp_path / "table.csv")
    other = dataclasses.replace(CELLS[0], rate=0.2)
    assert finished(tmp_path / "table.csv", (other,)) == {other: score(other)}
    assert len(Results(tmp_path / "table.csv", Setting, Score).known) == len(CELLS) + 1


def test_a_table_of_something_else_is_left_alone(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("corpus,k\na,1\n")
    with pytest.raises(ValueError, match="has the columns corpus, k and not corpus, k, rate"):
        Results(path, Setting, Score)
    assert path.read_text() == "corpus,k\na,1\n"


@pytest.mark.parametrize(
    "content", [b"corpus,k\na,1", b"a diary", b"corpus,k,rate,collisions,accuracy\na,1,0.1\nb"]
)
def test_a_file_that_is_refused_keeps_its_last_line(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"table\.csv"):
        Results(path, Setting, Score)
    assert path.read_bytes() == content


def test_a_table_that_is_not_utf_8_is_refused_in_words(tmp_path):
    path = tmp_path / "table.csv"
    finished(path)
    path.write_bytes(path.read_bytes() + b"na\xefve,1,0.1,True,0.5\n")
    content = path.read_bytes()
    with pytest.raises(
        ValueError, match=r"expected a CSV table in UTF-8 in .*table\.csv.*choose another folder"
    ):
        Results(path, Setting, Score)
    assert path.read_bytes() == content


def test_a_table_that_a_spreadsheet_has_saved_is_read(tmp_path):
    """It puts a byte order mark before the first column, and ends lines in two characters."""
    path = tmp_path / "table.csv"
    known = finished(path, CELLS[:2])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert Results(path, Setting, Score).known == known
    assert finished(path) == {cell: score(cell) for cell in CELLS}
    assert Results(path, Setting, Score).known == {cell: score(cell) for cell in CELLS}


@pytest.mark.parametrize("cut", [1, 9])
def test_a_header_that_was_cut_off_is_written_again(tmp_path, cut):
    path, whole = tmp_path / "table.csv", tmp_path / "whole.csv"
    finished(whole)
    path.write_bytes(whole.read_bytes().splitlines(keepends=True)[0][:-cut])
    finished(path)
    assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    "line",
    ["a,one,0.1,True,0.5,0.6", "a,1,0.1,true,0.5,0.6", "a,1,0.1,True", "a,1,0.1,True,0.5,0.6,0.7"],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path, line):
    path = tmp_path / "table.csv"
    finished(path)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(ValueError, match=r"table\.csv, line 10"):
        Results(path, Setting, Score)


def test_a_failing_cell_keeps_the_others(tmp_path):
    def fails(cell: Setting) -> Score:
        if cell == CELLS[3]:
            raise ValueError("no")
        return score(cell)

    with pytest.raises(ValueError, match="no"):
        finished(tmp_path / "table.csv", measure=fails)
    assert list(Results(tmp_path / "table.csv", Setting, Score).known) == CELLS[:3]


def run_shared(study: Study[Setting, Score], out: Path, *, writes: bool) -> None:
    """Run a study whose cells other processes measure, of which the last is there first."""

    def elsewhere(cells, measure, name):
        named = {str(cell): cell for cell in CELLS}
        for number in reversed(range(cells)):
            yield number, vars(score(named[name(number)]))

    study.run(dataclasses.replace(request_to(out), sharing=Sharing(writes=writes, measured=elsewhere)))


def test_scores_may_come_from_elsewhere_in_any_order(tmp_path):
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    study_of(score).run(request_to(alone))
    run_shared(study_of(stopping(0)), shared, writes=True)
    tables = [(out / "table.csv").read_text().splitlines() for out in (alone, shared)]
    assert tables[0][1:] == tables[1][:0:-1]
    for file in ("findings.json", "report.html"):
        assert (alone / file).read_bytes() == (shared / file).read_bytes()


def test_a_process_that_does_not_write_leaves_all_files_alone(tmp_path):
    pages = []
    study = study_of(stopping(0), page=lambda known: pages.append(known) or page_of(known))
    run_shared(study, tmp_path, writes=False)
    assert pages == [{cell: score(cell) for cell in CELLS}]
    assert list(tmp_path.iterdir()) == []
    finished(tmp_path / "table.csv", cells=CELLS[:2])
    with (tmp_path / "table.csv").open("a") as file:
        file.write("a line that another process is wri")
    before = (tmp_path / "table.csv").read_bytes()
    run_shared(study, tmp_path, writes=False)
    assert (tmp_path / "table.csv").read_bytes() == before
