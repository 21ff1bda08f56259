"""SignNet without its invariance: phi of the eigenvector as it came, and nothing of its other sign."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.spectral.copies import Copies
from tammes.spectral.phi import Phi, PhiConfig


class OneSign(Phi):
    """phi(v) for v and 0 for -v, so that a SignNet with it is rho([phi(v_i)]_i), which depends on signs.

    Statistics of the batch are those of v alone, and phi has half the work that it has with both signs.

    Args:
        phi: the network on signals.
    """

    def __init__(self, phi: Phi) -> None:
        super().__init__()
        self.phi = phi
        self.outputs = phi.outputs

    def forward(
        self, signals: Float[Tensor, "rows 2 inputs"], copies: Copies
    ) -> Float[Tensor, "rows 2 outputs"]:
        """See `Phi.forward`."""
        encoded = self.phi(signals[:, :1].contiguous(), copies)
        return torch.cat([encoded, torch.zeros_like(encoded)], dim=1)


@dataclass(frozen=True, kw_only=True)
class OneSignConfig(PhiConfig):
    """Settings of a `OneSign`, an ablation: the same network and parameters as SignNet, without its symmetry.

    It tells how much of what SignNet gains is due to its invariance, and how much to having a network on
    eigenvectors at all.

    Source: Robinson (2023), Table 7.1, "SignNet (phi(v) only)".

    Example:
        >>> from tammes.spectral import GINConfig, SignNetConfig
        >>> phi = OneSignConfig(phi=GINConfig(width=8, layers=2))
        >>> ablation = SignNetConfig(dim=4, phi=phi).build().eval()
        >>> edges, values = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.tensor([[1.0]])
        >>> v = torch.tensor([[0.7], [0.1], [-0.7]])
        >>> encodings = [ablation(None, edges, None, sign * v, values) for sign in (1, -1)]
        >>> bool(torch.allclose(*encodings))
        False
    """

    phi: PhiConfig
    """What every eigenvector goes through."""

    def build(self, inputs: int) -> OneSign:
        """See `PhiConfig.build`."""
        return OneSign(self.phi.build(inputs))
