"""Encodings of eigenvectors as inputs of graph networks on molecules.

Robinson (2023), sections 7.3.1, E.10.1 and E.11.2, Tables 7.1, 7.2 and E.4.
"""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure as Drawing

from tammes.data.zinc import part_of_zinc
from tammes.papers.entry import Entry, Request
from tammes.papers.figures import grouped_dots
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_spectral.molecules import figure_e5
from tammes.papers.robinson_spectral.zinc_training import (
    ABSOLUTE,
    CANONICAL,
    FLIPS,
    GAT,
    GATED,
    GIN,
    GINE,
    NONE,
    ONE_SIGN,
    PNA,
    SIGNNET,
    TRANSFORMER,
    ZincRun,
    ZincScore,
    measurer,
)
from tammes.papers.statistics import Interval
from tammes.papers.study import Study

DRAWING = "fluorescein.npy"
MOLECULES, EPOCHS, SEEDS = 10_000, 300, 4
"""Of the full work; the paper trains until the learning rate has fallen to its minimum."""
Setting = tuple[str, str, int]
"""A base network, an encoding, and the number of eigenvectors; 0 for all."""
MAIN: Sequence[Setting] = ((GATED, NONE, 0), (GATED, FLIPS, 8), (GATED, SIGNNET, 8))
"""Settings of the paper's main statement."""
ABLATION: tuple[Setting, Setting] = ((GATED, ONE_SIGN, 8), (GATED, SIGNNET, 8))
"""SignNet without and with the other sign."""
PAPER: Mapping[Setting, tuple[float, float]] = {
    (GATED, NONE, 0): (0.252, 0.007),
    (GATED, FLIPS, 8): (0.198, 0.011),
    (GATED, SIGNNET, 8): (0.121, 0.005),
    (GATED, SIGNNET, 0): (0.100, 0.007),
    (GATED, ONE_SIGN, 8): (0.148, 0.007),
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
    (GAT, NONE, 0): (0.464, 0.011),
    (GAT, FLIPS, 16): (0.462, 0.013),
    (GAT, SIGNNET, 16): (0.243, 0.008),
}
"""Tables 7.1 and E.4, mean and standard deviation over 4 seeds; Table 7.2 repeats the one of PNA."""
REMARKS = (
    "The validation and test molecules are the published ones. The training molecules are those in the "
    "folder: where the file's name says REBUILT, real molecules of ZINC with the same kind of target, but "
    "not the published 10,000.",
    "A small budget means fewer epochs and narrower networks for every encoding: our numbers compare with "
    "each other, and not with the paper's.",
    "With a fixed number of eigenvectors, the first one, which contains only degrees, is left out.",
    "ZINC-full and Alchemy of Table 7.2 are not run.",
)


def run(request: Request) -> None:
    """Train each base network with each encoding."""
    data, drawing = request.required_data(), request.out / DRAWING
    file = part_of_zinc(data, "train")
    training = "PyG's ZINC" if file is None else file.name
    Study(
        cells=cells(request.budget, seed=request.seed),
        scores=ZincScore,
        measure=measurer(data, drawing),
        name=lambda cell: f"{cell.base}, {cell.encoding}, seed {cell.seed}",
        page=lambda results: page(results, training=training, fluorescein=figure_e5(drawing)),
        partial=True,
    ).run(request)


