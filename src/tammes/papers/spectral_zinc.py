"""Encodings from eigenvectors in front of networks on molecules.

Robinson (2023), sections 7.3.1, E.10.1 and E.11.2, Tables 7.1, 7.2 and E.4.
"""

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import torch
from matplotlib.figure import Figure as Drawing

from tammes.data.zinc import part_of_zinc
from tammes.papers.entry import Entry, check_budget
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, write_page
from tammes.papers.spectral_figures import errors_by_group
from tammes.papers.spectral_molecules import components, fluorescein, molecules
from tammes.papers.spectral_zinc_training import (
    ABSOLUTE,
    CANONICAL,
    FLIPS,
    GATED,
    GIN,
    GINE,
    NONE,
    PNA,
    SIGNNET,
    TRANSFORMER,
    Cell,
    Laboratory,
    Measured,
)
from tammes.papers.study import Results, complete_and_show
from tammes.report.panels import Panel
from tammes.report.svg import inline_svg
from tammes.spectral import eigenpairs

DRAWN = "fluorescein.npy"
MOLECULES, EPOCHS, SEEDS = 10_000, 300, 4
"""Of the full work; the paper trains until the learning rate has fallen to its least."""
Setting = tuple[str, str, int]
"""A base network, an encoding, and how many eigenvectors; 0 for all."""
MAIN: Sequence[Setting] = ((GATED, NONE, 0), (GATED, FLIPS, 8), (GATED, SIGNNET, 8))
"""What the paper's main statement is about."""
PAPER: Mapping[Setting, tuple[float, float]] = {
    (GATED, NONE, 0): (0.252, 0.007),
    (GATED, FLIPS, 8): (0.198, 0.011),
    (GATED, SIGNNET, 8): (0.121, 0.005),
    (GATED, SIGNNET, 0): (0.100, 0.007),
    (GATED, ABSOLUTE, 8): (0.204, 0.009),
    (GATED, CANONICAL, 8): (0.298, 0.019),
    (GINE, NONE, 0): (0.170, 0.002),
    (GINE, FLIPS, 16): (0.178, 0.004),
    (GINE, SIGNNET, 16): (0.147, 0.005),
    (GINE, SIGNNET, 0): (0.102, 0.002),
    (TRANSFORMER, NONE, 0): (0.283, 0.030),
    (TRANSFORMER, FLIPS, 16): (0.223, 0.007),
    (TRANSFORMER, SIGNNET, 16): (0.115, 0.008),
    (TRANSFORMER, SIGNNET, 0): (0.102, 0.005),
    (PNA, NONE, 0): (0.133, 0.011),
    (PNA, FLIPS, 8): (0.132, 0.010),
    (PNA, SIGNNET, 8): (0.105, 0.007),
    (PNA, SIGNNET, 0): (0.084, 0.006),
    (GIN, NONE, 0): (0.348, 0.014),
    (GIN, FLIPS, 16): (0.341, 0.011),
    (GIN, SIGNNET, 16): (0.238, 0.012),
}
"""Tables 7.1 and E.4, mean and standard deviation over 4 seeds; Table 7.2 repeats the one of PNA."""
REMARKS = (
    "The molecules to validate and to test on are the published ones. Those to train on are what the folder "
    "holds: where the file's name says REBUILT, real molecules of ZINC with the same kind of target, but not "
    "the published 10,000.",
    "A small budget takes fewer molecules, fewer epochs and narrower networks, all of them for every "
    "encoding alike: numbers compare with each other, and not with the paper's.",
    "With a fixed number of eigenvectors, the first one, which tells only degrees, is left out.",
    "The row 'φ(v) only' of Table 7.1, GAT of Table E.4, and ZINC-full and Alchemy of Table 7.2 are not run.",
)


def run(out: Path, *, budget: float, seed: int, data: Path | None) -> None:
    """See `Reproduction`; a table that is there already is gone on with."""
    check_budget(budget)
    assert data is not None  # the entry asks for it
    out.mkdir(parents=True, exist_ok=True)
    file = part_of_zinc(data, "train")
    command = f"tammes reproduce {ENTRY.name} --data {data.name} --budget {budget:g} --seed {seed}"
    training = "PyG's ZINC" if file is None else file.name
    complete_and_show(
        Results(out / "table.csv", Cell, Measured),
        cells(budget, seed=seed),
        Laboratory(data, out / DRAWN).measure,
        lambda known: write(out, known, command, training=training),
        name=lambda cell: f"{cell.base}, {cell.encoding}, seed {cell.seed}",
    )


