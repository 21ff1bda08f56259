import os
from pathlib import Path

import pytest

from tammes.data.listing import files_below


def test_folders_that_all_link_to_each_other_are_listed_once(tmp_path: Path) -> None:
    names = [f"{number:02}" for number in range(25)]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        for other in names:
            (tmp_path / name / f"to {other}").symlink_to(tmp_path / other)
    files, unusable = files_below(tmp_path)
    assert len(files) == 25
    assert files[:2] == ["00/file", "00/to 01/file"]  # the first of the paths, folder by folder
    assert "01" in unusable
    assert len(set(unusable)) == len(unusable)


def test_a_chain_of_folders_and_links_is_walked_to_the_end_of_what_can_be_opened(tmp_path: Path) -> None:
    place = tmp_path
    for _ in range(950):
        place = place / "d"
        place.mkdir()  # level by level: parents=True calls itself for each of them
    (place / "file").touch()
    (place / "to the top").symlink_to(tmp_path)
    assert files_below(tmp_path) == (["d/" * 950 + "file"], [])


def test_links_beyond_what_the_system_follows_are_unusable(tmp_path: Path) -> None:
    for number in range(60):  # Linux follows 40 links in a path
        (tmp_path / "all" / f"{number:02}").mkdir(parents=True)
        (tmp_path / "all" / f"{number:02}" / "next").symlink_to(tmp_path / "all" / f"{number + 1:02}")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "start").symlink_to(tmp_path / "all" / "00")
    files, unusable = files_below(tmp_path / "root")
    assert files == []
    assert len(unusable) == 1
    assert unusable[0].startswith("start/next/next")


def test_a_folder_with_two_paths_is_listed_under_the_first(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "file").touch()
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "c").symlink_to("b")
    (tmp_path / "d").symlink_to("d")
    (tmp_path / "e").symlink_to("nowhere")
    assert files_below(tmp_path) == (["a/file"], ["b", "c", "d", "e"])


def test_a_link_to_a_file_is_a_file_each_time(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").symlink_to("a")
    assert files_below(tmp_path) == (["a", "b"], [])


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read any folder")
def test_a_folder_that_may_not_be_read_is_unusable(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o000)
    assert files_below(tmp_path) == ([], ["closed"])


def test_the_folder_itself_must_be_readable(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files_below(tmp_path / "nowhere")