def cells(budget: float, *, seed: int) -> list[ZincRun]:
    """Return all runs, seed by seed, those of the main statement first."""
    width = budget ** (1 / 3)
    others = [setting for setting in PAPER if setting not in MAIN]
    return [
        ZincRun(
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
    results: Mapping[ZincRun, ZincScore], *, training: str, fluorescein: tuple[Figure, ...] = ()
) -> PaperPage:
    """Return the page of the results.

    Args:
        results: scores by run.
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


def _errors(ours: Mapping[Setting, Interval]) -> dict[str, Drawing]:
    """Draw, for each base network, the errors with each encoding, ours and the paper's."""
    figures = {}
    for base in dict.fromkeys(base for base, _, _ in ours):
        names = {setting: _encoding(setting).replace(" (", "\n(") for setting in ours if setting[0] == base}
        figures[base] = grouped_dots(
            {base: {name: ours[setting].mean for setting, name in names.items()}},
            {base: {name: PAPER[setting][0] for setting, name in names.items()}},
            label="test MAE",
            logarithmic=False,
            width=6.4,  # the same for all base networks, and so the size of the letters
        )
    return figures


def findings(results: Mapping[ZincRun, ZincScore]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers, for the methods measured so far."""
    ours, found = summary(results), []
    if all(setting in ours for setting in MAIN):
        none, flips, signnet = (ours[setting] for setting in MAIN)
        gain = _gain(results, MAIN[0], MAIN[1])
        found += [
            Finding(
                paper="With GatedGCN and 8 eigenvectors, SignNet (0.121) is better than LapPE with flips "
                "(0.198) and than no encoding (0.252).",
                ours=f"SignNet {_words(signnet)}, LapPE with flips {_words(flips)}, none {_words(none)}.",
                agrees=signnet.mean < min(flips.mean, none.mean),
            ),
            Finding(
                paper="LapPE with flips is better than no encoding.",
                ours=f"With flips the error is less than without an encoding by {_gain_words(gain)}",
                agrees=_is_clear(gain),
            ),
        ]
    if all(setting in ours for setting in ABLATION):
        gain = _gain(results, *ABLATION)
        found.append(
            Finding(
                paper="SignNet (0.121) is better than the same network with φ(v) only (0.148), for which "
                "signs matter.",
                ours=f"With φ(v) only {_words(ours[ABLATION[0]])}; SignNet's error is less by "
                f"{_gain_words(gain)}",
                agrees=_is_clear(gain),
            )
        )
    return (*found, *_other_bases(ours))


def _other_bases(ours: Mapping[Setting, Interval]) -> list[Finding]:
    better, compared = [], []
    for base in (GINE, TRANSFORMER, PNA, GIN, GAT):
        own = {setting: ours[setting].mean for setting in ours if setting[0] == base}
        signed = [error for (_, encoding, _), error in own.items() if encoding == SIGNNET]
        others = [error for (_, encoding, _), error in own.items() if encoding != SIGNNET]
        if signed and others:
            compared.append(base)
            if min(signed) < min(others):
                better.append(base)
    if not compared:
        return []
    return [
        Finding(
            paper="For all base networks, SignNet yields the least error.",
            ours=f"SignNet has the least error for {len(better)} of {len(compared)} further base networks "
            f"({'; '.join(compared)}).",
            agrees=len(better) == len(compared),
        )
    ]


def numbers(results: Mapping[ZincRun, ZincScore]) -> Numbers:
    """Return a row for each base network and encoding: our numbers, and the paper's."""
    of = {cell.setting: score for cell, score in results.items()}
    return Numbers(
        header=("", "test MAE", "the paper's", "seeds", "parameters", "seconds an epoch"),
        rows=tuple(
            (
                f"{setting[0]}: {_encoding(setting)}",
                _spread(errors),
                f"{PAPER[setting][0]:.3f} ± {PAPER[setting][1]:.3f}",
                str(len(errors.values)),
                f"{of[setting].parameters:,}",
                f"{of[setting].seconds_per_epoch:.1f}",
            )
            for setting, errors in summary(results).items()
        ),
        note="Mean and standard deviation over seeds, on the 1,000 published test molecules. The paper's "
        "networks have 500,000 parameters and the published training molecules.",
    )


def summary(results: Mapping[ZincRun, ZincScore]) -> dict[Setting, Interval]:
    """Return the test errors over seeds of each setting, in the order of the paper's table."""
    tests: dict[Setting, list[float]] = {}
    for cell, score in results.items():
        tests.setdefault(cell.setting, []).append(score.test)
    return {setting: Interval.of(tests[setting]) for setting in PAPER if setting in tests}


def _encoding(setting: Setting) -> str:
    _, encoding, eigenvectors = setting
    return encoding if encoding == NONE else f"{encoding}, {eigenvectors or 'all'}"


def _gain(results: Mapping[ZincRun, ZincScore], one: Setting, other: Setting) -> Interval:
    """Return how much smaller the second setting's error is, on the seeds that both have."""
    more, less = (
        {cell.seed: score.test for cell, score in results.items() if cell.setting == setting}
        for setting in (one, other)
    )
    both = [seed for seed in more if seed in less]
    return Interval.of_difference([more[seed] for seed in both], [less[seed] for seed in both])


def _is_clear(gain: Interval) -> bool:
    return len(gain.values) > 1 and gain.mean > 2 * gain.error


def _gain_words(gain: Interval) -> str:
    if len(gain.values) == 1:
        return f"{gain.mean:.3f} on one and the same seed, which is no evidence."
    chance = "" if _is_clear(gain) else ", which is not clear of chance"
    return f"{gain.with_error} on the same seeds{chance}."


def _spread(errors: Interval) -> str:
    return f"{errors.mean:.3f}" + (f" ± {errors.deviation:.3f}" if len(errors.values) > 1 else "")


def _words(errors: Interval) -> str:
    count = len(errors.values)
    return f"{_spread(errors)} ({'one seed' if count == 1 else f'{count} seeds'})"


ENTRY = Entry(
    name="spectral-zinc",
    statement="For every base network, encodings by SignNet yield the least error on ZINC, less than "
    "Laplacian eigenvectors with random flips or other choices of signs, and less than no encoding.",
    source="Robinson (2023), sections 7.3.1 and E.10.1, Tables 7.1, 7.2 and E.4",
    data="ZINC 12k: the folder that torch_geometric.datasets.ZINC(path, subset=True) has filled, or one of "
    "zinc_train*.npz, zinc_val*.npz and zinc_test*.npz",
    run=run,
)
