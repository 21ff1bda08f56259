"""Training a bag of words with k negatives: pairs a second, beside the paper's way, and where a step goes.

    python benchmarks/text.py                 # 1,000 pairs, 768 dimensions, k = 50, 256 and 1,000
    python benchmarks/text.py --quick

The paper (Ash et al., 2022, sec. 4) describes what it computes: each sentence as a list of its tokens with
their frequencies, all similarities of a batch, k candidates drawn for each anchor and gathered, Adam on all
embeddings. That is written here as one would write it in PyTorch. A second one reads the sentences by a dense
EmbeddingBag instead, so that the rest can be compared by itself.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import torch
from rich.console import Console
from torch import Tensor, nn
from torch.nn import functional

from machine import description
from tammes import recipes
from tammes.data.tokens import Tokens
from tammes.encoders.bag_of_words import BagOfWords
from tammes.selection import Subset
from times_table import markdown_table
from timing import side_by_side

LEARNING_RATE, CLIP = 0.01, 2.5
VOCABULARY, TOKENS, LONGEST = 15_807, 25, 136
"""Of the paper's corpus; the mean length of its sentences is not told, and is that of the novels here."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is trained."""

    pairs: int
    dim: int
    k: int
    vocabulary: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """2 B sentences, in both forms; all ways have theirs before the clock starts.

    Args:
        tokens: one after the other, as this package reads them.
        words: (2 B, longest), the unique tokens of each sentence, filled up to the longest.
        frequencies: (2 B, longest), of each word in its sentence; zero where filled up.
    """

    tokens: Tokens
    words: Tensor
    frequencies: Tensor

    @staticmethod
    def of(tokens: Tokens) -> Batch:
        """Both forms of the same sentences."""
        rows = [ids.unique(return_counts=True) for ids in tokens.ids.split(tokens.lengths.tolist())]
        longest = max(len(words) for words, _ in rows)
        words = torch.stack([functional.pad(each, (0, longest - len(each))) for each, _ in rows])
        counts = torch.stack([functional.pad(each, (0, longest - len(each))) for _, each in rows])
        return Batch(tokens=tokens, words=words, frequencies=counts / counts.sum(dim=1, keepdim=True))


def sentences(setting: Setting, batches: int) -> list[Batch]:
    """Batches of 2 B sentences: words as often as in a language (Zipf), lengths spread around their mean."""
    generator = torch.Generator().manual_seed(0)
    odds = 1 / torch.arange(1, setting.vocabulary + 1, dtype=torch.float64)
    made = []
    for _ in range(batches):
        spread = torch.empty(2 * setting.pairs).exponential_(1 / TOKENS, generator=generator)
        lengths = spread.long().clamp(3, LONGEST)
        ids = torch.multinomial(odds, int(lengths.sum()), replacement=True, generator=generator)
        made.append(Batch.of(Tokens(ids, functional.pad(lengths.cumsum(0), (1, 0)))))
    return made


class Flat(nn.Module):
    """f(x) by this package's encoder."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.embeddings = BagOfWords(vocabulary_size=setting.vocabulary, dim=setting.dim)

    def forward(self, batch: Batch) -> Tensor:
        """(2 B, dim)."""
        return self.embeddings(batch.tokens)


class Padded(nn.Module):
    """f(x) = sum of p_t nu_t over the unique tokens, all sentences of a batch as long as the longest."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(setting.vocabulary, setting.dim)

    def forward(self, batch: Batch) -> Tensor:
        """(2 B, dim)."""
        return (self.embeddings(batch.words) * batch.frequencies[:, :, None]).sum(dim=1)


def gathered_loss(z: Tensor, k: int, chosen: Tensor | None = None) -> Tensor:
    """All similarities, then k of each row: log(1 + sum_j e^{s_j - s+}), averaged over both views.

    Args:
        z: (2 B, dim), one view after the other.
        k: how many are drawn for each anchor.
        chosen: (2 B, k) columns, to compare on; drawn where left out.
    """
    n = len(z)
    similarity = z @ z.T
    rows = torch.arange(n)
    partner = (rows + n // 2) % n
    if chosen is None:
        lots = torch.rand(n, n)
        lots[rows, rows] = lots[rows, partner] = -1
        chosen = lots.topk(k, dim=1).indices
    difference = similarity.gather(1, chosen) - similarity[rows, partner, None]
    return functional.softplus(difference.logsumexp(dim=1)).mean()


def tammes_loss(k: int) -> Callable[[Tensor], Tensor]:
    """The same by this package."""
    objective = recipes.logistic(selection=Subset(k=k))
    return lambda z: objective(*z.chunk(2))


@dataclass(frozen=True, kw_only=True, eq=False)
class Way:
    """One way to train: an encoder, a loss, an optimizer."""

    name: str
    encoder: nn.Module
    loss: Callable[[Tensor], Tensor]
    optimizer: torch.optim.Optimizer

    def step(self, batch: Batch) -> None:
        """One step."""
        loss = self.loss(self.encoder(batch))
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.encoder.parameters(), CLIP)
        self.optimizer.step()

    def parts(self, batch: Batch) -> dict[str, float]:
        """Seconds of each part of a step."""
        clock = Clock()
        z = self.encoder(batch)
        clock.stop("embed")
        leaf = z.detach().requires_grad_()
        loss = self.loss(leaf)
        clock.stop("loss")
        loss.backward()
        clock.stop("loss, backward")
        self.optimizer.zero_grad()
        z.backward(leaf.grad)
        clock.stop("embed, backward")
        nn.utils.clip_grad_norm_(self.encoder.parameters(), CLIP)
        clock.stop("clip")
        self.optimizer.step()
        clock.stop("Adam")
        return clock.seconds


