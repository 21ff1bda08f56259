"""Loading of the data that the command line names, and the part of them held out for measuring."""

import sys
from dataclasses import replace
from pathlib import Path

import torch

from tammes.checks import nearest
from tammes.cli.failures import print_line
from tammes.cli.graph_data import NODES, are_graphs, are_nodes, holds_graphs, load_graphs, load_nodes
from tammes.cli.holding_out import hold_out
from tammes.cli.images import INCLUDED, has_own_test_images, load_parts
from tammes.cli.options.data import Source, Split
from tammes.cli.output import counted
from tammes.cli.texts import is_empty_of_images, load_texts, looks_like_texts
from tammes.cli.volumes import VolumeShape, are_volumes, load_volumes
from tammes.data import GraphSet, GraphStream, Images, NodeSet, Texts, Volumes, folder, shards
from tammes.data.listing import files_below, listing
from tammes.data.stream_files import is_stream, stream_of_files
from tammes.data.tar_files import holds_shards, shard_files
from tammes.training import (
    Data,
    GraphsSummary,
    ImagesSummary,
    NodesSummary,
    Summary,
    TextsSummary,
    VolumesSummary,
)

Shape = tuple[int, int]
"""Height and width of images in pixels, and their channels."""

MANY = 50_000
"""Files whose decoding takes about half a minute or more, which is said."""
MANY_BYTES = 1_000_000_000
"""Likewise, of shards in bytes."""


def find_in_current_folder() -> None:
    """Let modules of the current folder be imported, after all that are installed."""
    if "" not in sys.path:
        sys.path.append("")


def with_columns_of(data: Data, summary: Summary) -> Data:
    """Return graphs or nodes with the node features that a run was trained with; other data as they are.

    Raises:
        ValueError: for features that the run does not know.
    """
    if isinstance(data, GraphSet | GraphStream) and isinstance(summary, GraphsSummary):
        return data.with_columns(summary.columns)
    if isinstance(data, NodeSet) and isinstance(summary, NodesSummary):
        return data.with_columns(summary.columns)
    return data


def are_texts(source: Source) -> bool:
    """Return whether the data are texts, judged by their files."""
    if has_own_test_images(source.data) or are_nodes(source):
        return False
    return looks_like_texts(source.data, source.format)


def kind_of(source: Source) -> str:
    """Return what the data are, judged by their name and their files: in doubt images."""
    if are_volumes(source.data):
        return "volumes"
    if are_nodes(source):
        return "nodes"
    return "graphs" if are_graphs(source) else "texts" if are_texts(source) else "images"


def load(source: Source, shape: Shape | VolumeShape | None) -> tuple[Data, ...]:
    """Load all data: two parts of the digits or a published set, one part of texts or a folder.

    Args:
        source: data as the command line names them.
        shape: size in pixels and channels of images, or size and window of volumes; None for texts and
            graphs.

    Raises:
        ValueError: for data that cannot be loaded, or options of texts given for images.
    """
    if source.image_column is not None and (shape is None or not is_stream(source.data)):
        raise ValueError(
            f"--image-column is for streamed images (hf:PATH), but {source.data} holds none: leave it out"
        )
    parts = _parts(source, shape)
    if source.feature is None:
        return parts
    found = [part.of_feature(source.feature) for part in parts if isinstance(part, Images)]
    if len(found) < len(parts):
        raise ValueError(f"--feature is for images with several labels, but {source.data} holds none")
    return tuple(found)


def _parts(source: Source, shape: Shape | VolumeShape | None) -> tuple[Data, ...]:
    if isinstance(shape, VolumeShape):
        replace(source.format, label_column=None).check_unused(f"{source.data} holds volumes")
    elif shape is None and (are_graphs(source) or are_nodes(source)):
        # A table of graphs may have a split, as one of images has.
        unused = replace(source.format, split=None) if is_stream(source.data) else source.format
        unused.check_unused(f"{source.data} holds {'nodes' if are_nodes(source) else 'graphs'}")
    elif shape is not None:
        # The label of an image in a shard or a stream has a name, as the column of a table has.
        unused = source.format
        if is_stream(source.data):
            unused = replace(unused, label_column=None, split=None)
        elif holds_shards(source.data):
            unused = replace(unused, label_column=None)
        unused.check_unused(f"{source.data} holds images")
        if has_own_test_images(source.data):
            _check_no_cache(source, "the images are read into memory")
            return load_parts(source.data, *shape)
    return (_part(source, source.data, shape),)


def _part(source: Source, path: str, shape: Shape | VolumeShape | None) -> Data:
    if isinstance(shape, VolumeShape):
        _check_no_cache(source, "volumes are held in memory")
        return load_volumes(path, shape, label_column=source.format.label_column, strict=source.strict)
    if shape is None and path.startswith(NODES):
        _check_no_cache(source, "these are nodes of a graph")
        return load_nodes(path)
    if shape is None and holds_graphs(path, source.format.split):
        _check_no_cache(source, "these are graphs")
        return load_graphs(path, source.format.split, buffer=source.buffer)
    if shape is None:
        return load_texts(path, source.format, strict=source.strict, cache=source.cache)
    size, channels = shape
    if is_stream(path):
        _check_no_cache(source, "a stream is read from its files")
        return stream_of_files(
            path,
            size=size,
            channels=channels,
            image=source.image_column,
            label=source.format.label_column,
            split=source.format.split,
            buffer=source.buffer,
            strict=source.strict,
            unchecked=source.unchecked,
        )
    if not source.unchecked:
        _say_that_it_takes_long(path, source.cache)
    if holds_shards(path):
        return shards(
            path,
            size=size,
            channels=channels,
            label=source.format.label_column,
            buffer=source.buffer,
            strict=source.strict,
            unchecked=source.unchecked,
            cache=source.cache,
        )
    if not Path(path).exists() and (meant := nearest(path, INCLUDED)) is not None:
        raise ValueError(
            f"expected a folder of images at {path}, found no such folder: did you mean {meant}?"
        )
    return folder(
        path,
        size=size,
        channels=channels,
        strict=source.strict,
        unchecked=source.unchecked,
        cache=source.cache,
    )


