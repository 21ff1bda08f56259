from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tammes.cli import loading
from tammes.cli.holding_out import hold_out
from tammes.cli.images import load_parts, mirrors, size_and_channels
from tammes.cli.loading import are_texts, load, load_split
from tammes.cli.options.data import Source, Split
from tammes.cli.options.texts import TextFormat
from tammes.data import Images, Texts
from tammes.data.image_cache import MappedPixels
from tammes.data.images import ShardedPixels
from tiny import random_images, write_images, write_shards


def test_the_digits_have_their_own_split() -> None:
    train, test = load_split(Split(data="digits"), (8, 1))
    assert (len(train), len(test or ())) == (1437, 360)
    assert sum(len(part) for part in load(Source(data="digits"), (8, 1))) == 1797


def test_glyphs_have_a_number_of_characters() -> None:
    train, test = load_split(Split(data="glyphs:20"), size_and_channels("glyphs:20", None, None))
    assert (len(train), len(test or ())) == (3200, 1600)
    assert train.classes is not None
    assert len(train.classes) == 20
    assert size_and_channels("glyphs", None, None) == (12, 1)
    assert not mirrors("glyphs")
    assert not are_texts(Source(data="glyphs"))
    with pytest.raises(ValueError, match="the glyphs are 12x12 pixels and gray"):
        load_split(Split(data="glyphs"), (8, 1))


@pytest.mark.parametrize("data", ["glyphs:", "glyphs:1", "glyphs:many", "glyphs:20000", "glyphs:-5"])
def test_a_number_of_glyphs_out_of_range_is_refused(data: str) -> None:
    with pytest.raises(ValueError, match=f"from 2 to 10,000, got {data}"):
        are_texts(Source(data=data))


def test_trifeature_is_drawn_in_the_size_that_is_asked_for() -> None:
    assert size_and_channels("trifeature", None, None) == (32, 3)
    assert mirrors("trifeature")
    train, test = load_split(Split(data="trifeature:1", feature="color"), (16, 3))
    assert isinstance(train, Images)
    assert (len(train), len(test or ()), train.size) == (1000, 1000, 16)
    assert train.classes is not None
    assert "red" in train.classes
    with pytest.raises(ValueError, match="have the features shape, texture, color, got 'hue'"):
        load_split(Split(data="trifeature:1", feature="hue"), (16, 3))
    with pytest.raises(ValueError, match=r"trifeature:N expected a number of drawings .* got trifeature:0"):
        load_split(Split(data="trifeature:0"), (16, 3))


def test_digits_over_photographs_have_two_features(tmp_path: Path) -> None:
    write_mnist(tmp_path / "mnist")
    write_cifar10(tmp_path / "cifar")
    data = f"digits-over:{tmp_path}"
    assert not are_texts(Source(data=data))
    assert not mirrors(data)
    assert size_and_channels(data, None, None) == (32, 3)
    images = load_parts(data, 32, 3)[0]
    assert list(images.by_feature) == ["object", "digit"]
    with pytest.raises(ValueError, match=r"the images of digits-over:.* are 32x32 pixels and in color"):
        load_parts(data, 64, 3)
    with pytest.raises(ValueError, match="expected a folder that holds MNIST and photographs"):
        are_texts(Source(data=f"digits-over:{tmp_path / 'nowhere'}"))


def test_a_feature_is_for_images_that_have_several() -> None:
    with pytest.raises(ValueError, match="images with several labels for the feature 'color'"):
        load_split(Split(data="digits", feature="color"), (8, 1))


def test_a_feature_of_texts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a b c\nb c d\n")
    with pytest.raises(ValueError, match="--feature is for images with several labels"):
        load_split(Split(data=str(tmp_path), feature="color"), None)


def test_a_labeled_folder_is_split_class_by_class(tmp_path: Path) -> None:
    write_images(tmp_path, "cat", "dog", "owl", count=10)
    train, test = load_split(Split(data=str(tmp_path), held_out=0.2), (8, 3))
    assert test is not None
    assert sorted(train.names + test.names) == sorted(
        f"{name}/{i}.png" for name in ("cat", "dog", "owl") for i in range(10)
    )
    assert test.labels is not None
    assert test.labels.bincount().tolist() == [2, 2, 2]


def test_the_same_images_are_held_out_every_time() -> None:
    images = random_images(40)
    assert hold_out(images, 0.25)[1].names == hold_out(images, 0.25)[1].names


