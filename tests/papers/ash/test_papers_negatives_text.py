"""The text study on corpora of a few made-up documents: cells, plans, the page, and going on after a stop."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from tammes.papers.ash import NEGATIVES_TEXT as ENTRY
from tammes.papers.ash import text as module
from tammes.papers.ash import text_training as training_module
from tammes.papers.ash.accuracies import linear, mean
from tammes.papers.ash.text_corpus import load_corpus
from tammes.papers.ash.text_findings import findings
from tammes.papers.ash.text_plan import AN_HOUR, PLANS, Plan, cells, plan_of
from tammes.papers.ash.text_summary import Summary
from tammes.papers.ash.text_training import (
    TextRun,
    TextScore,
    batches,
    first_encoder,
    has_true_negatives,
    measure,
    training,
)
from tammes.papers.finding import Check, Finding

PLAN = Plan(
    least_budget=0.0,
    dim=8,
    epochs=3,
    linear_epochs=2,
    seeds=2,
    batch=8,
    classes=(3, 6),
    true=(3,),
    batches=(4,),
    at_classes=(6,),
    negatives=(1, 5, 10),
)


def write_corpus(root: Path, *, documents: int = 6, sentences: int = 20) -> Path:
    """Every document has words of its own among words that all share."""
    folder = root / "tiny novels"
    folder.mkdir()
    generator = np.random.default_rng(0)
    for number in range(documents):
        own = [f"own{number}x{i}" for i in range(3)]
        shared = [f"shared{i}" for i in range(4)]
        lines = [" ".join(generator.choice([*own, *shared], size=6)) for _ in range(sentences)]
        (folder / f"document {number}.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def corpus(tmp_path):
    return load_corpus(write_corpus(tmp_path), seed=0, minimum_count=5)


def cell(corpus, **settings) -> TextRun:
    untrained, first, *_ = cells(PLAN.within(corpus), corpus, [0])
    assert untrained == dataclasses.replace(first, epochs=0)
    return dataclasses.replace(first, **settings)


# The corpus.


def test_four_fifths_of_each_document_are_learned_from(tmp_path):
    corpus = load_corpus(write_corpus(tmp_path, sentences=23), seed=0, minimum_count=5)
    assert corpus.train.labels.bincount().tolist() == [18] * 6
    assert corpus.test.labels.bincount().tolist() == [5] * 6
    assert corpus.name == "tiny novels"
    assert corpus.vocabulary == 1 + 4 + 6 * 3


def test_the_first_documents_are_a_corpus_of_fewer_classes(corpus):
    train, test = corpus.of_first(3)
    assert sorted(set(train.labels.tolist())) == sorted(set(test.labels.tolist())) == [0, 1, 2]
    everything, _ = corpus.of_first(6)
    rows = torch.arange(len(train))
    assert torch.equal(train.tokens.ids, everything.tokens.take(rows).ids)


def test_the_digest_knows_split_content_and_vocabulary(tmp_path, corpus):
    same = load_corpus(tmp_path / "tiny novels", seed=0, minimum_count=5)
    assert same.digest == corpus.digest
    assert load_corpus(tmp_path / "tiny novels", seed=1, minimum_count=5).digest != corpus.digest
    assert load_corpus(tmp_path / "tiny novels", seed=0, minimum_count=60).digest != corpus.digest


def test_documents_with_too_few_sentences_are_left_out_and_counted(tmp_path):
    folder = write_corpus(tmp_path)
    (folder / "document 0b.txt").write_text("one\ntwo\nthree\nfour\n")
    corpus = load_corpus(folder, seed=0, minimum_count=5)
    assert (corpus.classes, corpus.left_out) == (6, 1)
    assert corpus.train.labels.unique().tolist() == list(range(6))


def test_one_document_is_no_corpus(tmp_path):
    folder = write_corpus(tmp_path, documents=1)
    (folder / "short.txt").write_text("one\ntwo\n")
    with pytest.raises(ValueError, match=r"two documents or more of 5 sentences or more.*got 1"):
        load_corpus(folder, seed=0)


def test_more_classes_than_there_are_is_refused(corpus):
    with pytest.raises(ValueError, match="from 2 to 6 classes, as many as tiny novels has, got 7"):
        corpus.of_first(7)


# A cell.


@pytest.mark.equal_bits
def test_the_same_cell_gives_the_same_numbers(corpus):
    scores = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        scores.append(str(measure(cell(corpus), corpus)))  # as text, in which NaN equals NaN
    assert scores[0] == scores[1]


def test_training_teaches(corpus):
    taught = measure(cell(corpus, classes=6, epochs=30, dim=16, linear_epochs=60, negatives=5), corpus)
    untaught = measure(cell(corpus, classes=6, epochs=1, dim=16, linear_epochs=1, negatives=5), corpus)
    assert taught.mean > max(0.5, untaught.mean)
    assert taught.linear > 0.5
    assert taught.loss < untaught.loss


@pytest.mark.equal_bits
def test_cells_of_a_seed_share_weights_and_pairs_whatever_k(corpus):
    one, other = cell(corpus, negatives=1), cell(corpus, negatives=10, collisions=False)
    weights = [first_encoder(each, corpus.vocabulary).embeddings.weight for each in (one, other)]
    assert torch.equal(*weights)
    pairs = [torch.cat([*batches(corpus.train.labels, each, 2)]) for each in (one, other)]
    assert torch.equal(*pairs)
    assert not torch.equal(pairs[0], torch.cat([*batches(corpus.train.labels, one, 1)]))


def test_a_batch_is_whole(corpus):
    sizes = [len(rows) for rows in batches(corpus.train.labels, cell(corpus, batch=9), 0)]
    assert sizes == [9] * 5  # 48 pairs
    with pytest.raises(ValueError, match="at least 49 pairs for a batch, got 48 from 3 classes"):
        batches(corpus.train.labels, cell(corpus, batch=49), 0)


def test_k_true_negatives_are_two_for_each_pair_of_another_class():
    labels = torch.tensor([0, 0, 0, 1, 2])
    assert has_true_negatives(labels, 4)  # an anchor of class 0 has those of two pairs
    assert not has_true_negatives(labels, 5)


def test_a_batch_without_enough_true_negatives_makes_no_update(corpus):
    impossible = cell(corpus, classes=3, batch=8, negatives=14 - 1, collisions=False)
    encoder = first_encoder(impossible, corpus.vocabulary)
    before = encoder.embeddings.weight.detach().clone()
    train, _ = corpus.of_first(3)
    assert list(training(impossible, encoder, train)) == [None] * 9  # 24 pairs, 3 epochs
    assert torch.equal(encoder.embeddings.weight, before)
    scores = measure(impossible, corpus)
    assert (scores.steps, scores.skipped) == (0, 9)
    assert math.isnan(scores.loss)


def test_some_batches_may_be_skipped(corpus):
    scores = measure(cell(corpus, classes=6, batch=8, negatives=10, collisions=False, epochs=6), corpus)
    assert scores.skipped > 0
    assert scores.steps > 0
    assert scores.steps + scores.skipped == 6 * 6


def test_gradients_are_clipped(corpus, monkeypatch):
    seen = []
    real = training_module.nn.utils.clip_grad_norm_
    monkeypatch.setattr(
        training_module.nn.utils,
        "clip_grad_norm_",
        lambda parameters, norm: seen.append(norm) or real(parameters, norm),
    )
    measure(cell(corpus, epochs=1), corpus)
    assert set(seen) == {2.5}


def test_an_early_look_is_that_of_a_shorter_training_and_disturbs_nothing(corpus):
    whole = measure(cell(corpus, epochs=2), corpus)
    looked = measure(cell(corpus, epochs=2, early=3), corpus)
    short = measure(cell(corpus, epochs=1), corpus)  # 3 steps
    assert (looked.mean, looked.linear, looked.loss) == (whole.mean, whole.linear, whole.loss)
    assert (looked.mean_early, looked.linear_early) == (short.mean, short.linear)
    assert math.isnan(whole.mean_early)


# The plan.


def test_every_budget_has_a_plan_and_more_budget_has_no_smaller_one():
    assert [plan_of(budget) for budget in (1, 0.2, 0.01, 0.002, 1e-9)] == list(PLANS)
    assert [plan.least_budget for plan in PLANS] == sorted((p.least_budget for p in PLANS), reverse=True)
    assert plan_of(1.0).dim == 768


def test_the_full_plan_has_the_settings_of_table_1():
    full = plan_of(1.0)
    assert (full.dim, full.epochs, full.linear_epochs, full.seeds, full.batch) == (768, 50, 50, 5, 1000)
    assert (training_module.LEARNING_RATE, training_module.CLIP) == (0.01, 2.5)


def test_cells_come_seed_by_seed_without_repetition(corpus):
    found = cells(PLAN.within(corpus), corpus, [4, 5])
    assert len(set(found)) == len(found)
    assert [each.seed for each in found] == sorted(each.seed for each in found)
    per_seed = found[: len(found) // 2]
    assert [dataclasses.replace(each, seed=5) for each in per_seed] == found[len(found) // 2 :]
    settings = {(c.classes, c.batch, c.negatives, c.collisions) for c in per_seed}
    assert {k for n, b, k, free in settings if (n, b, free) == (3, 8, True)} == {1, 5, 10, 14}
    assert {k for n, b, k, free in settings if (n, b, free) == (3, 8, False)} == {1, 5, 10}
    assert {k for n, b, k, free in settings if (n, b, free) == (6, 4, True)} == {1, 5, 6}
    assert {c.early for c in per_seed if c.classes == 6 and c.epochs} == {
        18
    }  # 3 epochs of 48 pairs, 8 at a time
    assert {c.early for c in per_seed if c.classes == 3} == {0}


def test_a_corpus_that_is_too_small_is_refused_in_words(corpus):
    with pytest.raises(ValueError, match=r"25 documents or more.*tiny novels has 6 documents"):
        AN_HOUR.within(corpus)


# The whole.


def set_up(monkeypatch, plan: Plan) -> None:
    """Let the entry measure this plan, whatever the budget, with words that occur five times."""
    monkeypatch.setattr(module, "plan_of", lambda budget: plan)
    load = load_corpus
    monkeypatch.setattr(module, "load_corpus", lambda path, seed: load(path, seed=seed, minimum_count=5))


def test_the_entry_writes_its_files_and_says_what_the_corpus_is(tmp_path, monkeypatch):
    folder = write_corpus(tmp_path)
    set_up(monkeypatch, dataclasses.replace(PLAN, negatives=(5,)))
    out = tmp_path / "new" / "study"
    ENTRY.reproduce(out, budget=0.5, seed=3, data=folder)
    assert sorted(path.name for path in out.iterdir()) == [
        "figure.svg",
        "findings.json",
        "report.html",
        "study.json",
        "table.csv",
    ]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert ENTRY.statement in page
    assert page.count("tiny novels") > 8
    typed = "tammes reproduce negatives-text --data &#39;tiny novels&#39; --budget 0.5 --seed 3"
    assert typed in page
    assert "NaN" not in page
    assert "nan" not in page.split("<svg")[0]
    lines = (out / "table.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * (2 + 2 * 2 + 1 + 2)
    assert all(line.startswith("tiny novels,") for line in lines[1:])


def test_without_learning_no_statement_is_supported(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(module, "page", lambda summary, corpus: seen.extend(findings(summary)))
    set_up(monkeypatch, dataclasses.replace(PLAN, epochs=1, negatives=(1, 10)))
    folder = write_corpus(tmp_path)
    ENTRY.reproduce(tmp_path / "out", budget=0.001, seed=0, seeds=3, data=folder, learning=False)
    assert_nothing_was_learned(seen)


def test_a_stopped_study_goes_on_and_ends_as_an_unbroken_one(tmp_path, monkeypatch):
    # What the page shows of the table is another test's; drawing it takes most of the time.
    monkeypatch.setattr(module, "page", lambda summary, corpus: None)
    set_up(monkeypatch, dataclasses.replace(PLAN, classes=(3,), at_classes=(), seeds=1))
    folder = write_corpus(tmp_path)

    def run(name: str) -> None:
        ENTRY.reproduce(tmp_path / name, budget=1.0, seed=0, data=folder)

    run("unbroken")
    measured = []

    def interrupted(cell: TextRun, corpus, rate: float) -> TextScore:
        if len(measured) == 3:
            raise KeyboardInterrupt
        measured.append(cell)
        return measure(cell, corpus, rate=rate)

    monkeypatch.setattr(module, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt, match="stopped with 3 of 8 cells"):
        run("broken")
    assert sorted(path.name for path in (tmp_path / "broken").iterdir()) == [
        "study.json",
        "table.csv",
    ]
    again = []
    monkeypatch.setattr(
        module, "measure", lambda cell, corpus, rate: again.append(cell) or measure(cell, corpus, rate=rate)
    )
    run("broken")
    assert len(again) == 5
    assert not set(again) & set(measured)
    tables = [(tmp_path / name / "table.csv").read_bytes() for name in ("broken", "unbroken")]
    assert tables[0] == tables[1]


# The findings.


def made_up(accuracy, *, seeds: int = 3, untrained: float = 0.05) -> Summary:
    """Results in which accuracy is a function of a cell; the linear classifier's is a tenth more."""
    corpus = type("Corpus", (), {"name": "made up", "digest": "0", "pairs_of_first": lambda self, n: 8 * n})()
    results = {}
    for each in cells(PLAN, corpus, range(seeds)):
        value = (accuracy(each) if each.epochs else untrained) + 0.001 * each.seed
        results[each] = TextScore(
            mean=value,
            linear=value + 0.1,
            loss=1.0,
            steps=5,
            skipped=0,
            mean_early=value if each.early else math.nan,
            linear_early=value + 0.1 if each.early else math.nan,
        )
    return Summary(corpus="made up", plan=PLAN, results=results)


