"""Encodings from eigenvectors in front of networks on molecules.

Robinson (2023), sections 7.3.1, E.10.1 and E.11.2, Tables 7.1, 7.2 and E.4.
"""

from collections.abc import Mapping

from matplotlib.figure import Figure as Drawing

from tammes.data.zinc import part_of_zinc
from tammes.papers.entry import Entry, Request
from tammes.papers.figures import grouped_dots
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.robinson_spectral.zinc_drawing import drawn
from tammes.papers.robinson_spectral.zinc_findings import MAIN, PAPER, Errors, Setting, findings, summary
from tammes.papers.robinson_spectral.zinc_training import NONE, Cell, Laboratory, Measured
from tammes.papers.study import Study

DRAWN = "fluorescein.npy"
MOLECULES, EPOCHS, SEEDS = 10_000, 300, 4
"""Of the full work; the paper trains until the learning rate has fallen to its least."""
REMARKS = (
    "The molecules to validate and to test on are the published ones. Those to train on are what the folder "
    "holds: where the file's name says REBUILT, real molecules of ZINC with the same kind of target, but not "
    "the published 10,000.",
    "A small budget takes fewer epochs and narrower networks, both for every encoding alike: numbers compare "
    "with each other, and not with the paper's.",
    "With a fixed number of eigenvectors, the first one, which tells only degrees, is left out.",
    "ZINC-full and Alchemy of Table 7.2 are not run.",
)


def run(request: Request) -> None:
    """Train each base network with each encoding."""
    data, drawing = request.required_data(), request.out / DRAWN
    file = part_of_zinc(data, "train")
    training = "PyG's ZINC" if file is None else file.name
    Study(
        cells=cells(request.budget, seed=request.seed),
        scores=Measured,
        measure=Laboratory(data, drawing).measure,
        name=lambda cell: f"{cell.base}, {cell.encoding}, seed {cell.seed}",
        page=lambda known: page(known, training=training, fluorescein=drawn(drawing)),
        partial=True,
    ).run(request)


def cells(budget: float, *, seed: int) -> list[Cell]:
    """All cells: those of the main statement first, seed by seed."""
    width = budget ** (1 / 3)
    others = [setting for setting in PAPER if setting not in MAIN]
    return [
        Cell(
            base=base,
            encoding=encoding,
            eigenvectors=eigenvectors,
            molecules=MOLECULES,
            epochs=max(1, round(EPOCHS * budget**0.5)),
            width=8 * max(1, round(16 * width)),
            phi_width=8 * max(1, round(10 * width)),
            seed=seed + number,
        )
        for settings in (MAIN, others)
        for number in range(SEEDS)
        for base, encoding, eigenvectors in settings
    ]


def page(
    results: Mapping[Cell, Measured], *, training: str, fluorescein: tuple[Figure, ...] = ()
) -> PaperPage:
    """Return the page of what has been measured.

    Args:
        results: scores by cell.
        training: name of the training molecules.
        fluorescein: Figure E-5, if it has been drawn.
    """
    figures = _errors(summary(results))
    cell = next(iter(results))
    return PaperPage(
        title="Molecules",
        overview=next(iter(figures.values())),
        findings=findings(results),
        figures=(
            Figure(
                title="Errors",
                words="Mean absolute errors on the test molecules: dots are ours, rings the paper's.",
                panels=tuple(
                    panel(figure, f"Test errors of {base} with each encoding.", name=base)
                    for base, figure in figures.items()
                ),
                wide=True,
            ),
            *fluorescein,
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
    )


def _errors(ours: Mapping[Setting, Errors]) -> dict[str, Drawing]:
    """For each base network the errors with each encoding, ours and the paper's."""
    figures = {}
    for base in dict.fromkeys(base for base, _, _ in ours):
        names = {setting: _encoding(setting).replace(" (", "\n(") for setting in ours if setting[0] == base}
        figures[base] = grouped_dots(
            {base: {name: ours[setting].mean for setting, name in names.items()}},
            {base: {name: PAPER[setting][0] for setting, name in names.items()}},
            label="test MAE",
            logarithmic=False,
            width=6.4,  # the same for all, so that their lettering is
        )
    return figures


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


ENTRY = Entry(
    name="spectral-zinc",
    statement="For every base network, encodings by SignNet yield the least error on ZINC, less than "
    "Laplacian eigenvectors with random flips or other choices of signs, and less than no encoding.",
    source="Robinson (2023), sections 7.3.1 and E.10.1, Tables 7.1, 7.2 and E.4",
    data="ZINC 12k: the folder that torch_geometric.datasets.ZINC(path, subset=True) has filled, or one of "
    "zinc_train*.npz, zinc_val*.npz and zinc_test*.npz",
    run=run,
)
