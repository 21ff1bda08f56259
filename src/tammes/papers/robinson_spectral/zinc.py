"""Encodings of eigenvectors as inputs of graph networks on molecules.

Robinson (2023), sections 7.3.1, E.10.1 and E.11.2, Tables 7.1, 7.2 and E.4.
"""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure as Drawing

from tammes.data.zinc import part_of_zinc
from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import grouped_dots
from tammes.papers.finding import Effect, Finding
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_spectral.molecules import figures_e4_and_e5
from tammes.papers.robinson_spectral.paired_errors import below, by_seed, without_learning
from tammes.papers.robinson_spectral.zinc_training import (
    ABSOLUTE,
    CANONICAL,
    CONSTANT,
    FLIPS,
    GAT,
    GATED,
    GIN,
    GINE,
    LEARNING_RATE,
    NONE,
    ONE_SIGN,
    PNA,
    SIGNNET,
    TRANSFORMER,
    UNTRAINED,
    ZincRun,
    ZincScore,
    measurer,
)
from tammes.papers.study import Study

DRAWING = "fluorescein.npy"
MOLECULES, EPOCHS, SEEDS = 10_000, 300, 4
"""Of the full work; the paper trains until the learning rate has fallen to its minimum."""
ALL_MOLECULES = 0.04
"""Budget below which there are fewer molecules, too."""
Setting = tuple[str, str, int]
"""A base network, an encoding, and the number of eigenvectors; 0 for all."""
MAIN: tuple[Setting, Setting, Setting] = ((GATED, NONE, 0), (GATED, FLIPS, 8), (GATED, SIGNNET, 8))
"""Settings of the paper's main statement."""
CONTROLS: Sequence[Setting] = ((CONSTANT, NONE, 0), (GATED, UNTRAINED, 8))
OTHER_BASES = {GINE: 16, TRANSFORMER: 16, PNA: 8, GIN: 16, GAT: 16}
"""Further base networks, with the number of their eigenvectors where it is fixed."""
STATEMENTS: Mapping[str, Sequence[tuple[Setting, Setting]]] = {
    "Table 7.1: with GatedGCN and 8 eigenvectors, SignNet (0.121) is better than LapPE with flips (0.198) "
    "and than no encoding (0.252).": [(MAIN[1], MAIN[2]), (MAIN[0], MAIN[2])],
    "Table 7.1: with GatedGCN, LapPE with flips (0.198) is better than no encoding (0.252).": [MAIN[:2]],
    "Section 7.3.1: with φ(v) only (0.148), for which signs matter, it improves over LapPE with flips "
    "(0.198), and falls short of SignNet (0.121).": [
        (MAIN[1], (GATED, ONE_SIGN, 8)),
        ((GATED, ONE_SIGN, 8), MAIN[2]),
    ],
    "Section E.11.2: LapPE with flips, absolute values and canonical signs are all poorer than SignNet.": [
        ((GATED, encoding, 8), MAIN[2]) for encoding in (FLIPS, ABSOLUTE, CANONICAL)
    ],
    "Tables 7.1 and E.4: for the other base networks, too, SignNet yields the least error.": [
        ((base, encoding, k), (base, SIGNNET, count))
        for base, count in OTHER_BASES.items()
        for encoding, k in ((NONE, 0), (FLIPS, count))
    ],
    "Section 7.3.1: in all cases, all eigenvectors are better than a fixed number of them.": [
        ((base, SIGNNET, count), (base, SIGNNET, 0))
        for base, count in {GATED: 8, GINE: 16, TRANSFORMER: 16, PNA: 8}.items()
    ],
}
"""Statements of the paper: pairs of settings, the first of which has the larger error."""
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
    "A small budget means fewer epochs and narrower networks for every encoding, and a very small one fewer "
    "molecules in every part: our numbers compare with each other, and not with the paper's.",
    "The best constant is the median of the training targets. Findings compare with the smaller of its error "
    "and the untrained network's, seed by seed.",
    "With a fixed number of eigenvectors, the first one, which contains only degrees, is left out.",
    "ZINC-full and Alchemy of Table 7.2 are in the entry spectral-molecules.",
)


def run(request: Request) -> None:
    """Train each base network with each encoding."""
    data, drawing = request.required_data(), request.out / DRAWING
    seeds = request.seed_range(SEEDS)
    file = part_of_zinc(data, "train")
    training = "PyG's ZINC" if file is None else file.name
    Study(
        cells=cells(request.budget, seeds=seeds, learning_rate=request.rate(LEARNING_RATE)),
        scores=ZincScore,
        measure=measurer(data, drawing),
        name=lambda cell: f"{cell.base}, {cell.encoding}, seed {cell.seed}",
        protocol=Protocol(
            seeds=seeds,
            controls=["untrained network with SignNet", "constant that is best on the training molecules"],
            measured_on="test molecules",
            search={"epoch": ["the best of all"]},
            searched_on="validation molecules",
        ),
        page=lambda results: page(results, training=training, fluorescein=figures_e4_and_e5(drawing)),
        partial=True,
    ).run(request)


