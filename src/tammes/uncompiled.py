"""The evaluation of objectives between the graphs of `torch.compile`, imported only while it traces one.

An objective decides by numbers that it reads from tensors: lengths, ids, ranges of exponents. Traced line by
line it would break the graph twenty times, and be compiled anew for other numbers. Called through `evaluate`
it breaks the graph once: the encoder is compiled whole, the objective runs as it does without a compiler.
"""

import torch
from torch import Tensor

from tammes.module import Evaluates
from tammes.pairs import Pairs


@torch.compiler.disable(reason="an objective is evaluated between two graphs")  # type: ignore[untyped-decorator]
def evaluate(
    objective: Evaluates,
    *views: Tensor | Pairs,
    ids: Tensor | None,
    labels: Tensor | None,
    generator: torch.Generator | None,
    temperature: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    """Return the loss; arguments and errors are those of the objective."""
    return objective(*views, ids=ids, labels=labels, generator=generator, temperature=temperature, bias=bias)
