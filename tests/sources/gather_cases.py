"""What processes compute together, and one process alone, in float64."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import tammes
from tammes import (
    ContextWindow,
    InBatch,
    LearnedTemperature,
    Objective,
    OtherLabels,
    Pairs,
    Subset,
    TwoTowers,
    recipes,
)
from tammes.sources import Gather

ROWS, DIM = 13, 6
UNEVEN = {2: (4, 9), 3: (6, 2, 5), 4: (3, 1, 5, 4)}
LABELS = torch.arange(ROWS) % 3
SHARED = torch.tensor([5, 0, 3, 3, 1, 9, 0, 4, 8, 7, 5, 2, 3])  # 0, 3 and 5 occur in several places

READING = torch.tensor([0, 1, 2, 3, 4, 5, 6, 20, 21, 22, 40, 60, 61])  # 40 has no neighbor


@dataclass(frozen=True, kw_only=True)
class Case:
    """An objective on a batch of 13 rows, of which each process has some."""

    objective: Objective
    views: int = 2
    ids: Tensor | None = None
    labels: Tensor | None = None
    shared_ids: bool = False
    temperature: float | None = None
    dtype: torch.dtype = torch.float64
    towers: TwoTowers | None = None
    window: ContextWindow | None = None

    def source(self, gather: Gather | None) -> Any:
        """The source of these pairs: one process alone, or together with others."""
        if self.window is not None:
            return replace(self.window, gather=gather)
        if self.towers is None:
            return gather or InBatch()
        towers = replace(self.towers, gather=gather)

        def of_views(queries: Tensor, documents: Tensor, *hard: Tensor, **numbers: Tensor | None) -> Pairs:
            return towers(queries, documents, torch.stack(hard, 1) if hard else None, **numbers)

        return of_views


def transport(cost: tammes.Cost) -> tammes.Transport:
    return tammes.Transport(epsilon=0.3, cost=cost)


KAPPA = tammes.ExponentialEuclidean(kappa=1.0)
RECIPES = {
    "simclr": recipes.simclr(temperature=0.3),
    "dcl": recipes.dcl(temperature=0.5, class_prior=0.1),
    "hcl": recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    "hcl_beta": recipes.hcl(temperature=0.5, beta=0.7),
    "limit": Objective(temperature=0.5, contrast=tammes.InfoNCE(limit=True)),
    "raw": Objective(temperature=8.0, normalize=False),
    "hcl_ot": recipes.hcl_ot(temperature=0.5, epsilon=0.3, class_prior=0.1),
    "hcl_ot_exponential": recipes.hcl_ot(temperature=0.5, epsilon=0.5, cost=KAPPA),
    "ifm": recipes.ifm(temperature=0.5, epsilon=0.1),
    "bcl": recipes.bcl(temperature=1.0, coupling=tammes.Hard(beta=1.0)),
    "bcl_transport": recipes.bcl(temperature=1.0, coupling=transport(KAPPA)),
    "triplet": recipes.triplet(margin=0.5, coupling=transport(tammes.SquaredEuclidean())),
    "logistic": recipes.logistic(),
    "hinge": recipes.hinge(),
    "jsd": recipes.jsd(beta=1.0, class_prior=0.1),
}
HCL = RECIPES["hcl"]
CASES = {name: Case(objective=objective) for name, objective in RECIPES.items()} | {
    "subset": Case(objective=recipes.hcl(temperature=0.5, beta=1.0, selection=Subset(k=7))),
    "subset_of_transport": Case(
        objective=recipes.hcl_ot(temperature=0.5, epsilon=0.3, selection=Subset(k=5, among=OtherLabels())),
        labels=LABELS,
    ),
    "other_labels": Case(
        objective=recipes.hcl(temperature=0.5, beta=1.0, selection=OtherLabels()), labels=LABELS
    ),
    "other_labels_transport": Case(
        objective=recipes.hcl_ot(temperature=0.5, epsilon=0.3, selection=OtherLabels()), labels=LABELS
    ),
    "quick_thoughts": Case(
        objective=Objective(temperature=0.5, coupling=tammes.Hard(beta=1.0), contrast=tammes.SupCon()),
        ids=READING,
        window=ContextWindow(window=1),
    ),
    "context_of_one_encoder": Case(
        objective=recipes.hcl_ot(temperature=0.5, epsilon=0.3, class_prior=0.1),
        views=1,
        ids=READING,
        window=ContextWindow(window=2),
    ),
    "own_ids": Case(objective=HCL, ids=torch.arange(ROWS).flip(0) * 7 - 30),
    "three_views": Case(objective=HCL, views=3),
    "shared_ids": Case(objective=HCL, ids=SHARED, shared_ids=True),
    "shared_ids_subset": Case(
        objective=recipes.ifm(temperature=0.5, epsilon=0.1, selection=Subset(k=6)),
        ids=SHARED,
        labels=SHARED % 4,
        views=3,
        shared_ids=True,
    ),
    "one_view": Case(objective=HCL, views=1, ids=torch.arange(ROWS) % 4, shared_ids=True),
    "skipped": Case(objective=replace(HCL, without_positive="skip"), views=1, ids=SHARED, shared_ids=True),
    "towers": Case(objective=HCL, towers=TwoTowers()),
    "towers_both": Case(
        objective=recipes.ifm(temperature=0.5, epsilon=0.1, selection=Subset(k=6)),
        views=4,
        ids=SHARED,
        labels=SHARED % 4,
        shared_ids=True,
        towers=TwoTowers(symmetric=True, same_tower=True),
    ),
    "towers_transport": Case(
        objective=RECIPES["hcl_ot"], views=3, towers=TwoTowers(symmetric=True, same_tower=True)
    ),
    "supcon": Case(objective=recipes.supcon(temperature=0.5), ids=SHARED, shared_ids=True),
    "sigmoid": Case(objective=recipes.sigmoid(bias=-1.0), towers=TwoTowers()),
    "not_above": Case(objective=Objective(temperature=0.5, selection=tammes.NotAbove(margin=0.1))),
    # The last two of six columns are the guide's.
    "not_above_guide": Case(objective=Objective(temperature=0.5, selection=tammes.NotAbove(guide=2))),
    "learned_temperature": Case(objective=recipes.dcl(temperature=1.0, class_prior=0.1), temperature=0.4),
    "float32": Case(objective=HCL, dtype=torch.float32),
    "bfloat16": Case(objective=HCL, dtype=torch.bfloat16),
}


class Model(nn.Module):
    """A small encoder, with a temperature if the case learns one."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.encoder = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, DIM)).double()
        self.temperature = None
        if case.temperature is not None:
            self.temperature = LearnedTemperature(initial=case.temperature).double()

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor | None]:
        return self.encoder(inputs), None if self.temperature is None else self.temperature()


