"""The index of sentences: what it finds, when it is built anew, and how it goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from tammes.data import Texts, Vocabulary
from tammes.encoders import BagOfWordsConfig
from tammes.training import sentence_index as module
from tammes.training.model import Model
from tammes.training.sentence_index import DESCRIPTION, FOLDER, sentence_index
from task_files import sentences


def texts_of(count: int, seed: int = 0) -> Texts:
    found = [each for kind in ("pos", "neg") for each in sentences(kind, count // 2, seed)]
    return Texts(sentences=tuple(found), names=tuple(f"book.txt:{row}" for row in range(1, len(found) + 1)))


def model_of(texts: Texts, seed: int = 0) -> Model:
    torch.manual_seed(seed)
    vocabulary = Vocabulary.of(texts.sentences, minimum_count=1)
    encoder = BagOfWordsConfig(dim=16).build(vocabulary_size=len(vocabulary))
    return Model(encoder, None, assets=vocabulary)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "model.safetensors").write_bytes(b"weights of one encoder")
    return tmp_path


def index_of(run: Path, model: Model, texts: Texts) -> tuple[module.SentenceIndex, list[str]]:
    said: list[str] = []
    return sentence_index(run, model, texts, say=said.append), said


def test_a_sentence_finds_itself_and_the_order_is_that_of_the_cosine(run: Path) -> None:
    texts = texts_of(200)
    model = model_of(texts)
    index, said = index_of(run, model, texts)
    assert said[0].startswith("building an index of 200 sentences")
    queries = texts.sentences[7], texts.sentences[150]
    found = index.search(queries, 5)
    assert [of_query[0].sentence for of_query in found] == list(queries)
    assert found[0][0].name == "book.txt:8"
    features = module.unit_features(model, texts)
    exact = (features[[7, 150]] @ features.T).topk(5, dim=1).values
    cosines = [[each.similarity for each in of_query] for of_query in found]
    torch.testing.assert_close(torch.tensor(cosines), exact)


def test_more_sentences_than_there_are_give_all(run: Path) -> None:
    texts = texts_of(6)
    index, _ = index_of(run, model_of(texts), texts)
    assert len(index.search(["good film"], 50)[0]) == 6


def test_the_second_time_nothing_is_embedded(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = texts_of(20)
    model = model_of(texts)
    first, _ = index_of(run, model, texts)
    answers = first.search(["good film"])
    embedded: list[int] = []
    real = module.unit_features

    def counted(model: Model, rows: Texts) -> torch.Tensor:
        embedded.append(len(rows))
        return real(model, rows)

    monkeypatch.setattr(module, "unit_features", counted)
    second, said = index_of(run, model, texts)
    assert (said, embedded) == ([], [])
    assert second.search(["good film"]) == answers


def test_an_index_of_other_weights_is_refused_and_kept(run: Path) -> None:
    texts = texts_of(20)
    index_of(run, model_of(texts), texts)
    kept = {file: file.read_bytes() for file in (run / "search").iterdir()}
    (run / "model.safetensors").write_bytes(b"weights of another encoder")
    with pytest.raises(ValueError, match=r"is of other weights .* Remove the folder, and the next search"):
        index_of(run, model_of(texts, seed=1), texts)
    assert {file: file.read_bytes() for file in (run / "search").iterdir()} == kept
    shutil.rmtree(run / "search")
    index, said = index_of(run, model := model_of(texts, seed=1), texts)
    assert "building an index" in said[0]
    torch.testing.assert_close(torch.from_numpy(np.array(index.rows)), module.unit_features(model, texts))


def test_other_sentences_are_a_new_index(run: Path) -> None:
    texts, other = texts_of(20), texts_of(20, seed=1)
    model = model_of(texts)
    index_of(run, model, texts)
    index, said = index_of(run, model, other)
    assert "the sentences have changed" in said[0]
    assert index.search([other.sentences[3]], 1)[0][0].sentence == other.sentences[3]


def test_a_stopped_build_goes_on_with_equal_rows(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = texts_of(40)
    model = model_of(texts)
    monkeypatch.setattr(module, "BLOCK", 16)
    real, calls = module.unit_features, []

    def stops(model: Model, rows: Texts) -> torch.Tensor:
        calls.append(len(rows))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(model, rows)

    monkeypatch.setattr(module, "unit_features", stops)
    with pytest.raises(KeyboardInterrupt):
        index_of(run, model, texts)
    index, said = index_of(run, model, texts)
    assert "going on with the index" in said[0]
    assert "from sentence 17 of 40" in said[0]
    assert calls == [16, 16, 16, 8]
    torch.testing.assert_close(torch.from_numpy(np.array(index.rows)), real(model, texts))


def test_many_sentences_are_searched_by_cells_whose_recall_is_known(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = texts_of(3_000)
    model = model_of(texts)
    exact, _ = index_of(run, model, texts)
    monkeypatch.setattr(module, "EXACT", 1_000)
    index, said = index_of(run, model, texts)
    assert index.cells is not None
    assert "cells" in said[-1]
    assert 0.8 < index.recall <= 1
    for ours, true in zip(
        index.search(texts.sentences[:20], 1), exact.search(texts.sentences[:20], 1), strict=True
    ):
        assert ours[0].similarity == pytest.approx(true[0].similarity, abs=1e-5)
    (all_found,) = index.search(texts.sentences[:1], 3_000)
    assert 96 < len(all_found) < 3_000, "the cells searched hold fewer"
    assert all(-1 - 1e-5 <= each.similarity <= 1 + 1e-5 for each in all_found)
    again, said = index_of(run, model, texts)
    assert said == []
    assert again.recall == index.recall


@pytest.mark.parametrize("content", ["{", '{"rows": 3}', "[]"])
def test_a_damaged_index_is_named(run: Path, content: str) -> None:
    texts = texts_of(20)
    index_of(run, model_of(texts), texts)
    (run / FOLDER / DESCRIPTION).write_text(content)
    with pytest.raises(ValueError, match=r"is damaged .*: remove the folder") as error:
        index_of(run, model_of(texts), texts)
    assert "__init__" not in str(error.value)


def test_features_that_are_not_finite_are_damage(run: Path) -> None:
    texts = texts_of(20)
    index_of(run, model_of(texts), texts)
    (run / FOLDER / module.ROWS).write_bytes(np.full(20 * 16, np.nan, np.float32).tobytes())
    index, _ = index_of(run, model_of(texts), texts)
    with pytest.raises(ValueError, match=r"is damaged .*not finite.*: remove the folder search"):
        index.search(["good"])


def test_queries_of_which_no_word_is_known_are_found() -> None:
    model = model_of(Texts(sentences=("It rained, all day.", "We stayed."), names=("1", "2")))
    queries = ["zzzqqq", "zzzqqq, qqq.", "It zzzqqq"]
    assert module.unknown_queries(model, queries) == queries[:2]


def test_rows_that_are_cut_short_are_damage(run: Path) -> None:
    texts = texts_of(20)
    index_of(run, model_of(texts), texts)
    (run / FOLDER / module.ROWS).write_bytes(b"1234")
    with pytest.raises(ValueError, match="has 4 bytes"):
        index_of(run, model_of(texts), texts)
    description = json.loads((run / FOLDER / DESCRIPTION).read_text())
    assert description["done"] == 20


@pytest.mark.parametrize("queries", [[], [""], ["good", " \t"]])
def test_empty_queries_are_refused(run: Path, queries: list[str]) -> None:
    texts = texts_of(20)
    index, _ = index_of(run, model_of(texts), texts)
    with pytest.raises(ValueError, match="query"):
        index.search(queries)
