"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

    python .ci/lowest.py > lowest.txt

Direct dependencies alone, those of `text` and `graphs` among them; what they need in turn is pip's choice.
"""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
optional = project["optional-dependencies"]
for requirement in (*project["dependencies"], *optional["text"], *optional["graphs"]):
    name, version = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement).groups()
    print(f"{name}=={version}")
