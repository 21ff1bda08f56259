"""Texts in the files of a cache: equal to those in memory, made anew after a change, never half made."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tammes.data import SkippedFilesWarning, Texts, Vocabulary, Words, texts
from tammes.data.cache_files import shutil as disk
from tammes.data.mapped_strings import MappedStrings
from tammes.data.passages import Passage
from tammes.data.subwords import Unigrams
from tammes.data.text_cache import DESCRIPTION, cached_texts
from tammes.data.token_cache import IDS, MappedTokens, cached_tokens

LINES = ("It rains.", "Überall Wasser 🌧.", "A cat\u2028sleeps.", "No dog barks.")


@pytest.fixture
def books(tmp_path: Path) -> Path:
    folder = tmp_path / "books"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.txt").write_text("".join(f"{line} {name}\n" for line in LINES), encoding="utf-8")
    return folder


def cache(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "cache").iterdir()
    return found


def assert_equal(ours: Texts, theirs: Texts) -> None:
    assert isinstance(ours.sentences, MappedStrings)
    assert list(ours.sentences) == list(theirs.sentences)
    assert list(ours.names) == list(theirs.names)
    assert ours.classes == theirs.classes
    assert torch.equal(ours.documents, theirs.documents)
    assert ours.positions is not None
    assert theirs.positions is not None
    assert torch.equal(ours.positions, theirs.positions)
    assert ours.skipped == theirs.skipped


def test_they_are_those_in_memory(books: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert_equal(texts(books, cache=tmp_path / "cache"), texts(books))
    found = texts(books, cache=tmp_path / "cache")
    assert_equal(found.subset([5, 0]), texts(books).subset([5, 0]))
    assert_equal(found.subset([5, 0, 2]).subset([2, 0]), texts(books).subset([2, 5]))
    assert list(pickle.loads(pickle.dumps(found)).sentences) == list(found.sentences)
    assert found.sentences[-1] == "No dog barks. b"
    assert found.sentences[1:3] == list(texts(books).sentences[1:3])
    with pytest.raises(IndexError):
        found.sentences[8]


@pytest.mark.parametrize("label", [None, "thread"])
def test_tables_are_read_as_in_memory(tmp_path: Path, label: str | None) -> None:
    rows = [{"text": line, "thread": str(place % 2)} for place, line in enumerate(LINES)]
    path = tmp_path / "posts.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert_equal(texts(path, label_column=label, cache=tmp_path / "cache"), texts(path, label_column=label))


def test_what_is_left_out_is_said_each_time(books: Path, tmp_path: Path) -> None:
    (books / "c.txt").write_text("\n")
    for _ in range(2):
        with pytest.warns(SkippedFilesWarning, match="no sentences to read in 1"):
            assert texts(books, cache=tmp_path / "cache").skipped == ("c.txt",)
    with pytest.raises(ValueError, match=r"no sentences to read in 1 .* c\.txt"):
        texts(books, cache=tmp_path / "cache", strict=True)


def test_changed_files_and_settings_are_read_anew(books: Path, tmp_path: Path) -> None:
    texts(books, cache=tmp_path / "cache")
    (books / "a.txt").write_text("It is dry.\nIt is warm.\n")
    assert_equal(texts(books, cache=tmp_path / "cache"), texts(books))
    assert_equal(texts(books, prose=True, cache=tmp_path / "cache"), texts(books, prose=True))
    description = cache(tmp_path) / DESCRIPTION
    content = json.loads(description.read_text())
    description.write_text(json.dumps({**content, "format": "tammes texts 0"}))
    assert_equal(texts(books, prose=True, cache=tmp_path / "cache"), texts(books, prose=True))
    (cache(tmp_path) / "sentences.utf8").write_bytes(b"cut off")
    assert_equal(texts(books, prose=True, cache=tmp_path / "cache"), texts(books, prose=True))


def test_an_interrupted_reading_leaves_nothing(tmp_path: Path) -> None:
    def read(skipped: list[str]) -> Iterator[Passage]:
        yield Passage("a:1", "It rains.", "a")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_texts(tmp_path, {}, read, size=0, rows_are_documents=False)
    assert [file.name for file in tmp_path.iterdir()] == [".lock"]
    with pytest.raises(ValueError, match="expected sentences, found none"):
        cached_texts(tmp_path, {}, lambda skipped: iter(()), size=0, rows_are_documents=False)


def test_a_small_disk_is_refused_before_with_the_size(
    books: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(disk, "disk_usage", lambda place: SimpleNamespace(free=100, total=usage.total))
    with pytest.raises(ValueError, match=r"the sentences need 1\d\d B in .*, where 100 B are free"):
        texts(books, cache=tmp_path / "cache")


@pytest.mark.parametrize("tokens", [Words(minimum_count=1), Unigrams(size=60)])
def test_tokens_are_those_in_memory(books: Path, tmp_path: Path, tokens: Words | Unigrams) -> None:
    found = texts(books, cache=tmp_path / "cache")
    assert isinstance(found.sentences, MappedStrings)
    tokenizer = tokens.of(found.sentences)
    expected = tokenizer.encode(list(found.sentences))
    for _ in range(2):
        ours = cached_tokens(found.sentences, tokenizer)
        assert torch.equal(ours.lengths, expected.lengths)
        for rows in ([3, 0, 7, 7], [], list(range(8))):
            taken, wanted = (
                ours.take(torch.tensor(rows, dtype=torch.int64)),
                expected.take(torch.tensor(rows).long()),
            )
            assert torch.equal(taken.ids, wanted.ids)
            assert torch.equal(taken.offsets, wanted.offsets)
    some = found.subset([6, 2]).sentences
    assert isinstance(some, MappedStrings)
    mapped = pickle.loads(pickle.dumps(cached_tokens(some, tokenizer)))
    assert isinstance(mapped, MappedTokens)
    assert torch.equal(mapped.take(torch.tensor([0])).ids, expected.take(torch.tensor([6])).ids)
    assert torch.equal(mapped.lengths, expected.lengths[[6, 2]])


def test_tokens_of_another_tokenizer_are_made_anew(books: Path, tmp_path: Path) -> None:
    found = texts(books, cache=tmp_path / "cache")
    assert isinstance(found.sentences, MappedStrings)
    first, second = (Vocabulary.of(found.sentences, minimum_count=count) for count in (1, 2))
    before = cached_tokens(found.sentences, first)
    ids = before.take(torch.tensor([0])).ids
    changed = (cache(tmp_path) / IDS).stat().st_mtime_ns
    cached_tokens(found.sentences, first)
    assert (cache(tmp_path) / IDS).stat().st_mtime_ns == changed
    after = cached_tokens(found.sentences, second)
    assert torch.equal(after.take(torch.tensor([0])).ids, second.encode(found.sentences[:1]).ids)
    assert torch.equal(before.take(torch.tensor([0])).ids, ids)
    (books / "a.txt").write_text("Other words here.\n")
    again = texts(books, cache=tmp_path / "cache")
    assert isinstance(again.sentences, MappedStrings)
    ours = cached_tokens(again.sentences, second)
    assert len(ours) == 5
    assert torch.equal(ours.take(torch.tensor([0])).ids, second.encode(["Other words here."]).ids)


def test_shards_of_a_table_are_one_after_the_other(tmp_path: Path) -> None:
    for shard in range(3):
        lines = (json.dumps({"text": f"{line}\nAnd {shard}."}) for line in LINES)
        (tmp_path / f"posts-{shard}.jsonl").write_text("\n".join(lines))
    found = texts(tmp_path / "posts-{0..2}.jsonl", cache=tmp_path / "cache")
    assert_equal(found, texts(tmp_path / "posts-{0..2}.jsonl"))
    assert len(found) == 24
    assert found.classes is not None
    assert found.classes[4] == "posts-1.jsonl, row 1"
    with pytest.raises(ValueError, match=r"found nothing at .*posts-3\.jsonl"):
        texts(tmp_path / "posts-{0..3}.jsonl")


def test_a_stream_of_the_hub_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    rows = [{"text": line, "thread": str(place % 2)} for place, line in enumerate(LINES)]
    asked = []

    def load_dataset(*names: str, streaming: bool) -> object:
        asked.append((names, streaming))
        return datasets.Dataset.from_list(rows).to_iterable_dataset()

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    for _ in range(2):
        found = texts("hub:owner/name", label_column="thread", cache=tmp_path / "cache")
        assert list(found.sentences) == list(LINES)
        assert found.classes == ("0", "1")
    assert asked == [(("owner/name",), True)]
