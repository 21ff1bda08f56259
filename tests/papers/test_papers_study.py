"""A stopped study loses nothing, does nothing twice, and ends where an unbroken one does."""

import dataclasses
from pathlib import Path

import pytest

from tammes.papers.study import Results, complete, complete_and_show


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    corpus: str
    k: int
    rate: float
    collisions: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    accuracy: float


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


def test_a_cell_that_is_done_has_a_line_where_there_is_no_terminal(tmp_path, capsys):
    finished(tmp_path / "table.csv", cells=CELLS[:2])
    assert capsys.readouterr().err.splitlines() == [f"1 of 2: {CELLS[0]}", f"2 of 2: {CELLS[1]}"]
    finished(tmp_path / "table.csv", cells=CELLS[:3])
    assert capsys.readouterr().err.splitlines() == [f"3 of 3: {CELLS[2]}"]


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


@pytest.mark.parametrize("stop", [0, 3, 8])
def test_a_study_shows_what_it_has_measured_though_it_is_stopped(tmp_path, stop):
    def interrupted(cell: Setting) -> Score:
        if cell == CELLS[stop]:
            raise KeyboardInterrupt
        return score(cell)

    shown: list[dict[Setting, Score]] = []
    results = Results(tmp_path / "table.csv", Setting, Score)
    if stop == len(CELLS):
        complete_and_show(results, CELLS, score, shown.append, name=str)
    else:
        with pytest.raises(KeyboardInterrupt, match=f"stopped with {stop} of 8 cells measured"):
            complete_and_show(results, CELLS, interrupted, shown.append, name=str)
    assert shown == ([{cell: score(cell) for cell in CELLS[:stop]}] if stop else [])


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
        ValueError, match=r"expected a CSV table in UTF-8 in .*table\.csv.*choose another --out"
    ):
        Results(path, Setting, Score)
    assert path.read_bytes() == content


@pytest.mark.parametrize("cut", [1, 9])
def test_a_header_that_was_cut_off_is_written_again(tmp_path, cut):
    path, whole = tmp_path / "table.csv", tmp_path / "whole.csv"
    finished(whole)
    path.write_bytes(whole.read_bytes().splitlines(keepends=True)[0][:-cut])
    finished(path)
    assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    "line", ["a,one,0.1,True,0.5", "a,1,0.1,true,0.5", "a,1,0.1,True", "a,1,0.1,True,0.5,0.6"]
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
