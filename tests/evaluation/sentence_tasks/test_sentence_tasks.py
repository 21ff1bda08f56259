"""Tasks of sentences: what is found in a folder, what is refused, and what the numbers are."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import f1_score, ndcg_score

from tammes.evaluation.sentence_tasks import (
    Retrieval,
    ScoredPairs,
    SentenceClasses,
    SentencePairs,
    evaluate,
    find_tasks,
    random_words,
    read_classes,
    tfidf_svd,
)
from tammes.evaluation.sentence_tasks.ranking import ranking_scores
from tammes.evaluation.sentence_tasks.scores import _correlation, _f1, _over_queries
from task_files import (
    sentences,
    write_all,
    write_classes,
    write_msrp,
    write_retrieval,
    write_scored,
    write_trec,
)

NAMES = ["MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP", "animals", "sts"]


def test_every_task_of_a_folder_is_found_in_a_fixed_order(tmp_path: Path) -> None:
    tasks = find_tasks(write_all(tmp_path / "tasks"))
    assert [task.name for task in tasks] == NAMES
    kinds = [SentenceClasses] * 5 + [SentencePairs, Retrieval, ScoredPairs]
    assert [type(task) for task in tasks] == kinds


def test_folders_within_the_folder_and_other_names_of_trec_are_read(tmp_path: Path) -> None:
    (tmp_path / "TREC").mkdir()
    write_trec(tmp_path / "TREC")
    (tmp_path / "TREC/TREC.train").rename(tmp_path / "TREC/train_5500.label")
    (tmp_path / "TREC/TREC.test").rename(tmp_path / "TREC/TREC_10.label")
    (task,) = find_tasks(tmp_path)
    assert isinstance(task, SentenceClasses)
    assert (len(task.sentences), len(task.tested), task.classes) == (60, 20, ("HUM", "NUM"))


def test_lines_are_latin_1_and_end_at_line_feeds_alone(tmp_path: Path) -> None:
    (tmp_path / "custrev.pos").write_bytes(b"caf\xe9 \x85 here .\n\n  fine \r\n")
    (tmp_path / "custrev.neg").write_bytes(b"bad\n")
    task = read_classes("CR", [tmp_path / "custrev.neg", tmp_path / "custrev.pos"])
    assert task.sentences == ("bad", "caf\xe9 \x85 here .", "fine")
    assert task.labels.tolist() == [0, 1, 1]


def test_an_archive_in_place_of_sentences_is_refused(tmp_path: Path) -> None:
    for name in ("custrev.neg", "custrev.pos"):
        (tmp_path / name).write_bytes(gzip.compress(b"good\nbad\n" * 20, mtime=0))
    with pytest.raises(ValueError, match=r"expected sentences in .*custrev\.neg, got bytes that are no text"):
        read_classes("CR", [tmp_path / "custrev.neg", tmp_path / "custrev.pos"])


def test_quotation_marks_of_msrp_belong_to_their_sentences(tmp_path: Path) -> None:
    write_msrp(tmp_path)
    (task,) = find_tasks(tmp_path)
    assert isinstance(task, SentencePairs)
    assert (len(task.pairs), len(task.tested)) == (80, 30)
    assert task.pairs[-1][0].startswith('"')
    assert task.labels.tolist() == [1] * 40 + [0] * 40


def test_the_benchmark_of_sts_and_json_lines_are_read(tmp_path: Path) -> None:
    rows = [f"main\tMSRvid\t2012\t{row}\t{row}.5\tone {row}\ttwo {row}" for row in range(4)]
    (tmp_path / "sts-test.csv").write_text("\n".join(rows))
    objects = [{"sentence1": f"a{row}", "sentence2": "b", "score": row, "more": 1} for row in range(4)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, objects)))
    first, second = find_tasks(tmp_path)
    assert isinstance(first, ScoredPairs)
    assert isinstance(second, ScoredPairs)
    assert (first.name, first.pairs[2], first.scores.tolist()) == ("mine", ("a2", "b"), [0, 1, 2, 3])
    assert (second.name, second.pairs[2]) == ("sts-test", ("one 2", "two 2"))
    assert second.scores.tolist() == [0.5, 1.5, 2.5, 3.5]


def test_titles_stand_before_texts_and_queries_without_an_answer_are_left_out(tmp_path: Path) -> None:
    write_retrieval(tmp_path / "r", count=5)
    row = {"_id": "d5", "title": "Cats", "text": "purr"}
    with (tmp_path / "r/corpus.jsonl").open("a") as file:
        file.write("\n" + json.dumps(row))
    with (tmp_path / "r/queries.jsonl").open("a") as file:
        file.write("\n" + json.dumps({"_id": 77, "text": "nobody answers"}))
    (tmp_path / "r/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td5\t2\nq2\td1\t0\n")
    (task,) = find_tasks(tmp_path)
    assert isinstance(task, Retrieval)
    assert task.documents[-1] == "Cats purr"
    assert (len(task.queries), task.relevance) == (1, ({5: 2.0},))


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("reviews.txt", "a line", "reviews.txt has the layout of no known task"),
        ("reviews.csv", "text,label\na,1\n", "reviews.csv has the layout of no known task"),
        ("custrev.pos", "good .", "custrev.neg is missing"),
        ("TREC.train", "NUM:date When ?", "TREC.test is missing"),
        ("queries.jsonl", "{}", "corpus.jsonl is missing"),
        ("sts.csv", "sentence1,sentence2,score\na,b,1\nc,d,much\n", "line 3 of .*sts.csv.*'much'"),
        ("sts.csv", "sentence1,sentence2,score\na,b,1\nc,,2\n", "line 3 of"),
        (
            "sts.csv",
            "score,sentence1,sentence2\n1,a,b\n2,It rained, so,c\n",
            "3 fields in line 3 of .*, got 4",
        ),
        (
            "sts.csv",
            'sentence1,sentence2,score\n"a,b,1\n' + "c,d,2\n" * 30_000,
            "sts.csv, got something else",
        ),
        ("sts.csv", "sentence1,sentence2,score\na,b,1\nc,d,1\ne,f,1\n", "different scores"),
    ],
)
def test_what_is_wrong_in_a_folder_is_named(tmp_path: Path, file: str, content: str, said: str) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(ValueError, match=said) as error:
        find_tasks(tmp_path)
    assert "\n" not in str(error.value)


def test_an_empty_folder_and_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found none; known layouts: MR, CR"):
        find_tasks(tmp_path)
    with pytest.raises(ValueError, match="found no folder"):
        find_tasks(tmp_path / "no")


def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "sts.csv")
    with pytest.raises(ValueError, match=r"expected a regular file at .*sts\.csv, got a named pipe"):
        find_tasks(tmp_path)


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_classes(tmp_path / name, 10)
    with pytest.raises(ValueError, match="two tasks named CR"):
        find_tasks(tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("TREC.test", "LOC:city Where ?", "class LOC .* lacks"),
        ("TREC.test", "no label here", "line 1 of"),
        ("TREC.test", "NUM:date When ?\n\n \nno label here", "line 4 of"),
        ("msr_paraphrase_test.txt", "Quality\tone\n", "expected the columns Quality"),
        ("msr_paraphrase_test.txt", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n2\t1\t1\ta\tb", "line 2"),
        ("msr_paraphrase_test.txt", "\nQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n\n1\ta", "line 4"),
        (
            "msr_paraphrase_test.txt",
            "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n",
            "expected pairs of sentences in .*test.txt, found none",
        ),
        ("custrev.neg", " \n", "found none"),
        ("animals/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td99\t1", "document 'd99'"),
        ("animals/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\tmuch", "line 2"),
        ("animals/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\tnan", "line 3"),
        ("animals/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\tinf", "line 2"),
        ("animals/qrels/test.tsv", "q1 d1 1", "expected the columns query-id"),
        ("animals/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t0", "no query with a relevant"),
        ("animals/queries.jsonl", '{"_id": "q1", "text": "a"}\n' * 2, "each _id once"),
        ("animals/queries.jsonl", '{"text": "a"}\n', "expected _id and text in line 1"),
        ("animals/corpus.jsonl", "nothing", "expected a JSON object in line 1"),
    ],
)
def test_damaged_files_are_named_with_their_lines(tmp_path: Path, file: str, content: str, said: str) -> None:
    folder = write_all(tmp_path / "tasks")
    (folder / file).write_text(content)
    with pytest.raises(ValueError, match=said):
        find_tasks(folder)


def test_words_that_tell_the_classes_apart_are_found_by_every_floor(tmp_path: Path) -> None:
    tasks = {task.name: task for task in find_tasks(write_all(tmp_path / "tasks"))}
    for embed in (tfidf_svd(tasks["MR"].corpus, 30), random_words(30)):
        for name in ("MR", "TREC"):
            score = evaluate(tasks[name], embed)
            assert score.main.low > 0.6
            assert score.right is not None
            assert score.main.mean == pytest.approx(float(score.right.double().mean()))


def test_features_without_meaning_are_right_half_of_the_time(tmp_path: Path) -> None:
    write_classes(tmp_path, 200)
    (task,) = (each for each in find_tasks(tmp_path) if each.name == "MR")
    generator = torch.Generator().manual_seed(1)
    scores = [evaluate(task, lambda rows: torch.randn(len(rows), 8, generator=generator)) for _ in range(10)]
    assert abs(np.mean([score.main.mean for score in scores]) - 0.5) < 0.04
    assert scores[0].over == "400 sentences in 10 folds"


def test_pairs_are_classified_by_their_difference_and_product(tmp_path: Path) -> None:
    write_msrp(tmp_path)
    (task,) = find_tasks(tmp_path)
    assert isinstance(task, SentencePairs)
    score = evaluate(task, random_words(40))  # a pair of equal words has no difference
    assert list(score.metrics) == ["accuracy", "F1"]
    assert score.main.mean > 0.9


def test_f1_is_that_of_scikit_learn_within_its_interval() -> None:
    generator = np.random.default_rng(0)
    true = generator.integers(0, 2, 500)
    found = np.where(generator.random(500) < 0.8, true, 1 - true)
    estimate = _f1(torch.tensor(found), torch.tensor(true))
    assert estimate.mean == pytest.approx(f1_score(true, found))
    assert estimate.low < estimate.mean < estimate.high
    draws = [f1_score(true[rows], found[rows]) for rows in generator.integers(0, 500, (400, 500))]
    assert [estimate.low, estimate.high] == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.01)


def test_correlations_are_those_of_scipy(tmp_path: Path) -> None:
    write_scored(tmp_path / "sts.tsv")
    (task,) = find_tasks(tmp_path)
    assert isinstance(task, ScoredPairs)
    embed = random_words(16)
    score = evaluate(task, embed)
    u, v = (embed([pair[side] for pair in task.pairs]).astype(float) for side in (0, 1))
    cosine = (u * v).sum(1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    assert score.metrics["spearman"].mean == pytest.approx(spearmanr(cosine, task.scores).statistic)
    assert score.metrics["pearson"].mean == pytest.approx(pearsonr(cosine, task.scores).statistic)
    interval = score.metrics["pearson"]
    exact = pearsonr(cosine, task.scores).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx(tuple(exact))
    assert score.metrics["spearman"].low < score.metrics["spearman"].mean


def test_an_encoder_that_gives_one_vector_has_no_correlation(tmp_path: Path) -> None:
    write_scored(tmp_path / "sts.tsv")
    score = evaluate(find_tasks(tmp_path)[0], lambda rows: torch.ones(len(rows), 3))
    assert score.main.mean == 0


def test_retrieval_is_that_of_scikit_learn() -> None:
    generator = torch.Generator().manual_seed(0)
    queries, documents = (torch.randn(n, 8, generator=generator) for n in (7, 40))
    gains = torch.randint(0, 3, (7, 40), generator=generator) * (torch.rand(7, 40, generator=generator) < 0.2)
    relevance = [{int(j): float(row[j]) for j in row.nonzero().flatten()} for row in gains]
    found = ranking_scores(queries, documents, relevance)
    cosine = torch.nn.functional.normalize(queries) @ torch.nn.functional.normalize(documents).T
    for row in range(7):
        exact = ndcg_score(gains[row : row + 1].numpy(), cosine[row : row + 1].numpy(), k=10)
        assert found["nDCG@10"][row] == pytest.approx(exact)
        order = cosine[row].argsort(descending=True)
        ranks = [rank for rank, j in enumerate(order.tolist(), 1) if gains[row, j] > 0]
        assert found["MRR@10"][row] == (1 / ranks[0] if ranks[0] <= 10 else 0)
        assert found["recall@10"][row] == sum(rank <= 10 for rank in ranks) / len(ranks)
    assert "recall@100" not in found


def test_queries_that_are_documents_find_themselves(tmp_path: Path) -> None:
    write_retrieval(tmp_path / "r")
    score = evaluate(find_tasks(tmp_path)[0], random_words(64))
    assert score.metrics["recall@1"].mean == 1
    assert score.over == "5 queries of 12 documents"


def test_equal_sentences_are_encoded_once(tmp_path: Path) -> None:
    seen: list[Sequence[str]] = []

    def embed(rows: Sequence[str]) -> torch.Tensor:
        seen.append(rows)
        return torch.randn(len(rows), 4)

    pairs = tuple((each, "the same") for each in sentences("pos", 5, 0))
    evaluate(ScoredPairs(name="s", pairs=pairs, scores=torch.arange(5.0)), embed)
    assert len(seen) == 1
    assert len(seen[0]) == 6


def test_tasks_without_a_test_pair_or_with_numbers_that_are_not_finite_are_refused() -> None:
    pairs = (("a", "b"), ("c", "d"), ("e", "f"))
    with pytest.raises(ValueError, match="MSRP: expected at least one test pair, got none"):
        SentencePairs(
            name="MSRP", pairs=pairs, labels=torch.tensor([0, 1, 1]), tested=(), tested_labels=torch.zeros(0)
        )
    with pytest.raises(ValueError, match="STS: expected finite scores, got nan in row 1"):
        ScoredPairs(name="STS", pairs=pairs, scores=torch.tensor([1.0, torch.nan, 2.0]))
    for gain in (float("inf"), float("nan")):
        with pytest.raises(ValueError, match="animals: expected finite gains, got others for 'purrs'"):
            Retrieval(name="animals", queries=("purrs",), documents=("a", "b"), relevance=({1: gain},))


def test_features_that_are_not_usable_are_refused(tmp_path: Path) -> None:
    write_classes(tmp_path, 20)
    task = find_tasks(tmp_path)[0]
    with pytest.raises(ValueError, match="a row for each sentence"):
        evaluate(task, lambda rows: torch.zeros(3, 2))
    with pytest.raises(ValueError, match="expected finite features"):
        evaluate(task, lambda rows: torch.full((len(rows), 2), torch.nan))


def test_equal_values_of_all_queries_and_pairs_are_not_certain() -> None:
    for values in ([1.0] * 12, [0.0, 1.0, 1.0], [0.5, 0.5]):
        found = _over_queries(values)
        assert found.low < found.mean or found.mean == 0
        assert found.high - found.low > 0.1
    all_right = torch.tensor([0, 1] * 6)
    found = _f1(all_right, all_right)
    assert found.mean == 1
    assert found.low == pytest.approx(2 * 0.6097 / (1 + 0.6097), abs=1e-3)  # Wilson's of 6 of 6
    perfect = _correlation(torch.arange(6.0), torch.arange(6.0), of_ranks=True)
    assert perfect.mean == 1
    assert not perfect.is_known
