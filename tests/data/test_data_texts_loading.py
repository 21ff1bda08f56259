"""Loading texts: every form gives the same sentences, and what cannot be used is named."""

import json
import os
import sys
import warnings
from pathlib import Path

import datasets
import pyarrow
import pyarrow.parquet
import pytest

from tammes.data import SkippedFilesWarning, Texts, texts
from tammes.positives import SameClass

ROWS = [
    {"title": "cats", "text": "They purr.", "id": 7, "other": 1.5},
    {"title": "dogs", "text": "They bark,\nand run.", "id": 8, "other": 2.5},
    {"title": "cats", "text": 'They "sleep", always.', "id": 7, "other": 3.5},
]
SENTENCES = ("They purr.", "They bark,", "and run.", 'They "sleep", always.')


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def quoted(value: object) -> str:
    return '"' + str(value).replace('"', '""') + '"'


def table(root: Path, form: str) -> Path:
    """The same rows as a file or data set of each form."""
    path = root / f"rows.{form}"
    if form in ("csv", "tsv"):
        lines = [ROWS[0].keys(), *(row.values() for row in ROWS)]
        delimiter = "," if form == "csv" else "\t"
        return write(path, "\n".join(delimiter.join(map(quoted, line)) for line in lines) + "\n")
    if form in ("jsonl", "ndjson"):
        return write(path, "\n".join(json.dumps(row) for row in ROWS) + "\n\n")
    if form == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
        return path
    datasets.Dataset.from_list(ROWS).save_to_disk(str(path))
    return path


def test_a_folder_has_a_document_in_each_file(tmp_path: Path) -> None:
    write(tmp_path / "b.txt", "One.\r\n\r\n  Two. \rThree.")
    write(tmp_path / "a" / "c.txt", "\ufeffFour.\n")
    write(tmp_path / ".hidden.txt", "No.")
    loaded = texts(tmp_path)
    assert loaded.sentences == ("Four.", "One.", "Two.", "Three.")
    assert loaded.names == ("a/c.txt:1", "b.txt:1", "b.txt:3", "b.txt:4")
    assert (loaded.labels.tolist(), loaded.classes) == ([0, 1, 1, 1], ("a/c.txt", "b.txt"))
    assert loaded.positions.tolist() == [0, 0, 1, 2]


def test_the_form_of_wiki_3029_is_read_as_it_is(tmp_path: Path) -> None:
    for article in ("Aalborg", "Abbey", "Zinc"):
        lines = [f"{article} has sentence {number}." for number in range(200)]
        write(tmp_path / f"{article}.txt", "\n".join(lines) + "\n")
    loaded = texts(tmp_path)
    assert repr(loaded) == "Texts(600 sentences, 3 documents)"
    assert loaded.labels.bincount().tolist() == [200, 200, 200]
    assert loaded.skipped == ()
    assert SameClass().pairs(loaded.required_labels(), seed=0).shape == (300, 2)


def test_a_single_file_has_no_documents(tmp_path: Path) -> None:
    loaded = texts(write(tmp_path / "notes", "One.\nTwo.\n"))
    assert (loaded.sentences, loaded.labels, loaded.positions.tolist()) == (("One.", "Two."), None, [0, 1])


def test_prose_is_cut_into_sentences(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "It was late. She\nslept.\n\nThe end")
    loaded = texts(tmp_path, prose=True)
    assert loaded.sentences == ("It was late.", "She slept.", "The end")
    assert loaded.names == ("a.txt#1", "a.txt#2", "a.txt#3")


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "ndjson", "parquet", "saved"])
def test_every_table_gives_the_same_sentences(tmp_path: Path, form: str) -> None:
    path = table(tmp_path, form)
    loaded = texts(path, label_column="title")
    assert loaded.sentences == SENTENCES
    assert loaded.names == ("row 1:1", "row 2:1", "row 2:2", "row 3:1")
    assert (loaded.labels.tolist(), loaded.classes) == ([0, 1, 1, 0], ("cats", "dogs"))
    assert loaded.positions.tolist() == [0, 0, 1, 1]
    numbered = texts(path, label_column="id")
    assert (numbered.labels.tolist(), numbered.classes) == ([0, 1, 1, 0], ("7", "8"))
    by_title = texts(path, text_column="title")
    assert (by_title.sentences, by_title.labels) == (("cats", "dogs", "cats"), None)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "saved"])
def test_rows_of_several_sentences_are_documents(tmp_path: Path, form: str) -> None:
    loaded = texts(table(tmp_path, form))
    assert (loaded.labels.tolist(), loaded.classes) == ([0, 1, 1, 2], ("row 1", "row 2", "row 3"))


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet", "saved"])
def test_a_missing_column_is_named_with_those_there_are(tmp_path: Path, form: str) -> None:
    path = table(tmp_path, form)
    with pytest.raises(ValueError, match=r"a column 'sentence' in .*, found title, text, id, other"):
        texts(path, text_column="sentence")
    with pytest.raises(ValueError, match=r"a column 'page' in"):
        texts(path, label_column="page")


