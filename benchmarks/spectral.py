"""Networks on eigenvectors on a CPU against the direct way, which is checked to compute the same.

    python benchmarks/spectral.py                       # all three; about 20 minutes
    python benchmarks/spectral.py --only decomposition
    python benchmarks/spectral.py --only signnet --vectors 8 all --threads 1
    python benchmarks/spectral.py --only basisnet --sides 16 32

Graphs are as large as ZINC's molecules: 23 atoms and 25 bonds on average, with rings of five and six. SignNet
does a forward and a backward pass on 8 to 128 of them with 8 eigenvectors, 16 or all; the direct ways are a
loop over the eigenvectors, v and -v one after the other; all columns padded to the widest graph, with masks
as in the published code or without; and one ragged batch of torch_geometric's layers. Eigendecompositions are
those of 10,000 of them. BasisNet takes a grid with all its eigenvectors; the direct way makes all projectors,
and puts what each linear map gives side by side. Methods take turns; times are medians, of the process with
one thread and of the wall with more; memory is measured in a separate process.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.transforms import AddLaplacianEigenvectorPE
from torch_geometric.utils import get_laplacian, to_dense_adj

from machine import description
from memory import rise_of, whole_peak
from spectral_direct import DirectBasisNet, DirectSignNet, MaskedSignNet, RaggedSignNet
from spectral_graphs import Arguments, grid, molecules, with_eigenpairs
from stopwatch import clock_of
from tammes.spectral import (
    BasisNet,
    EigenvectorSetsConfig,
    GINConfig,
    IGNConfig,
    SignNet,
    keep_freed_memory,
)
from tammes.spectral.transform import AddEigenpairs
from times_table import markdown_table, times_table
from timing import side_by_side

Works = dict[str, Callable[[], object]]
OURS = "tammes"
LAYERS = {"vectors": IGNConfig(), "matrices": IGNConfig(matrix=(4,))}
"""The paper's IGN, and one with a layer from matrices to matrices."""
SIGNNET = (
    "graphs",
    "eigenvectors",
    "tammes",
    "a loop",
    "columns padded",
    "padded and masked",
    "a ragged batch",
    "memory, MB in this order",
)
LARGEST = 14.0
"""GB; what would need more is not begun."""


def step(network: nn.Module, arguments: Arguments) -> Callable[[], Tensor]:
    """A forward and a backward pass."""

    def run() -> Tensor:
        network.zero_grad()
        found = network(*arguments)
        found.square().mean().backward()
        return found.detach()

    return run


def expect_same(networks: dict[str, nn.Module], arguments: Arguments) -> None:
    """Raises where networks give another result, or another gradient of a weight of rho, in double precision.

    Statistics of the batch are those kept: taken anew, the direct ways have others for v than for -v.
    """
    _, edges, batch, vectors, values = arguments
    expected: list[Tensor] | None = None
    for network in networks.values():
        own = copy.deepcopy(network).double().eval()
        output = step(own, (None, edges, batch, vectors.double(), values))()
        found = [output, *(weight.grad for weight in own.rho.parameters())]
        expected = expected or found
        for mine, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-9)


def signnet_works(count: int, device: torch.device | None = None, k: int | None = None) -> Works:
    """Phi of 8 GIN layers and k eigenvectors or all, as in the paper's experiments on molecules."""
    torch.manual_seed(0)
    ours = SignNet(dim=64, phi=GINConfig(width=64, layers=8))
    for statistic in ours.buffers():
        if statistic.is_floating_point():
            statistic.uniform_(0.5, 1.5)
    networks = {
        OURS: ours,
        "a loop over eigenvectors, v and -v apart": DirectSignNet(ours, loop=True),
        "all columns padded, v and -v apart": DirectSignNet(ours, loop=False),
        "all columns padded and masked, v and -v apart": MaskedSignNet(ours),
        "one ragged batch by torch_geometric": RaggedSignNet(ours),
    }
    expect_same(networks, with_eigenpairs(molecules(8), k))
    features, *tensors = with_eigenpairs(molecules(count), k)
    arguments = features, *(tensor.to(device) for tensor in tensors)
    return {name: step(network.to(device), arguments) for name, network in networks.items()}


def decomposed(graph: Data) -> tuple[Tensor, Tensor]:
    """All eigenpairs of one graph's Laplacian, as one would find them, in double precision as ours."""
    edges, weights = get_laplacian(graph.edge_index, None, "sym", torch.float64, graph.num_nodes)
    matrix = to_dense_adj(edges, edge_attr=weights, max_num_nodes=graph.num_nodes)[0]
    values, vectors = torch.linalg.eigh(matrix)
    return values, vectors.float()


def by_geometric(graph: Data) -> Data:
    """The same by torch_geometric, in single precision and without the first eigenvector."""
    return AddLaplacianEigenvectorPE(k=graph.num_nodes - 1, is_undirected=True)(graph.clone())


def decomposition_works(count: int) -> Works:
    """All eigenvectors of each graph."""
    graphs = molecules(count)
    for graph, found in zip(graphs[:200], AddEigenpairs()(graphs[:200]), strict=True):
        values, vectors = decomposed(graph)
        spectrum, own = found.eigenvalues[0, : len(values)], found.eigenvectors[:, : len(values)]
        torch.testing.assert_close(spectrum, values, rtol=0, atol=1e-12)
        filtered = [each * values.cos().float() @ each.T for each in (own, vectors)]  # whatever the bases
        torch.testing.assert_close(*filtered, rtol=0, atol=1e-5)
    return {
        OURS: lambda: AddEigenpairs()(graphs),
        "one by one, torch.linalg.eigh": lambda: [decomposed(graph) for graph in graphs],
        "one by one, torch_geometric": lambda: [by_geometric(graph) for graph in graphs],
    }


