"""
A diagnosis of an embeddings file
=================================

``tammes diagnose embeddings.parquet --labels label`` says of anyone's embeddings how many dimensions they use
and which rows are duplicates, hubs or mislabeled. The file here is drawn, with faults that are known.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tammes

generator = np.random.default_rng(0)
labels = generator.integers(5, size=800)
centers = 1.5 * generator.standard_normal((5, 32))
rows = (centers - centers.mean(0))[labels] + generator.standard_normal((800, 32))

# %%
# The faults: twelve rows are copies of others, twenty have the wrong label, and half of the dimensions are
# nearly empty.

rows[100:112], labels[100:112] = rows[:12], labels[:12]
wrong = np.arange(300, 320)
labels[wrong] = (labels[wrong] + 1) % 5
rows[:, 16:] *= 0.01

file = Path(tempfile.mkdtemp()) / "embeddings.parquet"
pq.write_table(pa.table({"embedding": list(rows.astype(np.float32)), "label": labels}), file)

# %%
# The command reads the file; in Python the rows are handed over. Every measure has an interval, the value of
# a Gaussian of the same size, and a verdict.

found = tammes.diagnose(rows.astype(np.float32), labels=labels)
print(found.verdict)
for name in ("rankme", "dimensions_99", "exact_duplicates", "label_errors", "hubs", "knn_accuracy"):
    measure = found[name]
    print(f"{name:17} {measure.value:8.2f}  {measure.verdict}")

# %%
# Which rows? Each fault has a column with a flag for every row.

print("copies:", *np.flatnonzero(found.rows["exact_duplicate"])[:24])
print("likely wrong labels:", *np.flatnonzero(found.rows["label_error"]))

# %%
# The spectrum beside that of a Gaussian, and a map of the rows with the flagged ones in another color. The
# same pictures are on the page that the command writes.

spectrum = found.plot_spectrum()

# %%
places = found.plot_map()

# %%
# As a check in a pipeline, ``--fail-on`` ends the command with exit code 1 if a condition holds.

print(found.holds("exact_duplicates > 0 and rankme < 24"))
plt.show()