def cells(budget: float, *, seed: int) -> list[Cell]:
    """All cells: those of the main statement first, seed by seed."""
    share = budget ** (1 / 4)
    width = budget ** (1 / 3)
    others = [setting for setting in PAPER if setting not in MAIN]
    return [
        Cell(
            base=base,
            encoding=encoding,
            eigenvectors=eigenvectors,
            molecules=round(MOLECULES * share),
            epochs=max(1, round(EPOCHS * share**3)),
            width=8 * max(1, round(16 * width)),
            phi_width=8 * max(1, round(10 * width)),
            seed=seed + number,
        )
        for settings in (MAIN, others)
        for number in range(SEEDS)
        for base, encoding, eigenvectors in settings
    ]


def write(out: Path, results: Mapping[Cell, Measured], command: str, *, training: str) -> None:
    """The figure and the page of what has been measured."""
    figures = _errors(summary(results))
    next(iter(figures.values())).savefig(out / "figure.svg", facecolor="white")
    cell = next(iter(results))
    page = PaperPage(
        title="Molecules",
        statement=ENTRY.statement,
        source=ENTRY.source,
        findings=findings(results),
        figures=(
            Figure(
                title="Errors",
                words="Mean absolute errors on the test molecules: dots are ours, rings the paper's.",
                panels=tuple(
                    Panel(
                        name=base,
                        svg=inline_svg(
                            figure,
                            name=f"errors-{number}",
                            description=f"Test errors of {base} with each encoding.",
                        ),
                    )
                    for number, (base, figure) in enumerate(figures.items())
                ),
                wide=True,
            ),
            *_drawn(out / DRAWN),
        ),
        numbers=numbers(results),
        remarks=REMARKS,
        settings={
            "training molecules": f"{cell.molecules:,}, from {training}",
            "epochs": f"{cell.epochs} (of the full work: {EPOCHS})",
            "base networks": f"{cell.layers} layers of {cell.width}",
            "φ": f"GIN, {cell.phi_layers} layers of {cell.phi_width}",
            "batch": f"{cell.batch_size} molecules",
            "Adam, learning rate": f"{cell.learning_rate:g}, to 0 along half a cosine",
        },
        command=command,
    )
    write_page(out / "report.html", page)


def _errors(ours: Mapping[Setting, tuple[float, float, int]]) -> dict[str, Drawing]:
    """For each base network the errors with each encoding, ours and the paper's."""
    drawn = {}
    for base in dict.fromkeys(base for base, _, _ in ours):
        names = {setting: _encoding(setting) for setting in ours if setting[0] == base}
        drawn[base] = errors_by_group(
            {base: {name: ours[setting][0] for setting, name in names.items()}},
            {base: {name: PAPER[setting][0] for setting, name in names.items()}},
            label="test MAE",
            logarithmic=False,
        )
    return drawn


def _drawn(file: Path) -> tuple[Figure, ...]:
    """Figure E-5: eigenvectors of fluorescein, and what a trained SignNet makes of them."""
    if not file.exists():
        return ()
    edges = fluorescein()
    vectors = eigenpairs(edges, torch.zeros(25, dtype=torch.long)).vectors.float()
    learned = components(torch.from_numpy(np.load(file)), 4)
    columns = {"v₂": vectors[:, 1], "v₃": vectors[:, 2], "v₂₄": vectors[:, 23], "v₂₅": vectors[:, 24]}
    columns |= {f"component {number + 1}": learned[:, number] for number in range(4)}
    return (
        Figure.of(
            molecules(edges, columns, across=4),
            name="fluorescein",
            title="Fluorescein",
            words="Above, the two smallest and the two largest eigenvectors but the trivial one; below, "
            "principal components of what a trained SignNet makes of them. It has not seen this molecule.",
            description="Four eigenvectors on the atoms of fluorescein, and four components of what is "
            "learned.",
        ),
    )


