"""Small pictures of rows: in order, within their room, and without those that are missing."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import tammes
from tammes.report.diagnosis import diagnosis_page
from tammes.report.thumbnails import thumbnails

N = 120


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    noise = np.random.default_rng(0).integers(0, 256, (N, 60, 80, 3)).astype(np.uint8)
    for row in range(N):
        Image.fromarray(noise[row]).save(tmp_path / f"{row}.png")
    return tmp_path


def test_pictures_stop_where_the_room_ends(photographs: Path) -> None:
    names = {row: f"{row}.png" for row in range(N)}
    some = thumbnails(photographs, names, room=20_000)
    assert list(some.found) == list(range(len(some.found)))
    assert 0 < len(some.found) < N
    assert len(some.found) + some.left_out == N
    assert "left out, for the size of the page" in some.words


def test_missing_and_damaged_files_are_counted_and_named(photographs: Path) -> None:
    (photographs / "3.png").write_bytes(b"no image")
    (photographs / "4.png").write_bytes((photographs / "5.png").read_bytes()[:200])
    found = thumbnails(photographs, {3: "3.png", 4: "4.png", 5: "5.png", 6: "nowhere.png"})
    assert list(found.found) == [5]
    assert found.missing == ("3.png", "4.png", "nowhere.png")
    assert "3 files are missing or no images (3.png, 4.png, nowhere.png)" in found.words


def test_a_folder_with_none_of_the_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the images of the rows in .*, such as a\.png, found none"):
        thumbnails(tmp_path, {0: "a.png"})


def test_the_page_shows_a_picture_of_each_row_and_stays_small(photographs: Path) -> None:
    x = torch.randn(N, 6, generator=torch.Generator().manual_seed(0))
    x[9] = x[4]
    found = tammes.diagnose(x, names=[f"{row}.png" for row in range(N)])
    page = diagnosis_page(found, images=photographs)
    assert page.count('"UklGR') == N
    assert len(page) < 5_000_000
    assert "120 of the rows shown" in page
    assert '"UklGR' not in diagnosis_page(found)


def test_the_pictures_of_a_large_page_stay_within_five_megabytes(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3)).astype(np.uint8)
    Image.fromarray(noise).save(tmp_path / "a.png")
    x = torch.randn(3_000, 4, generator=torch.Generator().manual_seed(0))
    labels = np.array(["a long name of a class " * 4, "another"])[np.arange(3_000) % 2]
    found = tammes.diagnose(x, names=["./" * 80 + "a.png"] * 3_000, labels=labels)
    page = diagnosis_page(found, images=tmp_path)
    assert 3_000_000 < len(page.encode()) < 5_000_000


def test_rows_without_names_have_no_pictures(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give the paths as names="):
        diagnosis_page(tammes.diagnose(torch.randn(60, 4)), images=tmp_path)
