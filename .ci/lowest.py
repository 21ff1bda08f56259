"""Print the oldest versions that pyproject.toml allows, as constraints for pip.

    python .ci/lowest.py > lowest.txt
    python .ci/lowest.py hosts onnx > lowest.txt

Direct dependencies and those of the extras that are named, by default those in `test`; where several ask for
one package, the highest of their minimums. What these need in turn is pip's choice, and so are the tools of
the tests.
"""

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

EXTRAS = re.compile(r"tammes\[(.+)\]")
MINIMUM = re.compile(r"([\w.-]+)>=([\d.]+)")


def lowest(project: dict, extras: Sequence[str] = ()) -> dict[str, str]:
    """Return the oldest version of each package that the dependencies and the extras allow."""
    optional = project["optional-dependencies"]
    tested = ",".join(found[1] for each in optional["test"] if (found := EXTRAS.fullmatch(each))).split(",")
    requirements = [
        *project["dependencies"],
        *(each for extra in extras or tested for each in optional[extra]),
    ]
    versions: dict[str, str] = {}
    for name, version in (MINIMUM.fullmatch(each).groups() for each in requirements):
        versions[name] = max(versions.get(name, version), version, key=numbers)
    return versions


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, so that 3.10 comes after 3.9."""
    return tuple(int(part) for part in version.split("."))


if __name__ == "__main__":
    file = Path(__file__).parents[1] / "pyproject.toml"
    for name, version in lowest(tomllib.loads(file.read_text())["project"], sys.argv[1:]).items():
        print(f"{name}=={version}")
