"""SignNet beside the published errors of other methods, on ZINC-full and Alchemy.

Robinson (2023), sections 7.3.1, E.10.2 and E.11.2, Tables 7.2 and E.5.
"""

from collections.abc import Mapping, Sequence

import torch

from tammes.data.alchemy import alchemy_split
from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_spectral.table_7_2_findings import (
    CONTROLS,
    OTHERS,
    PAPER,
    SETTINGS,
    errors_by_seed,
    findings,
)
from tammes.papers.robinson_spectral.table_7_2_training import (
    ALCHEMY,
    EPOCHS,
    LAYERS,
    LEARNING_RATE,
    LOWEST_RATE,
    PATIENCE,
    PHI_LAYERS,
    SETS,
    MoleculeRun,
    Setting,
    given_molecules,
    measurer,
)
from tammes.papers.robinson_spectral.zinc_training import CONSTANT, NONE, ZincScore
from tammes.papers.study import Study

SEEDS = 4
"""Of the full work."""
REMARKS = (
    "Errors of other methods are the published ones, and nothing of them is run. Statements about them are "
    "decided at the full budget only, with all published training molecules: a smaller budget means fewer "
    "molecules and epochs, and narrower networks of fewer layers.",
    "'Within a standard deviation' is read as: below the best mean and the larger of the two published "
    "deviations.",
    "Alchemy's targets are in standard deviations from their means, both over all graphs of the set, those "
    "for testing included, as in the published code; the error is the mean over the twelve. Its published "
    "parts name some graphs twice, and some in two parts.",
    "GIN is GINE here, as wide and as deep as the network with SignNet. The paper has no GatedGCN without an "
    "encoding on ZINC-full.",
    "The best constant is the median of the training targets. Findings compare with the smaller of its error "
    "and the untrained network's, seed by seed.",
)


def run(request: Request) -> None:
    """Train with and without SignNet on each set that is there."""
    folder = request.required_data()
    molecules = given_molecules(folder)
    seeds = request.seed_range(SEEDS)
    described = {
        name: "{:,} molecules to train on, {:,} to choose the epoch on, {:,} to test on".format(
            *map(len, parts)
        )
        for name, parts in molecules.items()
    }
    if ALCHEMY in molecules:
        split = alchemy_split(folder)
        shared = int(torch.isin(split["test"], split["train"]).sum())
        described[ALCHEMY] += f", of which {shared:,} are among those to train on"
    Study(
        cells=cells(
            request.budget,
            training={name: len(train) for name, (train, _, _) in molecules.items()},
            seeds=seeds,
            learning_rate=request.rate(LEARNING_RATE),
        ),
        scores=ZincScore,
        measure=measurer(molecules),
        name=lambda cell: f"{cell.data}, {cell.base}, {cell.encoding}, seed {cell.seed}",
        protocol=Protocol(
            seeds=seeds,
            controls=["untrained network with SignNet", "constant that is best on the training molecules"],
            measured_on="test molecules",
            search={"epoch": ["the best of all"]},
            searched_on="validation molecules",
        ),
        page=lambda results: page(results, described=described),
        partial=True,
    ).run(request)


def cells(
    budget: float,
    *,
    training: Mapping[str, int],
    seeds: Sequence[int],
    learning_rate: float = LEARNING_RATE,
) -> list[MoleculeRun]:
    """Return all runs, seed by seed, the controls first.

    Args:
        budget: fraction of the full work.
        training: number of training molecules of each set that is there.
        seeds: random seeds.
        learning_rate: Adam's first rate.
    """
    size, time = budget ** (1 / 3), budget**0.5
    return [
        MoleculeRun(
            data=name,
            base=base,
            encoding=encoding,
            molecules=min(count, max(1, round(SETS[name].training * min(1.0, budget / SETS[name].all_from)))),
            epochs=0 if (name, base, encoding) in CONTROLS[name] else max(1, round(EPOCHS * time)),
            patience=max(1, round(PATIENCE * time)),
            width=8 * max(1, round(SETS[name].width / 8 * size)),
            layers=max(1, round(LAYERS * size)),
            phi_layers=max(1, round(PHI_LAYERS * size)),
            learning_rate=learning_rate,
            seed=seed,
        )
        for seed in seeds
        for name, count in training.items()
        for _, base, encoding in SETTINGS[name]
    ]


