"""Settings of an attack on the images of a training."""

from dataclasses import dataclass

from tammes.checks import check_integer, check_number


@dataclass(frozen=True, kw_only=True)
class InputAttack:
    """Projected gradient ascent on the images of all views, and the loss of the attacked images.

        x  <-  clip( x + step sign(dL/dx) )        to the ball |x - x_0| <= radius in every pixel, and to [0, 1]

        (1 - weight) L(x_0)  +  weight L(x)

    The ascent starts from a uniform point of the ball, moves all views together, and sees the network as it
    evaluates (running statistics, no dropout). Images that it found go through the network with another set
    of batch normalizations, the second of the two streams; all other weights are shared. The trained encoder
    is the first stream.

    Args:
        radius: Largest change of a pixel, whose values are in [0, 1].
        step: Length of a step, in the same unit.
        steps: Number of steps; each costs a forward and a backward pass.
        weight: Weight of the loss on attacked images, above 0 and at most 1.

    Raises:
        ValueError: for numbers out of their ranges.

    Source: Jiang et al. (2020), "dual stream"; the defaults are those of the authors' code (github.com/
    VITA-Group/Adversarial-Contrastive-Learning) and of Robinson (2023), B.2.3. Differs: the attack maximizes
    the run's objective, which there is always NT-Xent.

    Example:
        >>> InputAttack(steps=2).weight
        0.5
    """  # noqa: E501

    radius: float = 8 / 255
    step: float = 2 / 255
    steps: int = 5
    weight: float = 0.5

    def __post_init__(self) -> None:
        check_number("radius", self.radius, above=0, maximum=1)
        check_number("step", self.step, above=0)
        check_integer("steps", self.steps)
        check_number("weight", self.weight, above=0, maximum=1)
