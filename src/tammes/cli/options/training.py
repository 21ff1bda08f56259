"""The settings of a training on the command line, read off `TrainingConfig`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import tyro

from tammes import recipes
from tammes.checks import check_integer, check_seed
from tammes.cli.graph_data import are_nodes
from tammes.cli.images import has_own_test_images, mirrors, size_and_channels, size_in_patches
from tammes.cli.loading import find_in_current_folder, kind_of, load_split
from tammes.cli.options.data import Split
from tammes.cli.options.head import HeadOptions, head_option
from tammes.cli.options.optimizer import OPTIMIZER, OptimizerChoice
from tammes.cli.options.parsing import Option, fields_of
from tammes.cli.options.parts import NAMES, choice_of, options_of
from tammes.cli.texts import in_sentences, is_empty_of_images, of_given_pairs, trained_whole
from tammes.cli.volumes import VolumeShape
from tammes.data import GraphSet, GraphStream
from tammes.encoders import (
    GraphEncoderConfig,
    ModuleConfig,
    ResNet3DConfig,
    TextEncoderConfig,
    TransformersConfig,
)
from tammes.positives import Adjacent, GraphAugmentation, OneChange, SameInstance, Scans
from tammes.training import Data, TrainingConfig, suited
from tammes.training.config import AugmentationConfig, EncoderConfig, PositivesConfig
from tammes.training.loss_rules import check_contrast
from tammes.training.quick_thoughts import with_adjacent_sentences

USUAL = ("usual", "What suits the data.")
# Settings whose default follows from the data (`suited`); on the command line None stands for it.
FROM_DATA: Mapping[str, tuple[Any, str]] = {
    "encoder": (
        EncoderConfig | None,
        "Network whose features are wanted (by default convnet for handwriting and resnet9 for other images "
        "up to 64 pixels, resnet18 above, vit with masks, resnet3d for volumes, bag-of-words for texts, gin "
        "for graphs, and gcn for nodes).",
    ),
    "augmentation": (
        AugmentationConfig | None,
        "Augmentation of images, volumes or graphs (by default handwriting for gray images on an even "
        "background, else photographs; scans for volumes, and edges-and-features for nodes; of graphs none, "
        "and a node is compared with its graph).",
    ),
    "positives": (
        PositivesConfig | None,
        "What the second view of a pair shows (by default the image itself; of texts another sentence of the "
        "document, or the sentence beside it if documents are not known; of graphs the graph of a node).",
    ),
    "batch_size": (
        int | None,
        "Pairs per step, over all processes (by default 256, and fewer for less than 1,024 rows).",
    ),
    "epochs": (
        int | None,
        "Number of times that every image is visited, or every sentence paired (by default so that about "
        "200,000 are visited, 100,000 by a resnet9, and at most 100).",
    ),
    "fanouts": (
        tuple[int, ...] | None,
        "Of nodes of one graph, the largest number of neighbors that a node gets at each hop, one number or "
        "more for each layer (by default 10 for each); numbers above all degrees take all neighbors.",
    ),
}
NUMBERS = (
    "batch_size",
    "epochs",
    "seed",
    "chunk",
    "crops",
    "ema_decay",
    "diagnose_every",
    "stop_on",
    "stop_patience",
)
"""Fields whose values the data do not change."""

IN_WORDS_OF_SHELL: Mapping[str, str] = {
    "chunk": "Number of views that go through the network at a time, for a batch that does not fit into "
    "memory (by default all at once). It costs one more forward pass, and the residual networks' BatchNorm "
    "then takes the statistics of a chunk instead of the batch.",
    "annealing": "Change of the beta of hard negatives, or of the temperature, over the epochs.",
    "diagnose_every": "Epochs between label-free measures of the embeddings: RankMe, alignment, uniformity, "
    "hubness and others (by default none, and with --stop-on every epoch).",
    "stop_on": "Label-free measure that ends the training once it no longer improves.",
    "stop_patience": "Measurements without improvement after which --stop-on ends the training.",
    "learn_temperature": "Learn the temperature with the network, from the objective's on.",
}
"""Explanations of fields that in the library's words speak of None or of whether."""

RARE = frozenset(
    {
        *("augmentation", "positives", "encoder", "annealing", "negatives", "schedule", "head", "no_head"),
        *("precision", "chunk", "learn_temperature", "weight_decay", "clip_norm", "channels", "crops"),
        *("equivariance", "fanouts", "attack", "window", "masked", "ema_decay", "optimizer", "betas"),
        *("diagnose_every", "stop_on", "stop_patience"),
    }
)


