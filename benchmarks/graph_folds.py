"""How far the folds of TU sets test on graphs that were in the training folds, or on relatives of them.

    python benchmarks/graph_folds.py --data tu

DATA has a folder for each set, MUTAG and so on. The first table counts the graphs that color refinement
cannot tell from an earlier one, and the share of test graphs of which an equal one is in the training folds
(ten folds, seed 0). The second has the accuracy of a support vector machine in random folds and in folds of
adjacent graphs, in percent with Wilson's 95 % intervals over the graphs: by the Weisfeiler-Lehman kernel and
by histograms of degrees, which learn nothing of other graphs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from machine import description
from tammes.data import GraphSet, tu_set
from tammes.estimate import Estimate
from tammes.evaluation import (
    SVM,
    CrossValidation,
    LabeledFeatures,
    degree_histograms,
    equal_graphs,
    leaked,
    wl_features,
)

SETS = ("MUTAG", "PTC_MR", "ENZYMES", "PROTEINS", "DD", "REDDIT-BINARY", "IMDB-BINARY", "IMDB-MULTI")
WITH_RELATIVES = SETS[:6]
"""Sets whose files may have relatives side by side; those of IMDB have few different graphs at all."""


def of_equal(name: str, graphs: GraphSet) -> str:
    """The row of a set: its graphs, the different ones, and the share of the leak."""
    numbers, tested, found = equal_graphs(graphs), 0, 0
    for train, test in CrossValidation().splits(graphs.required_labels()):
        tested += len(test)
        found += leaked(numbers, train, test)
    return f"| {name} | {len(graphs):,} | {len(numbers.unique()):,} | {100 * found / tested:.1f} % |"


def of_relatives(name: str, graphs: GraphSet) -> str:
    """The row of a set: both descriptions in both kinds of folds."""
    cells = []
    for features, machine in (
        (wl_features(graphs), SVM(linear=True)),
        (degree_histograms(graphs), SVM()),
    ):
        points = LabeledFeatures(features=features, labels=graphs.required_labels())
        for in_order in (False, True):
            share = CrossValidation(in_order=in_order).accuracy(machine.predict, points)
            cells.append(Estimate.of_share(share, len(graphs)).text(1, scale=100))
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the TU sets")
    choice = parser.parse_args()
    sets = {name: tu_set(choice.data / name) for name in SETS if (choice.data / name).exists()}
    print("| set | graphs | different ones | test graphs with an equal one in the training folds |")
    print("|---|---|---|---|")
    for name, graphs in sets.items():
        print(of_equal(name, graphs), flush=True)
    print("\n| set | kernel, random folds | adjacent | degrees, random folds | adjacent |")
    print("|---|---|---|---|---|")
    for name in WITH_RELATIVES:
        if name in sets:
            print(of_relatives(name, sets[name]), flush=True)
    print(f"\n{description()}")


if __name__ == "__main__":
    main()