def test_a_column_that_comes_twice_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,text\na,b\n")
    with pytest.raises(ValueError, match=r"one column 'text' in .*, found 2"):
        texts(path)


@pytest.mark.parametrize("form", ["parquet", "jsonl", "saved"])
def test_a_column_that_is_no_text_is_refused(tmp_path: Path, form: str) -> None:
    with pytest.raises(ValueError, match=r"text in column 'id' of .*, got int in row 1"):
        texts(table(tmp_path, form), text_column="id")
    with pytest.raises(ValueError, match=r"document in column 'other' of .*, got 1\.5 in row 1"):
        texts(table(tmp_path, form), label_column="other")


def test_rows_without_text_are_left_out_and_rows_without_document_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = [{"text": None, "title": "a"}, {"text": " ", "title": "a"}, {"text": "One.", "title": "b"}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    with pytest.warns(
        SkippedFilesWarning,
        match=r"no sentences to read in 2 of the files or rows of .*: row 1, row 2; left out",
    ):
        loaded = texts(path, label_column="title")
    assert (loaded.classes, loaded.skipped, loaded.names) == (("b",), ("row 1", "row 2"), ("row 3:1",))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([*rows, {"text": "Two.", "title": None}]), path)
    with pytest.raises(
        ValueError, match=r"a document in column 'title' .* got None in row 4: fill it in, or remove"
    ):
        texts(path, label_column="title")
    pyarrow.parquet.write_table(pyarrow.table({"text": ["One."], "title": [b"a"]}), path)
    with pytest.raises(ValueError, match=r"a document in column 'title' .* got b'a' in row 1"):
        texts(path, label_column="title")


def test_named_classes_of_a_data_set_are_the_documents(tmp_path: Path) -> None:
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])}
    )
    rows = {"text": ["Good.", "Bad."], "label": [1, 0]}
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(str(tmp_path / "saved"))
    assert texts(tmp_path / "saved", label_column="label").classes == ("pos", "neg")


def test_a_data_set_of_several_splits_wants_one_named(tmp_path: Path) -> None:
    parts = {name: datasets.Dataset.from_list(ROWS[:count]) for name, count in (("train", 3), ("test", 1))}
    datasets.DatasetDict(parts).save_to_disk(str(tmp_path / "both"))
    datasets.DatasetDict(train=parts["train"]).save_to_disk(str(tmp_path / "one"))
    assert len(texts(tmp_path / "both", split="test")) == 1
    assert len(texts(tmp_path / "one")) == 4
    for split in (None, "valid"):
        with pytest.raises(ValueError, match=rf"one of train, test, got split={split!r}"):
            texts(tmp_path / "both", split=split)
    with pytest.raises(ValueError, match="has no splits, got split='train'"):
        texts(table(tmp_path, "saved"), split="train")


def test_a_name_on_the_hub_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def load_dataset(*names: str) -> datasets.DatasetDict:
        asked.append(names)
        return datasets.DatasetDict(train=datasets.Dataset.from_list(ROWS))

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert texts("hub:owner/name", label_column="title", split="train").sentences == SENTENCES
    assert len(texts("hub:owner/name/small")) == 4
    assert asked == [("owner/name",), ("owner/name", "small")]
    with pytest.raises(ValueError, match="expected hub:owner/name or"):
        texts("hub:name")


def test_without_datasets_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(tmp_path, "saved")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match=r'pip install "tammes\[text\]"'):
        texts(path)


def test_bytes_that_are_no_text_are_named_with_file_and_line(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "One.\n")
    write(tmp_path / "b.txt", b"One.\nTwo.\ncaf\xe9.\n")
    message = r"in utf-8, got bytes .* decoded in line 3 of .*b\.txt \(b'\\xe9'.*encoding='latin-1'"
    with pytest.raises(ValueError, match=message):
        texts(tmp_path)
    assert texts(tmp_path, encoding="latin-1").sentences[-1] == "café."
    with pytest.raises(ValueError, match=r"expected the name of an encoding, .* got 'klingon'"):
        texts(tmp_path, encoding="klingon")
    with pytest.raises(ValueError, match=r"line 2 of .*rows\.csv"):
        texts(write(tmp_path / "rows.csv", b"text\ncaf\xe9\n"))


def test_empty_and_other_files_are_left_out_and_named(tmp_path: Path) -> None:
    for name, content in (("a.txt", "One."), ("b.txt", ""), ("c.txt", " \n\n"), ("d.pdf", "%PDF")):
        write(tmp_path / name, content)
    with pytest.warns(SkippedFilesWarning, match=r"in 3 of the files or rows of .*: d\.pdf, b\.txt, c\.txt"):
        loaded = texts(tmp_path)
    assert (loaded.classes, loaded.skipped) == (("a.txt",), ("d.pdf", "b.txt", "c.txt"))
    with pytest.raises(ValueError, match=r"3 of the files or rows of .* remove them"):
        texts(tmp_path, strict=True)


