"""Graphs against graphs: GraphCL's views, with the negatives that the papers try between nodes and graphs.

Each graph has two augmented views; the views of the other graphs of the batch are its negatives. Every kind
of negatives is searched over four settings, which the inner folds choose for each test fold.
"""

from collections.abc import Mapping, Sequence

from tammes import recipes
from tammes.data import GraphSet
from tammes.objective import Objective
from tammes.papers.entry import Request
from tammes.papers.finding import Effect, Finding, effect_in_points
from tammes.papers.page import PaperPage
from tammes.papers.robinson_negatives.graph_scores import GraphScore
from tammes.papers.robinson_negatives.graph_tables import (
    CLEAN,
    INNER,
    REMARKS,
    TESTS,
    GraphResults,
    figure_over,
    learned,
    numbers,
    overview,
    settings_of,
    study_of,
)
from tammes.papers.robinson_negatives.graph_training import (
    FLOORS,
    SETS,
    GraphRun,
    GraphScale,
    load_sets,
    scale_of,
)
from tammes.papers.study import Study
from tammes.positives import DropNodes, GraphAugmentation, MaskFeatures, OneChange, PerturbEdges, Subgraph

SHARE = 0.2
TEMPERATURES = (0.1, 0.2, 0.5, 1.0)
CROSSED = (0.2, 0.5)
"""Temperatures at which the methods with a setting besides it try two values of that."""
PRIORS, BETAS, EPSILONS = (0.02, 0.1), (0.5, 1.0), (0.1, 0.5)
INFO_NCE: Mapping[str, Objective] = {
    f"InfoNCE, t = {t:g}": recipes.simclr(temperature=t) for t in TEMPERATURES
}
DCL: Mapping[str, Objective] = {
    f"DCL, t = {t:g}, prior = {prior:g}": recipes.dcl(temperature=t, class_prior=prior)
    for t in CROSSED
    for prior in PRIORS
}
HCL: Mapping[str, Objective] = {
    f"HCL, t = {t:g}, beta = {beta:g}": recipes.hcl(temperature=t, beta=beta)
    for t in CROSSED
    for beta in BETAS
}
HCL_OT: Mapping[str, Objective] = {
    f"HCL-OT, t = {t:g}, epsilon = {epsilon:g}": recipes.hcl_ot(temperature=t, epsilon=epsilon)
    for t in CROSSED
    for epsilon in EPSILONS
}
BASE = "InfoNCE, t = 0.2"
INFO_GRAPH = "InfoGraph"
CHANGES: Mapping[str, GraphAugmentation] = {
    f"{BASE}, {name}": change
    for name, change in (
        ("nodes dropped", DropNodes(share=SHARE)),
        ("edges perturbed", PerturbEdges(share=SHARE)),
        ("subgraph", Subgraph(share=SHARE)),
        ("features masked", MaskFeatures(share=SHARE)),
    )
}
SEARCHED: Mapping[str, Objective] = {**INFO_NCE, **DCL, **HCL, **HCL_OT}
OBJECTIVES: Mapping[str, Objective] = {
    **SEARCHED,
    **dict.fromkeys(CHANGES, INFO_NCE[BASE]),
    INFO_GRAPH: recipes.jsd(),
}
VIEWS: Mapping[str, GraphAugmentation] = {**dict.fromkeys(SEARCHED, OneChange(share=SHARE)), **CHANGES}
SEARCH: Mapping[str, Sequence[float]] = {
    "temperature of InfoNCE": TEMPERATURES,
    "temperature of the others": CROSSED,
    "class prior": PRIORS,
    "beta": BETAS,
    "epsilon": EPSILONS,
}
"""Settings that are searched, with their values."""
CHOICE = "each with the best of four settings for each test fold, chosen on its training graphs"
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "InfoNCE": tuple(INFO_NCE),
    "DCL": tuple(DCL),
    "HCL": tuple(HCL),
    "HCL-OT": tuple(HCL_OT),
}


