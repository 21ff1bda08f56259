"""The multilinear extension: every element is in the set independently of the others."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer
from tammes.extensions.functions.set_function import SetFunction
from tammes.extensions.ground_set import GroundSet, Listed
from tammes.extensions.scalar.extension import Distribution, Extension, check_unit_interval

MOST_ELEMENTS = 16
"""Size of the largest ground set whose subsets are all listed."""


@dataclass(frozen=True, kw_only=True)
class Multilinear(Extension):
    """F(x) = sum over S of f(S) prod_{i in S} x_i prod_{i not in S} (1 - x_i), for x in [0, 1]^n.

    A closed form is taken where f offers one (cuts, coverage, formulas linear in the numbers of nodes, edges
    and pairs); otherwise all 2^n sets are listed, for up to 16 elements. Two independent sets have an element
    in common with probability x^2, so that `paired` is F(x^2).

    Source: Robinson (2023), section 8.3.1 and F.3.5.

    Example:
        >>> Multilinear()(torch.tensor([0.5, 0.5]), lambda sets: sets.all(dim=1).float())
        tensor([0.2500])
    """

    @override
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        check_unit_interval(x)
        if ground.widest > MOST_ELEMENTS:
            raise ValueError(
                f"expected at most {MOST_ELEMENTS} elements to list all subsets, got {ground.widest}; give f "
                "a closed form (`SetFunction.multilinear`), or take SampledMultilinear"
            )
        probabilities = x.new_ones(1, len(x), ground.inputs)  # (sets, rows, inputs)
        for chance in ground.pad(x, 0.0).unbind(-1):
            probabilities = (torch.stack([1 - chance, chance])[:, None] * probabilities).flatten(0, 1)
        # The s-th set has the binary digits of s, the first element being the lowest digit, as above.
        members = (torch.arange(2**ground.widest, device=x.device)[:, None] >> ground.position) % 2 == 1
        listed = Listed(ground=ground, members=members.expand(len(x), -1, -1))
        return Distribution(supports=(listed,), probabilities=(probabilities.transpose(0, 1),))

    @override
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        return self.distribution(x.square(), ground)

    @override
    def value(self, x: Float[Tensor, "rows total"], f: SetFunction) -> Float[Tensor, "rows inputs"]:
        check_unit_interval(x)
        known = f.multilinear(x.to(torch.promote_types(x.dtype, torch.float32)))  # counts may be large
        return super().value(x, f) if known is None else known

    @override
    def paired(self, x: Float[Tensor, "rows total"], f: SetFunction) -> Float[Tensor, "rows inputs"]:
        return self.value(x.square(), f)


@dataclass(frozen=True, kw_only=True)
class SampledMultilinear(Extension):
    """The multilinear extension by Monte Carlo: the mean of f over m sets drawn from p_x, x in [0, 1]^n.

    The sets have probabilities p_s that are all 1/m and have the gradient of

        p_s = softmax_s( m/(m-1) log p_x(S_s) ),    d p_s = 1/(m-1) (d log p_x(S_s) - mean over samples),

    so that the gradient of sum p_s f(S_s) is the score-function estimate whose baseline is the mean over the
    other samples: unbiased for x inside of (0, 1)^n, and blind to a constant added to f. By an element whose
    x is exactly 0 or 1 it is 0, since no sample differs there.

    Args:
        samples: number of sets m, at least 2.
        generator: random generator of the sets, on the device of x.

    Raises:
        ValueError: for fewer than two samples.

    Source: Robinson (2023), section 8.3.1; the estimate is that of REINFORCE, F.6.3.

    Example:
        >>> sampled = SampledMultilinear(samples=1000, generator=torch.Generator().manual_seed(0))
        >>> value = sampled(torch.tensor([0.5, 0.5]), lambda sets: sets.all(dim=1).float())
        >>> bool(abs(value - 0.25) < 0.05)
        True
    """

    samples: int
    generator: torch.Generator = field(repr=False)

    def __post_init__(self) -> None:
        check_integer("samples", self.samples, minimum=2, reason="the baseline is the mean of the others")

    @override
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        check_unit_interval(x)
        chances = x.detach()[:, None].expand(-1, self.samples, -1)
        listed = Listed(ground=ground, members=torch.bernoulli(chances, generator=self.generator).bool())
        chance = torch.where(listed.members, x[:, None], 1 - x[:, None])  # above 0 for each drawn set
        logarithm = ground.sum(chance.log())  # (rows, samples, inputs)
        drift = (logarithm - logarithm.detach()) * (self.samples / (self.samples - 1))  # 0, with a gradient
        return Distribution(supports=(listed,), probabilities=(drift.softmax(dim=1),))

    @override
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        return self.distribution(x.square(), ground)
