"""Equal and nearly equal sentences that an objective pushed apart as negatives of each other."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from markupsafe import Markup

from tammes.report.comparison import Comparison, Outcome
from tammes.report.negatives import rows_of_weights
from tammes.report.palette import css_color
from tammes.report.sample import Sentences

LISTED = 8
"""Pairs on the page."""
FEWEST = 4
"""Number of different words below which only equal sentences are repetitions."""
WORD = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """Two sentences of the batch with the same words, or nearly, that were negatives of each other.

    Args:
        first: markup of the first sentence.
        second: markup of the second.
        kind: "equal" or "nearly equal".
        weights: weight as negatives under each objective, in multiples of the uniform weight.
    """

    first: Markup
    second: Markup
    kind: str
    weights: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """Repetitions among the negatives of a batch.

    Args:
        count: number of pairs of sentences.
        sentences: number of sentences in them.
        batch: number of sentences of the batch.
        objectives: name and color of each objective, in the order of the weights.
        listed: the first pairs, equal ones first, then those of greatest weight.
    """

    count: int
    sentences: int
    batch: int
    objectives: tuple[tuple[str, str], ...]
    listed: tuple[Repeat, ...]


def repeated_negatives(comparison: Comparison) -> Repeats | None:
    """Return the repetitions among the negatives of the batch; None for a sample that is no sentences."""
    sample = comparison.sample
    if not isinstance(sample, Sentences):
        return None
    outcomes = comparison.outcomes
    rows, columns = rows_of_weights(outcomes[0], sample)
    shown = sorted({*rows.tolist(), *columns.tolist()})
    weights = [_weight_of_rows(outcome, rows, columns) for outcome in outcomes]
    found = []
    for (one, other), kind in similar_pairs([sample.sentences[row] for row in shown]).items():
        pair = shown[one], shown[other]
        under = [each.get(pair, 0.0) for each in weights]
        if max(under) > 0:
            found.append((kind, under, pair))
    found.sort(key=lambda each: (each[0], -max(each[1]), each[2]))
    return Repeats(
        count=len(found),
        sentences=len({row for _, _, pair in found for row in pair}),
        batch=len(shown),
        objectives=tuple((outcome.name, css_color(at)) for at, outcome in enumerate(outcomes)),
        listed=tuple(
            Repeat(
                first=sample.shown(pair[0], sample.title(pair[0])),
                second=sample.shown(pair[1], sample.title(pair[1])),
                kind=kind,
                weights=tuple(f"{each:.1f}×" for each in under),
            )
            for kind, under, pair in found[:LISTED]
        ),
    )


def similar_pairs(sentences: list[str]) -> dict[tuple[int, int], str]:
    """Return the pairs of sentences with the same words in one order, or with nearly the same words.

        |A and B| / |A or B|  >=  0.8

    for the sets of their words, in lower case, of 4 words at least.

    Example:
        >>> similar_pairs(["He said nothing.", "he said nothing", "She said a lot."])
        {(0, 1): 'equal'}
    """
    words = [tuple(WORD.findall(sentence.lower())) for sentence in sentences]
    rows_of: dict[tuple[str, ...] | str, list[int]] = defaultdict(list)
    for row, each in enumerate(words):
        rows_of[each].append(row)
        for word in set(each):
            rows_of[word].append(row)
    equal = {
        pair: "equal"
        for key, rows in rows_of.items()
        if isinstance(key, tuple) and key
        for pair in combinations(rows, 2)
    }
    sets = [set(each) for each in words]
    near = {}
    for row, known in enumerate(sets):
        if len(known) < FEWEST:
            continue
        # The other one lacks a fifth of these words at most: it has one of any fifth and one more.
        rare = sorted(known, key=lambda word: (len(rows_of[word]), word))[: len(known) // 5 + 1]
        for other in sorted({other for word in rare for other in rows_of[word] if other != row}):
            pair = min(row, other), max(row, other)
            if pair not in equal and 5 * len(known & sets[other]) >= 4 * len(known | sets[other]):
                near[pair] = "nearly equal"
    return equal | dict(sorted(near.items()))


def _weight_of_rows(outcome: Outcome, rows: np.ndarray, columns: np.ndarray) -> dict[tuple[int, int], float]:
    """Return the greatest weight that two rows of the sample have as negatives, in uniform weights."""
    relative = outcome.relative_weights
    found: dict[tuple[int, int], float] = {}
    for anchor, candidate in np.argwhere(relative > 0).tolist():
        one, other = int(rows[anchor]), int(columns[candidate])
        pair = min(one, other), max(one, other)
        found[pair] = max(found.get(pair, 0.0), float(relative[anchor, candidate]))
    return found
