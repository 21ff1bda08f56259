"""`tammes evaluate`: the accuracies, alignment and uniformity of a trained encoder."""

import dataclasses
import json
from contextlib import chdir
from typing import Any

from tammes.cli.console import print_table
from tammes.cli.data_of_run import data_of_run, was_trained_on
from tammes.cli.exhibit import embedded_views, pairs_of
from tammes.cli.failures import print_line
from tammes.cli.graph_scores import evaluated, graph_table, said_of_equal, said_of_kernel
from tammes.cli.loading import (
    Shape,
    find_in_current_folder,
    left_out,
    load,
    load_split,
    shape_like,
    skipped_names,
    with_columns_of,
)
from tammes.cli.options.evaluate import Evaluate, EvaluateTasks
from tammes.cli.outcome_scores import TRAINED, UNTRAINED, measured_outcomes, outcome_table, outcomes_of
from tammes.cli.protocols import Protocols
from tammes.cli.rotations import MeasuredRotations, measured_rotations
from tammes.cli.scores import Measure, at_most, encoded, knn_of, score_table
from tammes.cli.sentence_tasks import evaluate_tasks
from tammes.cli.texts import as_in_training
from tammes.cli.volumes import VolumeShape
from tammes.data import GraphSet, GraphStream
from tammes.diagnostics import alignment, uniformity
from tammes.evaluation import CrossValidation
from tammes.report import Scores
from tammes.report.evaluation import FILE, read_results, record
from tammes.training import Data, GraphsSummary, Machine, Run, RunFolder, embed, load_run
from tammes.training.seeds import Purpose, derive
from tammes.training.source import both_sides

MOST_PAIRS = 2_000


def main(choice: Evaluate | EvaluateTasks) -> None:
    """Measure the encoder, and print its scores."""
    if choice.trust:
        find_in_current_folder()
    if isinstance(choice, EvaluateTasks):
        evaluate_tasks(choice)
    elif choice.source.data:
        _evaluate(choice)
    else:
        source, folder = data_of_run(choice.run, f"tammes evaluate {choice.run} --data DATA")
        placed = choice.on(source)
        with chdir(folder):
            _evaluate(placed)


def _evaluate(choice: Evaluate) -> None:
    run = load_run(choice.run, trust=choice.trust)
    shape = shape_like(choice.source, run.config.data)
    choice = dataclasses.replace(choice, source=as_in_training(choice.source, run.config.training))
    if choice.outcome or choice.ordinal:
        _evaluate_outcomes(choice, run, shape)
        return
    if isinstance(run.config.data, GraphsSummary):
        _evaluate_graphs(choice, run)
        return
    if choice.distinct or choice.repeats > 1:
        raise ValueError(
            f"--distinct and --repeats are for graphs, but {choice.source.data} holds none: leave them out"
        )
    if choice.source.format.anchor_column is not None:
        raise ValueError(
            f"pairs of given columns have no classes to measure, but {choice.source.data} was read as pairs: "
            "name tasks of sentences by --tasks, or labeled texts by --data and --label-column"
        )
    train, test = load_split(choice.source, shape)
    if test is None:
        raise ValueError(
            f"there is nothing to measure on: {choice.source.data} has no labels (a folder for each class of "
            "images or a file for each document gives them), or --held-out is 0; name labeled data by "
            "--test, or tasks of sentences by --tasks"
        )
    train.required_labels()
    if was_trained_on(choice.run, choice.source):
        print_line(
            "the run was trained on these rows, and accuracies on them say little of others: measure on what "
            "it was not trained on, by the --held-out of its training or by --test"
        )
    if not choice.is_linear_alone:
        read_results(choice.run)  # a damaged record is refused before anything is measured
    run.model.to(Machine(accelerator=choice.accelerator).device)
    if not choice.is_linear_alone:
        _evaluate_protocols(choice, run, train, test)
        return
    _, numbers = _evaluate_linear(choice, run, train, test)
    if choice.json:
        _print_json(choice, numbers)


def _evaluate_protocols(choice: Evaluate, run: Run, train: Data, test: Data) -> None:
    """Measure by all protocols, print the results and record them in the run."""
    protocols = Protocols(choice=choice, run=run, train=train, test=test)
    scores, numbers = (
        _evaluate_linear(choice, run, train, test) if "linear" in choice.protocol else (Scores(), {})
    )
    numbers |= protocols.measure()
    protocols.record_linear(scores)
    if choice.json:
        _print_json(choice, numbers)
        record(choice.run, protocols.results)
        return
    for table in protocols.tables():
        print_table(table)
    for sentence in dict.fromkeys(protocols.said):  # two classifiers may give rise to the same one
        print(sentence)
    record(choice.run, protocols.results)  # last: what is printed is not lost where this fails
    report = RunFolder(path=choice.run).report
    page = f"; open {report}" if report.is_file() else ""
    print(f"The results are in {choice.run / FILE}{page}")


def _evaluate_linear(choice: Evaluate, run: Run, train: Data, test: Data) -> tuple[Scores, dict[str, Any]]:
    """Measure neighbors and linear probes on frozen features, and print the scores or return the numbers."""
    scores = Measure(train=train, test=test, knn=knn_of(choice.source)).of_features(encoded(run.model)).scores
    aligned, uniform = _alignment_and_uniformity(run, test)
    turned = measured_rotations(run, test, choice.augmentation)
    if choice.json:
        measured = {name: value for name, value in dataclasses.asdict(scores).items() if value is not None}
        numbers = {
            **measured,
            "alignment": aligned,
            "uniformity": uniform,
            "left_out": len(skipped_names(train, test)),
            **({} if turned.rotations is None else turned.rotations.numbers),
        }
        return scores, numbers
    geometry = ["-" if aligned is None else f"{aligned:.3f}", f"{uniform:.3f}"]
    row = choice.run.resolve().name, [scores], geometry
    more, on = ["alignment", "uniformity"], "the test rows"
    print_table(score_table(test, "encoder", [row], test_rows=len(test), more=more, measured_on=on))
    print(_in_words(turned))
    if (said := left_out(train, test)) is not None:
        print(said)
    return scores, {}


