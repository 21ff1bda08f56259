"""How many negatives: collisions and coverage on text.

Ash et al. (2022), sec. 4 and appendix D.1. A bag of words f is trained by the logistic loss of their
Definition 1 on raw inner products: positives are sentences of one document, and each sentence draws its k
negatives from the 2 (B - 1) sentences of the batch outside its pair, so that B and k vary
independently. f is judged by the classes' means and by a trained linear classifier, which tell from a
sentence which of N documents it comes from.
"""

from functools import partial

from tammes.estimate import Estimate
from tammes.papers.ash.accuracies import linear, mean
from tammes.papers.ash.optimum import optimum
from tammes.papers.ash.text_corpus import MINIMUM_COUNT, Corpus, load_corpus
from tammes.papers.ash.text_figures import (
    CLASSIFIERS,
    EARLY,
    batches_panels,
    best_panel,
    classes_panels,
    collision_panels,
    overview,
)
from tammes.papers.ash.text_findings import best_count, count_with_range, findings
from tammes.papers.ash.text_plan import cells, plan_of
from tammes.papers.ash.text_summary import Summary
from tammes.papers.ash.text_training import CLIP, LEARNING_RATE, TextScore, measure
from tammes.papers.entry import Request
from tammes.papers.page import Figure, Numbers, PaperPage
from tammes.papers.protocol import Protocol
from tammes.papers.study import Study
from tammes.report.markup import listed, percent
from tammes.theory import ClassDistribution, best_k, collision_probability_in_batch

REMARKS = (
    "Runs of one seed have the same first weights, pairs and order of pairs: they differ by N, B and k "
    "alone. All seeds share one split into training and test sentences. The range of a best k reaches "
    "from the first k to the last that it is not resolved from: the 95 % interval of the paired difference "
    "is not above zero. With one seed these are all k.",
    "All differences are paired by seed. Where the best k is compared with others, that of a seed is chosen "
    "on the other seeds: chosen on that seed itself, it would lie above the rest by chance alone. The slope "
    "of the best k over N has one value a seed, each from that seed alone.",
    "As in the paper, all runs have the same number of epochs, whatever N and B: few documents, "
    "or a large batch, then mean few steps. To tell the effect of a batch from that of its steps, runs are "
    "also measured after as many steps as the largest batch takes in all.",
)


def run(request: Request) -> None:
    """Measure the plan of the budget, as far as the corpus is large enough."""
    corpus = load_corpus(request.required_data(), seed=request.seed)
    plan = plan_of(request.budget).within(corpus)
    seeds = request.seed_range(plan.seeds, fewest=plan.seeds)
    Study(
        cells=cells(plan, corpus, seeds),
        scores=TextScore,
        measure=partial(measure, corpus=corpus, rate=request.rate(LEARNING_RATE)),
        name=str,
        protocol=Protocol(seeds=seeds, controls=["untrained encoder"], measured_on="test sentences"),
        page=lambda results: page(Summary(corpus=corpus.name, plan=plan, results=results), corpus),
    ).run(request)


def page(summary: Summary, corpus: Corpus) -> PaperPage:
    """Return the page of what has been measured."""
    return PaperPage(
        title="How many negatives, on text",
        overview=overview(summary),
        lead=_lead(summary),
        findings=findings(summary),
        figures=(*_over_classes(summary), *_over_batches(summary), *_without_collisions(summary)),
        numbers=_numbers(summary),
        remarks=REMARKS,
        settings=_settings(summary, corpus),
    )


def _over_classes(summary: Summary) -> tuple[Figure, ...]:
    return (
        Figure(
            title=f"Accuracy over N and k, with B = {summary.plan.batch}",
            words="Percent of test sentences assigned to their document, mean over the seeds. Colors show "
            "each row divided by its best, as in the paper's Fig. 3, 5 and 6; a circle marks the best k of a "
            "row, broken circles the first and the last k within 0.5 % of it.",
            panels=classes_panels(summary),
            wide=True,
        ),
        Figure(
            title="The best k over N",
            words="Bars: all k that the best is not resolved from. Lines: the k of two bounds.",
            panels=(best_panel(summary),),
            wide=True,
        ),
    )


