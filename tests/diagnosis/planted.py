"""Embeddings with one fault planted, and the arguments of a diagnosis that may find it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Planted = tuple[Tensor, dict[str, Any]]
N, DIM = 1_000, 32


def gaussian(seed: int) -> Planted:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(N, DIM, generator=generator)
    arguments = {
        "labels": torch.randint(5, (N,), generator=generator),
        "splits": torch.arange(N) % 2,
        "pairs": torch.arange(N) ^ 1,
        "against": torch.randn(N, DIM, generator=generator),
    }
    return x, arguments


def _plain(seed: int) -> tuple[Tensor, torch.Generator]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(N, DIM, generator=generator), generator


def collapse(seed: int) -> Planted:
    x, generator = _plain(seed)
    turn = torch.linalg.qr(torch.randn(DIM, DIM, generator=generator))[0]
    return x[:, :6] @ turn[:6] + 0.01 * torch.randn(N, DIM, generator=generator), {}


def exact_duplicates(seed: int) -> Planted:
    x, generator = _plain(seed)
    rows = torch.randperm(N, generator=generator)[: N // 50]
    x[rows[: N // 100]] = x[rows[N // 100 :]]
    return x, {}


def near_duplicates(seed: int) -> Planted:
    x, generator = _plain(seed)
    rows = torch.randperm(N, generator=generator)[: N // 50]
    x[rows[: N // 100]] = x[rows[N // 100 :]] + 0.02 * torch.randn(N // 100, DIM, generator=generator)
    return x, {}


def label_errors(seed: int) -> Planted:
    x, generator = _plain(seed)
    labels = torch.arange(N) % 5
    x += 8 * torch.nn.functional.normalize(torch.randn(5, DIM, generator=generator), dim=1)[labels]
    flipped = torch.randperm(N, generator=generator)[: N // 20]
    labels[flipped] = (labels[flipped] + 1) % 5
    return x, {"labels": labels}


def hubs(seed: int) -> Planted:
    """Ten rows at the center of a cone: all other rows are far from each other and close to these."""
    x, generator = _plain(seed)
    x += 1.2
    x[torch.randperm(N, generator=generator)[:10]] = 1.2 + 0.5 * torch.randn(10, DIM, generator=generator)
    return x, {}


def central_hubs(seed: int) -> Planted:
    """Ten rows close to the mean, which are hubs by Euclidean distance and not by cosine."""
    x, generator = _plain(seed)
    x[torch.randperm(N, generator=generator)[:10]] *= 0.2
    return x, {}


def shifted_mean(seed: int) -> Planted:
    x, _ = _plain(seed)
    return x + 0.6, {}


def leak(seed: int) -> Planted:
    x, generator = _plain(seed)
    splits = (torch.arange(N) >= N // 2).long()
    rows = torch.randperm(N // 2, generator=generator)[: N // 50]
    x[N // 2 + rows] = x[rows] + 0.01 * torch.randn(len(rows), DIM, generator=generator)
    return x, {"splits": splits}


def rotation(seed: int) -> Planted:
    x, generator = _plain(seed)
    turn = torch.linalg.qr(torch.randn(DIM, DIM, generator=generator))[0]
    return x, {"against": x @ turn}


def tight_classes(rows: int) -> Callable[[int], Planted]:
    """Return well separated classes of so many rows, of which every fifth row is for testing."""

    def made(seed: int) -> Planted:
        x, generator = _plain(seed)
        labels = torch.arange(N) // rows
        x = 0.12 * x + torch.randn(N // rows + 1, DIM, generator=generator)[labels]
        return x, {"labels": labels, "splits": (torch.arange(N) % 5 == 0).long()}

    return made


PLANTED: dict[str, tuple[str, Callable[[int], Planted]]] = {
    "collapse to 6 of 32 dimensions": ("collapse", collapse),
    "1 % exact duplicates": ("exact duplicates", exact_duplicates),
    "1 % near duplicates": ("near duplicates", near_duplicates),
    "5 % flipped labels": ("label errors", label_errors),
    "10 hubs by cosine": ("hubs", hubs),
    "10 hubs by distance": ("hubs", central_hubs),
    "a shifted mean": ("shifted mean", shifted_mean),
    "a leak of 2 % between splits": ("leak", leak),
}
"""What is planted, the fault that names it, and the embeddings of a seed."""
SOUND: dict[str, Callable[[int], Planted]] = {
    "nothing: a Gaussian with random labels, splits and pairs": gaussian,
    "nothing: tight classes of 4 rows, of training and test": tight_classes(4),
    "nothing: tight classes of 15 rows, of training and test": tight_classes(15),
    "nothing: tight classes of 40 rows, of training and test": tight_classes(40),
}
"""Embeddings without a fault."""
EXPECTED_TOO: dict[str, set[str]] = {
    "10 hubs by cosine": {"shifted mean"},
    "a leak of 2 % between splits": {"near duplicates"},
}
"""Faults that come with a planted one."""