def _print_json(choice: Evaluate, numbers: dict[str, Any]) -> None:
    print(json.dumps({"run": str(choice.run), "data": choice.source.data, **numbers}))


def _in_words(measured: MeasuredRotations) -> str:
    """Return the measurements under augmentations as lines, or what is missing."""
    found = measured.rotations
    if found is None:
        return f"Rotations: not measured; {measured.missing}."
    gamma = "-" if found.gamma is None else f"{found.gamma:.3f}"
    unexplained = ""
    if found.unexplained is not None:
        unexplained = f" ({100 * found.unexplained:.1f} % of the movement is no rotation)"
    followed = "" if found.color_followed is None else f", whose colors follow by {found.color_followed:.2f}"
    composed = ""
    if found.composition_error is not None:
        composed = f" Two in a row are {found.composition_error:.2f} from the product of their rotations."
    return (
        f"Rotations: {found.augmentations} augmentations of {found.rows} images move embeddings by "
        f"{found.invariance:.3f}. Wahba's error {found.wahba:.2f} of at most {found.largest_wahba:.1f}"
        f"{unexplained}, gamma {gamma}, variance of the cosine {found.cosine_variance:.4f}.{composed} "
        f"If only colors change, {100 * found.neighbors_kept:.1f} % of the five nearest images "
        f"stay{followed}."
    )


def _evaluate_graphs(choice: Evaluate, run: Run) -> None:
    """Classify all graphs in folds, and print the scores."""
    if choice.source.test is not None:
        raise ValueError("graphs are tested in folds of --data: leave --test out")
    if choice.augmentation is not None:
        raise ValueError("--augmentation is for images, but this run is of graphs: leave it out")
    if not choice.is_linear_alone:
        raise ValueError("graphs are classified in folds of --data: leave --protocol out")
    if knn_of(choice.source) is not None:
        raise ValueError("graphs are classified by an SVM and a regression: leave --neighbors out")
    (graphs,) = (with_columns_of(part, run.config.data) for part in load(choice.source, None))
    assert isinstance(graphs, GraphSet | GraphStream)
    graphs = graphs.in_memory() if isinstance(graphs, GraphStream) else graphs
    run.model.to(Machine(accelerator=choice.accelerator).device)
    validation = CrossValidation(folds=choice.folds, repeats=choice.repeats)
    found = evaluated(run, graphs, validation, distinct=choice.distinct, name=choice.source.data)
    if choice.json:
        floors = {
            name: None if each is None else dataclasses.asdict(each) for name, each in found.scores.items()
        }
        trained = floors.pop(TRAINED) or {}
        numbers = {"graphs": found.graphs, "equal": found.equal, "leaked": found.leaked, "floors": floors}
        named = {"run": str(choice.run), "data": choice.source.data}
        print(json.dumps({**named, **trained, **numbers}))
        return
    print_table(graph_table(choice.run.resolve().name, found, validation))
    if (said := said_of_kernel(found)) is not None:
        print(said)
    print(said_of_equal(found, distinct=choice.distinct))


def _evaluate_outcomes(choice: Evaluate, run: Run, shape: Shape | VolumeShape | None) -> None:
    """Predict outcomes of all rows in folds, and print the scores."""
    unused = {
        "--test": choice.source.test is not None,
        "--augmentation": choice.augmentation is not None,
        "--neighbors": knn_of(choice.source) is not None,
        "--distinct": choice.distinct,
        "--repeats": choice.repeats > 1,
    }
    if given := [flag for flag, is_given in unused.items() if is_given]:
        raise ValueError(f"outcomes are predicted in folds of all rows of --data: leave {given[0]} out")
    parts = [with_columns_of(part, run.config.data) for part in load(choice.source, shape)]
    outcomes = outcomes_of(parts, choice.outcomes)
    run.model.to(Machine(accelerator=choice.accelerator).device)
    found = measured_outcomes(
        run, parts, outcomes, real=choice.outcome, ordinal=choice.ordinal, folds=choice.folds
    )
    if choice.json:
        named = {"run": str(choice.run), "data": choice.source.data, "rows": len(outcomes)}
        scores = {name: each.numbers for name, each in found.items()}
        print(json.dumps({**named, "outcomes": scores[TRAINED], "untrained": scores[UNTRAINED]}))
        return
    table = outcome_table(choice.run.resolve().name, found, rows=len(outcomes), folds=choice.folds)
    print_table(table)


def _alignment_and_uniformity(run: Run, data: Data) -> tuple[float | None, float]:
    """Return alignment of the views of pairs, if there are any, and uniformity of the embeddings."""
    data = at_most(data, MOST_PAIRS)
    training = run.config.training
    embeddings = embed(run.model, data)[1]
    embeddings, _ = both_sides(training, embeddings, embeddings)
    uniform = uniformity(embeddings)
    pairs = pairs_of(data, training, MOST_PAIRS)
    pairs = pairs[pairs[:, 0].argsort()]
    if len(pairs) == 0:
        return None, uniform
    seeds = derive(training.seed, Purpose.FIRST_VIEW), derive(training.seed, Purpose.SECOND_VIEW)
    view_a, view_b = embedded_views(run.model, data, pairs, training, seeds=seeds)
    return alignment(view_a, view_b), uniform
