"""The page of a packing holds its points and contacts, and what is said of them."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tammes.report.packing import packing_page
from tammes.theory import pack


def test_the_page_holds_points_and_contacts() -> None:
    packing = pack(12, 3)
    page = packing_page(packing, ["Twelve <points>."])
    assert "Twelve &lt;points&gt;." in page
    assert "<h1>12 points, 63.43 degrees apart</h1>" in page
    found = re.search(r'<script type="application/json" id="packing">(.*?)</script>', page)
    assert found is not None
    data = json.loads(found[1])
    np.testing.assert_allclose(data["points"], packing.points, atol=1e-6)
    assert data["contacts"] == packing.contacts.tolist()
    assert "http" not in page.replace("http://www.w3.org", "")


@pytest.mark.skipif(shutil.which("node") is None, reason="asks node whether the program is one")
def test_the_program_of_the_page_is_one(tmp_path: Path) -> None:
    page = packing_page(pack(4, 3), [])
    found = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert found is not None
    file = tmp_path / "page.js"
    file.write_text(found[1])
    subprocess.run(["node", "--check", str(file)], check=True, timeout=60)


def test_other_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="points of 3 dimensions, got 2"):
        packing_page(pack(4, 2), [])
