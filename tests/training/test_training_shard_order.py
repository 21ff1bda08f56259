"""Data in shards: the order of an epoch, its parts for several processes, and runs that stop and resume."""

from __future__ import annotations

import io
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from killed import Killed, assert_same_run, steps
from tammes.data import SkippedFilesWarning, shards
from tammes.data.stream_files import stream_of_files
from tammes.positives import Active, Photographs, SameClass
from tammes.training import ImagesSummary, Machine, Run, RunFolder, TrainingConfig, train
from tammes.training.config import RunConfig
from tammes.training.config_file import from_yaml, to_yaml
from tammes.training.pairing import Pairing
from tammes.training.same_run import check_same
from tammes.training.sampler import PairSampler, Shard
from tammes.training.shard_order import ShardOrder
from tiny import make_config, picture_bytes, write_parquet, write_shards

NO_LABELS = torch.zeros(36, dtype=torch.int64)
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=8).map(tuple)


@given(sizes=SIZES, buffer=st.integers(1, 20), epoch=st.integers(0, 5), processes=st.integers(1, 4))
def test_every_row_comes_once_and_every_shard_to_one_process(
    sizes: tuple[int, ...], buffer: int, epoch: int, processes: int
) -> None:
    assume(processes <= len(sizes))
    orders = [
        ShardOrder(shards=sizes, buffer=buffer, seed=1, rank=rank, processes=processes)
        for rank in range(processes)
    ]
    rows = [order.epoch(epoch) for order in orders]
    assert sorted(torch.cat(rows).tolist()) == list(range(sum(sizes)))
    owners = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    dealt = [set(owners[each].tolist()) for each in rows]
    assert sum(map(len, dealt)) == len(sizes)
    assert all(len(each) >= orders[0].fewest for each in rows)
    assert all(torch.equal(order.epoch(epoch), each) for order, each in zip(orders, rows, strict=True))


@given(buffer=st.integers(1, 40), epoch=st.integers(0, 5))
def test_no_row_is_further_from_its_shard_than_the_buffer(buffer: int, epoch: int) -> None:
    """With one row a buffer, shards are read from begin to end; a larger one moves rows within its blocks."""
    order = ShardOrder(shards=(10,) * 6, buffer=buffer, seed=0)
    plain = ShardOrder(shards=(10,) * 6, buffer=1, seed=0).epoch(epoch)
    place = {row: at for at, row in enumerate(plain.tolist())}
    for at, row in enumerate(order.epoch(epoch).tolist()):
        assert at // buffer == place[row] // buffer
    assert plain.view(6, 10).sub(plain.view(6, 10)[:, :1]).tolist() == [list(range(10))] * 6


def test_epochs_and_seeds_have_other_orders() -> None:
    order = ShardOrder(shards=(10,) * 6, buffer=16, seed=0)
    first, second = order.epoch(0), order.epoch(1)
    assert not torch.equal(first, second)
    assert not torch.equal(first, replace(order, seed=1).epoch(0))


def test_a_buffer_as_large_as_the_data_mixes_all_of_it() -> None:
    order = ShardOrder(shards=(50,) * 20, buffer=1000, seed=0).epoch(0)
    correlation = torch.corrcoef(torch.stack([order.double(), torch.arange(1000.0, dtype=torch.float64)]))
    assert abs(float(correlation[0, 1])) < 0.15


def test_each_process_needs_a_shard() -> None:
    with pytest.raises(
        ValueError, match="there are 3 processes and 2 shards: start at most 2, or write more"
    ):
        ShardOrder(shards=(5, 5), buffer=1, seed=0, rank=0, processes=3)


@given(step=st.integers(0, 30), processes=st.integers(1, 3))
def test_a_later_start_sees_what_is_left(step: int, processes: int) -> None:
    for rank in range(processes):
        shard = Shard(batch_size=6, rank=rank, processes=processes)
        pairing = Pairing(positives=make_config().positives, labels=NO_LABELS, seed=0, sharded=Sharded())
        whole = PairSampler(pairing, shard)
        assert len(whole) == {1: 6, 2: 5, 3: 5}[processes]
        epoch, batches = divmod(step, len(whole))
        whole.set_epoch(epoch)
        rest = PairSampler(pairing, shard, first_step=step)
        rest.set_epoch(epoch)
        assert list(rest) == list(whole)[batches:]
        assert all(len(batch) == shard.size for batch in whole)
        assert all(anchor == positive for batch in whole for anchor, positive in batch)


class Sharded:
    """Shards of 36 rows of which nothing is read."""

    channels, size, buffer = 3, 8, 7
    shards = (7, 5, 5, 7, 6, 6)

    def __len__(self) -> int:
        return 36

    def __getitem__(self, row: int) -> Tensor:
        raise AssertionError

    def take(self, rows: object) -> Sharded:
        raise AssertionError


