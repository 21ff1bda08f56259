"""The page of a diagnosis is self-contained, small, and shows text of the data as text."""

import json
import re

import numpy as np
import pytest
import torch

import tammes
from tammes.report.diagnosis import diagnosis_page, write_diagnosis

N = 240


def found(classes: int = 3, **more: object) -> tammes.Diagnosis:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(N, 6, generator=generator)
    x[9] = x[4]
    diagnosis = tammes.diagnose(x, labels=np.arange(N) % classes, against=x.flip(1), **more)  # type: ignore[arg-type]
    names = np.array([f"</script><b>row {row}" for row in range(N)])
    return tammes.Diagnosis(
        measures=diagnosis.measures,
        rows={"name": names, **diagnosis.rows},
        advice=diagnosis.advice,
        drawn=diagnosis.drawn,
        about={"file": "a & b.npy"},
    )


def test_the_page_says_the_verdict_first_and_needs_no_network() -> None:
    page = diagnosis_page(found())
    assert page.index("1 fault found.") < page.index("What to try next") < page.index("Measures")
    assert "Diagnosis of a &amp; b.npy" in page
    assert "Exact duplicates: 2 of 240 rows have an equal row." in page
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)
    assert len(page) < 5_000_000


def test_text_of_the_data_cannot_end_the_script() -> None:
    page = diagnosis_page(found())
    assert page.count("</script>") == 2
    text = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert text is not None
    data = json.loads(text[1])
    assert len(data["rows"]) == len(data["places"]) == N
    assert data["rows"][4] == {
        "row": 4,
        "text": "</script><b>row 4",
        "label": "1",
        "flags": ["exact_duplicate"],
    }
    assert data["pairs"][0]["ratio"] == 0
    assert {data["pairs"][0]["a"]["row"], data["pairs"][0]["b"]["row"]} == {4, 9}


def test_many_classes_are_listed_and_few_drawn() -> None:
    assert 'id="confusion-' in diagnosis_page(found())
    many = diagnosis_page(found(classes=40))
    assert 'id="confusion-' not in many
    assert "Most confused by nearest neighbors" in many
    assert "Rows whose neighbors changed most" in many


def test_a_diagnosis_without_faults_says_so() -> None:
    page = diagnosis_page(tammes.diagnose(torch.randn(60, 1)))
    assert "No fault found." in page
    assert "Confusion of classes" not in page


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    diagnosis = tammes.diagnose(torch.randn(60, 4))
    (tmp_path / "taken").write_text("")
    with pytest.raises(ValueError, match="expected a folder for the diagnosis"):
        write_diagnosis(diagnosis, tmp_path / "taken")
    diagnosis.write(tmp_path / "new" / "folder")
    assert {file.name for file in (tmp_path / "new" / "folder").iterdir()} == {
        "report.html",
        "rows.parquet",
        "summary.json",
    }
