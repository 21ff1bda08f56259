import os
import pickle
import socket
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tammes.data import MixedFolderWarning, SkippedFilesWarning, folder
from tammes.data.image_files import decode, is_image


def picture(path: Path, size: tuple[int, int] = (12, 9), color: str = "red", mode: str = "RGB") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, color).save(path)
    return path


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


# What is found.


def test_folders_are_classes_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b/2.png", "b/10.png", "a-z/1.png", "a/deep/er/1.png", "a/2.jpg", "C/x.webp"):
        picture(tmp_path / name)
    images = folder(tmp_path, size=8)
    assert images.names == ("C/x.webp", "a/2.jpg", "a/deep/er/1.png", "a-z/1.png", "b/10.png", "b/2.png")
    assert images.classes == ("C", "a", "a-z", "b")
    assert images.required_labels().tolist() == [0, 1, 1, 2, 3, 3]
    assert images.skipped == ()


def test_without_folders_there_are_no_labels(tmp_path: Path) -> None:
    for name in ("3.png", "1.png", "2.png"):
        picture(tmp_path / name)
    images = folder(str(tmp_path), size=8)
    assert (images.names, images.labels, images.classes) == (("1.png", "2.png", "3.png"), None, None)


def test_images_beside_folders_are_taken_without_labels(tmp_path: Path) -> None:
    picture(tmp_path / "loose.png")
    picture(tmp_path / "a" / "1.png")
    with pytest.warns(MixedFolderWarning, match="1 of 2 images lie in .* itself and the others in folders"):
        images = folder(tmp_path, size=8)
    assert (len(images), images.labels) == (2, None)
    with pytest.raises(ValueError, match="put every image into a subfolder, or none"):
        folder(tmp_path, size=8, strict=True)


def test_folders_named_like_parts_of_a_data_set_are_classes_with_a_warning(tmp_path: Path) -> None:
    for name in ("test/cat/1.png", "train/cat/2.png", "train/dog/3.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        picture(tmp_path / name)
    with pytest.warns(
        UserWarning, match="its folders test, train, .* give one part as the data, such as .*train"
    ):
        assert folder(tmp_path, size=8).classes == ("test", "train")
    assert folder(tmp_path / "train", size=8).classes == ("cat", "dog")


def test_what_is_no_image_is_counted_in_one_warning(tmp_path: Path) -> None:
    picture(tmp_path / "good.png")
    (tmp_path / "labels.csv").write_text("a,b")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.jpg").write_text("no image")
    (tmp_path / "page.pdf").write_bytes(b"%PDF")
    (tmp_path / "broken-link.png").symlink_to(tmp_path / "nowhere.png")
    for i in range(3):
        (tmp_path / f"z{i}.txt").write_text("")
    with pytest.warns(SkippedFilesWarning) as caught:
        images = folder(tmp_path, size=8)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "8 of 9 files" in message
    assert message.endswith("; left out")
    assert "broken-link.png, empty.png, labels.csv, page.pdf, text.jpg and 3 more" in message
    assert caught[0].filename == __file__
    assert images.names == ("good.png",)
    assert len(images.skipped) == 8
    assert images.subset([0]).skipped == images.skipped
    with pytest.raises(
        ValueError, match=r"cannot be read as images of at most [0-9,]+ pixels: broken-link\.png.*remove them"
    ):
        folder(tmp_path, size=8, strict=True)


def damaged_inside(path: Path) -> Path:
    """Damage the middle of a file, whose header and end stay whole."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["a.png", "a.gif"])
def test_an_image_that_is_damaged_inside_is_left_out(tmp_path: Path, name: str) -> None:
    for each in ("0.png", name):
        Image.fromarray(noise(40, 40)).save(tmp_path / each)
    damaged_inside(tmp_path / name)
    with pytest.warns(SkippedFilesWarning, match=rf"1 of 2 files .*: {name}; left out"):
        images = folder(tmp_path, size=8)
    assert (images.names, images.skipped) == (("0.png",), (name,))
    with pytest.raises(ValueError, match=f"{name}; remove them"):
        folder(tmp_path, size=8, strict=True)
    taken = folder(tmp_path, size=8, unchecked=True, strict=True)
    assert len(taken) == 2
    with pytest.raises(ValueError, match=f"expected an image that can be decoded, got .*{name}"):
        taken.batch([0, 1])


def test_hidden_files_and_litter_are_passed_over(tmp_path: Path) -> None:
    picture(tmp_path / "a" / "1.png")
    picture(tmp_path / ".hidden" / "1.png")
    picture(tmp_path / "a" / "._1.png")
    for name in ("Thumbs.db", "desktop.ini", ".DS_Store"):
        (tmp_path / "a" / name).write_text("")
    images = folder(tmp_path, size=8, strict=True)
    assert (images.names, images.skipped) == (("a/1.png",), ())


def test_linked_folders_are_followed_and_loops_left(tmp_path: Path) -> None:
    picture(tmp_path / "elsewhere" / "1.png")
    root = tmp_path / "root"
    picture(root / "a" / "1.png")
    (root / "b").symlink_to(tmp_path / "elsewhere")
    (root / "a" / "loop").symlink_to(root)
    assert folder(root, size=8).names == ("a/1.png", "b/1.png")


def test_pipes_sockets_and_faulty_links_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture(tmp_path / "good.png")
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "itself.png").symlink_to("itself.png")
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket.png")
        with pytest.warns(SkippedFilesWarning, match=r"3 of 4 files .*: itself.png, pipe.png, socket.png;"):
            images = folder(tmp_path, size=8)
        assert images.names == ("good.png",)
        with pytest.raises(ValueError, match=r"pipe\.png"):
            folder(tmp_path, size=8, strict=True)
    assert not is_image(tmp_path / "pipe.png")
    with pytest.raises(ValueError, match=r"expected a regular file at .*pipe\.png, got a named pipe"):
        decode(tmp_path / "pipe.png", size=8, channels=3)


def test_a_suffix_may_lie_about_the_format(tmp_path: Path) -> None:
    picture(tmp_path / "really.png").rename(tmp_path / "really.JPG")
    assert folder(tmp_path, size=8, strict=True)[0][0].shape == (3, 8, 8)


def test_images_without_a_known_white_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "depth.tiff"
    Image.fromarray(np.ones((4, 4), dtype=np.float32)).save(path)
    assert not is_image(path)
    Image.fromarray(np.ones((4, 4), dtype=np.int32)).save(path)
    assert not is_image(path)


def png_header(path: Path, width: int, height: int) -> Path:
    """A PNG of one bit a pixel that says it has this size, without the pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", b"") + chunk(b"IEND", b""))
    return path


@pytest.mark.parametrize("side", [11_000, 13_300, 60_000])
def test_images_of_too_many_pixels_are_left_out(tmp_path: Path, side: int) -> None:
    path = png_header(tmp_path / "bomb.png", side, side)
    with_room = png_header(tmp_path / "photograph.png", 12_000, 10_000)
    assert not is_image(path)
    with pytest.raises(ValueError, match=r"bomb\.png: it has .* 120,000,000"):
        decode(path, size=4, channels=3)
    assert is_image(with_room, unchecked=True)  # without Pillow's warning of 89 million pixels and more
    with pytest.warns(SkippedFilesWarning, match="at most 120,000,000 pixels: bomb.png"):
        assert folder(tmp_path, size=8, unchecked=True).names == ("photograph.png",)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "CMYK", "I;16", "RGB"])
