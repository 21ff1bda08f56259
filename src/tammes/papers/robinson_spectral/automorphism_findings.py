"""What the thesis says of automorphisms and repeated eigenvalues, beside our counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tammes.estimate import Estimate
from tammes.papers.finding import Check, Effect, Finding, effect_in_points
from tammes.papers.robinson_spectral.automorphism_counts import (
    CONNECTED,
    DRAWN,
    REAL,
    SAME,
    GraphSample,
    SymmetryScore,
    together,
)
from tammes.papers.robinson_spectral.random_graphs import FIFTH, HALF, REGULAR, SPARSE, TENTH, TREES
from tammes.papers.study import grouped

AUTOMORPHISM, OF_A, OF_L = (
    "a nontrivial automorphism",
    "a repeated eigenvalue of A",
    "a repeated eigenvalue of L",
)
COUNTS: Mapping[str, Callable[[SymmetryScore], int]] = {
    AUTOMORPHISM: lambda score: score.automorphism,
    OF_A: lambda score: score.adjacency,
    OF_L: lambda score: score.laplacian,
}
"""What a graph can have, and the number of graphs that do."""
DENSE = (HALF, FIFTH, TENTH)
"""Kinds whose density does not depend on the number of nodes, as the theorems assume."""
MARGIN = 0.01
"""Share of graphs below which "almost none" counts as reached at the largest number of nodes."""
ROUNDING = 1e-10
"""Largest relative residual of equation E.10 that counts as rounding."""
SAYS = {
    AUTOMORPHISM: "Section E.3.4, Erdős and Rényi (1963): almost all Erdős–Rényi graphs have no nontrivial "
    "automorphism.",
    OF_A: "Section E.3.4, Tao and Vu (2017): almost all Erdős–Rényi graphs have no repeated eigenvalue.",
    OF_L: "Section E.3.4, for the matrix of section E.3.2: almost all Erdős–Rényi graphs have no repeated "
    "eigenvalue of the normalized Laplacian.",
}
BESIDE_IN_WORDS = {
    HALF: "random graphs with as many nodes and p = 1/2",
    SAME: "random graphs with as many nodes and edges",
    CONNECTED: "connected random graphs with as many nodes and edges",
}
Groups = Mapping[tuple[str, str, int], SymmetryScore]
"""Counts by data, kind and number of nodes, of all seeds together."""


def by_group(results: Mapping[GraphSample, SymmetryScore]) -> Groups:
    """Return the counts of all seeds together, which are independent draws."""
    groups = grouped(results, "data", "kind", "nodes")
    return {key: together(group.values()) for key, group in groups.items()}


def share(score: SymmetryScore, name: str) -> Estimate:
    """Return the share of graphs that have what `COUNTS` names, with Wilson's interval."""
    return Estimate.of_share(COUNTS[name](score) / score.counted, score.counted)


def findings(groups: Groups) -> tuple[Finding | Check, ...]:
    """Return the statements of sections E.3.3 and E.3.4."""
    sets = list(dict.fromkeys(data for data, kind, _ in groups if kind == REAL))
    contrasts = [_contrast(groups, sets, name, beside) for beside in BESIDE_IN_WORDS for name in COUNTS]
    return (
        *(_vanishing(groups, name) for name in COUNTS),
        _other_kinds(groups),
        *(contrasts if sets else ()),
        *_checks(groups),
        _crossed(groups, sets),
    )


def sizes_of(groups: Groups) -> list[int]:
    """Return the numbers of nodes of the drawn graphs, ascending."""
    return sorted({nodes for data, _, nodes in groups if data == DRAWN})


def _vanishing(groups: Groups, name: str) -> Finding:
    """Return whether a share falls with n, to below the margin."""
    least, *_, most = sizes_of(groups)

    def at(kind: str, nodes: int) -> Estimate:
        return share(groups[DRAWN, kind, nodes], name)

    falls = [
        _points(f"{kind}: n = {least} above n = {most}", at(kind, least), at(kind, most)) for kind in DENSE
    ]
    below = [
        effect_in_points(f"{kind}, n = {most}: below {100 * MARGIN:g} %", -(at(kind, most) - MARGIN))
        for kind in DENSE
    ]
    return Finding(
        paper=SAYS[name],
        ours=f"Share of graphs with {name} in percent, and differences in percentage points. The page says "
        f"yes if the share falls from n = {least} to n = {most} and is below {100 * MARGIN:g} % there, for "
        "all densities; the paper gives no numbers. The control shows that the count finds them where they "
        "are.",
        effects=(*falls, *below),
        controls=(_points(f"n = {most}: {TREES} above {HALF}", at(TREES, most), at(HALF, most)),),
    )


