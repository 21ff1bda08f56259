"""Five spectral filters, learned from one image each: on eigenvectors, or by polynomials of the graph.

Robinson (2023), sections E.10.3 and E.11.3, Table E.6.
"""

from collections.abc import Mapping
from statistics import mean, pstdev

from tammes.data.filter_images import FILTERS
from tammes.papers.entry import Entry, Request
from tammes.papers.figures import grouped_dots
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_spectral.filters_networks import ARMA, BASISNET, BUILD, GPR, SIGNNET
from tammes.papers.robinson_spectral.filters_training import IMAGES, STEPS, Cell, Laboratory, Measured
from tammes.papers.study import Study

PAPER: Mapping[str, Mapping[str, tuple[float, float]]] = {
    GPR: {
        "low": (0.033, 0.032),
        "high": (0.012, 0.007),
        "band": (0.137, 0.081),
        "rejection": (0.256, 0.197),
        "comb": (0.369, 0.460),
    },
    ARMA: {
        "low": (0.053, 0.029),
        "high": (0.042, 0.024),
        "band": (0.107, 0.039),
        "rejection": (0.148, 0.089),
        "comb": (0.202, 0.116),
    },
    SIGNNET: {
        "low": (0.004, 0.013),
        "high": (0.086, 0.405),
        "band": (0.021, 0.115),
        "rejection": (0.008, 0.037),
        "comb": (0.003, 0.016),
    },
    BASISNET: {
        "low": (0.009, 0.018),
        "high": (0.003, 0.015),
        "band": (0.008, 0.030),
        "rejection": (0.004, 0.011),
        "comb": (0.015, 0.060),
    },
}
"""Table E.6: mean and standard deviation over 50 images; SignNet and BasisNet with DeepSets."""
REMARKS = (
    "Everything is measured on the image that is learned: the question is what a network can be, not what it "
    "generalizes to. The best of all steps counts, as in the published code.",
    "SignNet and BasisNet are told the image in phi, as v vᵀ x and V Vᵀ x, which is how the paper proves "
    "that they can be any spectral filter. In its experiment, phi sees eigenvectors alone. Then pixels that "
    "mirror each other have the same encoding in an exactly equivariant network, and only their intensities "
    "tell them apart; the published BasisNet tells them apart by a transposition of nodes and channels.",
    "One encoding serves all five filters of an image, with a head for each; the baselines have a network "
    "for each filter, and of the paper's four settings the one that is best on average.",
    "Roots of relative errors are minimized, by all methods, with a rate that falls to 0 along half a "
    "cosine; the paper minimizes sums of squares at a constant rate, for 2,000 steps.",
)


def run(request: Request) -> None:
    """Fit each method to some images: an equal fraction of the images and of the steps."""
    laboratory = Laboratory(request.required_data())
    part = request.budget**0.5
    images = max(1, round(min(IMAGES, laboratory.images) * part))
    Study(
        cells=cells(images, steps=max(1, round(STEPS * part)), seed=request.seed),
        scores=Measured,
        measure=laboratory.measure,
        name=lambda cell: f"image {cell.image + 1}, {cell.method}",
        page=page,
    ).run(request)


def cells(images: int, *, steps: int, seed: int) -> list[Cell]:
    """All cells, image by image, so that a study that is stopped has all methods on some images."""
    return [
        Cell(image=image, method=method, setting=setting, steps=steps, seed=seed)
        for image in range(images)
        for method, settings in BUILD.items()
        for setting in settings
    ]


def page(results: Mapping[Cell, Measured]) -> PaperPage:
    """Return the page of what has been measured."""
    ours = summary(results)
    figure = grouped_dots(
        {method: {name: error for name, (error, _) in each.items()} for method, each in ours.items()},
        {method: {name: error for name, (error, _) in each.items()} for method, each in PAPER.items()},
        label="sum of squared errors",
    )
    cell = next(iter(results))
    return PaperPage(
        title="Spectral filters",
        overview=figure,
        findings=findings(results),
        figures=(
            Figure(
                title="Errors",
                words="Means over images, on a logarithmic scale: dots are ours, those at the lower end "
                "1e-5 or less; rings are the paper's.",
                panels=(panel(figure, "Errors of each method for each filter."),),
                wide=True,
            ),
        ),
        numbers=numbers(results),
        remarks=REMARKS,
        settings={
            "images": f"{len({each.image for each in results})} (the paper's: {IMAGES})",
            "steps": f"{cell.steps} (the paper's: {STEPS})",
            "Adam, learning rate": f"{cell.learning_rate:g}",
            "eigenvectors": "all 1,024",
            "seed": str(cell.seed),
        },
    )


def findings(results: Mapping[Cell, Measured]) -> tuple[Finding, ...]:
    """The paper's statements beside our numbers."""
    ours = summary(results)
    found = []
    for method in (SIGNNET, BASISNET):
        ahead = [
            name
            for name in FILTERS
            if ours[method][name][0] < min(ours[baseline][name][0] for baseline in (GPR, ARMA))
        ]
        found.append(
            Finding(
                paper=f"{method} beats GPR-GNN and ARMA on all tasks.",
                ours=f"{method}: on {len(ahead)} of {len(FILTERS)} filters ({', '.join(ahead) or 'none'}).",
                agrees=len(ahead) == len(FILTERS),
            )
        )
    return tuple(found)


def summary(results: Mapping[Cell, Measured]) -> dict[str, dict[str, tuple[float, float]]]:
    """Mean and standard deviation over images by method and filter, in the setting with the least mean."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for method in BUILD:
        found[method] = {}
        for name in FILTERS:
            errors: dict[str, list[float]] = {}
            for cell, measured in results.items():
                if cell.method == method:
                    errors.setdefault(cell.setting, []).append(vars(measured)[name])
            best = min(errors.values(), key=mean)
            found[method][name] = mean(best), pstdev(best)
    return found


def numbers(results: Mapping[Cell, Measured]) -> Numbers:
    """A row for each filter: ours, and the paper's in parentheses."""
    ours = summary(results)
    spent = {
        method: mean(measured.seconds for cell, measured in results.items() if cell.method == method)
        for method in BUILD
    }
    return Numbers(
        header=("", *BUILD),
        rows=(
            *(
                (
                    name,
                    *(
                        f"{ours[method][name][0]:.2g} ± {ours[method][name][1]:.1g} "
                        f"({PAPER[method][name][0]:.3f})"
                        for method in BUILD
                    ),
                )
                for name in FILTERS
            ),
            ("seconds", *(f"{spent[method]:.0f}" for method in BUILD)),
        ),
        note="Sum of squared errors on the 784 inner nodes, mean and standard deviation over images; the "
        "paper's means in parentheses. Seconds for all five filters of an image, one setting.",
    )


ENTRY = Entry(
    name="spectral-filters",
    statement="Without message passing, SignNet and BasisNet learn spectral graph convolutions and beat the "
    "spectral networks GPR-GNN and ARMA on all five filters.",
    source="Robinson (2023), section E.10.3, Table E.6",
    data="the folder of the 50 images on a grid of 32 by 32 (a .mat file) and of their targets "
    "(labels/y_low.npy and others)",
    run=run,
)
