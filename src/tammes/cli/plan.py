"""`tammes plan`: what the loss will take at a size that was not tried."""

import json
from typing import Any

import torch

from tammes.cli.options.plan import Plan as Choice
from tammes.cli.output import counted
from tammes.plan import Plan, Rates

_UNITS = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def main(choice: Choice) -> None:
    """Measure this machine unless its rate is given, and print the prediction."""
    device, kind = _device(choice), getattr(torch, choice.precision)
    plan = Plan(
        pairs=choice.batch,
        dim=choice.dim,
        devices=choice.devices,
        on_gpu=device.type == "cuda",
        kind=kind,
    )
    steps = plan.steps(choice.rows) * choice.epochs
    if choice.rate is None:
        rates = Rates.measured(choice.dim, device, kind, devices=choice.devices)
    else:
        rates = Rates(operations=1e12 * choice.rate)
    found = _predicted(choice, plan, rates, steps)
    if choice.json:
        print(json.dumps(found))
    else:
        print("\n".join(_lines(choice, plan, rates, found, device)))


def _device(choice: Choice) -> torch.device:
    if choice.accelerator == "gpu" and not torch.cuda.is_available():
        raise ValueError(
            "--accelerator gpu needs a GPU, and torch finds none: leave it out, or give the --rate of one"
        )
    given = choice.accelerator == "auto" and choice.rate is not None  # the rate of another machine
    on_cpu = choice.accelerator == "cpu" or not (given or torch.cuda.is_available())
    return torch.device("cpu" if on_cpu else "cuda")


def _predicted(choice: Choice, plan: Plan, rates: Rates, steps: int) -> dict[str, Any]:
    """Return the numbers, in seconds and bytes."""
    exchanged = plan.received + plan.sent
    exchange = None if choice.bandwidth is None else exchanged / (1e9 * choice.bandwidth)
    encoder = None if choice.throughput is None else plan.pairs / plan.devices / choice.throughput
    step = plan.seconds(rates) + (exchange or 0.0) + (encoder or 0.0)
    return {
        "operations a second": rates.operations,
        "operations": plan.operations,
        "loss": plan.seconds(rates),
        "exchange": exchange,
        "encoder": encoder,
        "memory": plan.memory,
        "received": plan.received,
        "sent": plan.sent,
        "steps": steps,
        "training": steps * step,
    }


def _lines(
    choice: Choice, plan: Plan, rates: Rates, found: dict[str, Any], device: torch.device
) -> list[str]:
    where = counted(plan.devices, "device")
    source = "as given" if choice.rate is not None else f"measured here, on {_name(device)}"
    lines = [
        f"A batch of {counted(plan.pairs, 'pair')}, {counted(plan.dim, 'feature')}, on {where}:",
        f"  loss       {_time(found['loss'])} a step, forward and backward, at "
        f"{rates.operations / 1e12:,.3g} TFLOP/s {source}",
        f"  memory     {_size(plan.memory)} on every device, beside the encoder's",
    ]
    if plan.devices > 1:
        taken = "" if found["exchange"] is None else f": {_time(found['exchange'])}"
        lines.append(
            f"  exchanges  {_size(plan.received)} received and {_size(plan.sent)} sent by every device{taken}"
        )
    if found["encoder"] is not None:
        lines.append(f"  encoder    {_time(found['encoder'])} a step")
    without = [
        name
        for name, here in (
            ("the encoder", found["encoder"] is not None),
            ("the exchanges (--bandwidth)", plan.devices == 1 or found["exchange"] is not None),
        )
        if not here
    ]
    also = f", without {' and '.join(without)}" if without else ""
    lines.append(
        f"{counted(choice.epochs, 'epoch')} of {counted(choice.rows, 'row')}: "
        f"{counted(found['steps'], 'step')}, {_time(found['training'])}{also}"
    )
    return lines


def _name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"a CPU with {counted(torch.get_num_threads(), 'thread')}"


def _time(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def _size(size: float) -> str:
    for unit, length in _UNITS:
        if size >= length:
            return f"{size / length:.3g} {unit}"
    return f"{size:.0f} bytes"