def page(results: Mapping[MoleculeRun, ZincScore], *, described: Mapping[str, str]) -> PaperPage:
    """Return the page of the results.

    Args:
        results: scores by run.
        described: number of molecules of each set that is there, in words.
    """
    ours = summary(results)
    figures = {}
    for name in described:
        measured = [setting for setting in SETTINGS[name] if setting in ours]
        # The controls are far above, and stand in the figure only before anything else is measured.
        shown = [setting for setting in measured if setting not in CONTROLS[name]] or measured
        if shown:
            figures[name] = dots(
                {_name(setting): ours[setting] for setting in shown},
                {_name(setting): PAPER[setting][0] for setting in shown if setting in PAPER},
                label=f"{name}: test MAE",
            )
    return PaperPage(
        title="ZINC-full and Alchemy",
        overview=next(iter(figures.values())),
        findings=findings(results, sets=list(described)),
        figures=(
            Figure(
                title="Errors",
                words="Mean absolute errors on the test molecules: dots are ours, with 95 % intervals; rings "
                "are the paper's.",
                panels=tuple(
                    panel(figure, f"Test errors on {name}.", name=name) for name, figure in figures.items()
                ),
                wide=True,
            ),
        ),
        numbers=numbers(results, sets=list(described)),
        remarks=REMARKS,
        settings=dict(described) | _trainings(results),
    )


def _trainings(results: Mapping[MoleculeRun, ZincScore]) -> dict[str, str]:
    """Return the networks and the training on each set, in words."""
    longest = {cell.data: cell for cell in sorted(results, key=lambda cell: cell.epochs)}
    words = {}
    for name, cell in longest.items():
        base, rho = SETS[name].base, SETS[name].rho_name
        words[f"network on {name}"] = (
            f"{base}, {cell.layers} layers of {cell.width}; φ: GIN, {cell.phi_layers} layers; ρ: {rho}"
        )
        words[f"training on {name}"] = (
            f"the first {cell.molecules:,} molecules, batches of {cell.batch_size}, at most {cell.epochs} "
            f"epochs (of the full work: {EPOCHS}); Adam at {cell.learning_rate:g}, halved after "
            f"more than {cell.patience} epochs without a smaller validation error, down to {LOWEST_RATE:g}"
        )
    return words


def numbers(results: Mapping[MoleculeRun, ZincScore], *, sets: Sequence[str]) -> Numbers:
    """Return a row for each method on each set: our numbers and the paper's."""
    of = {cell.setting: score for cell, score in results.items()}
    ours, rows = summary(results), []
    for name in sets:
        for setting in SETTINGS[name]:
            if setting in ours:
                errors, score = ours[setting], of[setting]
                paper = _published(*PAPER[setting]) if setting in PAPER else ""
                seeds, weights = str(len(errors.values)), f"{score.parameters:,}"
                row = (str(errors), paper, seeds, weights, f"{score.seconds_per_epoch:.1f}")
                rows.append((f"{name}: {_name(setting)}", *row))
        rows += [
            (f"{name}: {method}", "", _published(*error), "", "", "")
            for method, error in OTHERS[name].items()
        ]
    return Numbers(
        header=("", "test MAE", "published", "seeds", "parameters", "seconds an epoch"),
        rows=tuple(rows),
        note="Ours: means over seeds with 95 % intervals. Published: mean and standard deviation, from "
        "Tables 7.2 and E.5; SignNet's by networks of 994,113 (ZINC-full) and 907,371 (Alchemy) parameters.",
    )


def summary(results: Mapping[MoleculeRun, ZincScore]) -> dict[Setting, Estimate]:
    """Return the test error of each setting, over the seeds that are measured."""
    tests = errors_by_seed(results)
    return {setting: Estimate.over_seeds(list(errors.values())) for setting, errors in tests.items()}


def _published(mean: float, deviation: float) -> str:
    return f"{mean:.3f}, deviation {deviation:.3f}"


def _name(setting: Setting) -> str:
    _, base, encoding = setting
    if base == CONSTANT:
        return CONSTANT
    return f"{base}, no encoding" if encoding == NONE else f"{base}, {encoding}"
