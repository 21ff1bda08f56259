"""How many negatives for adjacent sentences: collisions in the batches of quick-thoughts.

Ash et al. (2022) draw k negatives at random and ask how accuracy depends on their number, where documents are
latent classes. Quick-thoughts (thesis, section 3.5.3) takes all sentences of a contiguous batch, most of them
of the anchor's own document: nearly every anchor collides. Here k is drawn from contiguous batches, from
batches of many short runs, and from the sentences of other documents alone.
"""

from __future__ import annotations

import math

from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.papers.arms import UNTRAINED
from tammes.papers.ash.sentences_corpus import SentenceCorpus
from tammes.papers.ash.sentences_findings import PICKS, CountResults, findings
from tammes.papers.ash.sentences_plan import CONTIGUOUS, MIXED, cells_of, plan_of
from tammes.papers.ash.sentences_training import CountRun, CountScore, measurer
from tammes.papers.entry import Request
from tammes.papers.figures import curves
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_negatives.sentences_training import read_data
from tammes.papers.study import Study
from tammes.report.markup import percent
from tammes.theory import ClassDistribution, collision_probability, log_bound

REMARKS = (
    "Novels in running prose stand in for BookCorpus. A document, here a file of a novel or of a chapter, is "
    "a latent class: a negative of the anchor's own document collides.",
    "Runs of one seed have the same first weights; with the same kind of batch also the same batches, and "
    "then differ by their negatives alone. Differences are taken seed by seed, and the best k of a seed is "
    "chosen on the other seeds.",
    "The negatives of a sentence are k sentences of its batch, drawn afresh in each step, but itself and "
    "the two beside it; the largest k is all of them. Without collisions those k are left out that a batch "
    "lacks sentences of other documents for.",
    "The theory draws negatives independently of their anchor. The contiguous batches of quick-thoughts do "
    "not: its probability of a collision stands beside the counted one.",
)


def run(request: Request) -> None:
    """Train and measure every number of negatives in every kind of batch."""
    plan = plan_of(request)
    books, every_task = read_data(request.required_data(), plan.scale)
    corpus = SentenceCorpus.of(books, sentences=plan.sentences)
    cells = cells_of(plan, corpus)
    whole = len(cells) // len(plan.scale.seeds)
    classes = ClassDistribution.of_labels(corpus.train.documents.tolist())

    def shown(scores: dict[CountRun, CountScore]) -> PaperPage | None:
        return page(CountResults(plan=plan, classes=classes, scores=scores, whole=whole), corpus)

    Study(
        cells=cells,
        scores=CountScore,
        measure=measurer(corpus, {name: every_task[name] for name in plan.tasks}, plan.scale, plan.counts),
        name=str,
        protocol=Protocol(
            seeds=plan.scale.seeds,
            controls=(UNTRAINED,),
            measured_on="held-out sentences, and the published folds and test sets of the tasks",
        ),
        page=shown,
        partial=True,
    ).run(request)


def page(results: CountResults, corpus: SentenceCorpus) -> PaperPage | None:
    """Return the page of the seeds that are measured whole; None before the first."""
    if not results.seeds:
        return None
    plan, scale = results.plan, results.plan.scale
    drawn = {name: _accuracies(results, name) for name in PICKS}
    return PaperPage(
        title="How many negatives, for adjacent sentences",
        overview=drawn["tasks"],
        findings=findings(results),
        figures=(
            Figure(
                title="Accuracy over the number of negatives",
                words="Mean and 95 % interval over the seeds, in percent: held-out sentences assigned to "
                "their document by the means of the documents, and the mean over the tasks.",
                panels=tuple(
                    panel(each, f"Accuracy over k on {name}, for each kind of negatives.", name=name)
                    for name, each in drawn.items()
                ),
                wide=True,
            ),
            Figure(
                title="Collisions and the bound",
                words="Anchors with a negative of their own document, counted in the batches and by the "
                "theory; and the bound of Theorem 1 (Theorem 3, where the loss grows like the root of k).",
                panels=(
                    panel(
                        _collisions(results), "Share of anchors with a collision over k.", name="collisions"
                    ),
                    panel(_bound(results), "Logarithm of the bound over k.", name="bound"),
                ),
                wide=True,
            ),
        ),
        numbers=numbers(results),
        remarks=REMARKS,
        settings={
            "documents": f"{corpus.documents:,}, {len(corpus.train):,} sentences to train on; the last tenth "
            f"of each is held out, {len(corpus.test):,} of its sentences are tested",
            "encoder": f"two recurrent networks of {scale.width} units, words that occur "
            f"{scale.minimum_count} times",
            "training": f"{scale.epochs} epochs in batches of {scale.batch_size} sentences; mixed batches "
            f"have runs of {MIXED.run} contiguous sentences",
            "tasks": f"{', '.join(plan.tasks)}; {scale.folds} folds",
        },
    )