@dataclass(frozen=True, kw_only=True)
class ImageOptions:
    """Options of images and of the head that are no fields of `TrainingConfig`.

    Args:
        no_head: Leave the head out, and compare the features themselves.
        size: Height and width that images are scaled and cropped to, in pixels (by default the median
            of their shorter sides, up to 64, or less where patches do not divide it); sides that volumes are
            scaled to, in voxels (by default their own, up to 64).
        window: Two values of volumes that become 0 and 1, such as -1000 0 in Hounsfield units; others become
            the nearer of the two (by default the smallest and the largest voxel).
        channels: 3 for color, 1 for gray (by default those of a folder's images).
    """

    no_head: bool = False
    size: int | None = None
    window: tuple[float, float] | None = None
    channels: Literal[1, 3] | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Settings of a training before the data are known.

    Args:
        settings: fields of `TrainingConfig` that were chosen; the data decide the others.
        optimizer: fields of the optimizer that were chosen.
        head: fields of the head that were chosen.
        size: height and width of images in pixels, or of volumes in voxels, or None.
        channels: channels of images, or None.
        window: values of volumes that become 0 and 1, or None.
        adjacent: whether adjacent sentences are compared with the settings of quick-thoughts.
    """

    settings: Mapping[str, Any]
    optimizer: OptimizerChoice
    head: HeadOptions
    size: int | None
    channels: Literal[1, 3] | None
    window: tuple[float, float] | None = None
    adjacent: bool = False

    def load(self, source: Split, *, masks: bool = False) -> tuple[Data, Data | None]:
        """Read the training data and, for labeled data, the data to measure on.

        Args:
            source: options of the data.
            masks: whether images have masks that are no setting yet.

        Raises:
            ValueError: for settings of another kind of data.
        """
        kind, encoder = kind_of(source), self.settings.get("encoder")
        masks = masks or self.settings.get("masked") is not None
        if masks and kind != "images":
            raise ValueError(
                f"masks (can, mae, masked:can) hide patches of images, but {source.data} holds {kind}: "
                "choose another objective, such as simclr"
            )
        if self.adjacent:
            if kind == "images" and is_empty_of_images(source.data):
                kind = "texts"
            if kind != "texts":
                raise ValueError(f"quick-thoughts is for texts, but {source.data} holds {kind}")
            if source.format.anchor_column is not None:
                raise ValueError(
                    "quick-thoughts compares adjacent sentences, and pairs of given columns have none: "
                    "choose another objective, such as simclr"
                )
            source = trained_whole(source)
        if kind == "texts" and (self.adjacent or isinstance(self.settings.get("positives"), Adjacent)):
            source = in_sentences(source)
        if kind != "volumes" and self.window is not None:
            raise ValueError(f"--window is for volumes, but {source.data} holds {kind}: leave it out")
        if kind in ("graphs", "nodes"):
            self._check_graphs(source)
            return load_split(source, None)
        if self.settings.get("fanouts") is not None:
            raise ValueError(
                f"--fanouts is for the nodes of a graph, but {source.data} holds none: leave it out"
            )
        if kind == "volumes":
            self._check_volumes(source.data)
            return load_split(source, VolumeShape(size=self.size, window=self.window))
        if isinstance(encoder, GraphEncoderConfig | ResNet3DConfig):
            what = "graphs" if isinstance(encoder, GraphEncoderConfig) else "volumes"
            raise ValueError(f"that encoder: is for {what}, but {source.data} holds none: leave it out")
        if kind == "texts":
            self._check_texts(source.data)
            return load_split(of_given_pairs(source), None)
        largest = None
        if isinstance(encoder, TransformersConfig) and self.size is None:
            largest = encoder.image_size()
        shape = size_and_channels(
            source.data, self.size, self.channels, largest, source.format.split, source.image_column
        )
        if self.size is None and not has_own_test_images(source.data):
            shape = size_in_patches(shape[0], encoder, masks=masks), shape[1]
        images = load_split(source, shape)
        if isinstance(encoder, TextEncoderConfig):
            name = NAMES[type(encoder)]
            raise ValueError(f"encoder:{name} is for texts, but {source.data} holds images")
        return images

    def _check_volumes(self, name: str) -> None:
        others = [] if self.channels is None else ["--channels"]
        if not isinstance(self.settings.get("encoder"), ResNet3DConfig | None):
            others.append("that encoder:")
        if not isinstance(self.settings.get("augmentation"), Scans | None):
            others.append("that augmentation:")
        if others:
            raise ValueError(f"{', '.join(others)} is for other data, but {name} holds volumes: leave it out")

    def _check_graphs(self, source: Split) -> None:
        given = {"--size": self.size, "--channels": self.channels}
        if not are_nodes(source):
            given["--fanouts"] = self.settings.get("fanouts")
        others = [flag for flag, value in given.items() if value is not None]
        if not isinstance(self.settings.get("encoder"), GraphEncoderConfig | None):
            others.append("that encoder:")
        if not isinstance(self.settings.get("augmentation"), GraphAugmentation | None):
            others.append("that augmentation:")
        if others:
            what = "nodes" if are_nodes(source) else "graphs"
            raise ValueError(
                f"{', '.join(others)} is for other data, but {source.data} holds {what}: leave it out"
            )

    def _check_texts(self, name: str) -> None:
        encoder, augmentation = self.settings.get("encoder"), self.settings.get("augmentation")
        given = {"--size": self.size, "--channels": self.channels, "augmentation:": augmentation}
        for_images = [flag for flag, value in given.items() if value is not None]
        if not isinstance(encoder, TextEncoderConfig | TransformersConfig | None):
            for_images.append("that encoder:")
        if for_images:
            raise ValueError(f"{', '.join(for_images)} is for images, but {name} holds texts: leave it out")

    def config(self, data: Data, source: str, **more: Any) -> TrainingConfig:
        """Complete the settings by what suits the data.

        Args:
            data: training data.
            source: name of the data.
            more: further fields of `TrainingConfig`.
        """
        chosen = {**self.settings, **more}
        if isinstance(chosen.get("encoder"), ModuleConfig):
            find_in_current_folder()
        if isinstance(data, GraphSet | GraphStream):
            # Two views are of one graph, and a graph of its own needs two views.
            if isinstance(chosen.get("augmentation"), GraphAugmentation):
                chosen.setdefault("positives", SameInstance())
            elif isinstance(chosen.get("positives"), SameInstance):
                chosen["augmentation"] = OneChange()
        usual = suited(
            chosen.pop("objective"),
            data,
            encoder=chosen.get("encoder"),
            epochs=chosen.get("epochs"),
            batch_size=chosen.get("batch_size"),
            masked=chosen.get("masked"),
            mirrors=mirrors(source),
        )
        if self.adjacent:
            usual = with_adjacent_sentences(usual, len(data))
        optimizer, head = self.optimizer.completed(usual.optimizer), self.head.completed(usual.head)
        config = replace(usual, **{"optimizer": optimizer, "head": head, **chosen})
        check_contrast(config, labeled=data.labels is not None)
        return config


def training_options() -> dict[str, Option]:
    """Return the options of a training: one for each field of `TrainingConfig` but for its objective."""
    options = options_of(TrainingConfig)
    del options["optimizer"], options["objective"]
    for name, text in IN_WORDS_OF_SHELL.items():
        annotation, default = options[name]
        options[name] = Annotated[annotation, tyro.conf.arg(help=text)], default
    options |= {
        name: (Annotated[choice_of(kind, none=USUAL), tyro.conf.arg(help=text)], None)
        for name, (kind, text) in {**FROM_DATA, **OPTIMIZER}.items()
    }
    return {**options, "head": head_option(), **fields_of(ImageOptions)}


def made_training(
    *,
    size: int | None,
    channels: Literal[1, 3] | None,
    head: HeadOptions,
    no_head: bool,
    window: tuple[float, float] | None = None,
    adjacent: bool = False,
    **settings: Any,
) -> TrainingOptions:
    """Return the settings that were chosen, after the checks that need no data.

    Args:
        size: height and width of images in pixels, or None.
        channels: channels of images, or None.
        head: settings of the head that were chosen.
        no_head: whether the head is left out.
        window: values of volumes that become 0 and 1, or None.
        adjacent: whether adjacent sentences are compared with the settings of quick-thoughts.
        settings: the other options of `training_options`, by their names, and the objective, if it is known.

    Raises:
        ValueError: for numbers outside their ranges, or settings that exclude each other.
    """
    check_seed("seed", settings["seed"])
    chosen = {name: value for name, value in settings.items() if name not in FROM_DATA or value is not None}
    optimizer = OptimizerChoice.of({name: chosen.pop(name) for name in OPTIMIZER})
    if no_head and head.flag is not None:
        raise ValueError(f"--no-head leaves the head out, but {head.flag} was given too")
    if no_head:
        chosen["head"] = None
    if size is not None:
        check_integer("--size", size, reason="it is the height and width in pixels")
    # The numbers are refused before the data are read, which may take long.
    objective = chosen.get("objective") or recipes.simclr(temperature=0.5)
    numbers = {name: chosen[name] for name in NUMBERS if name in chosen}
    TrainingConfig(objective=objective, **numbers)
    return TrainingOptions(
        settings=chosen,
        optimizer=optimizer,
        head=head,
        size=size,
        channels=channels,
        window=window,
        adjacent=adjacent,
    )
