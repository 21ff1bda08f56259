"""Automorphisms and repeated eigenvalues of random graphs, and of real ones beside random ones.

Robinson (2023), sections E.3.3 and E.3.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from tammes.papers.entry import Request
from tammes.papers.figures import grouped_dots, small_multiples
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_spectral.automorphism_counts import (
    BESIDE,
    DRAWN,
    REAL,
    GraphSample,
    SymmetryScore,
    drawn,
    measure,
)
from tammes.papers.robinson_spectral.automorphism_findings import (
    AUTOMORPHISM,
    COUNTS,
    OF_A,
    OF_L,
    Groups,
    by_group,
    findings,
    share,
    sizes_of,
)
from tammes.papers.robinson_spectral.multiplicities import COLLECTION, ZINC, Graph, GraphSet, read, sets_in
from tammes.papers.robinson_spectral.multiplicities import REMARKS as OF_SETS
from tammes.papers.robinson_spectral.random_graphs import KINDS, TREES
from tammes.papers.study import Study

SIZES = (6, 10, 20, 40, 80, 160)
"""Numbers of nodes of the drawn graphs."""
GRAPHS = 200
"""Graphs of each kind and number of nodes that a seed draws at the full budget."""
SEEDS = 5
REMARKS = (
    "A graph has a nontrivial automorphism if a permutation of its nodes other than the identity maps edges "
    "to edges. We decide this exactly: two nodes with equal neighbors can be exchanged; otherwise color "
    "refinement gives all nodes different colors, or a search tries the nodes of equal color. Types of nodes "
    "and edges do not count.",
    "A is the adjacency matrix and L the symmetric normalized Laplacian. A node without neighbors has the "
    "diagonal entry 0 in L, so that L has the eigenvalue 0 once for each component. Eigenvalues, in double "
    "precision, are equal where their difference is at most 1e-8 of the matrix' norm. 'Sensitive' counts the "
    "graphs for which a tolerance of 1e-10 or 1e-6 changes the answer.",
    "Graphs of different seeds are independent, so shares are those of the graphs of all seeds.",
    "A budget below 1 draws fewer graphs for each seed, and takes the first part of the graphs of each set.",
)
REMARKS_ON_SETS = (
    "G(n, m) is uniform over the graphs with the nodes and edges of a real one. The connected graphs are a "
    "uniform tree and uniform further edges. Where a real graph has too few edges to be connected, they are "
    "a part of a tree.",
    OF_SETS[1],
)


def run(request: Request) -> None:
    """Count drawn graphs, and the real ones and their random counterparts where data are given."""
    seeds = request.seed_range(SEEDS, fewest=SEEDS)
    known: list[GraphSet] = []
    if request.data is not None:
        known = sets_in(request.data, (ZINC, *COLLECTION), budget=request.budget)

    @lru_cache(maxsize=1)  # the cells of a set follow one another
    def graphs(data: str) -> Sequence[Graph]:
        return next((read(request.required_data(), each) for each in known if each.data == data), [])

    Study(
        cells=cells(known, budget=request.budget, seeds=seeds),
        scores=SymmetryScore,
        measure=lambda cell: measure(drawn(cell, graphs(cell.data))),
        name=name_of,
        protocol=Protocol(
            seeds=seeds,
            controls=["random trees", "random graphs with the same number of nodes and p = 1/2"],
            measured_on="drawn graphs" + (", and all graphs of each set" if known else ""),
        ),
        page=page,
    ).run(request)


def cells(known: Sequence[GraphSet], *, budget: float, seeds: Sequence[int]) -> list[GraphSample]:
    """Return the samples of a study: drawn graphs, then real sets, each with its random counterparts."""
    count = max(1, round(GRAPHS * budget))
    samples = [
        GraphSample(data=DRAWN, kind=kind, nodes=nodes, graphs=count, seed=seed)
        for nodes in SIZES
        for kind in KINDS
        for seed in seeds
    ]
    for each in known:
        samples.append(GraphSample(data=each.data, kind=REAL, nodes=0, graphs=each.most, seed=seeds[0]))
        samples += [
            GraphSample(data=each.data, kind=kind, nodes=0, graphs=each.most, seed=seed)
            for kind in BESIDE
            for seed in seeds
        ]
    return samples


def name_of(cell: GraphSample) -> str:
    """Return a sample's name in the progress bar."""
    size = f", n = {cell.nodes}" if cell.nodes else ""
    return f"{cell.data}: {cell.kind}{size}, seed {cell.seed}"


def page(results: Mapping[GraphSample, SymmetryScore]) -> PaperPage:
    """Return the page of the results."""
    groups = by_group(results)
    overview = small_multiples(
        {
            f"n: {name}": {
                kind: {float(nodes): share(groups[DRAWN, kind, nodes], name) for nodes in sizes_of(groups)}
                for kind in KINDS
            }
            for name in COUNTS
        },
        up="share of graphs",
    )
    figures = [
        Figure(
            title="Random graphs",
            words="Shares of graphs with n nodes. Lines through the dots are 95 % intervals.",
            panels=(
                panel(overview, "Shares of random graphs against their number of nodes, a color a kind."),
            ),
            wide=True,
        )
    ]
    sets = list(dict.fromkeys(data for data, kind, _ in groups if kind == REAL))
    for name in COUNTS if sets else ():
        dots = grouped_dots(
            {kind: {data: share(groups[data, kind, 0], name) for data in sets} for kind in (REAL, *BESIDE)},
            {},
            label="share of graphs",
            logarithmic=False,
        )
        figures.append(
            Figure(
                title=f"Real graphs: {name}",
                words="Shares of real graphs, and of random graphs with the same numbers of nodes and edges, "
                "or with the same number of nodes.",
                panels=(panel(dots, f"Shares of graphs with {name}, by data set, a color a kind."),),
                wide=True,
            )
        )
    return PaperPage(
        title="Automorphisms and repeated eigenvalues",
        overview=overview,
        findings=findings(groups),
        figures=tuple(figures),
        numbers=numbers(groups),
        remarks=(*REMARKS, *(REMARKS_ON_SETS if sets else ())),
        intervals="of shares (Wilson) and of their differences (Newcombe)",
        settings={"graphs of a kind and n": f"{groups[DRAWN, TREES, SIZES[0]].counted:,}"},
    )


def numbers(groups: Groups) -> Numbers:
    """Return a row for each sample, all seeds together."""
    rows = []
    for (data, kind, nodes), score in groups.items():
        rows.append(
            {
                "": f"{kind}, n = {nodes}" if data == DRAWN else f"{data}: {kind}",
                "graphs": f"{score.counted:,}",
                **{f"% with {name}": share(score, name).percent for name in (AUTOMORPHISM, OF_A, OF_L)},
                "of order above 2": f"{score.above_two:,}",
                "A": _two_by_two(score, score.adjacency, score.both_adjacency),
                "L": _two_by_two(score, score.laplacian, score.both_laplacian),
                "sensitive": f"{score.sensitive:,}",
            }
        )
    return Numbers(
        header=tuple(rows[0]),
        rows=tuple(tuple(row.values()) for row in rows),
        note="Percentages have 95 % intervals. The columns A and L have numbers of graphs: with an "
        "automorphism and a repeated eigenvalue / with an automorphism alone / with a repeated eigenvalue "
        "alone / with neither.",
    )


def _two_by_two(score: SymmetryScore, repeated: int, both: int) -> str:
    neither = score.counted - score.automorphism - repeated + both
    return f"{both:,} / {score.automorphism - both:,} / {repeated - both:,} / {neither:,}"