def numbers(results: CountResults) -> Numbers:
    """Return a row for each arm and k, and one for the untrained encoder."""
    untrained = [score for run, score in results.scores.items() if not run.negatives]
    rows = [_row(results, UNTRAINED, "–", untrained)]
    for arm in results.plan.arms:
        for k in results.plan.counts:
            if scores := results.at(arm, k):
                rows.append(_row(results, arm.name, str(k), scores))
    return Numbers(
        header=(
            "negatives",
            "k",
            *results.plan.tasks,
            "documents",
            "documents, linear",
            "collisions",
            "seconds",
        ),
        rows=tuple(rows),
        note=f"Accuracy in percent, means with 95 % intervals over {len(results.seeds)} seeds. Documents: of "
        "held-out sentences, by the means of the documents and by a trained linear classifier. Collisions: "
        "anchors with a negative of their own document. Seconds: processor time of a training.",
    )


def _row(results: CountResults, name: str, k: str, scores: list[CountScore]) -> tuple[str, ...]:
    def estimate(values: list[float]) -> str:
        return Estimate.over_seeds([100 * value for value in values]).text(1)

    seconds = sum(score.seconds for score in scores) / len(scores)
    colliding = sum(score.colliding for score in scores) / len(scores)
    return (
        name,
        k,
        *(estimate([score.of(task) for score in scores]) for task in results.plan.tasks),
        estimate([score.mean for score in scores]),
        estimate([score.linear for score in scores]),
        percent(colliding) if k != "–" else "–",
        f"{seconds:.0f}" if seconds else "–",
    )


def _accuracies(results: CountResults, name: str) -> Drawing:
    pick = PICKS[name]
    series = {}
    for arm in results.plan.arms:
        found = {k: results.at(arm, k) for k in results.plan.counts}
        known = {k: scores for k, scores in found.items() if scores}
        if known:
            series[arm.name] = (
                list(known),
                [Estimate.over_seeds([100 * pick(score) for score in scores]) for scores in known.values()],
            )
    return curves(series, across="negatives k", up=f"{name}, %", logarithmic=True, width=5.6)


def _collisions(results: CountResults) -> Drawing:
    counts = list(results.plan.counts)
    series = {
        arm.name: (counts, [100 * _mean_colliding(results.at(arm, k)) for k in counts])
        for arm in (CONTIGUOUS, MIXED)
    }
    theory = [100 * collision_probability(k, results.classes) for k in counts]
    series["independent draws"] = (counts, theory)
    return curves(series, across="negatives k", up="anchors that collide, %", logarithmic=True, width=5.6)


def _mean_colliding(scores: list[CountScore]) -> float:
    return sum(score.colliding for score in scores) / len(scores)


def _bound(results: CountResults) -> Drawing:
    counts = list(results.plan.counts)
    series = {
        name: (counts, [log_bound(k, results.classes, growth=growth) / math.log(10) for k in counts])
        for name, growth in (("Theorem 1", 0.0), ("Theorem 3", 0.5))
    }
    return curves(series, across="negatives k", up="log10 of the bound", logarithmic=True, width=5.6)
