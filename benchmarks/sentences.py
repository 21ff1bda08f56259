"""Quick-thoughts with recurrent networks: sentences a second, beside a plain loop, and where a step goes.

    python benchmarks/sentences.py --data BOOKS            # 256 units, 32 words, 256 sentences
    python benchmarks/sentences.py --data BOOKS --threads 2
    python benchmarks/sentences.py --data BOOKS --threads 2 --precision bf16-mixed

Without data, sentences are drawn: lengths of novels, words by Zipf's law. The plain loop is quick-thoughts as
one would write it in PyTorch: sentences padded to the longest of the batch, two embeddings of the same words
by two `torch.nn.GRU` with packed sequences, a matrix of all inner products whose diagonal is masked, and a
softmax with targets beside the diagonal. Both begin with equal weights, take equal steps of Adam on equal
batches, and must come to equal losses; with bf16-mixed the networks are under autocast. Ways in turn, a
few steps each; medians; with one thread times are processor time, which other work on the machine changes
less, with several they are those on the wall.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import torch
from rich.console import Console
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from machine import description
from tammes import ContextWindow
from tammes.data import Texts, Tokens, Words, texts
from tammes.encoders import GRUConfig, SentenceEncoder, TwoTowersConfig
from tammes.training.quick_thoughts import quick_thoughts
from times_table import markdown_table

LONGEST, SENTENCES, RATE, TURN = 32, 256, 1e-3, 4
VOCABULARY, MEAN = 22_000, 18.3


@dataclass(frozen=True, kw_only=True, eq=False)
class Way:
    """One way to train: its network, and what it does with a batch."""

    network: nn.Module
    embed: Callable[[Tokens], tuple[Tensor, Tensor]]
    loss: Callable[[Tensor, Tensor], Tensor]


def drawn(count: int) -> Tokens:
    """Sentences of about the lengths and word frequencies of novels."""
    generator = torch.Generator().manual_seed(0)
    lengths = torch.empty(count).exponential_(1 / MEAN, generator=generator).ceil().clamp(2, LONGEST).long()
    ranks = torch.rand(int(lengths.sum()), generator=generator)
    ids = (VOCABULARY**ranks).long().clamp(max=VOCABULARY - 1)
    return Tokens(ids, torch.nn.functional.pad(lengths.cumsum(0), (1, 0)))


def ours(encoder: SentenceEncoder) -> Way:
    objective, source = quick_thoughts(), ContextWindow()

    def loss(f: Tensor, g: Tensor) -> Tensor:
        return objective(source(f, g, ids=torch.arange(len(f))))

    return Way(network=encoder, embed=lambda tokens: encoder(tokens).chunk(2, dim=1), loss=loss)


class Plain(nn.Module):
    """Two recurrent networks over padded sentences, of the weights of ours."""

    def __init__(self, encoder: SentenceEncoder, *, packed: bool) -> None:
        super().__init__()
        self.words = copy.deepcopy(encoder.words)
        self.towers = nn.ModuleList(copy.deepcopy(network.units[0]) for network in encoder.networks)
        for tower in self.towers:
            tower.batch_first = True
        self.packed = packed

    def forward(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        rows, lengths = tokens.padded(0), tokens.lengths
        embedded = self.words(rows)
        if self.packed:
            sequence = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
            return tuple(tower(sequence)[1][0] for tower in self.towers)
        last = (torch.arange(len(rows)), lengths - 1)
        return tuple(tower(embedded)[0][last] for tower in self.towers)


def softmax_loss(f: Tensor, g: Tensor) -> Tensor:
    n = len(f)
    targets = torch.ones(n - 1).diag(1) + torch.ones(n - 1).diag(-1)
    targets /= targets.sum(1, keepdim=True)
    scores = (f @ g.T).masked_fill(torch.eye(n, dtype=torch.bool), -1e9)
    return nn.functional.cross_entropy(scores, targets)


def plain(encoder: SentenceEncoder, *, packed: bool) -> Way:
    network = Plain(encoder, packed=packed)
    return Way(network=network, embed=network, loss=softmax_loss)


def measured(
    ways: dict[str, Way], batches: list[Tokens], *, mixed: bool
) -> dict[str, dict[str, list[float]]]:
    """Seconds of each part of each step, the ways in turn, each for several steps.

    The first of these is left out: it pays for memory that the way before gave back, as no training does.
    """
    parts: dict[str, dict[str, list[float]]] = {name: {} for name in ways}
    optimizers = {
        name: torch.optim.Adam(way.network.parameters(), lr=RATE, fused=True) for name, way in ways.items()
    }
    for start in range(0, len(batches), TURN):
        losses: dict[str, list[float]] = {name: [] for name in ways}
        for name, way in ways.items():
            for step, batch in enumerate(batches[start : start + TURN]):
                loss, seconds = one_step(way, optimizers[name], batch, mixed=mixed)
                losses[name].append(loss)
                if step:
                    for part, each in zip(PARTS, seconds, strict=True):
                        parts[name].setdefault(part, []).append(each)
        for of_a_batch in zip(*losses.values(), strict=True):
            assert max(of_a_batch) - min(of_a_batch) < 1e-2, losses
    return parts


def one_step(
    way: Way, optimizer: torch.optim.Optimizer, batch: Tokens, *, mixed: bool
) -> tuple[float, list[float]]:
    """The loss of a batch and the seconds of each part of its step."""
    now = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    clock = [now()]
    with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        f, g = way.embed(batch)
    clock.append(now())
    cut = f.detach().float().requires_grad_(), g.detach().float().requires_grad_()
    loss = way.loss(*cut)
    loss.backward()
    clock.append(now())
    torch.autograd.backward([f, g], [each.grad.to(f.dtype) for each in cut])
    clock.append(now())
    optimizer.step()
    optimizer.zero_grad()
    clock.append(now())
    return float(loss.detach()), [after - before for before, after in pairwise(clock)]


PARTS = ("forward", "objective", "backward", "Adam")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder of books in running prose")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--threads", type=int, help="threads of torch")
    parser.add_argument("--precision", choices=("32", "bf16-mixed"), default="32")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.threads is not None:
        torch.set_num_threads(given.threads)
    steps = TURN if given.quick else given.steps
    console = Console()
    tokens, size = drawn(SENTENCES * steps), VOCABULARY
    if given.data is not None:
        books: Texts = texts(given.data, prose=True)
        vocabulary = Words(minimum_count=10).of(books.sentences)
        tokens, size = vocabulary.encode(books.sentences[: SENTENCES * steps]).cut(LONGEST), len(vocabulary)
    torch.manual_seed(0)
    tower = GRUConfig(width=given.width, embedding=given.width, max_length=LONGEST)
    encoder = TwoTowersConfig(tower=tower).build(words=tuple(map(str, range(size))))
    ways = {
        "ours": ours(encoder),
        "plain, packed": plain(encoder, packed=True),
        "plain, padded": plain(encoder, packed=False),
    }
    batches = [tokens.take(torch.arange(SENTENCES) + SENTENCES * step) for step in range(steps)]
    found = measured(ways, batches, mixed=given.precision == "bf16-mixed")
    table = markdown_table(
        "", "way", *(f"{part}, ms" for part in PARTS), "step, ms", "sentences/s", "ours is quicker by"
    )
    totals = {
        name: [sum(each) for each in zip(*parts.values(), strict=True)] for name, parts in found.items()
    }
    for name, parts in found.items():
        step = median(totals[name])
        table.add_row(
            name,
            *(f"{1000 * median(parts[part]):.1f}" for part in PARTS),
            f"{1000 * step:.0f}",
            f"{SENTENCES / step:,.0f}",
            f"{step / median(totals['ours']):.2f}",
        )
    console.print(table)
    lengths = tokens.lengths
    longest = torch.stack([batch.lengths.max() for batch in batches]).double().mean()
    unique = sum(len(batch.ids.unique()) for batch in batches) / len(tokens.ids)
    products = len(tokens.ids) / steps * 3 * 2 * 2 * 3 * given.width * given.width * (1 + unique) / 1e9
    mean_length = lengths.double().mean()
    console.print(
        f"{given.precision}, {given.width} units, {torch.get_num_threads()} threads, {size:,} words; "
        f"mean length {mean_length:.1f}, padding {1 - mean_length / longest:.0%} of padded batches, "
        f"different words {unique:.0%} of tokens; {products:.1f} GFLOP of products a step of ours"
    )
    console.print(description())


if __name__ == "__main__":
    main()