def findings(results: Mapping[Cell, Measured]) -> tuple[Finding, ...]:
    """The paper's statements beside our numbers."""
    ours = summary(results)
    found = []
    if all(setting in ours for setting in MAIN):
        none, flips, signnet = (ours[setting] for setting in MAIN)
        gain, unsure = _gain(results, MAIN[0], MAIN[1])
        found += [
            Finding(
                paper="With GatedGCN and 8 eigenvectors, SignNet (0.121) is better than LapPE with flips "
                "(0.198) and than no encoding (0.252).",
                ours=f"SignNet {_words(signnet)}, LapPE with flips {_words(flips)}, none {_words(none)}.",
                agrees=signnet[0] < min(flips[0], none[0]),
            ),
            Finding(
                paper="LapPE with flips is better than no encoding.",
                ours=f"By {gain:.3f} ± {unsure:.3f} on the same seeds"
                + ("." if gain > 2 * unsure else ", which is not clear of chance."),
                agrees=gain > 2 * unsure,
            ),
        ]
    better, compared = [], []
    for base in (GINE, TRANSFORMER, PNA, GIN):
        own = {setting: ours[setting][0] for setting in ours if setting[0] == base}
        signed = [error for (_, encoding, _), error in own.items() if encoding == SIGNNET]
        others = [error for (_, encoding, _), error in own.items() if encoding != SIGNNET]
        if signed and others:
            compared.append(base)
            if min(signed) < min(others):
                better.append(base)
    if compared:
        found.append(
            Finding(
                paper="For all base networks, SignNet yields the least error.",
                ours=f"So it does for {len(better)} of {len(compared)} further ones ({', '.join(compared)}).",
                agrees=len(better) == len(compared),
            )
        )
    return tuple(found)


def summary(results: Mapping[Cell, Measured]) -> dict[Setting, tuple[float, float, int]]:
    """Mean, standard deviation and number of seeds of the test errors, in the order of the paper's table."""
    tests: dict[Setting, list[float]] = {}
    for cell, measured in results.items():
        tests.setdefault((cell.base, cell.encoding, cell.eigenvectors), []).append(measured.test)
    return {
        setting: (
            mean(tests[setting]),
            stdev(tests[setting]) if len(tests[setting]) > 1 else 0.0,
            len(tests[setting]),
        )
        for setting in PAPER
        if setting in tests
    }


def numbers(results: Mapping[Cell, Measured]) -> Numbers:
    """A row for each base network and encoding: ours, and the paper's in parentheses."""
    ours = summary(results)
    of = {(cell.base, cell.encoding, cell.eigenvectors): measured for cell, measured in results.items()}
    return Numbers(
        header=("", "test MAE", "the paper's", "seeds", "parameters", "seconds an epoch"),
        rows=tuple(
            (
                f"{setting[0]}: {_encoding(setting)}",
                f"{error:.3f} ± {deviation:.3f}" if seeds > 1 else f"{error:.3f}",
                f"{PAPER[setting][0]:.3f} ± {PAPER[setting][1]:.3f}",
                str(seeds),
                f"{of[setting].parameters:,}",
                f"{of[setting].seconds_per_epoch:.1f}",
            )
            for setting, (error, deviation, seeds) in ours.items()
        ),
        note="Mean and standard deviation over seeds, on the 1,000 published test molecules. The paper's "
        "have 500,000 parameters and the published training molecules.",
    )


def _encoding(setting: Setting) -> str:
    _, encoding, eigenvectors = setting
    if encoding == NONE:
        return encoding
    return f"{encoding}, {eigenvectors or 'all'}"


def _gain(results: Mapping[Cell, Measured], one: Setting, other: Setting) -> tuple[float, float]:
    """How much less the second's error is on equal seeds, and the standard error of that mean."""
    by_seed: dict[Setting, dict[int, float]] = {one: {}, other: {}}
    for cell, measured in results.items():
        by_seed.get((cell.base, cell.encoding, cell.eigenvectors), {})[cell.seed] = measured.test
    both = by_seed[one].keys() & by_seed[other].keys()
    gains = [by_seed[one][seed] - by_seed[other][seed] for seed in both]
    return mean(gains), stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else inf


def _words(error: tuple[float, float, int]) -> str:
    return f"{error[0]:.3f} ± {error[1]:.3f} ({error[2]} seeds)"


ENTRY = Entry(
    name="spectral-zinc",
    statement="For every base network, encodings by SignNet yield the least error on ZINC, less than "
    "Laplacian eigenvectors with random flips or other choices of signs, and less than no encoding.",
    source="Robinson (2023), sections 7.3.1 and E.10.1, Tables 7.1, 7.2 and E.4",
    data="ZINC 12k: the folder that torch_geometric.datasets.ZINC(path, subset=True) has filled, or one of "
    "zinc_train*.npz, zinc_val*.npz and zinc_test*.npz",
    run=run,
)