def basisnets(layers: str) -> dict[str, nn.Module]:
    """One IGN for all multiplicities, and DeepSets, as wide as in the paper's filters."""
    torch.manual_seed(0)
    rho = EigenvectorSetsConfig(width=32)
    ours = BasisNet(dim=32, ign=LAYERS[layers], rho=rho)
    return {OURS: ours, "all projectors, maps side by side": DirectBasisNet(ours)}


def needed(name: str, layers: str, side: int) -> float:
    """GB of the largest tensor of the direct way: 15 tiles for each eigenspace, or the projectors."""
    if name == OURS:
        return 0.0
    tiles = 15 if LAYERS[layers].matrix else 1
    return side**4 * (side**2 / 2) * tiles * 4 / 1e9


def signnet_rows(
    counts: list[int], vectors: list[int | None], threads: int, seconds: float
) -> list[tuple[str, ...]]:
    """A row of cells for each number of graphs and of eigenvectors, with all methods side by side."""
    rows = []
    for count, k in itertools.product(counts, vectors):
        times = side_by_side(signnet_works(count, k=k), seconds, clock_of(threads))
        memory = [
            in_a_process("signnet", name, str(count), str(k or 0), threads=threads)[0] for name in times
        ]
        ours, *others = times.values()
        ratios = [f"{other.over(ours):.2f}" for other in others]
        rows.append((str(count), str(k or "all"), f"{1e3 * ours.median:.4g} ms", *ratios, ", ".join(memory)))
    return rows


def show_signnet(rows: list[tuple[str, ...]]) -> Table:
    """The rows, for the terminal."""
    title = "SignNet on molecules, forward and backward; of the others their time divided by ours"
    table = markdown_table(title)
    for name in SIGNNET:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def in_a_process(*order: str, threads: int) -> list[str]:
    """What `measured` prints in a separate process."""
    command = [sys.executable, str(Path(__file__)), "--threads", str(threads), "--measure", *order]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.split()


def measured(task: str, *order: str) -> str:
    """The peak of one forward and backward pass, in MB, beyond what was there and of the process; seconds.

    Args:
        task: "signnet" or "basisnet".
        order: the method; then the numbers of graphs and of eigenvectors (0 for all), or layers and side.
    """
    if task == "signnet":
        name, count, k = order
        first, run = (signnet_works(number, k=int(k) or None)[name] for number in (4, int(count)))
    else:
        name, layers, side = order
        network = basisnets(layers)[name]
        first, run = (step(network, with_eigenpairs([grid(number)])) for number in (4, int(side)))
    first()  # what libraries allocate once is not the network's
    started = time.perf_counter()
    rise = rise_of(run)
    return f"{rise:.0f} {whole_peak():.0f} {time.perf_counter() - started:.2f}"


def show_memory(sides: list[int], threads: int, console: Console) -> None:
    """One table of memory, each row from a separate process."""
    table = markdown_table("BasisNet on a grid with all eigenvectors, forward and backward")
    for name in ("nodes", "layers on", "", "rise, MB", "process, MB", "seconds"):
        table.add_column(name, justify="left" if name in ("", "layers on") else "right")
    for layers in LAYERS:
        networks = basisnets(layers)
        expect_same(networks, with_eigenpairs([grid(5)]))
        for side in sides:
            for name in networks:
                if (room := needed(name, layers, side)) > LARGEST:
                    cells = [f"not begun: one tensor of {room:,.0f} GB", "", ""]
                else:
                    cells = in_a_process("basisnet", name, layers, str(side), threads=threads)
                table.add_row(f"{side**2:,}", layers, name, *cells)
    console.print(table)


def main() -> None:
    """Measures and prints."""
    tasks = ("signnet", "decomposition", "basisnet")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=tasks, default=tasks)
    parser.add_argument("--batch", type=int, nargs="+", default=(8, 32, 128), help="graphs of SignNet")
    parser.add_argument("--vectors", nargs="+", default=("8", "16", "all"), help="eigenvectors of SignNet")
    parser.add_argument("--keep-memory", action="store_true", help="keep freed memory between steps")
    parser.add_argument("--graphs", type=int, default=10_000, help="graphs that are decomposed")
    parser.add_argument("--sides", type=int, nargs="+", default=(16, 32), help="of BasisNet's grids")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=15.0, help="measuring time for each table")
    parser.add_argument("--measure", nargs=4, metavar=("TASK", "WAY", "A", "B"), help="one row of memory")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.measure:
        print(measured(*options.measure))
        return
    if options.keep_memory:
        keep_freed_memory()
    console = Console(width=max(110, Console().width))
    console.print(description(), highlight=False)
    if "signnet" in options.only:
        vectors = [None if each == "all" else int(each) for each in options.vectors]
        rows = signnet_rows(options.batch, vectors, options.threads, options.seconds)
        console.print(show_signnet(rows))
    if "decomposition" in options.only:
        title = f"All eigenpairs of {options.graphs:,} molecules"
        console.print(times_table(title, decomposition_works(options.graphs), options.seconds))
    if "basisnet" in options.only:
        show_memory(options.sides, options.threads, console)


if __name__ == "__main__":
    main()
