"""The objective on the command line: a recipe, or the objective with every part spelled out."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from tammes import recipes
from tammes.cli.options.parts import choice, subcommand
from tammes.objective import Objective
from tammes.training import Care, Masked
from tammes.training.quick_thoughts import quick_thoughts


def named_recipes() -> dict[str, Callable[..., Objective]]:
    """Return the recipes by their names on the command line, in their order.

    Example:
        >>> list(named_recipes())[:4]
        ['simclr', 'dcl', 'hcl', 'hcl-ot']
    """
    return {name.replace("_", "-"): getattr(recipes, name) for name in recipes.__all__}


CARE = "care"
"""Name of SimCLR's objective with the equivariance loss, which belongs to the training and not to it."""


def care(temperature: float) -> Objective:
    """Return SimCLR's objective, beside which augmentations rotate all embeddings alike (CARE).

    Args:
        temperature: Divisor of the similarities; 0.2 is a good start for images.
    """
    return recipes.simclr(temperature=temperature)


CAN, MAE = "can", "mae"
"""Names of objectives on images with masks, which belong to the training as well."""


def can(temperature: float = 0.1) -> Objective:
    """Return SimCLR's objective, beside which hidden patches are reconstructed and noise is removed (CAN).

    Args:
        temperature: Divisor of the similarities.
    """
    return recipes.simclr(temperature=temperature)


def mae() -> Objective:
    """Return SimCLR's objective without weight: hidden patches are reconstructed, and nothing else (MAE)."""
    return recipes.simclr(temperature=0.1)


QUICK_THOUGHTS = "quick-thoughts"
"""Name of the objective on adjacent sentences, whose encoder, pairs and batch belong to the training."""


def makers() -> dict[str, Callable[..., Objective]]:
    """Return what makes objectives, by name: the recipes, and `Objective` with all its parts."""
    others: dict[str, Callable[..., Objective]] = {CARE: care, CAN: can, MAE: mae}
    others[QUICK_THOUGHTS] = quick_thoughts
    return {**named_recipes(), **others, "objective": Objective}


def compared() -> tuple[str, ...]:
    """Return the names of what `tammes compare` trains."""
    return (*named_recipes(), CARE, CAN, MAE)


def objective_type() -> Any:
    """Return a union for tyro, with a member for each way to make an objective."""
    return choice({name: Annotated[Objective, subcommand(maker, name)] for name, maker in makers().items()})


@dataclass(frozen=True, kw_only=True)
class RecipeSettings:
    """Parameters that several recipes share, each used by the recipes that have it.

    Args:
        temperature: Divisor of the similarities; 0.2 is a good start for images, 0.1 for texts.
        beta: Concentration of hard negatives: hcl, jsd.
        class_prior: Probability that a candidate is a false negative: dcl, hcl, hcl-ot, bcl, jsd.
        epsilon: Weight of the entropy in the transport plan: hcl-ot.
        margin: Margin in squared distance: triplet.
        radius: Radius of the ball in which features are modified, in similarity: ifm.
        alpha: Weight of the loss on modified features: ifm.
        equivariance_weight: Weight of the equivariance loss: care.
        groups: Number of groups of the batch, each of which shares an augmentation: care.
    """

    temperature: float = 0.5
    beta: float = 1.0
    class_prior: float = 0.1
    epsilon: float = 0.3
    margin: float = 0.5
    radius: float = 0.1
    alpha: float = 1.0
    equivariance_weight: float = 0.3
    groups: int = 16

    def __post_init__(self) -> None:
        for name in compared():
            self.objective(name)  # refuses its parameters, whether or not the objective is compared
        self.terms(CARE)

    def objective(self, name: str) -> Objective:
        """Build a recipe from the parameters that it takes.

        Example:
            >>> RecipeSettings(beta=2.0).objective("hcl").coupling.beta
            2.0
        """
        recipe = makers()[name]
        values = vars(self) | {"epsilon": self.radius if name == "ifm" else self.epsilon}
        parameters = inspect.signature(recipe).parameters
        return recipe(**{name: value for name, value in values.items() if name in parameters})

    def terms(self, name: str) -> Care | None:
        """Return the terms beside an objective: the equivariance loss of CARE, None for all others.

        Example:
            >>> RecipeSettings(groups=4).terms("care").groups
            4
        """
        if name != CARE:
            return None
        return Care(weight=self.equivariance_weight, groups=self.groups)

    def masked(self, name: str) -> Masked | None:
        """Return the masks beside an objective: those of CAN and MAE, None for all others.

        Example:
            >>> RecipeSettings().masked("mae").rate
            0.75
        """
        return {CAN: Masked(), MAE: Masked.mae()}.get(name)