def as_the_paper_says(cell: TextRun) -> float:
    """Up to k = N - 1 or so and slowly down; collisions cost more where classes are few; batches help."""
    best = {3: 1, 6: 5}[cell.classes] if cell.negatives > 1 or cell.classes == 3 else 0
    up = 0.02 * min(math.log(cell.negatives + 0.5), math.log(best + 0.5)) if best else -0.05
    collisions = 0.02 / cell.classes * math.log(max(1, cell.negatives / max(best, 1))) * cell.collisions
    return 0.5 + up - collisions + 0.001 * cell.batch


def assert_nothing_was_learned(found: Sequence[Finding | Check]) -> None:
    """Every statement that could have a verdict has none, for want of a difference from the control."""
    verdicts = [each.verdict for each in found if not each.verdict.startswith(("–", "check"))]
    assert len(verdicts) == 8
    assert all(verdict.startswith("no verdict: not above the control") for verdict in verdicts), verdicts


def finding(words: str, summary: Summary) -> Finding | Check:
    """Return the finding whose statement has these words."""
    return next(each for each in findings(summary) if words in each.paper)


def test_the_growth_of_the_best_k_is_seen():
    summary = made_up(as_the_paper_says)
    growing = finding("slowly increases", summary)
    assert growing.verdict == "yes"
    assert growing.ours == "N = 3: k = 1; N = 6: k = 5."
    assert str(growing.effects[0]).startswith("slope of log(best k) over log(N): +2.32 [+2.32, +2.32]")
    assert finding("the largest batch with", summary).verdict == "yes"


