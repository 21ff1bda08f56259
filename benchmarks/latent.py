"""Many runs of the latent laboratory as one batched model against a loop over them, on a CPU.

    python benchmarks/latent.py                    # Table II's grid: 4 strategies, 10 seeds; about a minute
    python benchmarks/latent.py --seeds 1 5 20     # other numbers of seeds
    python benchmarks/latent.py --width 256

All methods do the same work, which the benchmark checks first: draw anchors and positives, one step of Adam
for every run. "One by one" trains each run as its own `Laboratory`; "plain torch" is the loop that one would
write without the laboratory (nn.Sequential, cross entropy, fused Adam), on the laboratory's draws. Methods
take turns; times are medians, for one update of all runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import pairwise

import torch
from rich.console import Console
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from machine import description
from tammes.latent import Anchors, Laboratory, RoundState, Strategy, Streams
from tammes.papers.weber.settings import Settings2
from times_table import times_table

BATCHED, ONE_BY_ONE, PLAIN = "one batched model", "one by one", "plain torch, one by one"


def endless(laboratory: Laboratory, strategies: dict[str, Strategy], seeds: range) -> Callable[[], object]:
    """Return a function that updates every run once, as one batched model."""
    rounds: Iterator[object] = laboratory.training(strategies, seeds)
    return lambda: next(rounds)


def one_by_one(laboratory: Laboratory, strategies: dict[str, Strategy], seeds: range) -> Callable[[], object]:
    """Return a function that updates every run once, each with its own laboratory."""
    runs = [
        laboratory.training({name: strategy}, (seed,))
        for name, strategy in strategies.items()
        for seed in seeds
    ]
    return lambda: [next(run) for run in runs]


class Plain:
    """Run in plain torch, with the data and the strategy of the laboratory."""

    def __init__(self, laboratory: Laboratory, strategy: Strategy, seed: int) -> None:
        self.laboratory, self.strategy, self.seed = laboratory, strategy, seed
        self.world, self.round = laboratory.model.draw((seed,)), 0
        streams = Streams.of((seed,), "encoder")
        widths = laboratory.encoder.widths(laboratory.model.mixing.observed)
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layer, bound = nn.Linear(inputs, outputs), inputs**-0.5
            with torch.no_grad():
                layer.weight.copy_(bound * (2 * streams.uniform(inputs, outputs)[0].T - 1))
                layer.bias.copy_(bound * (2 * streams.uniform(1, outputs)[0, 0] - 1))
            layers += [layer, nn.ReLU()]
        self.encoder = nn.Sequential(*layers[:-1])
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=laboratory.learning_rate, fused=True)

    def __call__(self) -> None:
        streams = Streams.of((self.seed,), f"round {self.round}")
        anchors = Anchors.of(self.world.sample(self.laboratory.pairs, streams), self.world)
        state = RoundState(
            world=self.world,
            encoder=None,  # type: ignore[arg-type]  # the strategies of Algorithm 2 do not look at it
            known=anchors.observations,
            labels=None,
            round=self.round,
            streams=streams,
        )
        positives = self.strategy.positives(anchors, state).observations[0]
        embeddings = normalize(self.encoder(torch.cat([anchors.observations[0], positives])), dim=1)
        z, z_plus = embeddings.chunk(2)
        loss = cross_entropy(z_plus @ z.T / self.laboratory.temperature, torch.arange(len(z)))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.round += 1


def check(laboratory: Laboratory, strategies: dict[str, Strategy]) -> None:
    """Check that all methods have the same encoders after a few updates."""
    short = 3
    updates = laboratory.training(strategies, range(2))
    for _ in range(short):
        trained = next(updates)
    for name, strategy in strategies.items():
        x = torch.randn(2, 20, laboratory.model.mixing.observed)
        found = trained[name].state.encoder(x)
        for seed in range(2):
            run = Plain(laboratory, strategy, seed)
            for _ in range(short):
                run()
            expected: Tensor = normalize(run.encoder(x[seed]), dim=1)
            torch.testing.assert_close(found[seed], expected, atol=1e-4, rtol=1e-3)


def main() -> None:
    """Print the timings."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=(10,))
    parser.add_argument("--width", type=int, default=Settings2.width, help="of the encoders' hidden layers")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=15.0, help="measuring time for each table")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    console = Console(width=max(110, Console().width))
    console.print(description(), highlight=False)
    laboratory = Settings2(width=options.width).laboratory(10**9)
    strategies = Settings2().strategies()
    check(laboratory, strategies)
    for count in options.seeds:
        seeds = range(count)
        plain = [Plain(laboratory, strategy, seed) for strategy in strategies.values() for seed in seeds]
        works: dict[str, Callable[[], object]] = {
            BATCHED: endless(laboratory, strategies, seeds),
            ONE_BY_ONE: one_by_one(laboratory, strategies, seeds),
            PLAIN: lambda plain=plain: [run() for run in plain],  # type: ignore[misc]
        }
        title = (
            f"An update of {len(strategies)} strategies x {count} seeds, width {options.width}, "
            f"{laboratory.batch} pairs"
        )
        console.print(times_table(title, works, options.seconds))


if __name__ == "__main__":
    main()
