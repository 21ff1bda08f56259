"""Steps of 20 pairs in 16 dimensions, whose readings and launches tests count."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor

import tammes
from tammes import recipes
from tammes.pairs import Pairs
from tammes.reduce import Triton
from tammes.reduce.triton import Launch

SMALL = Launch(rows=32, columns=16, depth=16, width=32, warps=4, stages=1, programs=4)
ROWS, DIM = 20, 16
Step = Callable[[tammes.Objective], Tensor]
SIMCLR = recipes.simclr(temperature=0.5)
HCL = recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
HCL_OT = recipes.hcl_ot(temperature=0.5, epsilon=0.3)


def embeddings() -> Tensor:
    return torch.randn(ROWS, DIM, requires_grad=True)


def on_kernels(objective: tammes.Objective) -> tammes.Objective:
    return dataclasses.replace(objective, engine=Triton(launch=SMALL))


def views(objective: tammes.Objective) -> Tensor:
    return objective(embeddings(), embeddings())


def with_ids(objective: tammes.Objective) -> Tensor:
    return objective(embeddings(), embeddings(), ids=torch.arange(ROWS) // 2)


def one_way(objective: tammes.Objective) -> Tensor:
    ids = torch.arange(ROWS)
    pairs = Pairs(anchors=embeddings(), ids=ids, candidates=embeddings(), candidate_ids=ids)
    return objective(pairs)


def learned(objective: tammes.Objective) -> Tensor:
    return objective(embeddings(), embeddings(), temperature=torch.tensor(0.5, requires_grad=True))


def queued(known: bool) -> Step:
    queue, step = tammes.Queue(size=3 * ROWS, dim=DIM), iter(range(9))

    def call(objective: tammes.Objective) -> Tensor:
        ids = torch.arange(ROWS) + 15 * next(step) if known else None
        return objective(queue(embeddings(), embeddings().detach(), ids=ids))

    return call