def _other_kinds(groups: Groups) -> Finding:
    most = sizes_of(groups)[-1]
    kinds = [
        f"{kind}: "
        + ", ".join(f"{name} {share(groups[DRAWN, kind, most], name).percent} %" for name in COUNTS)
        for kind in (SPARSE, TREES, REGULAR)
    ]
    return Finding(
        paper="Section E.3.4 does not say how dense the random graphs are.",
        ours=f"Random graphs of {most} nodes that are not dense: " + "; ".join(kinds) + ".",
    )


def _contrast(groups: Groups, sets: Iterable[str], name: str, beside: str) -> Finding:
    """Return whether real graphs have something more often than random ones beside them."""
    most = sizes_of(groups)[-1]

    def above(data: str, kind: str, title: str) -> Effect:
        return _points(title, share(groups[data, REAL, 0], name), share(groups[data, kind, 0], name))

    controls: tuple[Effect, ...]
    if beside == HALF:
        drawn = (share(groups[DRAWN, kind, most], name) for kind in (TREES, HALF))
        controls = (_points(f"n = {most}: {TREES} above {HALF}", *drawn),)
        why = "The control shows that random graphs can have them."
    else:
        controls = tuple(above(data, HALF, f"{data}, above {HALF}") for data in sets)
        why = f"The controls are {BESIDE_IN_WORDS[HALF]}."
    where = "" if beside == HALF else ", taken at the density of the real graphs"
    return Finding(
        paper=f"Section E.3.4{where}: real graphs have {name} more often than {BESIDE_IN_WORDS[beside]}.",
        ours=f"Difference of the shares in percentage points. {why}",
        effects=tuple(above(data, beside, data) for data in sets),
        controls=controls,
    )


def _checks(groups: Groups) -> tuple[Check, Check]:
    every = together(groups.values())
    return (
        Check(
            paper="E.10: A P v = lambda P v for every automorphism P and eigenvector v of A.",
            ours=f"Largest relative residual in {every.automorphism:,} graphs with an automorphism: "
            f"{every.residual:.1e}.",
            passed=every.residual < ROUNDING,
        ),
        Check(
            paper="Section E.3.3, with the condition of Mowshowitz (1969): an automorphism of an order above "
            "2 forces a repeated eigenvalue. If all eigenvalues are simple, P v is v or -v for every "
            "eigenvector v, so P P is the identity.",
            ours=f"Of {every.above_two:,} graphs with such an automorphism, {every.exceptions:,} have only "
            "simple eigenvalues of A or of L.",
            passed=every.exceptions == 0,
        ),
    )


def _crossed(groups: Groups, sets: Iterable[str]) -> Finding:
    """Return the two-by-two tables of automorphisms and repeated eigenvalues."""
    samples = {"all drawn graphs": [score for (data, _, _), score in groups.items() if data == DRAWN]}
    real = [groups[data, REAL, 0] for data in sets]
    samples |= {"all real graphs": real} if real else {}
    lines = []
    for name, scores in samples.items():
        score = together(scores)
        for matrix, repeated, both in (
            ("A", score.adjacency, score.both_adjacency),
            ("L", score.laplacian, score.both_laplacian),
        ):
            others = score.counted - score.automorphism
            lines.append(
                f"{name}, {matrix}: of {score.automorphism:,} with an automorphism "
                f"{_percent(both, score.automorphism)} have a repeated eigenvalue, of {others:,} without one "
                f"{_percent(repeated - both, others)}"
            )
    return Finding(
        paper="Section E.3.3: automorphisms lead to repeated eigenvalues under additional conditions only.",
        ours="; ".join(lines) + ".",
    )


def _percent(count: int, of: int) -> str:
    return f"{Estimate.of_share(count / of, of).percent} %" if of else "–"


def _points(name: str, more: Estimate, less: Estimate) -> Effect:
    return effect_in_points(name, Estimate.of_separate_shares(more, less))
