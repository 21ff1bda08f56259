"""A loop of the user's own with `Gather`, in which the last process ends without a word."""

from __future__ import annotations

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

from tammes import recipes
from tammes.sources import Gather, LostProcessError

if __name__ == "__main__":
    rank, size, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.manual_seed(rank)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=20),
    )
    view_a, view_b = (torch.randn(4, 3, requires_grad=True) for _ in range(2))
    objective = recipes.bcl(temperature=0.5)  # returns gradients to their processes
    loss = objective(Gather()(view_a, view_b))
    message = ""
    if rank < size - 1:
        try:
            # The backward pass exchanges as well; torch hands our error on.
            loss.backward() if rank == 0 else objective(Gather()(view_a, view_b))
        except LostProcessError as error:
            message = str(error)
    torch.save({"message": message}, f"{folder}/{rank}.pt")
    sys.stdout.flush()
    os._exit(0)  # as a crash: nothing is closed in words
