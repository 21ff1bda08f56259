"""Verdicts of the set-function entries: yes, no, one seed, and nothing learned."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from tammes.papers.entry import Entry
from tammes.papers.robinson_sets import (
    SETS_COMBINATORIAL,
    SETS_EIGENVECTORS,
    SETS_K_CLIQUE,
    SETS_SEARCH,
    SETS_TRAINING_ERROR,
    combinatorial,
    eigenvectors,
    k_clique,
    search,
    training_error,
)
from tammes.papers.robinson_sets.loss_training import (
    CONSTANT,
    LOSSES,
    SINGLETON,
    UNTRAINED,
    LossScore,
    LossTraining,
)
from tammes.papers.robinson_sets.training import CLIQUE, GREEDY, RANDOM
from tiny import write_graphs

ON_GRAPHS = [SETS_COMBINATORIAL, SETS_SEARCH, SETS_K_CLIQUE, SETS_EIGENVECTORS]
ONE_SEED, UNLEARNED = "one seed: no verdict", "no verdict: not above the control"


def around(mean: float, seeds: int = 3) -> list[float]:
    """Return a value for each seed, close to a mean."""
    return [mean + 1e-3 * (seed % 3 - 1) for seed in range(seeds)]


def write_mnist(folder: Path, images: int = 60) -> Path:
    """Write noise with random labels, in the original form."""
    folder.mkdir()
    random = np.random.default_rng(0)
    for part in ("train", "t10k"):
        pixels = random.integers(0, 256, (images, 28, 28), dtype=np.uint8)
        labels = random.integers(0, 10, images, dtype=np.uint8)
        with gzip.open(folder / f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">IIII", 2051, images, 28, 28) + pixels.tobytes())
        with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">II", 2049, images) + labels.tobytes())
    return folder


@pytest.mark.parametrize("entry", [*ON_GRAPHS, SETS_TRAINING_ERROR], ids=lambda entry: entry.name)
def test_without_learning_no_verdict_is_yes(
    entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combinatorial, "LATER", ("Erdős", "Lovász of columns"))
    monkeypatch.setattr(combinatorial, "EXACT", ("neural Lovász, exact",))
    monkeypatch.setattr(search, "LAYERS", (1,))
    monkeypatch.setattr(search, "WIDTHS", (4,))
    if entry in ON_GRAPHS:
        data = write_graphs(tmp_path / "graphs", "ENZYMES", count=20)
    else:
        data = write_mnist(tmp_path / "mnist")
    entry.reproduce(tmp_path / "out", budget=0.005, seed=0, seeds=3, data=data, learning=False)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<td>no verdict: not above the control" in page
    assert "<td>yes</td>" not in page


def ratios(
    neural: float = 0.9, scalar: float = 0.7, untrained: float = 0.5, greedy: float = 0.6, seeds: int = 3
) -> combinatorial.Ratios:
    """Return the ratios of ten cases; in two of them the scalar extension is ahead."""
    return {
        (f"data {case}", CLIQUE, label): around(mean, seeds)
        for case in range(10)
        for label, mean in {
            "neural Lovász": scalar - 0.1 if case > 7 else neural,
            "Lovász": scalar,
            "neural Lovász, untrained": untrained,
            "Lovász, untrained": untrained,
            GREEDY: greedy,
        }.items()
    }


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        ({}, "yes"),
        ({"neural": 0.65}, "no"),
        ({"seeds": 1}, ONE_SEED),
        ({"untrained": 0.9}, UNLEARNED),
        ({"greedy": 0.95}, UNLEARNED),
    ],
)
def test_the_neural_extension_is_ahead_in_eight_of_ten(scores: dict[str, float], verdict: str) -> None:
    finding = combinatorial.ahead(ratios(**scores), *combinatorial.STATEMENTS[0])  # type: ignore[arg-type]
    assert finding.required == 8
    assert finding.verdict == verdict


def test_ratios_are_the_papers_if_all_are_near() -> None:
    own = {
        ("MUTAG", CLIQUE, label): around(mean)
        for label, mean in {"Lovász": 0.98, "Lovász, untrained": 0.5, GREEDY: 0.6}.items()
    }
    assert combinatorial.near_the_paper(own).verdict == "yes"
    own["MUTAG", CLIQUE, "Lovász"] = around(0.9)
    assert combinatorial.near_the_paper(own).verdict == "no"
    one = {task: values[:1] for task, values in own.items()}
    assert combinatorial.near_the_paper(one).verdict == ONE_SEED


@pytest.mark.parametrize(
    ("bounded", "untrained", "random", "seeds", "verdict"),
    [
        (0.9, 0.5, 0.6, 3, "yes"),
        (0.7, 0.5, 0.6, 3, "no"),
        (0.9, 0.5, 0.6, 1, ONE_SEED),
        (0.9, 0.9, 0.6, 3, UNLEARNED),
        (0.9, 0.5, 0.95, 3, UNLEARNED),
    ],
)
def test_cliques_of_size_k(bounded: float, untrained: float, random: float, seeds: int, verdict: str) -> None:
    scores = {
        "bounded Lovász": bounded,
        "bounded Lovász, untrained": untrained,
        RANDOM: random,
        "Lovász": 0.8,
        "REINFORCE": 0.8,
    }
    f1 = {("ENZYMES", 3, label): around(mean, seeds) for label, mean in scores.items()}
    for finding in k_clique.findings(f1, {"ENZYMES, k = 3": ("ENZYMES", 3)}):
        assert finding.verdict.startswith(verdict)


def of_eigenvectors(
    *, gain: float = 0.1, more: float = 0.0, exponent: float = 1.0, learned: float = 0.3, seeds: int = 3
) -> list[str]:
    """Return the verdicts on made-up networks with 1 to 6 eigenvectors."""
    ratios = {
        k: around(0.7 + gain * min(k - 1, 3) / 3 + more * max(k - 4, 0) / 2, seeds) for k in range(1, 7)
    }
    shares = {k: around(0.95, seeds) for k in range(1, 7)}
    less = {k: [value - learned for value in values] for k, values in ratios.items()}
    fewer = {k: [value - learned for value in values] for k, values in shares.items()}
    found = eigenvectors.findings(
        {"ENZYMES": ratios, "ENZYMES, untrained": less},
        {"ENZYMES": {k: [seed + k**exponent for seed in around(0.0, seeds)] for k in range(1, 7)}},
        {"ENZYMES": shares, "ENZYMES, untrained": fewer},
    )
    return [finding.verdict for finding in found]


def test_saturation_is_a_gain_and_then_none() -> None:
    assert of_eigenvectors() == ["yes"] * 3
    assert of_eigenvectors(gain=-0.1)[0] == "no"
    assert of_eigenvectors(more=0.1)[0] == "no"  # no saturation: it grows on
    assert of_eigenvectors(seeds=1) == [ONE_SEED] * 3
    saturates, _, decays = of_eigenvectors(learned=0.0)
    assert saturates.startswith(UNLEARNED)
    assert decays.startswith(UNLEARNED)


@pytest.mark.parametrize(("exponent", "verdict"), [(1.1, "yes"), (0.4, "no"), (2.0, "no"), (0.0, UNLEARNED)])
def test_linear_runtime_is_an_exponent_near_one(exponent: float, verdict: str) -> None:
    assert of_eigenvectors(exponent=exponent)[1].startswith(verdict)


def of_training_error(
    *, distance: float = 0.02, error: float = 0.1, test: float = 0.9, other: float = 0.9, seeds: int = 3
) -> list[str]:
    """Return the verdicts on made-up classifiers of ten classes."""

    def group(loss: str, error: float, test: float, distance: float = 0.3) -> dict[LossTraining, LossScore]:
        values = zip(around(error, seeds), around(test, seeds), around(distance, seeds), strict=True)
        return {
            LossTraining(
                data="MNIST", images=1, network="", loss=loss, learning_rate=0.1, epochs=2, seed=seed
            ): LossScore(error=error, test=test, distance=distance)
            for seed, (error, test, distance) in enumerate(values)
        }

    best = {loss: group(loss, 0.1, other) for loss in LOSSES} | {
        SINGLETON: group(SINGLETON, error, test, distance),
        UNTRAINED: group(UNTRAINED, 0.91, 0.09),
        CONSTANT: group(CONSTANT, 0.9, 0.1),
    }
    return [finding.verdict for finding in training_error.findings(best, around(0.95, seeds))]


def test_a_loss_near_the_error_counts_if_the_network_has_learned() -> None:
    assert of_training_error() == ["yes"] * 3
    assert of_training_error(distance=0.5)[0] == "no"
    assert of_training_error(other=0.99)[2] == "no"
    assert of_training_error(seeds=1) == [ONE_SEED] * 3
    # One class for all images: the loss stays next to an error that does not change.
    assert all(verdict.startswith(UNLEARNED) for verdict in of_training_error(error=0.9, test=0.1))
