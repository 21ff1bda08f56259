"""
Several processes
=================

Under data-parallel training each process sees its part of the batch. A loss that compares the rows of a process with
each other alone is another loss, and one that gathers the rows of all but forgets a gradient is wrong by a factor.
:func:`tammes.integrations.check_ddp` starts two processes with gloo and compares with one process that has the whole
batch. On GPUs the same lines run with nccl.
"""

import matplotlib.pyplot as plt

import tammes
from tammes.integrations import check_ddp
from tammes.integrations.lightly import ObjectiveLoss

objective = tammes.recipes.hcl(temperature=0.5, beta=1.0)

# %%
# With :class:`tammes.Gather`, here inside the loss for lightly's loop, the rows of all processes are candidates. The
# numbers of rows may differ.

gathered = check_ddp(ObjectiveLoss(objective, gather_distributed=True), rows=(5, 8))
print(gathered)

# %%
# Without it, each process compares its own rows.

alone = check_ddp(ObjectiveLoss(objective, gather_distributed=False), rows=(5, 8))
print(alone)

# %%
# The gradient as a vector: along the right one, and across it.

figure, axes = plt.subplots(figsize=(6, 3.4))
axes.annotate("", (1, 0), (0, 0), arrowprops={"arrowstyle": "->", "color": "0.6", "linewidth": 6})
for color, name, report in (("C0", "gathered", gathered), ("C3", "each process by itself", alone)):
    across = report.factor * (1 / report.cosine**2 - 1) ** 0.5 if report.cosine < 1 else 0.0
    axes.annotate("", (report.factor, across), (0, 0), arrowprops={"arrowstyle": "->", "color": color, "linewidth": 2})
    axes.plot([], [], color=color, label=name)
axes.plot([], [], color="0.6", linewidth=5, label="one process, whole batch")
axes.set(xlim=(0, 1.3), ylim=(-0.1, 0.9), xlabel="along the right gradient", ylabel="across it")
axes.legend(loc="upper left", frameon=False)
figure.tight_layout()
plt.show()

# %%
# In a loop under torchrun::
#
#     torch.distributed.init_process_group("gloo")
#     model = torch.nn.parallel.DistributedDataParallel(encoder)
#     loss = objective(tammes.Gather()(model(view_a), model(view_b)))
#
# ``torchrun --nproc-per-node 2 -m tammes train hcl ...`` does the same for a whole run.
