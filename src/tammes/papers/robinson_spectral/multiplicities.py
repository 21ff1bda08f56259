"""Multiplicities of the eigenvalues of real graphs: how often bases, not only signs, are ambiguous.

Robinson (2023), section E.3.2, Tables E.2 and E.3.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool
from torch import Tensor

from tammes.data.filter_images import filter_images
from tammes.data.labeled_graphs import LabeledGraphs
from tammes.data.zinc import zinc
from tammes.extensions import tu_graphs
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Check, Finding
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.study import Study
from tammes.spectral import (
    Eigenpairs,
    Laplacian,
    RelativeGap,
    Symmetric,
    eigenpairs,
    eigenvector_mask,
)

COLLECTION = ("PROTEINS", "IMDB-MULTI", "COIL-DEL", "MUTAG", "PTC_MR", "ENZYMES", "IMDB-BINARY", "COLLAB")
ZINC, GRID = "ZINC", "32 x 32 image"
FOLDERS = {ZINC: "zinc", GRID: "filters"}
"""Folders of the data sets outside the TU collection; the others have folders of their names."""
NODES_AT_ONCE = 2**15
"""Nodes of the graphs that are decomposed together."""
Graph = tuple[Tensor, int]
"""Edges, in both directions, and the number of nodes."""
PAPER: Mapping[str, tuple[int, int, float]] = {
    ZINC: (12000, 9, 64.1),
    "IMDB-MULTI": (1500, 37, 99.9),
    "COLLAB": (5000, 238, 99.1),
    "PROTEINS": (1113, 20, 77.3),
    "COIL-DEL": (3900, 4, 4.0),
    GRID: (1, 32, 96.9),
}
"""Tables E.2 and E.3: number of graphs, largest multiplicity, and percent of graphs, or of eigenvectors for
a single graph, with a multiplicity above 1."""
REMARKS = (
    "Eigenvalues of the symmetric normalized Laplacian, in double precision, are equal where their "
    "difference is at most 1e-8 of the matrix' norm. 'Decades' says how far the nearest difference is from "
    "that threshold: at 2 decades, a threshold a hundred times larger or smaller gives the same numbers.",
    "ZINC: the 1,000 graphs of validation and the 1,000 of testing are the published ones. The 10,000 of "
    "training are whatever the folder holds under that name; a file that is called REBUILT has real "
    "molecules, but not those of the published split.",
    "A budget below 1 takes the first part of the graphs of each set.",
)


@dataclass(frozen=True, kw_only=True)
class GraphSet:
    """The first `most` graphs of one data set."""

    data: str
    most: int


@dataclass(frozen=True, kw_only=True)
class MultiplicityScore:
    """Eigenspaces of some graphs; percentages count graphs and eigenvectors with a multiplicity above 1."""

    graphs: int
    least_nodes: int
    most_nodes: int
    multiplicity: int
    percent_graphs: float
    distinct: int
    multiplicities: int
    percent_vectors: float
    decades: float


def run(request: Request) -> None:
    """Decompose the graphs of each data set that is there; nothing is random."""
    folder = request.required_data()
    Study(
        cells=sets_in(folder, (GRID, ZINC, *COLLECTION), budget=request.budget),
        scores=MultiplicityScore,
        measure=lambda cell: measure(read(folder, cell)),
        name=lambda cell: cell.data,
        protocol=Protocol(
            seeds=[request.seed],
            controls=["none: graphs are counted, nothing is trained or drawn"],
            measured_on="all graphs of each set",
        ),
        page=page,
    ).run(request)


def sets_in(folder: Path, names: Sequence[str], *, budget: float) -> list[GraphSet]:
    """Return the data sets that a folder holds, with the first part of their graphs.

    Args:
        folder: folder with a folder for each set.
        names: sets to look for.
        budget: share of the graphs, in (0, 1].

    Raises:
        ValueError: for a folder with none of them.
    """
    found = [
        GraphSet(data=name, most=max(1, round(budget * (PAPER[name][0] if name in PAPER else 1000))))
        for name in names
        if (folder / FOLDERS.get(name, name)).is_dir()
    ]
    if not found:
        others = [FOLDERS[name] for name in names if name in FOLDERS]
        raise ValueError(
            f"expected in {folder} folders named {', '.join(COLLECTION)}, each an unpacked archive of the TU "
            f"collection, or {' or '.join(others)}; found none of them"
        )
    return found


def measure(graphs: Sequence[Graph]) -> MultiplicityScore:
    """Return the multiplicities of the eigenvalues of some graphs.

    Example:
        >>> triangle = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
        >>> score = measure([(triangle, 3)])
        >>> score.multiplicity, score.distinct, round(score.percent_vectors, 1)
        (2, 2, 66.7)
    """
    dimensions: list[Tensor] = []
    repeated, decades = 0, torch.inf
    for part in parts(graphs):
        pairs, mask = decomposed(part, Symmetric())
        spaces = RelativeGap(warn=False)(pairs.values, mask)
        first = torch.nn.functional.pad(spaces.number.diff(dim=1) > 0, (1, 0), value=True) & mask
        dimensions.append(spaces.dimension[first])
        repeated += int((spaces.dimension > 1).any(dim=1).sum())
        decades = min(decades, float(spaces.margin.min()))
    found = torch.cat(dimensions)
    return MultiplicityScore(
        graphs=len(graphs),
        least_nodes=min(size for _, size in graphs),
        most_nodes=max(size for _, size in graphs),
        multiplicity=int(found.max()),
        percent_graphs=100 * repeated / len(graphs),
        distinct=len(found),
        multiplicities=len(found.unique()),
        percent_vectors=100 * float(found[found > 1].sum() / found.sum()),
        decades=decades,
    )


def parts(graphs: Sequence[Graph]) -> Iterator[list[Graph]]:
    """Yield the graphs in the order of their sizes, as many at a time as are decomposed together."""
    part: list[Graph] = []
    for graph in sorted(graphs, key=lambda graph: graph[1]):
        if part and (len(part) + 1) * graph[1] > NODES_AT_ONCE:
            yield part
            part = []
        part.append(graph)
    yield part


def decomposed(part: Sequence[Graph], laplacian: Laplacian) -> tuple[Eigenpairs, Bool[Tensor, "graphs k"]]:
    """Return the eigenpairs of a matrix of some graphs, and which columns hold one.

    Args:
        part: graphs.
        laplacian: matrix to decompose.

    Example:
        >>> edge = torch.tensor([[0, 1], [1, 0]]), 2
        >>> pairs, mask = decomposed([edge], Symmetric())
        >>> pairs.values.tolist(), mask.tolist()
        ([[0.0, 2.0]], [[True, True]])
    """
    sizes = torch.tensor([size for _, size in part])
    starts = sizes.cumsum(0) - sizes
    batch = torch.arange(len(part)).repeat_interleave(sizes)
    edges = torch.cat([edges + start for (edges, _), start in zip(part, starts, strict=True)], dim=1)
    pairs = eigenpairs(edges, batch, laplacian=laplacian)
    return pairs, eigenvector_mask(pairs.vectors, batch, len(part))


def page(results: Mapping[GraphSet, MultiplicityScore]) -> PaperPage:
    """Return the page of the results."""
    many = {cell.data: score for cell, score in results.items() if cell.data != GRID}
    figure = dots(
        {name: score.percent_graphs for name, score in (many or _by_name(results)).items()},
        {name: percent for name, (_, _, percent) in PAPER.items() if name in many},
        label="% of graphs with a repeated eigenvalue",
        limits=(0.0, 103.0),
    )
    return PaperPage(
        title="Repeated eigenvalues",
        overview=figure,
        findings=findings(results),
        figures=(
            Figure(
                title="Graphs with a repeated eigenvalue",
                words="Dots are ours, rings the paper's.",
                panels=(panel(figure, "Percent of graphs with a repeated eigenvalue, a dot for each set."),),
            ),
        ),
        numbers=numbers(results),
        remarks=REMARKS,
        settings={"matrix": "symmetric normalized Laplacian", "tolerance": "1e-8, relative to the norm"},
    )


def findings(results: Mapping[GraphSet, MultiplicityScore]) -> tuple[Finding | Check, ...]:
    """Return the paper's counts beside ours: checks, since the counts of complete sets are exact."""
    whole = {
        name: score
        for name, score in _by_name(results).items()
        if name in PAPER and score.graphs == PAPER[name][0]
    }
    checks = []
    for name, score in whole.items():
        _, multiplicity, percent = PAPER[name]
        own = score.percent_vectors if name == GRID else score.percent_graphs
        checks.append(
            Check(
                paper=f"{name}: largest multiplicity {multiplicity}, {percent} % "
                + ("of eigenvectors" if name == GRID else "of graphs")
                + " with multiplicity above 1.",
                ours=f"{score.multiplicity}, {own:.1f} %.",
                passed=score.multiplicity == multiplicity and abs(own - percent) < 0.2,
            )
        )
    majority = "Section E.3.2: most graphs in each set besides COIL-DEL have a repeated eigenvalue."
    shares = {name: score.percent_graphs for name, score in whole.items() if name not in (GRID, "COIL-DEL")}
    if not shares:
        return (*checks, Finding(paper=majority, ours="None of the paper's sets is complete here."))
    ours = ", ".join(f"{name} {share:.1f} %" for name, share in shares.items())
    return (*checks, Check(paper=majority, ours=f"{ours}.", passed=min(shares.values()) > 50))