def run(request: Request) -> None:
    """Train and measure each kind of negatives on each set that the data hold."""
    scale = scale_of(request, learning_rate=1e-3)
    study(load_sets(request.required_data(), SETS, scale), scale).run(request)


def study(sets: Mapping[str, GraphSet], scale: GraphScale) -> Study[GraphRun, GraphScore]:
    """Return the study of some sets.

    Args:
        sets: sets by name.
        scale: size of the study.
    """
    return study_of(OBJECTIVES, sets, scale, page, search=SEARCH, views=VIEWS)


def page(results: GraphResults, sets: Mapping[str, GraphSet], scale: GraphScale) -> PaperPage:
    """Return the page of what has been measured."""
    compared = (*FLOORS, *(name for name in OBJECTIVES if name != BASE))
    return PaperPage(
        title="Negatives between augmented graphs",
        overview=overview(results, compared, BASE),
        findings=findings(results),
        figures=(
            figure_over(
                results,
                compared,
                BASE,
                name=BASE,
                words="InfoNCE at temperature 0.2 on views by one of four changes",
            ),
        ),
        numbers=numbers(
            results, {}, BASE, note="Neither paper compares augmented graphs, so it has no number here."
        ),
        remarks=(
            *REMARKS,
            "Sets without node labels have one feature, the number 1, which masking leaves as it is: there "
            "the two views by masked features are the same graph.",
        ),
        settings={
            **settings_of(sets, scale, results),
            "views": f"one of four changes for each graph, of a share of {SHARE:g}",
        },
    )


def findings(results: GraphResults) -> tuple[Finding, ...]:
    """Return the papers' statements beside our numbers."""
    controls = learned(results, tuple(SEARCHED))
    return (
        Finding(
            paper="Robinson (2023), section 3.5: hard negatives improve contrastive methods on graphs. (Of "
            "InfoGraph; here of two views.)",
            ours=f"HCL over InfoNCE, after the last epoch, {CHOICE}:",
            effects=_effects(results, "HCL", "InfoNCE"),
            controls=controls,
        ),
        Finding(
            paper="Jiang et al. (2023), Table V: transport matches, and sometimes slightly exceeds, HCL. (Of "
            "InfoGraph; here of two views.)",
            ours=f"HCL-OT over HCL, {CHOICE}; above zero on one set at least is what the statement needs:",
            effects=_effects(results, "HCL-OT", "HCL"),
            controls=controls,
            required=1,
        ),
        Finding(
            paper="(No statement: debiased negatives between graphs.)",
            ours=f"DCL over InfoNCE, {CHOICE}: "
            f"{_differences(results, FAMILIES['DCL'], FAMILIES['InfoNCE'])}.",
        ),
        Finding(
            paper="(No statement: each change alone.)",
            ours=f"Over one of the four for each graph, InfoNCE at temperature 0.2: {_each_change(results)}.",
        ),
        Finding(
            paper="(No statement: graphs against graphs, or nodes against graphs.)",
            ours="InfoNCE on two views over InfoGraph, the temperature chosen by the inner folds: "
            f"{_differences(results, FAMILIES['InfoNCE'], (INFO_GRAPH,))}.",
        ),
    )


def _effects(results: GraphResults, more: str, less: str) -> tuple[Effect, ...]:
    return tuple(
        effect_in_points(data, results.best_over(data, FAMILIES[more], FAMILIES[less], TESTS, INNER))
        for data in results.sets
    )


def _differences(results: GraphResults, more: Sequence[str], less: Sequence[str]) -> str:
    return "; ".join(
        f"{data} {results.best_over(data, more, less, TESTS, INNER).points}" for data in results.sets
    )


def _each_change(results: GraphResults) -> str:
    return "; ".join(
        f"{name.removeprefix(f'{BASE}, ')}: "
        + ", ".join(f"{data} {results.over(data, name, BASE, CLEAN).points}" for data in results.sets)
        for name in CHANGES
    )