def _check_no_cache(source: Source, reason: str) -> None:
    if source.cache is not None:
        raise ValueError(
            f"--cache keeps sentences, or the decoded images of a folder or of shards, but {reason}: "
            "leave it out"
        )


def _say_that_it_takes_long(path: str, cache: Path | None) -> None:
    if holds_shards(path):
        files = shard_files(path)
        large = sum(file.stat().st_size for file in files) >= MANY_BYTES
        what = f"the images of {counted(len(files), 'shard')}"
    else:
        count = len(files_below(Path(path))[0]) if Path(path).is_dir() else 0
        large, what = count >= MANY, f"{count:,} files"
    if not large:
        return
    if cache is None:
        print_line(f"decoding {what} once, to leave damaged images out; --unchecked begins sooner")
    else:
        print_line(f"decoding {what} once, unless {cache} holds them already")


def skipped_names(*parts: Data | None) -> list[str]:
    """Return the names of what was found beside the data and left out; parts of one folder share them."""
    skipped = {id(part.skipped): part.skipped for part in parts if part is not None}
    return [name for names in skipped.values() for name in names]


def left_out(*parts: Data | None) -> str | None:
    """Return a sentence that counts the files that were left out and names some; None if there are none."""
    names = skipped_names(*parts)
    if not names:
        return None
    are_texts = any(isinstance(part, Texts) for part in parts)
    noun = ("file or row", "files or rows") if are_texts else ("file", "files")
    was = "was" if len(names) == 1 else "were"
    return f"{counted(len(names), *noun)} that cannot be used {was} left out: {listing(names)}"


def shape_like(source: Source, summary: Summary) -> Shape | VolumeShape | None:
    """Return the shape of the images or volumes that a run was trained on; None for other data.

    Raises:
        ValueError: for data of the other kind, or no data.
    """
    data = source.data
    now = kind_of(source)
    was = {
        ImagesSummary: "images",
        TextsSummary: "texts",
        GraphsSummary: "graphs",
        NodesSummary: "nodes",
        VolumesSummary: "volumes",
    }[type(summary)]
    if was == "texts" and now == "images" and is_empty_of_images(data):
        now = "texts"
    if was != now:
        if now == "images" and not (
            has_own_test_images(data) or Path(data).exists() or holds_shards(data) or is_stream(data)
        ):
            raise ValueError(f"found nothing at {data}")
        raise ValueError(f"the run was trained on {was}, but {data} holds {now}: name {was}")
    if isinstance(summary, VolumesSummary):
        return VolumeShape(size=summary.size, window=summary.window)
    return (summary.size, summary.channels) if isinstance(summary, ImagesSummary) else None


def load_split(source: Split, shape: Shape | VolumeShape | None) -> tuple[Data, Data | None]:
    """Load training data and, if they have labels, test data.

    Args:
        source: data as the command line names them.
        shape: size in pixels and channels of images, or size and window of volumes; None for others.

    Raises:
        ValueError: for data that cannot be loaded or split like this.
    """
    train, *own_test = load(source, shape)
    if source.test is not None and isinstance(train, NodeSet):
        raise ValueError("nodes are measured on a part of their graph (--held-out): leave --test out")
    if source.test is None:
        return (train, own_test[0]) if own_test else _hold_out(train, source.held_out_part, source.data)
    if own_test:
        raise ValueError(f"{source.data} has its own test images: leave --test out")
    if isinstance(train, Volumes):
        shape = VolumeShape(size=train.size, window=train.window)
    return train, _same_classes(train, _part(source, str(source.test), shape))


def _hold_out(data: Data, fraction: float, name: str) -> tuple[Data, Data | None]:
    if data.labels is None or fraction == 0:
        return data, None
    try:
        data.required_labels()
    except ValueError as error:
        raise ValueError(
            f"{name}: {error}; to train on all of them and measure nothing, --held-out 0"
        ) from error
    return hold_out(data, fraction)


def _same_classes(data: Data, test: Data) -> Data:
    test.required_labels()
    if isinstance(data, GraphSet | GraphStream) and isinstance(test, GraphSet | GraphStream):
        test = test.with_columns(data.columns)
    if data.classes is None or test.classes is None or data.classes == test.classes:
        return test
    odd = sorted(set(data.classes) ^ set(test.classes))
    if odd:
        raise ValueError(f"the test data must have the same classes; these differ: {', '.join(odd)}")
    assert isinstance(test, Texts | GraphSet | GraphStream | Volumes)  # classes of images are in order
    assert test.labels is not None
    numbers = torch.tensor([data.classes.index(name) for name in test.classes])
    return replace(test, labels=numbers[test.labels], classes=data.classes)
