"""The numbers of named objectives as flags that they share."""

import inspect
from dataclasses import dataclass

from tammes.cli.objective import named_recipes
from tammes.objective import Objective


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The numbers of the objectives, each used by those that have it.

    Args:
        temperature: Divides similarities.
        beta: Concentration of hard negatives: hcl, jsd.
        class_prior: Probability that a candidate is a false negative: dcl, hcl, hcl-ot, bcl, jsd.
        epsilon: Weight of the entropy in the transport plan: hcl-ot.
        margin: In squared distance: triplet.
        radius: Of the ball in which features are modified, in similarity: ifm.
        alpha: Weight of the loss on modified features: ifm.
    """

    temperature: float = 0.5
    beta: float = 1.0
    class_prior: float = 0.1
    epsilon: float = 0.3
    margin: float = 0.5
    radius: float = 0.1
    alpha: float = 1.0

    def objective(self, name: str) -> Objective:
        """The recipe of this name with the settings it takes.

        Example:
            >>> Settings(beta=2.0).objective("hcl").coupling.beta
            2.0
        """
        recipe = named_recipes()[name]
        values = {
            "temperature": self.temperature,
            "beta": self.beta,
            "class_prior": self.class_prior,
            "epsilon": self.radius if name == "ifm" else self.epsilon,
            "margin": self.margin,
            "alpha": self.alpha,
        }
        taken = inspect.signature(recipe).parameters
        return recipe(**{name: value for name, value in values.items() if name in taken})