def _over_batches(summary: Summary) -> tuple[Figure, ...]:
    if not summary.plan.at_classes:
        return ()
    return (
        Figure(
            title="Accuracy over B and k",
            words="Colors show accuracy divided by that of the best setting, which is circled, as in the "
            "paper's Fig. 7. A batch of B pairs has at most 2 (B - 1) negatives.",
            panels=batches_panels(summary, CLASSIFIERS, words="all epochs"),
            wide=True,
        ),
        Figure(
            title="The same after equally many steps",
            words="Measured after as many steps as the largest batch takes in all. (Not in the paper.)",
            panels=batches_panels(summary, EARLY, words="equal steps"),
            wide=True,
        ),
    )


def _without_collisions(summary: Summary) -> tuple[Figure, ...]:
    if not summary.plan.true:
        return ()
    return (
        Figure(
            title="Without collisions",
            words="The mean classifier where negatives are drawn from all sentences of the batch, and where "
            "they are drawn from those of other documents alone (the paper's Fig. 3, right). Bars are "
            "95 % intervals over the seeds.",
            panels=collision_panels(summary),
        ),
    )


def _lead(summary: Summary) -> str:
    """Return the first sentence of the page: the best k of few and of many documents."""
    few, many = summary.plan.classes[0], summary.plan.classes[-1]
    return (
        f"On {summary.corpus}, the mean classifier does best with {count_with_range(summary, mean, few)} for "
        f"{few} documents and with {count_with_range(summary, mean, many)} for {many}."
    )


def _settings(summary: Summary, corpus: Corpus) -> dict[str, str]:
    plan = summary.plan
    left_out = f"; {corpus.left_out} documents with too few sentences left out" if corpus.left_out else ""
    return {
        "corpus": f"{corpus.name}: {corpus.classes:,} documents, {len(corpus.train):,} training "
        f"sentences, {len(corpus.test):,} test sentences{left_out}",
        "vocabulary": f"{corpus.vocabulary:,} words that occur {MINIMUM_COUNT} times",
        "embeddings": f"{plan.dim} dimensions",
        "epochs": f"{plan.epochs}, of the linear classifier {plan.linear_epochs}",
        "Adam, learning rate": f"{LEARNING_RATE:g}, gradients clipped to {CLIP:g}",
        "loss": "logistic, raw inner products, temperature 1",
    }


def _numbers(summary: Summary) -> Numbers:
    """Return the best k of both classifiers for every N, with that of the theory."""
    plan, rows = summary.plan, []
    for n in plan.classes:
        rho, best = ClassDistribution.uniform(n), best_count(summary, mean, n)
        collision = collision_probability_in_batch(best, rho, pairs=plan.batch)
        accuracy = [
            Estimate.over_seeds(values[:, optimum(values).best].tolist()).percent
            for values in (summary.over_counts(pick, n) for pick in (mean, linear))
        ]
        rows.append(
            (
                f"N = {n:,}",
                count_with_range(summary, mean, n),
                accuracy[0],
                percent(collision),
                count_with_range(summary, linear, n),
                accuracy[1],
                f"{best_k(rho):,}",
                f"{best_k(rho, growth=0.5):,}",
            )
        )
    return Numbers(
        header=(
            "classes",
            "best k, mean classifier",
            "accuracy (%)",
            "anchors with a collision",
            "best k, linear classifier",
            "accuracy (%)",
            "Theorem 1",
            "Theorem 3",
        ),
        rows=tuple(rows),
        note=f"On {summary.corpus}, B = {plan.batch}, {len(summary.seeds)} seeds; k out of "
        f"{listed([str(k) for k in summary.counts])}. Accuracies with 95 % intervals; in round brackets the "
        "k that the best is not resolved from. Every run of the study is in table.csv.",
    )