def test_a_batch_that_a_process_may_not_fill_is_refused() -> None:
    pairing = Pairing(positives=make_config().positives, labels=NO_LABELS, seed=0, sharded=Sharded())
    said = (
        "takes 17 images of each batch, but may have only 16 in its shards: choose a smaller batch, or start"
    )
    with pytest.raises(ValueError, match=said):
        PairSampler(pairing, Shard(batch_size=34, rank=0, processes=2))


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    return write_shards(tmp_path / "pets", 4, 6, 5, 7)


def config() -> TrainingConfig:
    return replace(make_config(), augmentation=Photographs())


def train_in(
    folder: Path, pets: Path, settings: TrainingConfig | None = None, *, buffer: int = 5, **how: object
) -> Run:
    run_folder = RunFolder(path=folder, checkpoint_every=1, **how)  # type: ignore[arg-type]
    images = shards(pets, size=8, buffer=buffer)
    return train(settings or config(), images, folder=run_folder, machine=Machine(accelerator="cpu"))


@pytest.mark.equal_bits
@pytest.mark.parametrize("step", [1, 3, 5, 8, 12])
def test_killed_anywhere_it_resumes_at_the_next_image(tmp_path: Path, pets: Path, step: int) -> None:
    with steps() as whole:
        train_in(tmp_path / "whole", pets)
    with pytest.raises(Killed), steps(killed_at=step) as first:
        train_in(tmp_path / "run", pets)
    with steps() as rest:
        train_in(tmp_path / "run", pets, resume=True)
    assert first + rest == whole
    assert len(whole) == 15
    assert_same_run(tmp_path / "run", tmp_path / "whole")


@pytest.mark.equal_bits
def test_a_stream_is_the_same_run_as_the_archives_and_resumes(tmp_path: Path, pets: Path) -> None:
    pytest.importorskip("datasets")
    files = write_parquet(tmp_path / "files", 4, 6, 5, 7)
    whole = train_in(tmp_path / "whole", pets).model.state_dict()

    def train_on_stream(resume: bool, workers: int) -> Run:
        images = stream_of_files(f"hf:{files}", size=8, buffer=5)
        folder = RunFolder(path=tmp_path / "run", checkpoint_every=1, resume=resume)
        return train(config(), images, folder=folder, machine=Machine(accelerator="cpu", workers=workers))

    with pytest.raises(Killed), steps(killed_at=8):
        train_on_stream(resume=False, workers=0)
    found = train_on_stream(resume=True, workers=2).model.state_dict()
    assert all(torch.equal(found[name], value) for name, value in whole.items())
    add_row(files / "pets-3.parquet")
    with pytest.raises(ValueError, match=r"data\.count was 22, now 23; data\.shards\.digest was"):
        train_on_stream(resume=True, workers=0)


@pytest.mark.parametrize("kind", ["tar", "parquet"])
def test_other_images_of_the_same_names_and_labels_are_not_resumed(tmp_path: Path, kind: str) -> None:
    if kind == "parquet":
        pytest.importorskip("datasets")
    data = (write_shards if kind == "tar" else write_parquet)(tmp_path / "data", 4, 6)

    def train_on_it(resume: bool) -> Run:
        images = shards(data, size=8) if kind == "tar" else stream_of_files(f"hf:{data}", size=8)
        folder = RunFolder(path=tmp_path / "run", checkpoint_every=1, resume=resume)
        settings = replace(config(), epochs=1)
        return train(settings, images, folder=folder, machine=Machine(accelerator="cpu"))

    train_on_it(resume=False)
    file = data / f"pets-0.{kind}"
    kept = file.read_bytes()
    order = [2, 1, 0, 3]  # of two images of one class
    if kind == "tar":
        write_tar(file, [picture_bytes(number) for number in order])
    else:
        pq.write_table(pq.read_table(file).take(pa.array(order)), file)
    with pytest.raises(ValueError, match=r"data\.shards\.content was .* put back the shards"):
        train_on_it(resume=True)
    file.write_bytes(kept)
    train_on_it(resume=True)


def write_tar(file: Path, pictures: list[bytes]) -> None:
    """Write images with the names and labels that `write_shards` gives."""
    with tarfile.open(file) as archive:
        names = [member.name for member in archive.getmembers()]
        contents = [archive.extractfile(name).read() for name in names]  # type: ignore[union-attr]
    contents[::2] = pictures
    with tarfile.open(file, "w") as archive:
        for name, content in zip(names, contents, strict=True):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_a_run_of_an_older_version_resumes_without_a_checksum_of_the_content(
    tmp_path: Path, pets: Path
) -> None:
    short = replace(config(), epochs=1)
    train_in(tmp_path / "run", pets, short)
    file = tmp_path / "run/config.yaml"
    new = from_yaml(RunConfig, file.read_text())
    assert isinstance(new.data, ImagesSummary)
    assert new.data.shards is not None
    assert new.data.shards.content
    old = replace(new, data=replace(new.data, shards=replace(new.data.shards, content="")))
    check_same(old, new, "a run")
    with pytest.raises(ValueError, match=r"data\.shards\.content was '[0-9a-f]+', now ''"):
        check_same(new, old, "a run")