class Clock:
    """Seconds between stops, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    def stop(self, name: str) -> None:
        """What came since the last stop was this."""
        now = time.perf_counter()
        self.seconds[name] = now - self._since
        self._since = time.perf_counter()


def ways(setting: Setting) -> tuple[Way, ...]:
    """This package first, then the paper's way, all from the same first weights."""
    first = torch.randn(setting.vocabulary, setting.dim, generator=torch.Generator().manual_seed(1))
    ours, theirs, bag = Flat(setting), Padded(setting), Flat(setting)
    for encoder in (ours, theirs, bag):
        with torch.no_grad():
            next(encoder.parameters()).copy_(first)

    def gathered(z: Tensor) -> Tensor:
        return gathered_loss(z, setting.k)

    def plain(encoder: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(encoder.parameters(), lr=LEARNING_RATE)

    fused = torch.optim.Adam(ours.parameters(), lr=LEARNING_RATE, fused=True)
    return (
        Way(name="tammes", encoder=ours, loss=tammes_loss(setting.k), optimizer=fused),
        Way(name="the paper's way", encoder=theirs, loss=gathered, optimizer=plain(theirs)),
        Way(name="the same on an EmbeddingBag", encoder=bag, loss=gathered, optimizer=plain(bag)),
    )


def assert_same_training() -> None:
    """Raises where the ways part: all negatives over three steps, and a subset of the same ones.

    Raises:
        RuntimeError: names the way.
    """
    setting = Setting(pairs=24, dim=16, k=46, vocabulary=200)
    batches, every = sentences(setting, 3), ways(setting)
    for way in every:
        for batch in batches:
            way.step(batch)
    expected = next(every[0].encoder.parameters())
    for way in every[1:]:
        if not torch.allclose(next(way.encoder.parameters()), expected, atol=1e-4):
            raise RuntimeError(f"{way.name} ends with other weights than {every[0].name}")
    z = torch.randn(48, 16, generator=torch.Generator().manual_seed(0)).requires_grad_()
    objective = recipes.logistic(selection=Subset(k=7))
    drawn = objective.weights(*z.chunk(2), generator=torch.Generator().manual_seed(5))
    losses = (
        objective(*z.chunk(2), generator=torch.Generator().manual_seed(5)),
        gathered_loss(z, 7, drawn.topk(7, dim=1).indices),
    )
    gradients = [torch.autograd.grad(loss, z)[0] for loss in losses]
    if not (torch.allclose(*losses, rtol=1e-5) and torch.allclose(*gradients, atol=1e-6)):
        raise RuntimeError("the losses of the same subset differ")


def measure(setting: Setting, seconds: float) -> list[tuple[str, ...]]:
    """Pairs a second of each way, and how many times the last of them; then the shares of a step."""
    every, batches = ways(setting), sentences(setting, 4)
    turns: dict[str, int] = defaultdict(int)

    def work(way: Way) -> Callable[[], None]:
        def one() -> None:
            turns[way.name] += 1
            way.step(batches[turns[way.name] % len(batches)])

        return one

    times = side_by_side({way.name: work(way) for way in every}, budget=seconds)
    ours = times[every[0].name]
    rows = []
    for way in every:
        parts = [way.parts(batches[turn % len(batches)]) for turn in range(5)]
        middle = {name: median(each[name] for each in parts) for name in parts[0]}
        total = sum(middle.values())
        shares = ", ".join(f"{name} {100 * part / total:.0f} %" for name, part in middle.items())
        own = times[way.name]
        rows.append(
            (
                f"{setting.k:,}",
                way.name,
                f"{1e3 * own.median:,.0f}",
                f"{setting.pairs / own.median:,.0f}",
                f"{own.over(ours):.2f}",
                shares,
            )
        )
    return rows


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--negatives", type=int, nargs="+", default=[50, 256, 1000])
    parser.add_argument("--vocabulary", type=int, default=VOCABULARY)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=30.0, help="measuring time for each k")
    parser.add_argument("--quick", action="store_true", help="three rounds, k = 256 alone")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    console = Console(width=max(150, Console().width))
    console.print(description(), highlight=False)
    assert_same_training()
    table = markdown_table(f"A step of {options.pairs:,} pairs, {options.dim} dimensions")
    for heading in ("k", "way", "ms", "pairs a second", "times ours", "shares of the step"):
        table.add_column(heading, justify="left" if heading in ("way", "shares of the step") else "right")
    for k in [256] if options.quick else options.negatives:
        setting = Setting(pairs=options.pairs, dim=options.dim, k=k, vocabulary=options.vocabulary)
        for row in measure(setting, 1.0 if options.quick else options.seconds):
            table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    main()
