"""The table of packings on the ordinary sphere, beside the best published angles.

python benchmarks/packings.py            # 4 to 30 and 100 points: some minutes
python benchmarks/packings.py 48 500     # 48 points, 500 random starts
"""

from __future__ import annotations

import sys
import time

import numpy as np

from machine import description
from tammes.theory import fejes_toth_bound, pack

# N. J. A. Sloane, with the collaboration of R. H. Hardin, W. D. Smith and others, Tables of Spherical Codes:
# angles in degrees of the best points found, to seven decimals.
PUBLISHED = {
    4: 109.4712206, 5: 90.0, 6: 90.0, 7: 77.8695421, 8: 74.8584922, 9: 70.5287794, 10: 66.1468220,
    11: 63.4349488, 12: 63.4349488, 13: 57.1367031, 14: 55.6705700, 15: 53.6578501, 16: 52.2443957,
    17: 51.0903285, 18: 49.5566548, 19: 47.6919141, 20: 47.4310362, 21: 45.6132231, 22: 44.7401612,
    23: 43.7099642, 24: 43.6907671, 25: 41.6344612, 26: 41.0376616, 27: 40.6776007, 28: 39.3551436,
    29: 38.7136512, 30: 38.5971159, 40: 33.1583563, 50: 29.7529564, 60: 27.1928300, 75: 24.3017225,
    100: 21.0312020,
}  # fmt: skip

RESTARTS = 144
"""Three times the default: 28 points need more than 48 starts."""


def row(count: int, restarts: int | None) -> str:
    """Return a row of the table."""
    begin = time.perf_counter()
    packing = pack(count, 3, restarts=restarts)
    seconds = time.perf_counter() - begin
    published = f"{PUBLISHED[count]:.7f}" if count in PUBLISHED else ""
    free = count - len(np.unique(packing.contacts))
    cells = [
        str(count),
        f"{packing.angle_degrees:.7f}",
        published,
        f"{fejes_toth_bound(count):.2f}",
        str(len(packing.contacts)),
        str(free) if free else "",
        packing.proof or "",
        f"{seconds:.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


def main(words: list[str]) -> None:
    """Print the table of docs/geometry.md, or the row of one number of points."""
    counts = [int(words[0])] if words else [*range(4, 31), 100]
    restarts = int(words[1]) if len(words) > 1 else RESTARTS
    print(description() + "\n")
    print("| points | angle | best published | at most | contacts | free | proved optimal | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for count in counts:
        print(row(count, None if count == 100 else restarts), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