def test_pipes_and_dead_links_are_left_out_and_named(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "One.")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "dead.txt").symlink_to("nowhere")
    with pytest.warns(SkippedFilesWarning, match=r"in 2 of the files or rows of .*: dead\.txt, pipe\.txt"):
        assert texts(tmp_path).classes == ("a.txt",)
    for name in ("pipe.txt", "pipe.csv", "pipe.jsonl", "pipe.parquet"):
        (tmp_path / "pipe.txt").rename(tmp_path / name)
        with pytest.raises(ValueError, match=f"expected a regular file at .*{name}, got a named pipe"):
            texts(tmp_path / name)
        (tmp_path / name).rename(tmp_path / "pipe.txt")


@pytest.mark.parametrize("content", ["", "\n \n"])
@pytest.mark.parametrize("name", ["a.txt", "folder/a.txt"])
def test_nothing_but_emptiness_is_an_error(tmp_path: Path, name: str, content: str) -> None:
    file = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=r"expected sentences in .*, found none"):
        texts(file.parent if "/" in name else file)


def test_a_place_without_texts_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"found nothing at .*nowhere"):
        texts(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"\(\*\.txt\) in .*, found no files"):
        texts(tmp_path)
    write(tmp_path / "a.md", "One.")
    with pytest.raises(ValueError, match=r"found only a\.md; .*files='\*\.md'"):
        texts(tmp_path)
    assert texts(tmp_path, files="*.md").classes == ("a.md",)


def test_settings_of_another_form_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "One.")
    message = r"expected no label_column for .*, because plain text has no columns.* got label_column='title'"
    with pytest.raises(ValueError, match=message):
        texts(tmp_path, label_column="title")
    with pytest.raises(ValueError, match=r"expected no split for .*, because tables have no splits"):
        texts(table(tmp_path, "csv"), split="train")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "expected a column 'text' in .*, found none"),
        ("a.csv", "body,title\na,b\n", "'text' in .*, found body, title; name another with text_column"),
        ("a.csv", "text,title\na\n", "expected a table with a header line in"),
        ("a.csv", '"text\n' + "a\n" * 100_000, r"a header line in .*a\.csv: field larger than"),
        ("a.jsonl", '{"text": "a"}\n{"text"\n', "a JSON object in line 2 of"),
        ("a.jsonl", "[1]\n", r"a JSON object in line 1 of .*, got '\[1\]'"),
        ("a.jsonl", '{"text": "a"}\n{"title": "a"}\n', "a column 'text' in line 2 of .*, found title"),
        ("a.jsonl", '{"text": "\\ud800"}\n', "whole characters in line 1 of"),
        ("a.jsonl", '{"text":' + "[" * 200_000, "a JSON object in line 1 of .*recursion"),
        ("a.parquet", "text", "expected a parquet file at"),
    ],
)
def test_a_broken_table_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        texts(write(tmp_path / name, content))


def test_utf_16_without_its_mark_is_read_with_its_order_of_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "a"}\n'.encode("utf-16-le"))
    with pytest.raises(ValueError, match=r"utf-16, got .*a\.jsonl \(.*BOM.*encoding='utf-16-le'"):
        texts(path, encoding="utf-16")
    assert texts(path, encoding="utf-16-le").sentences == ("a",)


def test_a_documents_name_of_half_a_character_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"text": "a", "title": "\\ud800"}\n')
    with pytest.raises(ValueError, match="whole characters in line 1 of"):
        texts(path, label_column="title")


def test_a_parquet_file_damaged_inside_is_named(tmp_path: Path) -> None:
    path = table(tmp_path, "parquet")
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[4:-footer] = b"\xff" * (len(content) - 4 - footer)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"expected a whole parquet file at .*parquet"):
        texts(path)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "saved"])
def test_text_and_document_are_columns_of_their_own(tmp_path: Path, form: str) -> None:
    with pytest.raises(ValueError, match="another for its document, got 'text' for both"):
        texts(table(tmp_path, form), label_column="text")


def test_a_row_may_be_longer_than_a_block_of_the_reader(tmp_path: Path) -> None:
    long = "word " * 90_000
    lines = "\n".join([long] * 5)
    loaded = texts(write(tmp_path / "a.csv", f'text\nfirst\n"{lines}"\n'))
    assert [len(sentence) for sentence in loaded.sentences] == [5, *[len(long) - 1] * 5]


@pytest.mark.parametrize(("name", "place"), [("a.txt", r"a\.txt:2"), ("a.csv", "row 1:1")])
def test_a_sentence_as_long_as_a_book_is_refused(tmp_path: Path, name: str, place: str) -> None:
    assert len(texts(write(tmp_path / name, f"text\n{'x' * 500_000}\n")).sentences[-1]) == 500_000
    with pytest.raises(ValueError, match=rf"at most 500,000 characters, got 500,001 in {place}"):
        texts(write(tmp_path / name, f"text\n{'x' * 500_001}\n"))


def test_nothing_is_warned_of_where_all_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "One.")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(texts(tmp_path, strict=True), Texts)
