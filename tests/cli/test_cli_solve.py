"""`tammes solve` as a user calls it: tables, single graphs, and what it refuses."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
import torch

from tammes.cli import solve
from tammes.cli.main import main
from tammes.cli.options.solve import Solve
from tammes.cli.solver_choice import method_of, problem_constructor
from tammes.extensions import Answer, GraphFunction, clique_penalty, edge_list
from tammes.extensions.solvers import FitConfig

QUICK = ("--epochs", "2", "--width", "8", "--layers", "1")


@pytest.fixture
def answers(tmp_path: Path) -> tuple[str, ...]:
    return "--answers", str(tmp_path / "answers.jsonl")


@pytest.fixture
def toys(tmp_path: Path) -> Path:
    """Twelve random graphs in the form of the TU collection."""
    generator = torch.Generator().manual_seed(0)
    edges, indicator, start = [], [], 1
    for number in range(12):
        n = 4 + number % 4
        pairs = torch.combinations(torch.arange(n))
        chosen = pairs[torch.rand(len(pairs), generator=generator) < 0.6] + start
        edges += [f"{u}, {v}" for u, v in chosen.tolist()]
        indicator += [str(number + 1)] * n
        start += n
    folder = tmp_path / "TOYS" / "raw"
    folder.mkdir(parents=True)
    (folder / "TOYS_A.txt").write_text("\n".join(edges))
    (folder / "TOYS_graph_indicator.txt").write_text("\n".join(indicator))
    return tmp_path / "TOYS"


def fails(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command says that must fail as something the user can mend."""
    capsys.readouterr()
    assert main(["solve", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return " ".join(captured.err.replace("│", " ").split())


@pytest.mark.parametrize(
    "problem", ["max-clique", "max-independent-set", "k-clique", "max-cut", "max-coverage"]
)
def test_every_problem_has_a_row_for_each_method(
    problem: str, toys: Path, answers: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["neural-lovasz", "neural-lovasz-peak", "lovasz", "lovasz-columns", "bounded-lovasz", "reinforce"]
    names += ["erdos"] if problem in ("max-clique", "max-independent-set", "k-clique") else []
    names += [] if problem == "max-coverage" else ["straight-through"]
    words = ["solve", problem, "--data", str(toys), "--k", "3", "--json", *QUICK, *answers]
    assert main([*words, "--extension", *names]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in found["rows"]] == ["greedy, by degree", *names]
    assert all(0 <= row["ratio"] <= 1 for row in found["rows"])
    assert found["test_graphs"] == 4
    assert found["unproved"] == 0
    assert 0 < found["exact_seconds"] < 60


def test_the_table_says_what_it_shows(
    toys: Path, answers: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    named = ("--extension", "neural-lovasz")
    assert main(["solve", "max-clique", "--data", str(toys), *QUICK, *answers, *named]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "approximation ratio" in words
    assert "neural-lovasz" in words
    assert "after training on 7 others" in words
    assert "exact │ 1.000 │ 100 % proved" in words
    assert "was quicker than training neural-lovasz (" in words
    assert (toys.parent / "answers.jsonl").exists()


def test_one_graph_of_the_user_s_own(
    tmp_path: Path, answers: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "friends.edgelist"
    file.write_text("ann bob\nbob cy\nann cy\ncy dan\ndan eve\n")
    words = ["solve", "max-clique", "--graph", str(file), "--epochs", "60", "--width", "16", *answers]
    choice = Solve(problem="max-clique", graph=file, exact_objective=True)
    problem = problem_constructor(choice, method_of(choice, "lovasz"))(edge_list(file)[0])
    assert isinstance(problem.objective, GraphFunction)
    assert problem.objective.formula == clique_penalty()
    assert main([*words, "--extension", "lovasz", "erdos", "--json", "--exact-objective"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    exact = rows[-1].pop("seconds")
    assert rows[-1] == {"method": "exact", "score": 3.0, "nodes": ["ann", "bob", "cy"]}
    assert rows[0]["seconds"] is None
    assert all(row["seconds"] > exact > 0 for row in rows[1:-1])
    assert [row["method"] for row in rows[:-1]] == ["greedy, by degree", "lovasz", "erdos"]
    assert [row["score"] for row in rows[:-1]] == [3.0, 3.0, 3.0]
    assert main([*words, "--extension", "neural-lovasz"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "5 nodes, 5 edges" in said
    assert f"The exact answer ({solve._in_words(exact)} s) was quicker than training neural-lovasz (" in said


def test_names_in_brackets_are_shown_as_they_are(
    tmp_path: Path, answers: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a[b].edges"
    file.write_text("[a] [/c]\n[/c] d\nd [a]\n")
    assert main(["solve", "max-clique", "--graph", str(file), *QUICK, *answers]) == 0
    said = "".join(capsys.readouterr().out.split())
    assert "[a][/c]d" in said
    assert "a[b].edges:3nodes" in said


@pytest.mark.parametrize(
    ("lines", "sizes"), [("ann\n", "1 node, 0 edges"), ("ann bob\n", "2 nodes, 1 edge")], ids=["one", "two"]
)
def test_one_node_or_edge_is_called_one(
    lines: str, sizes: str, tmp_path: Path, answers: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "small.edgelist"
    file.write_text(lines)
    assert main(["solve", "max-clique", "--graph", str(file), *QUICK, *answers]) == 0
    assert sizes in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("unproved", "words"),
    [(1, "on 1 graph, after training on 1 other; 1 optimum was"), (2, "1 other; 2 optima were")],
)
def test_counts_below_the_table_agree_with_their_nouns(
    unproved: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    solve._show(Solve(problem="max-cut", data="TOYS"), [], 1, 1, unproved, None)
    assert words in " ".join(capsys.readouterr().out.split())


def test_networks_are_not_trained_where_exact_answers_are_quicker(
    toys: Path, tmp_path: Path, answers: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "friends.edgelist"
    file.write_text("ann bob\nbob cy\nann cy\ncy dan\n")
    for graphs in (("--data", str(toys)), ("--graph", str(file))):
        words = ["solve", "max-clique", *graphs, *answers, "--width", "8", "--layers", "1"]
        assert main([*words, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["left_out"]
        assert "neural-lovasz" not in [row["method"] for row in found["rows"]]
        assert main(words) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "No network was trained: that takes about" in said
        assert "Name the methods to train with --extension." in said
        assert "after training" not in said
        asked = [*words, "--epochs", "2", "--extension", "neural-lovasz", "--json"]
        assert main(asked) == 0
        found = json.loads(capsys.readouterr().out)
        assert not found["left_out"]
        assert "neural-lovasz" in [row["method"] for row in found["rows"]]


def test_training_is_left_out_by_the_time_it_would_take() -> None:
    graphs = {"problem": "max-clique", "graph": Path("friends"), "epochs": 10}
    choice, calls = Solve(**graphs), []

    def train(name: str, config: FitConfig) -> None:
        calls.append((name, config.epochs))
        time.sleep(0.01)

    assert 0.1 <= (solve._left_out(choice, 0.05, train) or 0) < 5
    assert calls == [("neural-lovasz", 1)] * 2
    assert solve._left_out(choice, 1000.0, train) is None  # training is quicker
    assert solve._left_out(choice, None, train) is None  # no proof, or no time
    assert len(calls) == 4
    named = Solve(**graphs, extension=("lovasz",))
    assert solve._left_out(named, 0.0, train) is None
    assert len(calls) == 4


def test_an_exact_answer_is_called_quick_only_if_it_was() -> None:
    seconds = {"a": 30.2, "b": 0.5, "c": None}
    rows = [{"method": method, "seconds": each} for method, each in seconds.items()]
    assert solve._remark(0.05, rows) == (
        "The exact answer (0.05 s) was quicker than training a (30 s), b (0.5 s)."
    )
    assert solve._remark(0.0001, rows[:1]) == "The exact answer (<0.01 s) was quicker than training a (30 s)."
    assert solve._remark(1.234, rows) == "The exact answer (1.2 s) was quicker than training a (30 s)."
    assert solve._remark(40.0, rows) == ""
    assert solve._remark(None, rows) == ""


def test_answers_of_an_older_file_have_no_time(
    tmp_path: Path, answers: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "friends.edgelist"
    file.write_text("ann bob\nbob cy\nann cy\ncy dan\n")
    words = ["solve", "max-clique", "--graph", str(file), *QUICK, *answers]
    assert main(words) == 0
    assert "No network was trained" in " ".join(capsys.readouterr().out.split())
    kept = Path(answers[1])
    entry = json.loads(kept.read_text())
    assert entry.pop("seconds") > 0
    kept.write_text(json.dumps(entry) + "\n")
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "│ exact │ 3 │ - │ ann bob cy │" in said
    assert "│ neural-lovasz │ 3 │" in said
    assert "was quicker" not in said
    assert solve._total_seconds([Answer(score=1.0, bound=1.0, members=())]) is None


def test_out_of_time_the_bound_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generator = torch.Generator().manual_seed(0)
    pairs = torch.combinations(torch.arange(60))
    chosen = pairs[torch.rand(len(pairs), generator=generator) < 0.5]
    file = tmp_path / "hard.edgelist"
    file.write_text("\n".join(f"{u} {v}" for u, v in chosen.tolist()))
    words = ["solve", "max-cut", "--graph", str(file), "--seconds", "0.1", *QUICK]
    assert main([*words, "--answers", str(tmp_path / "none.jsonl")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "best in 0.1 s" in said
    assert "was quicker" not in said
    assert not (tmp_path / "none.jsonl").exists()


def test_nodes_that_are_no_clique_are_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "path.edges"
    file.write_text("a b\nb c\n")
    words = ["k-clique", "--graph", str(file), "--answers", str(tmp_path / "none.jsonl")]
    assert main(["solve", *words, "--k", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {(row["score"], tuple(row["nodes"])) for row in found["rows"]} == {(0, ())}
    assert main(["solve", *words, "--k", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [len(row["nodes"]) for row in rows if row["method"] == "exact"] == [2]
    assert f"--k is 4, but {file} has 3 nodes" in fails(capsys, *words, "--k", "4")


def test_only_downloads_need_torch_geometric(
    toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("torch_geometric", "torch_geometric.datasets"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert 'pip install "tammes[graphs]"' in fails(capsys, "max-cut", "--data", "MUTAG")
    answers = ("--answers", str(tmp_path / "answers.jsonl"))
    assert main(["solve", "max-cut", "--data", str(toys), *QUICK, *answers]) == 0


def test_what_is_refused(toys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ("--data", str(toys))
    assert "there is no problem shortest-path; there is max-clique" in fails(capsys, "shortest-path", *data)
    assert "with --data or one to solve with --graph" in fails(capsys, "max-clique")
    assert "say with --k how many nodes" in fails(capsys, "k-clique", *data)
    assert "say with --k" in fails(capsys, "max-cut", *data, "--extension", "bounded-lovasz")
    assert "leave --k out" in fails(capsys, "max-clique", *data, "--k", "3")
    assert "--k must be an integer of at least 1, got 0" in fails(capsys, "k-clique", *data, "--k", "0")
    graph = ("--graph", str(tmp_path / "some"))
    assert "leave it out with --graph" in fails(capsys, "max-cut", *graph, "--most", "2")
    assert "none for max-cut" in fails(capsys, "max-cut", *data, "--extension", "erdos")
    assert "coverage cannot be" in fails(
        capsys, "max-coverage", *data, "--k", "2", "--extension", "straight-through"
    )
    assert "each --extension once" in fails(capsys, "max-cut", *data, "--extension", "lovasz", "lovasz")
    assert "--seconds must be positive" in fails(capsys, "max-cut", *data, "--seconds", "0")
    assert "no such folder" in fails(capsys, "max-cut", "--data", "./nowhere")
    assert "No such file" in fails(capsys, "max-cut", "--graph", str(tmp_path / "nothing"))
    (tmp_path / "empty").mkdir()
    assert "TU collection" in fails(capsys, "max-cut", "--data", str(tmp_path / "empty"))


def test_answers_are_appended_to_a_file_of_answers_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, notes, cut = (tmp_path / name for name in ("one.edges", "notes.txt", "cut.jsonl"))
    file.write_text("a b\n")
    notes.write_text("milk and eggs\n")
    words = ["max-clique", "--graph", str(file), *QUICK, "--answers"]
    assert "expected a file of exact answers at" in fails(capsys, *words, str(notes))
    assert notes.read_text() == "milk and eggs\n"
    assert "is a folder: name a file" in fails(capsys, *words, str(tmp_path))
    assert "since" in fails(capsys, *words, str(notes / "answers.jsonl"))
    cut.write_text('{"ke')  # by a disk that was full
    assert main(["solve", *words, str(cut)]) == 0
    assert main(["solve", *words, str(cut)]) == 0