def test_a_class_of_one_is_trained_on() -> None:
    images = random_images(9)
    labels = images.labels
    assert labels is not None
    alone = replace(images, labels=labels.index_fill(0, labels.new_tensor([8]), 2), classes=("a", "b", "c"))
    train, test = hold_out(alone, 0.25)
    assert train.labels is not None
    assert 2 in train.labels.tolist()
    assert test.labels is not None
    assert set(test.labels.tolist()) == {0, 1}


def test_without_labels_or_wish_nothing_is_held_out(tmp_path: Path) -> None:
    write_images(tmp_path / "labeled", "cat", "dog")
    write_images(tmp_path / "flat", ".", count=4)
    assert load_split(Split(data=str(tmp_path / "labeled"), held_out=0), (8, 3))[1] is None
    assert load_split(Split(data=str(tmp_path / "flat")), (8, 3))[1] is None


def test_a_folder_of_test_images_is_used_as_it_is(tmp_path: Path) -> None:
    write_images(tmp_path / "train", "cat", "dog")
    write_images(tmp_path / "test", "cat", "dog", count=3)
    split = Split(data=str(tmp_path / "train"), test=tmp_path / "test")
    train, test = load_split(split, (8, 3))
    assert (len(train), len(test or ())) == (12, 6)


def test_what_cannot_be_split_is_refused(tmp_path: Path) -> None:
    write_images(tmp_path / "train", "cat", "dog", count=1)
    write_images(tmp_path / "other", "cat", "owl")
    write_images(tmp_path / "one", "cat")
    train = str(tmp_path / "train")
    with pytest.raises(ValueError, match="too few images to hold some out of each class"):
        load_split(Split(data=train), (8, 3))
    with pytest.raises(ValueError, match="these differ: dog, owl"):
        load_split(Split(data=train, test=tmp_path / "other"), (8, 3))
    with pytest.raises(ValueError, match="at least two classes"):
        load_split(Split(data=str(tmp_path / "one")), (8, 3))
    each = Texts(
        sentences=("a b", "c d", "e f"), names=("1", "2", "3"), labels=torch.arange(3), classes=tuple("abc")
    )
    with pytest.raises(ValueError, match="name the column of documents or classes with --label-column"):
        hold_out(each, 0.1)
    with pytest.raises(ValueError, match=r"--held-out must be a finite number .* got 1\.5"):
        load_split(Split(data=str(tmp_path / "other"), held_out=1.5), (8, 3))
    with pytest.raises(ValueError, match="digits has its own test images"):
        load_split(Split(data="digits", test=tmp_path), (8, 1))
    with pytest.raises(ValueError, match="the digits are 8x8 pixels and gray"):
        load_split(Split(data="digits"), (16, 1))


def write_mnist(folder: Path) -> str:
    folder.mkdir()
    for part in ("train", "t10k"):
        scans = bytes([0, 0, 8, 3]) + b"".join(length.to_bytes(4) for length in (2, 28, 28)) + bytes(2 * 784)
        labels = bytes([0, 0, 8, 1]) + (2).to_bytes(4) + bytes([5, 0])
        (folder / f"{part}-images-idx3-ubyte").write_bytes(scans)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(labels)
    return str(folder)


def write_cifar10(folder: Path) -> str:
    folder.mkdir()
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        (folder / f"{name}.bin").write_bytes(bytes(2 * 3073))
    # What is published beside them is not to be taken for texts.
    (folder / "batches.meta.txt").write_text("airplane")
    return str(folder)


def test_published_sets_have_their_own_split_and_shape(tmp_path: Path) -> None:
    mnist, cifar10 = write_mnist(tmp_path / "mnist"), write_cifar10(tmp_path / "cifar")
    for data, size, channels, counts in ((mnist, 28, 1, (2, 2)), (cifar10, 32, 3, (10, 2))):
        split = Split(data=data)
        assert not are_texts(split)
        assert size_and_channels(data, None, None) == (size, channels)
        train, test = load_split(split, (size, channels))
        assert (len(train), len(test or ())) == counts
        with pytest.raises(ValueError, match="has its own test images: leave --test out"):
            load_split(Split(data=data, test=tmp_path), (size, channels))
        with pytest.raises(ValueError, match=rf"{size}x{size} pixels and (gray|in color): leave --size"):
            load_split(split, (16, channels))