def rows_of(rank: int, size: int) -> slice:
    first = sum(UNEVEN[size][:rank])
    return slice(first, first + UNEVEN[size][rank])


def inputs(case: Case) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return list(torch.randn(case.views, ROWS, 5, generator=generator, dtype=torch.float64))


def solve(case: Case, model: nn.Module, source: Any, rows: slice) -> dict[str, Any]:
    """The loss, its gradient in the embeddings, and that in the model, on these rows."""
    embeddings, temperature = model(torch.cat([view[rows] for view in inputs(case)]))
    embeddings = embeddings.to(case.dtype)
    embeddings.retain_grad()
    ids, labels = (None if each is None else each[rows] for each in (case.ids, case.labels))
    pairs = source(*embeddings.chunk(case.views), ids=ids, labels=labels)
    loss = case.objective(pairs, temperature=temperature, generator=torch.Generator().manual_seed(7))
    loss.backward()
    return {
        "loss": loss.detach(),
        "embeddings": embeddings.grad.view(case.views, -1, DIM),
        "model": [each.grad for each in model.parameters()],
        "iterations": case.objective.last.get("sinkhorn_iterations", 0),
        "weights": weights_of(case, pairs),
    }


def weights_of(case: Case, pairs: Pairs) -> Tensor:
    """The weights of these rows over all candidates, one view of anchors after the other."""
    weights = case.objective.weights(pairs, generator=torch.Generator().manual_seed(7))
    return weights.view(
        case.views if case.towers is None and case.window is None else 1, -1, weights.shape[1]
    )


def alone(case: Case) -> dict[str, Any]:
    return solve(case, Model(case), case.source(None), slice(0, ROWS))


def together(case: Case, rank: int, size: int) -> dict[str, Any]:
    model = DistributedDataParallel(Model(case))
    return solve(case, model, case.source(Gather(shared_ids=case.shared_ids)), rows_of(rank, size))
