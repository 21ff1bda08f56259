"""The optimizer on the command line: the fields that were chosen, completed by what suits the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tammes.training import Adam, AdamW, Constant, Cosine

OPTIMIZER: Mapping[str, tuple[Any, str]] = {
    "optimizer": (
        Literal["adam", "adamw"] | None,
        "Whether the weight decay is added to the gradient (adam), or shrinks the weights themselves (adamw; "
        "by default adam, and adamw with masks).",
    ),
    "learning_rate": (
        float | None,
        "Step size of Adam (by default 1e-3; 3e-3 for resnet9, 0.1 for a bag of words, 0.01 for gru, 3e-5 "
        "for a pretrained network, 3e-4 for an untrained one of transformers, 6e-4 with masks and no "
        "contrast).",
    ),
    "weight_decay": (
        float | None,
        "Weight of the L2 penalty added to the gradient (by default 1e-6), or of adamw's decay (0.05).",
    ),
    "betas": (
        tuple[float, float] | None,
        "Decay of adamw's means of the gradient and of its square (by default 0.9 and 0.95).",
    ),
    "clip_norm": (
        float | None,
        "Largest norm of the gradient of all weights together (by default none; 5 for gru, 1 for "
        "transformers and pretrained networks).",
    ),
    "schedule": (
        Constant | Cosine | None,
        "Schedule of the learning rate (by default half a cosine, after a warm-up of an epoch for images, of "
        "a tenth of the training for transformers and pretrained networks, and of a twentieth with masks).",
    ),
}
"""Fields of the optimizer; on the command line None stands for what suits the data."""

KINDS: Mapping[str, type[Adam | AdamW]] = {"adam": Adam, "adamw": AdamW}


@dataclass(frozen=True, kw_only=True)
class OptimizerChoice:
    """Fields of the optimizer that were chosen.

    Args:
        kind: Adam or AdamW; None for the kind that suits the data.
        fields: fields of it.

    Raises:
        ValueError: for numbers out of their ranges, or betas of another optimizer than AdamW.

    Example:
        >>> OptimizerChoice(fields={"learning_rate": 0.1}).completed(Adam()).learning_rate
        0.1
    """

    kind: type[Adam | AdamW] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "betas" in self.fields:
            self._check_betas(self.kind or AdamW)
        (AdamW if "betas" in self.fields else self.kind or Adam)(**self.fields)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "OptimizerChoice":
        """Return the choice, given the options of `OPTIMIZER` by name, None for those left open."""
        chosen = {name: value for name, value in given.items() if value is not None}
        name = chosen.pop("optimizer", None)
        return cls(kind=None if name is None else KINDS[name], fields=chosen)

    def completed(self, usual: Adam | AdamW) -> Adam | AdamW:
        """Return the optimizer, completed by the one that suits the data.

        Raises:
            ValueError: for betas, if the optimizer is not AdamW.
        """
        kind = self.kind or type(usual)
        if "betas" in self.fields:
            self._check_betas(kind)
        if isinstance(usual, kind):
            return replace(usual, **self.fields)
        shared = {name: vars(usual)[name] for name in ("learning_rate", "schedule", "clip_norm")}
        return kind(**{**shared, **self.fields})

    def _check_betas(self, kind: type[Adam | AdamW]) -> None:
        if kind is not AdamW:
            raise ValueError("--betas is for adamw: add --optimizer adamw, or leave it out")
