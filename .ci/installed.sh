#!/usr/bin/env bash
# Try an installed wheel from an empty folder: python of its environment as the only argument.
set -euo pipefail
python=$(realpath -s "$1")
bin=$(dirname "$python")
cd "$(mktemp -d)"

# What a user has who asked for nothing else, without the heavy packages until they are needed.
"$python" - <<'PY'
import sys
from importlib import metadata, resources

import tammes

tammes.recipes.hcl(temperature=0.5, beta=1.0)
heavy = {"lightning", "matplotlib", "kornia", "torch_geometric", "transformers"} & set(sys.modules)
assert not heavy, f"an objective also imported {sorted(heavy)}"
assert resources.files("tammes").joinpath("py.typed").is_file(), "the wheel has no py.typed"
assert metadata.metadata("tammes")["License-Expression"] == "Apache-2.0"
print("tammes", metadata.version("tammes"), "at", tammes.__file__)
PY

"$bin/tammes" --help > /dev/null
"$bin/tammes" train hcl --temperature 0.5 --beta 1 --data digits --epochs 1 --out run
"$bin/tammes" evaluate run --data digits
"$bin/tammes" embed run --data digits --out rows.parquet
"$bin/tammes" diagnose rows.parquet --out diagnosis
ls run diagnosis