def numbers(results: Mapping[GraphSet, MultiplicityScore]) -> Numbers:
    """Return a row for each set, with the paper's numbers in parentheses."""
    rows = []
    for name, score in _by_name(results).items():
        graphs, multiplicity, by_graph, by_vector = "", "", "", ""
        if name in PAPER:
            graphs, multiplicity = f" ({PAPER[name][0]:,})", f" ({PAPER[name][1]})"
            percent = f" ({PAPER[name][2]})"
            by_graph, by_vector = ("", percent) if name == GRID else (percent, "")
        rows.append(
            {
                "": name,
                "graphs": f"{score.graphs:,}{graphs}",
                "nodes": f"{score.least_nodes}-{score.most_nodes}",
                "largest multiplicity": f"{score.multiplicity}{multiplicity}",
                "% of graphs above 1": f"{score.percent_graphs:.1f}{by_graph}",
                "% of eigenvectors above 1": f"{score.percent_vectors:.1f}{by_vector}",
                "eigenspaces": f"{score.distinct:,}",
                "multiplicities": f"{score.multiplicities}",
                "decades": f"{score.decades:.1f}",
            }
        )
    return Numbers(
        header=tuple(rows[0]),
        rows=tuple(tuple(row.values()) for row in rows),
        note="The paper's in parentheses, where it has them.",
    )


def _by_name(results: Mapping[GraphSet, MultiplicityScore]) -> dict[str, MultiplicityScore]:
    return {cell.data: score for cell, score in results.items()}


def read(folder: Path, cell: GraphSet) -> list[Graph]:
    """Return the graphs of a data set."""
    place = folder / FOLDERS.get(cell.data, cell.data)
    if cell.data == GRID:
        images = filter_images(place)
        return [(images.edges, len(images.inner))]
    if cell.data == ZINC:
        parts = [zinc(place, part) for part in ("train", "val", "test")]
        return [graph for part in parts for graph in _graphs(part)][: cell.most]
    graphs = tu_graphs(place, most=cell.most)
    return [(torch.cat([graph.edges, graph.edges.flip(0)], dim=1), graph.ground.total) for graph in graphs]


def _graphs(packed: LabeledGraphs) -> list[Graph]:
    edges = packed.edges.split(packed.edge_starts.diff().tolist(), dim=1)
    return list(zip(edges, packed.node_starts.diff().tolist(), strict=True))