@pytest.mark.parametrize("channels", [1, 3])
def test_large_images_are_converted_in_bands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, channels: int
) -> None:
    image = Image.fromarray(noise(50, 37))
    if mode == "I;16":
        image = Image.fromarray(noise(50, 37)[:, :, 0].astype(np.uint16) * 257)
    elif mode == "RGBA":
        image.putalpha(Image.fromarray(noise(50, 37)[:, :, 1]))
    else:
        image = image.convert(mode)
    path = tmp_path / "x.tif"
    image.save(path)
    at_once = decode(path, size=16, channels=channels)
    monkeypatch.setattr("tammes.data.image_files.BAND", 120)
    assert torch.equal(decode(path, size=16, channels=channels), at_once)


PEAK = """
import sys
from pathlib import Path
from tammes.data.image_files import decode

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

before = peak()
decode(Path(sys.argv[1]), size=8, channels=3)
print(1024 * (peak() - before) / 16e6)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from Linux")
def test_decoding_takes_about_nine_bytes_of_memory_for_each_pixel(tmp_path: Path) -> None:
    Image.new("RGBA", (4000, 4000), (9, 99, 199, 128)).save(tmp_path / "x.png", compress_level=1)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path / "x.png")], capture_output=True, text=True, check=True
    )
    # Bands, and what is loaded at the first use, weigh more on 16 million pixels than on 120 million.
    assert float(done.stdout) < 13


def test_missing_and_empty_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected a folder of images at .*nowhere, found no such folder"):
        folder(tmp_path / "nowhere", size=8)
    with pytest.raises(ValueError, match=r"\.bmp \.gif \.jpeg \.jpg \.png .*found no files"):
        folder(tmp_path, size=8)
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(ValueError, match=r"found only notes\.txt"):
        folder(tmp_path, size=8)
    with pytest.raises(ValueError, match=r"notes\.txt, found a file"):
        folder(tmp_path / "notes.txt", size=8)


@pytest.mark.parametrize(
    ("size", "channels", "message"), [(0, 3, "size must be .* at least 1, got 0"), (8, 2, "got 2")]
)
def test_impossible_sizes_are_refused(tmp_path: Path, size: int, channels: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        folder(tmp_path, size=size, channels=channels)


def test_pixels_are_read_only_when_asked_for(tmp_path: Path) -> None:
    picture(tmp_path / "1.png")
    picture(tmp_path / "2.png")
    images = folder(tmp_path, size=8)
    (tmp_path / "2.png").unlink()
    assert images[0][0].shape == (3, 8, 8)
    with pytest.raises(ValueError, match=r"2\.png: .*No such file"):
        images[1]


def test_workers_read_too(tmp_path: Path) -> None:
    for i in range(3):
        picture(tmp_path / f"{i}.png", color=("red", "lime", "blue")[i])
    images = folder(tmp_path, size=2)
    assert torch.equal(pickle.loads(pickle.dumps(images))[1][0], images[1][0])
    assert images.batch([0, 1, 2])[:, :, 0, 0].tolist() == [[255, 0, 0], [0, 255, 0], [0, 0, 255]]
    assert images.subset([2])[0][0][:, 0, 0].tolist() == [0, 0, 255]


# How an image is decoded.


@pytest.mark.parametrize("suffix", ["png", "bmp", "tiff", "webp"])
def test_an_image_of_the_right_size_is_unchanged(tmp_path: Path, suffix: str) -> None:
    array = noise(16, 16)
    path = tmp_path / f"x.{suffix}"
    Image.fromarray(array).save(path, **({"lossless": True} if suffix == "webp" else {}))
    assert torch.equal(decode(path, size=16, channels=3), torch.from_numpy(array).permute(2, 0, 1))


@settings(max_examples=25, deadline=None)
@given(
    width=st.integers(1, 70),
    height=st.integers(1, 70),
    size=st.integers(1, 40),
    channels=st.sampled_from([1, 3]),
    suffix=st.sampled_from(["png", "jpg", "webp", "gif"]),
)
def test_any_shape_becomes_a_square(
    tmp_path_factory: pytest.TempPathFactory, width: int, height: int, size: int, channels: int, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("any") / f"x.{suffix}"
    Image.new("RGB", (width, height), (120, 120, 120)).save(path)
    pixels = decode(path, size=size, channels=channels)
    assert (pixels.shape, pixels.dtype) == ((channels, size, size), torch.uint8)
    assert pixels.is_contiguous()
    # A gray square stays one: nothing foreign is mixed in at the edges.
    assert float((pixels.double() - 120).abs().max()) <= 2


@pytest.mark.parametrize("wide", [True, False])
def test_the_longer_side_is_cropped_to_its_center(tmp_path: Path, wide: bool) -> None:
    array = np.zeros((10, 30, 3), dtype=np.uint8)
    array[:, 10:20] = 255
    Image.fromarray(array if wide else array.transpose(1, 0, 2)).save(tmp_path / "x.png")
    assert decode(tmp_path / "x.png", size=10, channels=3).unique().tolist() == [255]


def test_a_large_jpeg_is_decoded_small_and_alike(tmp_path: Path) -> None:
    ramp = np.linspace(0, 255, 640).astype(np.uint8)
    Image.fromarray(np.stack([np.tile(ramp, (480, 1))] * 3, axis=-1)).save(tmp_path / "x.jpg", quality=95)
    Image.open(tmp_path / "x.jpg").save(tmp_path / "x.png")
    small = [decode(tmp_path / name, size=16, channels=3).double() for name in ("x.jpg", "x.png")]
    assert float((small[0] - small[1]).abs().max()) <= 3


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["jpg", "png", "webp"])
def test_the_orientation_of_the_camera_is_applied(tmp_path: Path, suffix: str, orientation: int) -> None:
    upright = np.zeros((32, 32, 3), dtype=np.uint8)
    upright[:16, :16] = (255, 0, 0)
    upright[:16, 16:] = (0, 255, 0)
    # The stored array for each orientation: the inverse of what a viewer does.
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright, 1),
        7: np.rot90(upright, 2).transpose(1, 0, 2),
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"x.{suffix}"
    Image.fromarray(np.ascontiguousarray(stored)).save(path, exif=exif, quality=95)
    seen = decode(path, size=32, channels=3).permute(1, 2, 0)
    centers = [seen[r, c].tolist() for r, c in ((8, 8), (8, 24), (24, 8))]
    assert np.allclose(centers, [[255, 0, 0], [0, 255, 0], [0, 0, 0]], atol=12)


def test_sixteen_bits_become_eight(tmp_path: Path) -> None:
    gray = np.array([[0, 257], [32896, 65535]], dtype=np.uint16)
    for name in ("x.png", "x.tiff"):
        Image.fromarray(gray).save(tmp_path / name)
        assert is_image(tmp_path / name)
        assert decode(tmp_path / name, size=2, channels=1).flatten().tolist() == [0, 1, 128, 255]
        assert decode(tmp_path / name, size=2, channels=3)[:, 1, 1].tolist() == [255, 255, 255]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_mode_is_read(tmp_path: Path, mode: str, channels: int) -> None:
    path = tmp_path / ("x.tiff" if mode == "CMYK" else "x.png")
    Image.new("RGB", (4, 4), "white").convert(mode).save(path)
    assert is_image(path)
    assert decode(path, size=4, channels=channels).unique().tolist() == [255]


def test_transparency_is_laid_on_white(tmp_path: Path) -> None:
    Image.new("RGBA", (2, 2), (255, 0, 0, 0)).save(tmp_path / "rgba.png")
    Image.new("LA", (2, 2), (0, 0)).save(tmp_path / "la.png")
    palette = Image.new("P", (2, 2), 3)
    palette.putpalette([0, 0, 0] * 256)
    palette.save(tmp_path / "p.png", transparency=3)
    palette.save(tmp_path / "p.gif", transparency=3)
    for name in ("rgba.png", "la.png", "p.png", "p.gif"):
        assert decode(tmp_path / name, size=2, channels=3).unique().tolist() == [255], name
    Image.new("RGBA", (2, 2), (255, 0, 0, 255)).save(tmp_path / "opaque.png")
    assert decode(tmp_path / "opaque.png", size=2, channels=3)[:, 0, 0].tolist() == [255, 0, 0]


def test_of_several_frames_the_first_is_read(tmp_path: Path) -> None:
    first, second = (Image.new("RGB", (4, 4), color) for color in ("lime", "blue"))
    for name in ("x.gif", "x.webp", "x.tiff"):
        options = {"lossless": True} if name == "x.webp" else {}
        first.save(tmp_path / name, save_all=True, append_images=[second], **options)
        assert decode(tmp_path / name, size=4, channels=3)[:, 0, 0].tolist() == [0, 255, 0]


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "bmp", "gif", "tiff"])
def test_a_truncated_file_is_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cut.{suffix}"
    Image.fromarray(noise(64, 64)).save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert not is_image(path)
    with pytest.raises(ValueError, match=rf"expected an image that can be decoded, got .*cut\.{suffix}: "):
        decode(path, size=16, channels=3)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL", "ignore::PIL.Image.DecompressionBombWarning")
@settings(max_examples=60, deadline=None)
@given(data=st.data(), suffix=st.sampled_from(["png", "jpg", "webp", "gif", "bmp", "tiff"]))
def test_damage_is_a_value_error_or_an_image(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("damage") / f"x.{suffix}"
    Image.fromarray(noise(8, 8)).save(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000)
        try:
            assert decode(path, size=4, channels=3).shape == (3, 4, 4)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017, either way is right


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read anything")
def test_a_file_that_may_not_be_read_is_left_out(tmp_path: Path) -> None:
    path = picture(tmp_path / "secret.png")
    path.chmod(0)
    assert not is_image(path)


def test_names_that_are_no_utf8_are_made_printable(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9")
    try:
        (tmp_path / odd).mkdir()
    except OSError:
        pytest.skip("this file system has UTF-8 names only")
    for name in (f"{odd}/{odd}.png", "tea/1.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8), "red").save(tmp_path / name)
    images = folder(tmp_path, size=4)
    assert images.names == ("caf\ufffd/caf\ufffd.png", "tea/1.png")
    assert images.classes == ("caf\ufffd", "tea")
    assert images[0][0][:, 0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".gif", ".webp", ".bmp", ".tif"])
def test_a_file_that_was_cut_off_is_left_out_and_counted(tmp_path: Path, suffix: str) -> None:
    generator = np.random.default_rng(0)
    for name in ("a", "b", "c"):
        pixels = generator.integers(0, 256, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{name}{suffix}")
    whole = (tmp_path / f"b{suffix}").read_bytes()
    (tmp_path / f"b{suffix}").write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.warns(SkippedFilesWarning, match="1 of 3 files"):
        images = folder(tmp_path, size=8)
    assert images.names == (f"a{suffix}", f"c{suffix}")
    assert images.skipped == (f"b{suffix}",)


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".gif"])
def test_more_behind_the_end_of_a_whole_file_does_no_harm(tmp_path: Path, suffix: str) -> None:
    picture(tmp_path / f"a{suffix}")
    with (tmp_path / f"a{suffix}").open("ab") as file:
        file.write(b"\0" * 10_000)
    assert folder(tmp_path, size=8).names == (f"a{suffix}",)
