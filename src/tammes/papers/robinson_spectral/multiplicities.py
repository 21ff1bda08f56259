"""How often eigenvalues of real graphs are repeated: where signs alone are not all that is ambiguous.

Robinson (2023), section E.3.2, Tables E.2 and E.3.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from tammes.data.filter_images import filter_images
from tammes.data.labeled_graphs import LabeledGraphs
from tammes.data.zinc import zinc
from tammes.extensions import tu_graphs
from tammes.papers.entry import Entry, Request
from tammes.papers.figures import dots
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_spectral.multiplicities_measured import Graph, Measured, measure
from tammes.papers.study import Study

COLLECTION = (
    "PROTEINS",
    "IMDB-MULTI",
    "COIL-DEL",
    "MUTAG",
    "PTC_MR",
    "ENZYMES",
    "IMDB-BINARY",
    "COLLAB",
)
ZINC, GRID = "ZINC", "32 x 32 image"
FOLDERS = {ZINC: "zinc", GRID: "filters"}
"""The folders of what is not of the TU collection; those of the collection have their own names."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of Table E.2 or E.3; `percent` is of graphs, or of eigenvectors where there is one graph."""

    graphs: int
    multiplicity: int
    percent: float


PAPER: Mapping[str, Row] = {
    ZINC: Row(graphs=12000, multiplicity=9, percent=64.1),
    "IMDB-MULTI": Row(graphs=1500, multiplicity=37, percent=99.9),
    "COLLAB": Row(graphs=5000, multiplicity=238, percent=99.1),
    "PROTEINS": Row(graphs=1113, multiplicity=20, percent=77.3),
    "COIL-DEL": Row(graphs=3900, multiplicity=4, percent=4.0),
    GRID: Row(graphs=1, multiplicity=32, percent=96.9),
}
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
class Cell:
    """One data set, its first `most` graphs."""

    data: str
    most: int


def run(request: Request) -> None:
    """Decompose the graphs of each data set that is there; nothing is random."""
    folder = request.required_data()
    cells = [
        Cell(data=name, most=max(1, round(request.budget * (PAPER[name].graphs if name in PAPER else 1000))))
        for name in (GRID, ZINC, *COLLECTION)
        if (folder / FOLDERS.get(name, name)).is_dir()
    ]
    if not cells:
        raise ValueError(
            f"expected in {folder} folders named {', '.join(COLLECTION)}, each an unpacked archive of the TU "
            f"collection, or {' or '.join(FOLDERS.values())}; found none of them"
        )
    Study(
        cells=cells,
        scores=Measured,
        measure=lambda cell: measure(_READ[cell.data](folder, cell)),
        name=lambda cell: cell.data,
        page=page,
    ).run(request)


def page(results: Mapping[Cell, Measured]) -> PaperPage:
    """Return the page of what has been measured."""
    many = {cell.data: measured for cell, measured in results.items() if cell.data != GRID}
    figure = dots(
        {name: measured.percent_graphs for name, measured in (many or _by_name(results)).items()},
        {name: row.percent for name, row in PAPER.items() if name in many},
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


def findings(results: Mapping[Cell, Measured]) -> tuple[Finding, ...]:
    """The paper's statements beside our numbers."""
    ours = _by_name(results)
    whole = {name: PAPER[name] for name in ours if name in PAPER and ours[name].graphs == PAPER[name].graphs}
    found = []
    for name, row in whole.items():
        mine = ours[name]
        percent = mine.percent_vectors if name == GRID else mine.percent_graphs
        found.append(
            Finding(
                paper=f"{name}: largest multiplicity {row.multiplicity}, {row.percent} % "
                + ("of eigenvectors" if name == GRID else "of graphs")
                + " with multiplicity above 1.",
                ours=f"{name}: {mine.multiplicity}, {percent:.1f} %.",
                agrees=mine.multiplicity == row.multiplicity and abs(percent - row.percent) < 0.2,
            )
        )
    usual = [name for name in ours if name not in (GRID, "COIL-DEL")]
    most = [name for name in usual if ours[name].percent_graphs > 50]
    found.append(
        Finding(
            paper="The majority of graphs in each set besides COIL-DEL have a repeated eigenvalue.",
            ours=f"So it is in {len(most)} of {len(usual)} sets"
            + ("." if len(most) == len(usual) else f"; not in {', '.join(set(usual) - set(most))}."),
            agrees=len(most) == len(usual) if usual else None,
        )
    )
    return tuple(found)


def numbers(results: Mapping[Cell, Measured]) -> Numbers:
    """A row for each set, the paper's numbers in parentheses."""
    rows = []
    for name, ours in _by_name(results).items():
        row = PAPER.get(name)
        graph_wise, vector_wise = f"{ours.percent_graphs:.1f}", f"{ours.percent_vectors:.1f}"
        if row is not None:
            graph_wise += "" if name == GRID else f" ({row.percent})"
            vector_wise += f" ({row.percent})" if name == GRID else ""
        rows.append(
            (
                name,
                f"{ours.graphs:,}" + ("" if row is None else f" ({row.graphs:,})"),
                f"{ours.least_nodes}-{ours.most_nodes}",
                f"{ours.multiplicity}" + ("" if row is None else f" ({row.multiplicity})"),
                graph_wise,
                vector_wise,
                f"{ours.distinct:,}",
                f"{ours.multiplicities}",
                f"{ours.decades:.1f}",
            )
        )
    return Numbers(
        header=(
            "",
            "graphs",
            "nodes",
            "largest multiplicity",
            "% of graphs above 1",
            "% of eigenvectors above 1",
            "eigenspaces",
            "multiplicities",
            "decades",
        ),
        rows=tuple(rows),
        note="The paper's in parentheses, where it has them.",
    )


def _by_name(results: Mapping[Cell, Measured]) -> dict[str, Measured]:
    return {cell.data: measured for cell, measured in results.items()}


def _collection(folder: Path, cell: Cell) -> list[Graph]:
    graphs = tu_graphs(folder / cell.data, most=cell.most)
    return [(torch.cat([graph.edges, graph.edges.flip(0)], dim=1), graph.ground.total) for graph in graphs]


def _molecules(folder: Path, cell: Cell) -> list[Graph]:
    parts = [zinc(folder / FOLDERS[ZINC], part) for part in ("train", "val", "test")]
    return [graph for part in parts for graph in _graphs(part)][: cell.most]


def _graphs(packed: LabeledGraphs) -> list[Graph]:
    edges = packed.edges.split(packed.edge_starts.diff().tolist(), dim=1)
    return list(zip(edges, packed.node_starts.diff().tolist(), strict=True))


def _grid(folder: Path, cell: Cell) -> list[Graph]:
    images = filter_images(folder / FOLDERS[GRID])
    return [(images.edges, len(images.inner))]


_READ: Mapping[str, Callable[[Path, Cell], list[Graph]]] = {
    GRID: _grid,
    ZINC: _molecules,
    **dict.fromkeys(COLLECTION, _collection),
}

ENTRY = Entry(
    name="spectral-multiplicities",
    statement="Real graphs have repeated eigenvalues: most graphs of most sets do, and their eigenspaces can "
    "be large, so that invariance to signs is not enough.",
    source="Robinson (2023), section E.3.2, Tables E.2 and E.3",
    data="a folder with unpacked archives of the TU collection in it (PROTEINS, IMDB-MULTI, COLLAB, COIL-DEL "
    "and others), zinc, filters, or some of them",
    run=run,
)
