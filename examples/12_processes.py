"""
Several processes
=================

Under data-parallel training each process sees its part of the batch. A loss that compares the rows of a
process with each other alone is another loss, and one that gathers the rows of all but forgets a gradient is
wrong by a factor. :func:`tammes.integrations.check_ddp` starts two processes with gloo and compares with one
process that has the whole batch. On GPUs the same lines run with nccl.
"""

import matplotlib.pyplot as plt

import tammes
from tammes.integrations import check_ddp
from tammes.integrations.lightly import ObjectiveLoss

objective = tammes.recipes.hcl(temperature=0.5, beta=1.0)

# %%
# With :class:`tammes.Gather`, here inside the loss for lightly's loop, the rows of all processes are
# candidates; without it, each process compares its own rows. The numbers of rows may differ. Each process
# imports this file, so the guard keeps it from starting more.

reports = {}
if __name__ == "__main__":
    for name, gather in {"gathered": True, "each process by itself": False}.items():
        reports[name] = check_ddp(ObjectiveLoss(objective, gather_distributed=gather), rows=(5, 8))
        print(f"{name}: {reports[name]}")

# %%
# The gradient as a vector: its part along the right one, and the part across it.


def picture():
    """Draw the gradients of both reports beside the right one."""
    axes = plt.figure(figsize=(7, 3.4), layout="constrained").subplots()
    axes.annotate("", (1, 0), (0, 0), arrowprops={"arrowstyle": "->", "color": "0.75", "linewidth": 6})
    axes.plot([], [], color="0.75", linewidth=5, label="one process, whole batch")
    for color, (name, report) in zip(("C0", "C3"), reports.items(), strict=True):
        across = report.factor * max(1 / report.cosine**2 - 1, 0) ** 0.5
        axes.annotate(
            "",
            (report.factor, across),
            (0, 0),
            arrowprops={"arrowstyle": "->", "color": color, "linewidth": 2},
        )
        axes.plot([], [], color=color, label=name)
    axes.set(xlim=(0, 1.3), ylim=(-0.1, 0.9), xlabel="along the right gradient", ylabel="across it")
    axes.legend(loc="upper left", frameon=False)
    plt.show()


if __name__ == "__main__":
    picture()

# %%
# In a loop under torchrun::
#
#     torch.distributed.init_process_group("gloo")
#     model = torch.nn.parallel.DistributedDataParallel(encoder)
#     loss = objective(tammes.Gather()(model(view_a), model(view_b)))
#
# ``torchrun --nproc-per-node 2 -m tammes train hcl ...`` does the same for a whole run.