def test_published_digits_are_not_mirrored(tmp_path: Path) -> None:
    assert mirrors(write_cifar10(tmp_path / "cifar"))
    assert mirrors(str(write_images(tmp_path / "own", "cat", "dog")))
    assert not mirrors(write_mnist(tmp_path / "mnist"))
    (tmp_path / "train_32x32.mat").touch()
    assert not mirrors(str(tmp_path))


def test_sizes_suit_the_data(tmp_path: Path) -> None:
    assert size_and_channels("digits", None, None) == (8, 1)
    own = str(write_images(tmp_path / "own", "cat", "dog"))  # 12 x 10 pixels, in color
    assert size_and_channels(own, None, None) == (10, 3)
    assert size_and_channels(own, None, 1) == (10, 1)
    assert size_and_channels(own, 64, 1) == (64, 1)
    assert size_and_channels(own, 0, 1)[0] == 0  # for the folder to refuse, not for us to replace


def test_a_cache_serves_both_parts_of_the_data(tmp_path: Path) -> None:
    write_images(tmp_path / "train", "cat", "dog")
    write_images(tmp_path / "test", "cat", "dog", count=3)
    cache = tmp_path / "cache"
    split = Split(data=str(tmp_path / "train"), test=tmp_path / "test", cache=cache)
    for part in load_split(split, (8, 3)):
        assert part is not None
        assert isinstance(part, Images)
        assert isinstance(part.pixels, MappedPixels)
    assert len(list(cache.iterdir())) == 2


def test_a_cache_is_for_texts_and_folders_of_images(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="decoded images of a folder or of shards, but the images are read into memory"
    ):
        load(Source(data="digits", cache=tmp_path), (8, 1))
    (tmp_path / "a.csv").write_text("x,y\na,b\n")
    pairs = TextFormat(anchor_column="x", positive_column="y")
    with pytest.raises(ValueError, match="keeps sentences of texts, but these are pairs of given columns"):
        load(Source(data=str(tmp_path / "a.csv"), cache=tmp_path, format=pairs), None)


def test_shards_are_images_whatever_else_they_hold(tmp_path: Path) -> None:
    write_shards(tmp_path / "pets", 6, 6, 6)
    pattern = str(tmp_path / "pets/pets-{0..2}.tar")
    for data in (str(tmp_path / "pets"), pattern, str(tmp_path / "pets/pets-1.tar")):
        assert not are_texts(Source(data=data))
        assert size_and_channels(data, None, None) == (10, 3)
    assert size_and_channels(pattern, 8, None) == (8, 3)
    assert size_and_channels(pattern, 8, 1) == (8, 1)
    assert mirrors(pattern)
    train, test = load_split(Split(data=pattern, held_out=0.2, buffer=4), (8, 3))
    assert isinstance(train, Images)
    assert isinstance(train.pixels, ShardedPixels)
    assert (len(train), len(test or ()), train.pixels.buffer) == (14, 4, 4)
    (whole,) = load(Source(data=pattern, cache=tmp_path / "cache"), (8, 3))
    assert isinstance(whole, Images)
    assert isinstance(whole.pixels, MappedPixels)


def test_the_label_of_an_image_in_a_shard_has_a_name(tmp_path: Path) -> None:
    write_shards(tmp_path, 6)
    (images,) = load(Source(data=str(tmp_path), format=TextFormat(label_column="cls")), (8, 3))
    assert images.labels is not None
    with pytest.raises(ValueError, match="field of json 'txt' beside the images in"):
        load(Source(data=str(tmp_path), format=TextFormat(label_column="txt")), (8, 3))
    with pytest.raises(ValueError, match=r"--split is for texts, but .* holds images"):
        load(Source(data=str(tmp_path), format=TextFormat(label_column="txt", split="train")), (8, 3))


def test_large_shards_say_what_takes_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shards(tmp_path, 6, 6)
    load(Source(data=str(tmp_path)), (8, 3))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(loading, "MANY_BYTES", 1000)
    load(Source(data=str(tmp_path)), (8, 3))
    said = "decoding the images of 2 shards once, to leave damaged images out; --unchecked begins sooner"
    assert capsys.readouterr().err == f"tammes: {said}\n"
    load(Source(data=str(tmp_path), unchecked=True), (8, 3))
    assert capsys.readouterr().err == ""
