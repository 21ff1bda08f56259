"""The training error as a loss: does the singleton extension follow the error that it extends?

Robinson (2023), section 8.5.3, Figure 8-4, and F.7. The figure's numbers are not in the text. The paper
trains ResNet-18 for 200 epochs and picks the learning rate of each loss among four; here all have one, and
less than the whole budget means a small network on a part of the images.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from tammes.data import Images, published_at
from tammes.encoders import ConvNetConfig, ResNetConfig
from tammes.extensions import TrainingError
from tammes.papers.entry import Entry
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, write_page, write_table
from tammes.papers.sets_figures import lines
from tammes.report.panels import Panel
from tammes.report.svg import inline_svg

EPOCHS, BATCH, LEARNING_RATE = 200, 128, 0.05
PART = 4096
"""Images that are trained on where the budget is not whole."""
SINGLETON = "singleton extension"
Loss = Callable[[Tensor, Tensor], Tensor]


def squared(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean squared distance of probabilities to the right class."""
    return nn.functional.mse_loss(
        logits.softmax(1), nn.functional.one_hot(labels, logits.shape[1]).to(logits.dtype)
    )


LOSSES: Mapping[str, Loss] = {
    SINGLETON: TrainingError(),
    "cross-entropy": nn.functional.cross_entropy,
    "hinge": nn.functional.multi_margin_loss,
    "squared error": squared,
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """An epoch: means over the training images, as they came."""

    loss: str
    epoch: int
    value: float
    error: float


def run(out: Path, *, budget: float, seed: int, data: Path | None) -> None:
    """See `Reproduction`; the whole budget trains ResNet-18 on all images."""
    assert data is not None  # the entry asks for it
    published = published_at(data)
    if published is None:
        raise ValueError(f"expected {ENTRY.data} at {data}; found none")
    images = published.load(data, "train")
    if budget < 1:
        chosen = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))[:PART]
        images = images.subset(chosen.tolist())
    epochs = max(2, round(EPOCHS * budget))
    rows = [
        row
        for name, loss in LOSSES.items()
        for row in train(name, loss, images, epochs=epochs, seed=seed, whole=budget == 1)
    ]
    out.mkdir(parents=True, exist_ok=True)
    write_table(out / "table.csv", [vars(row) for row in rows])
    write(
        out,
        rows,
        f"{published.name}, {len(images):,} images",
        ENTRY.command(budget=budget, seed=seed, data=data),
    )


def train(name: str, loss: Loss, images: Images, *, epochs: int, seed: int, whole: bool) -> list[Row]:
    """Train a classifier by one loss, and watch the loss and the error."""
    torch.manual_seed(seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config = ResNetConfig(depth=18) if whole else ConvNetConfig()
    encoder = config.build(channels=images.channels, size=images.size)
    labels = images.required_labels()
    network = nn.Sequential(encoder, nn.Linear(encoder.features, int(labels.max()) + 1)).to(device)
    optimizer = torch.optim.SGD(network.parameters(), lr=LEARNING_RATE, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for epoch in range(1, epochs + 1):
        value = error = 0.0
        for batch in torch.randperm(len(images), generator=generator).split(BATCH):
            pixels = images.batch(batch).to(device).float() / 255
            right = labels[batch].to(device)
            logits = network(pixels)
            found = loss(logits, right)
            optimizer.zero_grad()
            found.backward()
            optimizer.step()
            value += found.item() * len(batch) / len(images)
            error += (logits.argmax(1) != right).sum().item() / len(images)
        schedule.step()
        rows.append(Row(loss=name, epoch=epoch, value=value, error=error))
    return rows


def gaps(rows: list[Row]) -> dict[str, float]:
    """The mean distance between a loss and the error, over all epochs."""
    return {
        name: sum(abs(row.value - row.error) for row in own) / len(own)
        for name in LOSSES
        if (own := [row for row in rows if row.loss == name])
    }


def findings(rows: list[Row]) -> tuple[Finding, ...]:
    """The paper's statements beside our numbers."""
    gap = gaps(rows)
    last = {row.loss: row for row in rows}  # the last of each
    first = {row.loss: row for row in reversed(rows)}
    return (
        Finding(
            paper="The singleton extension is the only loss that approximates the training error at the same "
            "numerical scale.",
            ours="Mean distance to the error: "
            + ", ".join(f"{name} {value:.3f}" for name, value in gap.items())
            + ".",
            agrees=min(gap, key=lambda name: gap[name]) == SINGLETON,
        ),
        Finding(
            paper="It can be used to minimize the error.",
            ours=f"The error falls from {first[SINGLETON].error:.3f} to {last[SINGLETON].error:.3f}; with "
            f"cross-entropy to {last['cross-entropy'].error:.3f}.",
            agrees=last[SINGLETON].error < 0.9 * first[SINGLETON].error,
        ),
    )


def write(out: Path, rows: list[Row], data: str, command: str) -> None:
    """The figure and the page."""
    panels = []
    for place, name in enumerate(LOSSES):
        own = [row for row in rows if row.loss == name]
        epochs = [float(row.epoch) for row in own]
        drawn = lines(
            {"loss": (epochs, [row.value for row in own]), "error": (epochs, [row.error for row in own])},
            across="epoch",
            up=name,
        )
        if name == SINGLETON:
            drawn.savefig(out / "figure.svg", facecolor="white")
        svg = inline_svg(drawn, name=f"loss-{place}", description=f"{name} and training error over epochs.")
        panels.append(Panel(name=name, svg=svg))
    last = {row.loss: row for row in rows}
    gap = gaps(rows)
    page = PaperPage(
        title="The training error as a loss",
        statement=ENTRY.statement,
        source=ENTRY.source,
        lead=findings(rows)[0].ours,
        findings=findings(rows),
        figures=(
            Figure(title="Loss and error", words="On training images.", panels=tuple(panels), wide=True),
        ),
        numbers=Numbers(
            header=("", "loss at the end", "error at the end", "mean distance"),
            rows=tuple(
                (name, f"{last[name].value:.3f}", f"{last[name].error:.3f}", f"{gap[name]:.3f}")
                for name in LOSSES
            ),
            note="On training images, as they came in the last epoch; the distance is over all epochs.",
        ),
        remarks=(
            "The extension jumps where the right class draws level with another one, and a tie counts as an "
            "error: it lies above the error while the network is uncertain.",
        ),
        settings={
            "data": data,
            "epochs": f"{max(row.epoch for row in rows)} (the paper's: {EPOCHS})",
            "SGD": f"learning rate {LEARNING_RATE:g}, momentum 0.9, weight decay 5e-4, cosine",
            "batch": str(BATCH),
        },
        command=command,
    )
    write_page(out / "report.html", page)


ENTRY = Entry(
    name="sets-training-error",
    statement="The singleton extension of the training error, used as a loss, follows the error at its own "
    "scale, and can be used to minimize it.",
    source="Robinson (2023), section 8.5.3, Figure 8-4",
    data="CIFAR-10, SVHN or MNIST as published",
    run=run,
)
