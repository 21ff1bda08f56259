"""Embeddings are read from each format, in blocks, and what cannot be read is named."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import save_file

from tammes.diagnosis import embeddings_file, formats, read_embeddings

X = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
LABELS = ["a", "b", "a", "b"]


def written(path: Path) -> Path:
    """A file of four embeddings with labels, in the format of its suffix."""
    columns = {f"x{place}": X[:, place] for place in range(3)}
    if path.name == "list.parquet":
        pq.write_table(pa.table({"embedding": list(X), "label": LABELS}), path)
    elif path.name == "fixed.parquet":
        fixed = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 3)
        pq.write_table(pa.table({"label": LABELS, "v": fixed}), path)
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"label": LABELS, **columns, "id": [1, 2, 3, 4]}), path)
    elif path.name == "lists.csv":
        lines = [
            "label,embedding",
            *(f'{n},"{json.dumps(x.tolist())}"' for n, x in zip(LABELS, X, strict=True)),
        ]
        path.write_text("\n".join(lines))
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(pa.table({"label": LABELS, **columns}), path)
    elif path.suffix == ".tsv":
        rows = ["\t".join([n, *map(str, x)]) for n, x in zip(LABELS, X, strict=True)]
        path.write_text("\n".join(["label\tp\tq\tr", *rows]))
    elif path.suffix == ".npz":
        np.savez(path, features=X, projection=X[:, :2], label=np.array(LABELS))
    else:
        save_file({"v": torch.from_numpy(X), "label": torch.tensor([0, 1, 0, 1])}, path)
    return path


NAMES = (
    "list.parquet",
    "fixed.parquet",
    "columns.parquet",
    "a.csv",
    "lists.csv",
    "a.tsv",
    "a.npz",
    "a.safetensors",
)


@pytest.mark.parametrize("name", NAMES)
def test_each_format_gives_the_same(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "ROWS", 3)
    found = read_embeddings(written(tmp_path / name), columns=["label"])
    assert found.vectors.dtype == np.float32
    assert np.array_equal(found.vectors, X)
    assert [str(each) for each in found.columns["label"]] in (LABELS, ["0", "1", "0", "1"])
    assert found.rows.tolist() == [0, 1, 2, 3]


def test_arrays_integers_and_tables_without_names(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X.astype(np.int16))
    assert np.array_equal(read_embeddings(tmp_path / "a.npy").vectors, X)
    (tmp_path / "a.csv").write_text("1,2,3\n4,5,6.5\n")
    assert read_embeddings(tmp_path / "a.csv").vectors.tolist() == [[1, 2, 3], [4, 5, 6.5]]
    chosen = read_embeddings(written(tmp_path / "b.npz"), vectors="projection")
    assert chosen.vectors.shape == (4, 2)
    assert read_embeddings(tmp_path / "b.npz").name == "features"


def test_columns_of_whole_numbers_that_are_named_for_something_else_are_no_coordinates(
    tmp_path: Path,
) -> None:
    file = tmp_path / "e.csv"
    file.write_text("d0,d1,class_id,n,d2\n0.5,1.5,3,7,1\n1.5,0.5,4,8,2\n", encoding="utf-8")
    found = read_embeddings(file)
    assert (found.name, found.vectors.tolist()) == ("d0, d1, d2", [[0.5, 1.5, 1.0], [1.5, 0.5, 2.0]])
    file.write_text("a,b,Label_Id\n0.5,1,3\n1.5,0,4\n", encoding="utf-8")
    assert read_embeddings(file).name == "a, b"
    for header in ("y_0,y_1,y_2", "x_pos,y_pos,z_pos", "class_1,class_2,class_3"):
        file.write_text(f"{header}\n0.5,1,3\n1.5,0,4\n", encoding="utf-8")
        assert read_embeddings(file).vectors.shape == (2, 3)


def test_a_word_among_numbers_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    lines = [f"{i}.5,{i % 7}.0,text {i},{i}" for i in range(9)]
    file.write_text("\n".join(["a,b,note,count", *lines]), encoding="utf-8")
    assert read_embeddings(file).name == "a, b, count"
    file.write_text("\n".join(["a,b,note,count", *lines, "1.0,oops,text,1"]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"expected numbers in the column b of .*, as in a, got 'oops'"):
        read_embeddings(file)


def test_a_named_column_of_numbers_is_no_coordinate(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"x": X[:, 0], "y2": X[:, 1], "kind": [0.0, 1.0, 0.0, 1.0]}), tmp_path / "a.parquet"
    )
    found = read_embeddings(tmp_path / "a.parquet", columns=["kind"])
    assert found.vectors.shape == (4, 2)


@pytest.mark.parametrize("name", ["a.csv", "columns.parquet"])
def test_a_column_may_be_named_twice(name: str, tmp_path: Path) -> None:
    found = read_embeddings(written(tmp_path / name), columns=["label", "label"])
    assert found.columns["label"].tolist() == LABELS


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_the_index_of_a_frame_is_no_coordinate(name: str, tmp_path: Path) -> None:
    frame = pa.table({name: [7, 8, 9, 10], **{f"x{place}": X[:, place] for place in range(3)}})
    pyarrow.csv.write_csv(frame, tmp_path / "a.csv")
    pq.write_table(frame, tmp_path / "a.parquet")
    for file in ("a.csv", "a.parquet"):
        assert np.array_equal(read_embeddings(tmp_path / file).vectors, X)


def test_a_run_has_its_embeddings_in_its_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="write them first, tammes embed"):
        read_embeddings(tmp_path)
    written(tmp_path / "embeddings.npz")
    assert len(read_embeddings(tmp_path).vectors) == 4


def test_embeddings_larger_than_memory_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings_file, "IN_MEMORY", 10)
    found = read_embeddings(written(tmp_path / "list.parquet"))
    assert isinstance(found.vectors, np.memmap)
    assert np.array_equal(found.vectors, X)


def test_missing_lists_and_values_are_rows_to_drop(tmp_path: Path) -> None:
    rows = [[1.0, 2.0], None, [float("nan"), 1.0], [0.0, 0.0], [3.0, None], [5.0, 6.0]]
    pq.write_table(pa.table({"v": rows, "label": list("abcabc")}), tmp_path / "a.parquet")
    message = (
        r"3 of 6 rows of .* have NaN or infinity \(rows 1, 2, 4\) and 1 has length zero \(row 3\); leave"
    )
    with pytest.raises(ValueError, match=message):
        read_embeddings(tmp_path / "a.parquet")
    found = read_embeddings(tmp_path / "a.parquet", columns=["label"], drop=True)
    assert found.rows.tolist() == [0, 5]
    assert found.columns["label"].tolist() == ["a", "c"]
    assert found.dropped == 4


def test_what_is_no_matrix_names_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"name": ["x"], "label": [1]}), path)
    with pytest.raises(ValueError, match=r"it has name \(string\), label \(int64\)"):
        read_embeddings(path)
    pq.write_table(pa.table({"one": [[1.0]], "two": [[2.0]], "label": ["a"]}), path)
    with pytest.raises(ValueError, match="several matrices: name one of them, such as vectors='one'"):
        read_embeddings(path)
    with pytest.raises(ValueError, match=r"matrix three in .*, which has one, two; other columns are label"):
        read_embeddings(path, vectors="three")
    with pytest.raises(ValueError, match=r"expected a column y in .*, which has label beside"):
        read_embeddings(path, vectors="one", columns=["y"])
    np.savez(tmp_path / "a.npz", y=np.ones(3))
    with pytest.raises(ValueError, match=r"it has y float64 \(3,\)"):
        read_embeddings(tmp_path / "a.npz")


def test_two_columns_of_a_name_are_refused(tmp_path: Path) -> None:
    columns = [pa.array(LABELS), pa.array(list(X)), pa.array(LABELS)]
    pq.write_table(pa.table(columns, names=["label", "x", "label"]), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"expected one column 'label' in .*a\.parquet, found 2"):
        read_embeddings(tmp_path / "a.parquet", columns=["label"])
    (tmp_path / "a.csv").write_text("a,b,,\n1.5,2,,\n")  # a sheet with empty columns at its end
    assert read_embeddings(tmp_path / "a.csv").vectors.tolist() == [[1.5, 2]]


def test_a_word_among_numbers_is_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("d0,d1,d2,label1\n1.5,2,3,a\n1,foo,3,b\n")
    with pytest.raises(ValueError, match=r"numbers in the column d1 of .*a\.csv, as in d0, got 'foo'"):
        read_embeddings(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("d0,d1,d2,label1\n1.5,2,3,a\n1,2.5,3,b\n")
    assert read_embeddings(tmp_path / "a.csv", columns=["label1"]).vectors.shape == (2, 3)


def test_an_array_of_another_length_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", features=X, label=np.arange(2))
    with pytest.raises(ValueError, match=r"has no columns .* and of another length label int64 \(2,\)"):
        read_embeddings(tmp_path / "a.npz", columns=["label"])


def test_rows_of_different_length_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": [[1.0, 2.0], [1.0]]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="the first has 2 numbers, that of row 1 has 1"):
        read_embeddings(tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text('v\n"[1, 2]"\n"[1]"\n')
    with pytest.raises(ValueError, match="the first has 2 numbers, another 1"):
        read_embeddings(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("a,b\n1.5,2\n3\n")
    with pytest.raises(ValueError, match="a value in each column"):
        read_embeddings(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"PAR1", "a parquet file"),
        ("a.npz", b"junk", "NumPy arrays"),
        ("a.npy", b"", "NumPy arrays"),
        ("a.safetensors", b"junk junk junk", "a safetensors file"),
        ("a.csv", b"", "expected"),
        ("a.csv", b"\xff\xfe\x00", "UTF-8"),
        ("a.csv", b"a,b\n", "no|none"),
        ("a.csv", b"a,b,a\n1.5,2,3\n", "expected one column 'a' in .*, found 2: give each another name"),
        ("a.csv", b'v\n"[1, x]"\n', "lists of numbers"),
        ("a.csv", b'v\n"[[1, 2]]"\n', r"lists of numbers such as .*, got '\[\[1, 2\]\]'"),
        ("a.txt", b"1", "expected embeddings in .parquet"),
    ],
)
def test_damaged_files_are_refused(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_embeddings(tmp_path / name)


def test_empty_tables_and_missing_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.empty((0, 3)))
    with pytest.raises(ValueError, match="which has none"):
        read_embeddings(tmp_path / "a.npy")
    np.save(tmp_path / "c.npy", np.empty((3, 0)))
    save_file({"c": torch.empty(3, 0)}, tmp_path / "c.safetensors")
    for name in ("c.npy", "c.safetensors"):
        with pytest.raises(ValueError, match=r"expected a numeric matrix in .*; it has c .*\(3, 0\)"):
            read_embeddings(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_embeddings(tmp_path / "b.npy")
    pq.write_table(pa.table({"v": pa.array([None, []], pa.list_(pa.float32()))}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="empty lists or none"):
        read_embeddings(tmp_path / "a.parquet")
