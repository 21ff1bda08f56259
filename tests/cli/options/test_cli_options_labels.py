"""Labels from files as people have them."""

from pathlib import Path

import pytest

from tammes.cli.options.labels import read_labels


@pytest.mark.parametrize(
    ("name", "content", "column", "labels"),
    [
        ("a.csv", "label\na\nb\na\n", None, ["a", "b", "a"]),
        ("a.csv", "name,label\n1,a\n2,b", None, ["a", "b"]),
        ("a.csv", "name, label\r\n1, a \r\n\r\n2,b\r\n", None, ["a", "b"]),
        ("a.csv", "\ufeffname,label\n1,a\n", None, ["a"]),
        ("a.csv", 'label,text\n"a, b","two\nlines"\nc,d\n', None, ["a, b", "c"]),
        ("a.csv", "text,label\none\u2028line\x85,a\rtwo,b\n", None, ["a", "b"]),
        ("a.csv", "class,label\nx,a\n", "class", ["x"]),
        ("a.csv", "class\nx\ny\n", "class", ["x", "y"]),
        ("a.tsv", "name\tlabel\n1,5\ta\n", None, ["a"]),
        ("a.TSV", "name\tlabel\n1,5\ta\n", None, ["a"]),
        ("a.txt", "a\nb\na\n", None, ["a", "b", "a"]),
        ("a.txt", "3\n3\n\n1\n", None, ["3", "3", "1"]),
        ("a.txt", "日本\nå\n", None, ["日本", "å"]),
    ],
)
def test_labels_are_read(
    name: str, content: str, column: str | None, labels: list[str], tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_bytes(content.encode())
    assert read_labels(file, column=column) == labels


@pytest.mark.parametrize(
    ("content", "column", "message"),
    [
        (b"", None, "is empty"),
        (b"\n \n", None, "is empty"),
        (b"name,label\n", None, "has a column label, but no rows below it"),
        (b"name,class\n1,a\n", None, "has no column label; its first line has name, class: name one with"),
        (b"name,class\n1,a\n", "klass", "has no column klass"),
        (b"a\nb\n", "class", "has no column class; its first line has a"),
        (b"a,b,c,d,e,f,g\n", None, "its first line has a, b, c, d, e and more: name one"),
        (b"name,label,label\n1,a,b\n", None, "has 2 columns label: give each another name"),
        (b"label;name\na;x\na;x\n", None, "has no commas between its columns"),
        (b"name\tclass\na\tx\na\tx\n", "class", "has no commas between its columns"),
        (b"name,label\n1,a\n2,\n", None, "line 3: there is no label"),
        (b"name,label\n1,a\n\n2\n", None, "line 4: there is no label"),
        (b"label\na\nb\xff\n", None, "line 3: the byte 0xff is not UTF-8"),
        (b"label\n" + b"a" * 200_000 + b"\n", None, "line 2: not a row of a CSV file"),
    ],
)
def test_what_is_no_file_of_labels_is_named_with_its_line(
    content: bytes, column: str | None, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "labels.csv"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_labels(file, column=column)


def test_a_folder_and_a_missing_file_are_the_systems_to_refuse(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        read_labels(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_labels(tmp_path / "nowhere.csv")
