"""The objective on the command line: a recipe, or the objective with every part spelled out."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from tammes import recipes
from tammes.cli.options.parts import choice, subcommand
from tammes.objective import Objective


def named_recipes() -> dict[str, Callable[..., Objective]]:
    """Return the recipes by their names on the command line, in the order of their file.

    Example:
        >>> list(named_recipes())[:4]
        ['simclr', 'dcl', 'hcl', 'hcl-ot']
    """
    return {
        name.replace("_", "-"): recipe
        for name, recipe in vars(recipes).items()
        if inspect.isfunction(recipe) and recipe.__module__ == recipes.__name__ and not name.startswith("_")
    }


def makers() -> dict[str, Callable[..., Objective]]:
    """Return what makes objectives, by name: the recipes, and `Objective` with all its parts."""
    return {**named_recipes(), "objective": Objective}


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
    """

    temperature: float = 0.5
    beta: float = 1.0
    class_prior: float = 0.1
    epsilon: float = 0.3
    margin: float = 0.5
    radius: float = 0.1
    alpha: float = 1.0

    def __post_init__(self) -> None:
        for name in named_recipes():
            self.objective(name)  # refuses its parameters, whether or not the objective is compared

    def objective(self, name: str) -> Objective:
        """Build a recipe from the parameters that it takes.

        Example:
            >>> RecipeSettings(beta=2.0).objective("hcl").coupling.beta
            2.0
        """
        recipe = named_recipes()[name]
        values = vars(self) | {"epsilon": self.radius if name == "ifm" else self.epsilon}
        parameters = inspect.signature(recipe).parameters
        return recipe(**{name: value for name, value in values.items() if name in parameters})