def test_a_best_k_that_shrinks_is_no_growth():
    same = made_up(lambda cell: 0.5 - 1e-3 * cell.negatives * cell.classes)
    assert finding("slowly increases", same).agrees is None
    shrinks = made_up(lambda cell: 0.5 - 1e-3 * abs(cell.negatives - {3: 10, 6: 1}[cell.classes]))
    assert finding("slowly increases", shrinks).verdict == "no"


def test_one_seed_has_no_verdict_and_encoders_that_learned_nothing_neither():
    one, nothing = made_up(as_the_paper_says, seeds=1), made_up(lambda cell: 0.5, untrained=0.5)
    compared = [each for each in findings(one) if not each.verdict.startswith(("–", "check"))]
    assert [each.verdict for each in compared] == ["one seed: no verdict"] * 8
    assert_nothing_was_learned(findings(nothing))


def test_no_trend_is_no_support():
    flat = made_up(lambda cell: 0.5)
    for each in findings(flat):
        assert each.agrees is not True, each.paper


def test_accuracy_that_only_rises_is_no_support():
    rising = made_up(lambda cell: 0.1 + 0.01 * math.log(cell.negatives))
    assert finding("then slowly decays", rising).verdict == "no"


def test_removing_collisions_is_compared_at_the_largest_k_of_both():
    summary = made_up(lambda cell: 0.5 - 0.01 * cell.collisions * (cell.negatives == 10))
    removed = finding("without collisions accuracy is higher", summary)
    assert str(removed.effects[0]).startswith("N = 3, k = 10: +1.0 [+1.0, +1.0] points")
    assert "over all k" in removed.ours.lower()
    assert "N = 3: +0.3 [+0.3, +0.3] points" in removed.ours
    assert removed.verdict == "yes"
    assert finding("decays only slightly", summary).verdict == "yes"


def test_updates_that_were_left_out_are_counted():
    summary = made_up(as_the_paper_says)
    results = dict(summary.results)
    some = next(each for each in results if not each.collisions)
    results[some] = dataclasses.replace(results[some], skipped=2)
    told = findings(dataclasses.replace(summary, results=results))[-1]
    assert told.verdict == "check: failed"
    assert f"N = 3, k = {some.negatives}, seed 0: 2 of 7" in told.ours


def test_what_was_not_measured_is_nan_in_the_arrays():
    summary = made_up(as_the_paper_says)
    assert np.isnan(summary.over_counts(mean, 3, collisions=False)[:, -1]).all()
    over_batches = summary.over_batches(linear, 6)
    assert over_batches.shape == (3, 2, 5)
    assert np.isnan(over_batches[:, 0, -2:]).all()  # a batch of 4 pairs has 6 negatives
    assert np.isfinite(over_batches[:, 1, [0, 1, 3, 4]]).all()