def cells(budget: float, *, seeds: Sequence[int], learning_rate: float = LEARNING_RATE) -> list[ZincRun]:
    """Return all runs, seed by seed, the controls and those of the main statement first."""
    width, small = budget ** (1 / 3), min(1.0, budget / ALL_MOLECULES)
    others = [setting for setting in PAPER if setting not in MAIN]
    return [
        ZincRun(
            base=setting[0],
            encoding=setting[1],
            eigenvectors=setting[2],
            molecules=max(1, round(MOLECULES * small)),
            epochs=0 if setting in CONTROLS else max(1, round(EPOCHS * (budget * small) ** 0.5)),
            width=8 * max(1, round(16 * width)),
            phi_width=8 * max(1, round(10 * width)),
            learning_rate=learning_rate,
            seed=seed,
        )
        for settings in ((*CONTROLS, *MAIN), others)
        for seed in seeds
        for setting in settings
    ]


def page(
    results: Mapping[ZincRun, ZincScore], *, training: str, fluorescein: tuple[Figure, ...] = ()
) -> PaperPage:
    """Return the page of the results.

    Args:
        results: scores by run.
        training: name of the training molecules.
        fluorescein: Figures E-5 and E-4, if a SignNet has been trained.
    """
    ours = summary(results)
    figures = _errors({setting: ours[setting] for setting in PAPER if setting in ours} or ours)
    cell = max(results, key=lambda cell: cell.epochs)
    return PaperPage(
        title="Molecules",
        overview=next(iter(figures.values())),
        findings=findings(results),
        figures=(
            Figure(
                title="Errors",
                words="Mean absolute errors on the test molecules: dots are ours, with 95 % intervals; rings "
                "are the paper's.",
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
            "molecules": f"the first {cell.molecules:,} of each part; training: {training}",
            "epochs": f"{cell.epochs} (of the full work: {EPOCHS})",
            "base networks": f"{cell.layers} layers of {cell.width}",
            "φ": f"GIN, {cell.phi_layers} layers of {cell.phi_width}",
            "batch": f"{cell.batch_size} molecules",
            "Adam, learning rate": f"{cell.learning_rate:g}, to 0 along half a cosine",
        },
    )


def _errors(ours: Mapping[Setting, Estimate]) -> dict[str, Drawing]:
    """Draw, for each base network, the errors with each encoding, ours and the paper's."""
    figures = {}
    for base in dict.fromkeys(base for base, _, _ in ours):
        names = {setting: _encoding(setting).replace(" (", "\n(") for setting in ours if setting[0] == base}
        figures[base] = grouped_dots(
            {base: {name: ours[setting] for setting, name in names.items()}},
            {base: {name: PAPER[setting][0] for setting, name in names.items() if setting in PAPER}},
            label="test MAE",
            logarithmic=False,
            width=6.4,  # the same for all base networks, and so the size of the letters
        )
    return figures


def findings(results: Mapping[ZincRun, ZincScore]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers; some settings may not be measured yet."""
    tests = _tests(results)
    unlearned = without_learning(*(tests.get(setting, {}) for setting in CONTROLS))
    return tuple(
        Finding(
            paper=statement,
            effects=tuple(
                Effect(
                    name=f"{_name(better)} below {_encoding(worse)}",
                    difference=below(tests.get(worse, {}), tests.get(better, {})),
                )
                for worse, better in pairs
            ),
            controls=tuple(
                Effect(
                    name=f"{_name(better)} below both controls",
                    difference=below(unlearned, tests.get(better, {})),
                )
                for better in dict.fromkeys(better for _, better in pairs)
            ),
        )
        for statement, pairs in STATEMENTS.items()
    )


def numbers(results: Mapping[ZincRun, ZincScore]) -> Numbers:
    """Return a row for each base network and encoding: our numbers, and the paper's."""
    of = {cell.setting: score for cell, score in results.items()}
    return Numbers(
        header=("", "test MAE", "the paper's", "seeds", "parameters", "seconds an epoch"),
        rows=tuple(
            (
                _name(setting),
                str(errors),
                "{:.3f}, deviation {:.3f}".format(*PAPER[setting]) if setting in PAPER else "",
                str(len(errors.values)),
                f"{of[setting].parameters:,}",
                f"{of[setting].seconds_per_epoch:.1f}",
            )
            for setting, errors in summary(results).items()
        ),
        note="Means over seeds with 95 % intervals, on published test molecules. The paper's: mean and "
        "standard deviation over 4 seeds, with networks of 500,000 parameters and the published training "
        "molecules.",
    )


def summary(results: Mapping[ZincRun, ZincScore]) -> dict[Setting, Estimate]:
    """Return the test error of each setting, the controls first, then in the order of the paper's table."""
    tests = _tests(results)
    return {
        setting: Estimate.over_seeds(list(tests[setting].values()))
        for setting in (*CONTROLS, *PAPER)
        if setting in tests
    }


def _tests(results: Mapping[ZincRun, ZincScore]) -> dict[Setting, dict[int, float]]:
    return by_seed((cell.setting, cell.seed, score.test) for cell, score in results.items())


def _name(setting: Setting) -> str:
    return f"{setting[0]}: {_encoding(setting)}"


def _encoding(setting: Setting) -> str:
    _, encoding, eigenvectors = setting
    return encoding if encoding == NONE else f"{encoding}, {eigenvectors or 'all'}"
