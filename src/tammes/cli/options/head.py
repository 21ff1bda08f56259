"""The options of the head, `--head.*`, completed by the head that suits the data."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import tyro

from tammes.cli.options.parsing import Option, constructor_of, fields_of
from tammes.encoders import ProjectionHeadConfig, ShortcutHeadConfig


@dataclass(frozen=True, kw_only=True)
class HeadOptions:
    """Settings of the projection head that were chosen.

    Args:
        dim: Width of the embeddings (by default 128).
        hidden: Width of the hidden layers (by default that of the features).
        layers: Number of linear layers; 1 is a linear map (by default 2).
        batch_norm: Normalize the output of each linear layer over the batch (by default with a `resnet9`).
        no_batch_norm: Leave that normalization out.

    Raises:
        ValueError: for numbers out of their ranges, or normalization that is both wanted and left out.

    Example:
        >>> HeadOptions(dim=64).completed(ProjectionHeadConfig(batch_norm=True))
        ProjectionHeadConfig(dim=64, hidden=None, layers=2, batch_norm=True, output_norm=True)
    """

    dim: int | None = None
    hidden: int | None = None
    layers: int | None = None
    batch_norm: bool = False
    no_batch_norm: bool = False

    def __post_init__(self) -> None:
        if self.batch_norm and self.no_batch_norm:
            raise ValueError("--head.batch-norm and --head.no-batch-norm exclude each other: leave one out")
        ProjectionHeadConfig(**self.fields)

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of `ProjectionHeadConfig` that were chosen."""
        numbers = {"dim": self.dim, "hidden": self.hidden, "layers": self.layers}
        chosen: dict[str, Any] = {name: number for name, number in numbers.items() if number is not None}
        if self.batch_norm or self.no_batch_norm:
            chosen["batch_norm"] = self.batch_norm
        return chosen

    @property
    def flag(self) -> str | None:
        """An option that was given, or None."""
        given = [name for name, value in vars(self).items() if value not in (None, False)]
        return f"--head.{given[0].replace('_', '-')}" if given else None

    def completed(
        self, usual: ProjectionHeadConfig | ShortcutHeadConfig | None
    ) -> ProjectionHeadConfig | ShortcutHeadConfig | None:
        """Return the head, completed by the one that suits the data."""
        if not self.fields:
            return usual
        return replace(
            usual if isinstance(usual, ProjectionHeadConfig) else ProjectionHeadConfig(), **self.fields
        )


def head_option() -> Option:
    """Return the option that holds the settings of the head."""
    text = "Small network between the features and the embeddings that are compared."
    constructor = constructor_of(HeadOptions, fields_of(HeadOptions), text)
    return Annotated[HeadOptions, tyro.conf.arg(constructor=constructor)], HeadOptions()
