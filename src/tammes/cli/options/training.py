"""The settings of a training on the command line, read off `TrainingConfig`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from tammes import recipes
from tammes.checks import check_integer, check_seed
from tammes.cli.options.data import Split
from tammes.cli.options.images import size_and_channels, usual_augmentation
from tammes.cli.options.objective import objective_type
from tammes.cli.options.parts import NO_DEFAULT, Option, choice_of, constructor_of, options_of
from tammes.data import Texts
from tammes.encoders import BagOfWordsConfig, ConvNetConfig, ProjectionHeadConfig, ResNetConfig
from tammes.positives import Neighbors, SameClass, SameInstance
from tammes.training import Adam, Data, TrainingConfig
from tammes.training.config import AugmentationConfig, EncoderConfig, PositivesConfig

USUAL = ("usual", "What suits the data.")
# Fields whose default follows from the data; on the command line None stands for it.
FROM_DATA: Mapping[str, tuple[Any, str]] = {
    "encoder": (
        EncoderConfig | None,
        "Network whose features are wanted (by default bag-of-words for texts).",
    ),
    "augmentation": (
        AugmentationConfig | None,
        "Augmentation of images (by default handwriting for the digits, else photographs).",
    ),
    "positives": (
        PositivesConfig | None,
        "What the second view of a pair shows (by default the image itself; of texts another sentence of the "
        "document, or the sentence beside it if documents are not known).",
    ),
}

NUMBERS = ("batch_size", "epochs", "seed", "chunk")
"""Fields whose values the data do not change."""

MORE_ARGUMENTS = """
        no_head: Leave the head out, and compare the features themselves.
        size: Height and width that images are scaled and cropped to, in pixels (a folder's default is 32).
        channels: 3 for color, 1 for gray (a folder's default is 3).
"""


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Settings of a training before the data are known.

    Args:
        settings: fields of `TrainingConfig`; None for one of `FROM_DATA` that was not chosen.
        size: height and width of images in pixels, or None.
        channels: channels of images, or None.
    """

    settings: Mapping[str, Any]
    size: int | None
    channels: Literal[1, 3] | None

    def load(self, source: Split) -> tuple[Data, Data | None]:
        """Read the training data and, for labeled data, the data to measure on.

        Raises:
            ValueError: for settings of images if the data are texts, or the other way round.
        """
        if source.are_texts:
            self._check_texts(source.data)
            return source.split(None)
        images = source.split(size_and_channels(source.data, self.size, self.channels))
        if isinstance(self.settings["encoder"], BagOfWordsConfig):
            raise ValueError(f"encoder:bag-of-words is for texts, but {source.data} holds images")
        return images

    def _check_texts(self, name: str) -> None:
        encoder, augmentation = self.settings["encoder"], self.settings["augmentation"]
        given = {"--size": self.size, "--channels": self.channels, "augmentation:": augmentation}
        for_images = [flag for flag, value in given.items() if value is not None]
        if encoder is not None and not isinstance(encoder, BagOfWordsConfig):
            for_images.append("that encoder:")
        if for_images:
            raise ValueError(f"{', '.join(for_images)} is for images, but {name} holds texts: leave it out")

    def config(
        self, data: Data, source: str, *, encoder: ConvNetConfig | ResNetConfig, **more: Any
    ) -> TrainingConfig:
        """Complete the settings by what suits the data.

        Args:
            data: training data.
            source: name of the data.
            encoder: encoder of images, if none was chosen.
            more: further fields of `TrainingConfig`.
        """
        if isinstance(data, Texts):
            suited: dict[str, Any] = {
                "encoder": BagOfWordsConfig(),
                "augmentation": None,
                "positives": Neighbors() if data.labels is None else SameClass(),
            }
        else:
            suited = {
                "encoder": encoder,
                "augmentation": usual_augmentation(source),
                "positives": SameInstance(),
            }
        chosen = {
            name: value for name, value in self.settings.items() if name not in FROM_DATA or value is not None
        }
        return TrainingConfig(**(suited | chosen | more))


def training_options(changed: Mapping[str, Option], *, without: tuple[str, ...] = ()) -> Any:
    """Return `TrainingOptions` for tyro, with an option for each field of `TrainingConfig`.

    Args:
        changed: options that differ from their field.
        without: fields that are no options.
    """
    options = options_of(TrainingConfig)
    options |= {
        name: (Annotated[choice_of(kind, none=USUAL), tyro.conf.arg(help=text)], None)
        for name, (kind, text) in FROM_DATA.items()
    }
    options |= {
        "head": (ProjectionHeadConfig, ProjectionHeadConfig()),
        "no_head": (bool, False),
        "optimizer": (Annotated[Adam, tyro.conf.arg(name="")], Adam()),
        "size": (int | None, None),
        "channels": (Literal[1, 3] | None, None),
        **changed,
    }
    for name in without:
        del options[name]
    text = (TrainingConfig.__doc__ or "").split("\n\n    Raises:")[0] + MORE_ARGUMENTS
    constructor = constructor_of(_make, options, text)
    return Annotated[TrainingOptions, tyro.conf.arg(name="", constructor=constructor)]


def _make(
    *, size: int | None, channels: Literal[1, 3] | None, no_head: bool, **settings: Any
) -> TrainingOptions:
    check_seed("seed", settings["seed"])
    if no_head:
        settings["head"] = None
    if size is not None:
        check_integer("--size", size, reason="it is the height and width in pixels")
    # The numbers are refused before the data are read, which may take long.
    objective = settings.get("objective") or recipes.simclr(temperature=0.5)
    TrainingConfig(objective=objective, **{name: settings[name] for name in NUMBERS})
    return TrainingOptions(settings=settings, size=size, channels=channels)


if TYPE_CHECKING:
    TrainOptions = TrainingOptions
    CompareOptions = TrainingOptions
else:
    TrainOptions = training_options(
        {"objective": (Annotated[objective_type(), tyro.conf.arg(name="")], NO_DEFAULT)}
    )
    CompareOptions = training_options({"epochs": (int, 60)}, without=("objective",))
