"""The programs of .ci, which build environments and try what was built."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
OPTIONAL = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def extras_of_the_tests() -> set[str]:
    requirements = [Requirement(each) for each in OPTIONAL["test"]]
    return {extra for each in requirements if each.name == "tammes" for extra in each.extras}


def test_the_oldest_versions_suit_all_extras_that_are_tested() -> None:
    """A package may be in two extras, with two minimums."""
    printed = subprocess.run(
        [sys.executable, ROOT / ".ci/lowest.py"], capture_output=True, text=True, check=True
    )
    versions = dict(line.split("==") for line in printed.stdout.splitlines())
    assert len(versions) == len(printed.stdout.splitlines())
    assert {"text", "images", "neighbors"} <= extras_of_the_tests()
    for extra in extras_of_the_tests():
        for requirement in map(Requirement, OPTIONAL[extra]):
            assert requirement.specifier.contains(versions[requirement.name]), f"{requirement} of {extra}"
    # Not only allowed, but the oldest.
    assert versions["datasets"] == "3.2"
    assert versions["torch"] == "2.10"


@pytest.mark.parametrize(("size", "code"), [(1999, 0), (2000, 0), (2001, 1)])
def test_a_wheel_that_is_too_large_is_refused(size: int, code: int, tmp_path: Path) -> None:
    small, wheel = tmp_path / "small.whl", tmp_path / "tammes.whl"
    small.write_bytes(b"")
    wheel.write_bytes(bytes(size))
    tried = subprocess.run([ROOT / ".ci/size.sh", "2000", small, wheel], capture_output=True, text=True)
    assert tried.returncode == code
    assert ("tammes.whl has 2001 bytes, but at most 2000 are allowed" in tried.stderr) == bool(code)


def test_the_package_is_built_with_a_limit_of_two_megabytes() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^LARGEST := 2000000$", makefile, re.MULTILINE)
    assert re.search(r"^\t\.ci/size\.sh \$\(LARGEST\) dist/\*\.whl$", makefile, re.MULTILINE)


def test_an_objective_imports_no_heavy_package() -> None:
    """What `.ci/installed.sh` asserts of the installed wheel."""
    script = (ROOT / ".ci/installed.sh").read_text()
    listed = re.search(r"heavy = (\{.*\}) & set\(sys\.modules\)", script)
    assert listed is not None
    assert {"lightning", "matplotlib", "kornia"} <= set(re.findall(r"\w+", listed[1]))
    program = (
        "import sys, tammes, torch; rows = torch.rand(4, 2); "
        "tammes.recipes.hcl(temperature=0.5, beta=1.0)(rows, rows.flip(0)); "
        f"print({listed[1]} & set(sys.modules))"
    )
    tried = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert tried.stdout.strip() == "set()"