def add_row(file: Path) -> None:
    table = pq.read_table(file)
    pq.write_table(pa.concat_tables([table, table[:1]]), file)


def test_no_image_comes_twice_in_an_epoch(tmp_path: Path, pets: Path) -> None:
    with steps() as seen:
        train_in(tmp_path / "run", pets)
    for epoch in (0, 5, 10):
        rows = [row for batch in seen[epoch : epoch + 5] for row in batch]
        assert len(rows) == len(set(rows)) == 20


def add_image(file: Path) -> None:
    with tarfile.open(file, "a") as archive:
        for name, content in (("9999.png", picture_bytes(0)), ("9999.cls", b"1")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_shards_that_changed_are_said_when_a_run_resumes(tmp_path: Path, pets: Path) -> None:
    train_in(tmp_path / "run", pets, replace(config(), epochs=1))
    kept = tmp_path / "kept"
    shutil.copytree(pets, kept)
    add_image(pets / "pets-1.tar")
    hint = "put back the shards that the run was started with, all of them whole, or start a new run"
    with pytest.raises(
        ValueError, match=f"data.count was 22, now 23; data.shards.digest was .* Instead, {hint}"
    ):
        train_in(tmp_path / "run", pets, replace(config(), epochs=1), resume=True)
    (pets / "pets-2.tar").write_bytes((kept / "pets-2.tar").read_bytes()[:900])
    shutil.copy(kept / "pets-1.tar", pets / "pets-1.tar")
    with (
        pytest.warns(SkippedFilesWarning, match=r"1 of 4 shards in .*: pets-2\.tar \(with"),
        pytest.raises(
            ValueError, match=f"data.count was 22, now 17; data.shards.count was 4, now 3; .*{hint}"
        ),
    ):
        train_in(tmp_path / "run", pets, replace(config(), epochs=1), resume=True)


def test_a_shard_that_ends_early_in_the_training_is_named(tmp_path: Path, pets: Path) -> None:
    content = (pets / "pets-3.tar").read_bytes()
    images = shards(pets, size=8, buffer=5)
    (pets / "pets-3.tar").write_bytes(content[:2000])
    folder = RunFolder(path=tmp_path / "run", checkpoint_every=1)
    said = r"pets-3\.tar ends before pets-3\.tar:\d+, .*: put the whole archive back, and resume"
    with pytest.raises(ValueError, match=said):
        train(config(), images, folder=folder, machine=Machine(accelerator="cpu"))
    (pets / "pets-3.tar").write_bytes(content)
    resumed = replace(folder, resume=folder.has_checkpoint)
    whole = train(config(), images, folder=resumed, machine=Machine(accelerator="cpu"))
    again = train_in(tmp_path / "whole", pets)
    assert torch.equal(
        whole.model.encoder(torch.ones(1, 3, 8, 8)), again.model.encoder(torch.ones(1, 3, 8, 8))
    )


def test_another_buffer_is_another_run(tmp_path: Path, pets: Path) -> None:
    train_in(tmp_path / "run", pets, replace(config(), epochs=1))
    with pytest.raises(ValueError, match=r"data\.shards\.buffer was 5, now 6"):
        train_in(tmp_path / "run", pets, replace(config(), epochs=1), buffer=6, resume=True)


@pytest.mark.parametrize("positives", [SameClass(), Active(candidates=2)])
def test_positives_from_anywhere_need_a_cache(
    tmp_path: Path, pets: Path, positives: SameClass | Active
) -> None:
    settings = replace(config(), positives=positives)
    said = (
        "reads images from anywhere, but these are read shard by shard: decode them into a cache, or choose"
    )
    with pytest.raises(ValueError, match=said):
        train(settings, shards(pets, size=8), machine=Machine(accelerator="cpu"))
    kept = shards(pets, size=8, cache=tmp_path / "cache")
    train(replace(settings, epochs=1), kept, machine=Machine(accelerator="cpu"))


def test_one_candidate_chooses_nothing(pets: Path) -> None:
    images = shards(pets, size=8)
    assert Pairing.of(images, Active(candidates=1), seed=0).sharded is images.pixels


def test_the_configuration_describes_the_shards(tmp_path: Path, pets: Path) -> None:
    run = train_in(tmp_path / "run", pets, replace(config(), epochs=1))
    assert from_yaml(RunConfig, to_yaml(run.config)) == run.config
    text = (tmp_path / "run/config.yaml").read_text()
    assert "kind: ShardsSummary\n    count: 4\n    buffer: 5\n" in text


def test_a_run_of_an_older_version_has_no_shards() -> None:
    text = "{kind: ImagesSummary, source: here, count: 3, channels: 1, size: 8}"
    assert from_yaml(ImagesSummary, text).shards is None
