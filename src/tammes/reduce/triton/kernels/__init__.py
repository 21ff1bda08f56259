"""The kernels of the engine `Triton`: S tile by tile on a GPU.

A file for each reduction: `fixed_shift.py`, `running_maximum.py`, `expectation.py`, `hardest.py`. They share
the functions of `tiles.py` and `terms.py`, which Triton compiles into each of them. `softmax.py` has what a
softmax loss needs besides, `subset.py` the tickets of random subsets.

Exponents and their log-sum-exps are in units of log 2 throughout, since a GPU computes powers of two. A tile
has ROWS x COLUMNS entries. A program owns the rows of `mine`, n of them in all, and walks along the columns,
rows of `other`, m of them in all. The d features are taken DEPTH at a time, or at once where WHOLE.
"""
