"""Bad command lines, each of which ends within seconds with exit code 2 and words instead of a traceback.

In the table {empty} is an empty folder, {file} a text that is nothing else, {bytes} a file of random bytes,
{images} a folder of two classes of images, {texts} a folder of documents, {run} the folder of a run whose
configuration is broken, {deep} one whose configuration is nested too deeply, {locked} a file that cannot be
read, {long} a name that is too long, {odd} a name that is not UTF-8, and {missing} nothing at all.
"""

import os
import shlex
import time
from pathlib import Path

import pytest
import torch
from PIL import Image

from tammes.cli.main import main

SECONDS = 20.0
"""Longest time of a command, most of which the first one takes for its imports."""

FRAMES = {
    "": """
        nonsense
        Train
        ''
        --nonsense
        --version now
        train,compare
        {odd}
    """,
    "train": """
        train
        train nonsense --data digits
        train simclr
        train simclr --data digits
        train simclr --temperature 0.5
        train simclr --temperature 0.5 --data
        train simclr --temperature 0.5 --data digits --nonsense 1
        train simclr --temperature 0.5 --data digits --beta 1
        train simclr hcl --temperature 0.5 --data digits
        train hcl --temperature 0.5 --data digits
        train hcl --temperature 0.5 --beta nan --data digits
        train hcl --temperature 0.5 --beta -1 --data digits
        train hcl --temperature 0.5 --beta inf --data digits
        train hcl --temperature 0.5 --beta 1 --class-prior 1 --data digits
        train hcl --temperature 0.5 --beta 1 --class-prior -0.1 --data digits
        train hcl --temperature 0.5 --beta 1 --class-prior nan --data digits
        train hcl-ot --temperature 0.5 --epsilon 0 --data digits
        train hcl-ot --temperature 0.5 --epsilon nan --data digits
        train triplet --margin 0 --data digits
        train triplet --margin nan --data digits
        train logistic --weight -1 --data digits
        train logistic --weight nan --data digits
        train ifm --temperature 0.5 --epsilon -1 --data digits
        train ifm --temperature 0.5 --epsilon 0.1 --alpha nan --data digits
        train jsd --clip nan --data digits
    """,
    "train simclr --temperature {} --data digits": "nan inf -inf 0 -1 1e400 half '' 0,5 0x10 1/2 1e-400",
    "train simclr --temperature 0.5 --data digits --held-out {}": "nan inf -inf 1 1.5 -0.1 1e300 half '' 1%",
    "train simclr --temperature 0.5 --data digits --batch-size {}": "1 0 -5 2.5 nan many '' 1e300",
    "train simclr --temperature 0.5 --data digits --epochs {}": "0 -1 1.5 nan inf all ''",
    "train simclr --temperature 0.5 --data digits --seed {}": "-1 0.5 nan none ''",
    "train simclr --temperature 0.5 --data digits --chunk {}": "0 -1 0.5 nan",
    "train simclr --temperature 0.5 --data digits --size {}": "0 -8 9 8.5 nan 1000000000",
    "train simclr --temperature 0.5 --data digits --channels {}": "0 2 3 -1 gray",
    "train simclr --temperature 0.5 --data digits --learning-rate {}": "0 -1 nan inf fast",
    "train simclr --temperature 0.5 --data digits --weight-decay {}": "-1 nan inf",
    "train simclr --temperature 0.5 --data digits --clip-norm {}": "0 -1 nan",
    "train simclr --temperature 0.5 --data digits --workers {}": "-1 0.5 nan two",
    "train simclr --temperature 0.5 --data digits --patience {}": "0 -1 nan inf long",
    "train simclr --temperature 0.5 --data digits --checkpoint-every {}": "0 -1 0.5 nan",
    "train simclr --temperature 0.5 --data digits --measure-every {}": "0 -1 0.5 nan",
    "train simclr --temperature 0.5 --data digits --precision {}": "16 float64 ''",
    "train simclr --temperature 0.5 --data digits --accelerator {}": "tpu cuda:7 ''",
    "train simclr --temperature 0.5 --data digits --out {}": "{file} {file}/below {texts} {odd} {long}",
    "train simclr --temperature 0.5 --data digits {}": """
        --resume --overwrite
        --resume --out {missing}
        --resume --out {empty}
        --resume --out {run}
        --resume --out {deep}
        --out {run}
        --test {missing}
        --test {images}
        --text-column text
        --split train
        --prose
        --encoding latin-1
        --no-head head:projection-head-config --head.dim 0
        encoder:bag-of-words
        encoder:nonsense
        encoder:resnet18 --encoder.width 0
        encoder:convnet --encoder.width -1
        augmentation:identity
        augmentation:photographs --augmentation.flip-probability 2
        augmentation:photographs --augmentation.flip-probability nan
        negatives:queue --negatives.size 0
        negatives:queue --negatives.momentum nan
        positives:active --positives.candidates 0
        positives:nonsense
        annealing:falling --annealing.changes 2
        annealing:rising --annealing.changes 0
        schedule:cosine --schedule.warmup-epochs -1
        --batch-size 100000000
        --epochs 1 --epochs two
    """,
    "train simclr --temperature 0.5 --data {}": """
        {missing}
        {empty}
        {file}.png
        {bytes}
        {bytes}.csv
        {locked}
        {long}
        {odd}
        ''
        hub:
        hub:nonsense
        /dev/null
        {texts} --size 8
        {texts} --channels 1
        {texts} encoder:convnet
        {texts} --encoding nonsense
        {texts} --encoding rot13
        {texts} --files ''
        {texts} --text-column text
        {texts} --test {missing}
        {texts} --chunk 3
        {images} --batch-size 100
        {images} --test {empty}
        {images} --test {texts}
        {images} --text-column text
        {images} encoder:bag-of-words
    """,
    "compare {}": """
        simclr
        --data digits
        nonsense --data digits
        simclr simclr --data digits
        simclr --data {missing}
    """,
    "embed {}": """
        {missing}
        {run} --data digits
        {missing} --data digits --out {empty}/x.npz
        {empty} --data digits --out {empty}/x.npz
        {file} --data digits --out {empty}/x.npz
        {run} --data digits --out {empty}/x.npz
        {deep} --data digits --out {empty}/x.npz
        {run} --data digits --out {empty}/x.csv
        {run} --data digits --out {empty}
        {run} --data digits --out {file}/x.npz
        {run} --data digits --out {long}.npz
        {run} --data digits --out {odd}.npz
        {run} --data digits --out x.npz --batch-size 0
        {run} --data digits --out x.npz --batch-size nan
        {run} --data digits --out x.npz --workers -1
        {run} --data digits --out x.npz --held-out 0.1
        '' --data digits --out x.npz
    """,
    "evaluate {}": """
        {missing}
        {missing} --data digits
        {empty} --data digits
        {file} --data digits
        {run} --data digits
        {deep} --data digits
        {deep} --data digits --json
        {odd} --data digits
        {long} --data digits
        '' --data digits
        {run} --data digits --held-out nan
        {run} --data digits --accelerator tpu
        {run} {run} --data digits
    """,
    "reproduce {}": """
        nonsense
        ''
        --list --budget nan
        --list --seeds 0
        transport-degeneracy --budget 0
        transport-degeneracy --budget 1.5
        transport-degeneracy --budget nan
        transport-degeneracy --budget all
        transport-degeneracy --seed -1
        transport-degeneracy --seed 99999999999999999999
        transport-degeneracy --seeds 0
        transport-degeneracy --seeds 1.5
        transport-degeneracy --data {file}
        transport-degeneracy --out {file}
        transport-degeneracy --out {file}/below
        transport-degeneracy --out {study}
        transport-degeneracy --out {odd}
        transport-degeneracy --out {long}
        negatives-text
        negatives-text --data {missing}
        transport-degeneracy sets-search
    """,
    "theory {}": """
        nonsense
        negatives
        negatives --classes 0
        negatives --classes 1
        negatives --classes -5
        negatives --classes 1000000000000
        negatives --classes 2.5
        negatives --classes nan
        negatives --classes 10 --labels {file}
        negatives --classes 10 --column label
        negatives --classes 10 --batch 0
        negatives --classes 10 --batch 1
        negatives --classes 10 --batch -3
        negatives --classes 10 --batch 10000000000
        negatives --classes 10 --figure {empty}
        negatives --classes 10 --figure figure.gif
        negatives --classes 10 --figure {file}/figure.svg
        negatives --classes 10 --figure {long}.svg
        negatives --labels {missing}
        negatives --labels {empty}
        negatives --labels {bytes}
        negatives --labels {locked}
        negatives --labels {long}
        negatives --labels ''
        negatives --labels {file} --column nonsense
        positives
        positives --dimension 1
        positives --dimension -1
        positives --dimension 10000000
        positives --dimension nan
        positives --dimension 8 --error 0
        positives --dimension 8 --error 1
        positives --dimension 8 --error nan
        positives --dimension 8 --delta 0
        positives --dimension 8 --delta 1
        positives --dimension 8 --delta inf
    """,
    "solve {}": """
        nonsense --graph {file}
        max-clique
        max-clique --graph {missing}
        max-clique --graph {empty}
        max-clique --graph {bytes}
        max-clique --graph {locked}
        max-clique --graph {long}
        max-clique --graph {file} --data MUTAG
        max-clique --data {empty}
        max-clique --data {file}
        max-clique --data ''
        max-clique --data {long}
        max-clique --data MUTAG --most 0
        max-clique --graph {edges} --extension
        max-clique --graph {edges} --extension lovasz lovasz
        max-clique --graph {edges} --extension lovasz --answers {empty}
        max-clique --graph {edges} --extension lovasz --answers {bytes}
        max-clique --graph {edges} --extension lovasz --answers {file}/below
        k-clique --graph {edges}
        k-clique --graph {edges} --k 0
        k-clique --graph {edges} --k nan
        max-cut --graph {edges} --extension erdos
        max-coverage --graph {edges} --k 1 --extension straight-through
    """,
    "solve max-clique --graph {edges} --{}": (
        "most=3 k=3 epochs=0 batch-size=0 learning-rate=nan learning-rate=-1 width=0 layers=0 noise=-1 "
        "eigenvectors=0 samples=0 seed=-1 seed=99999999999999999999 seconds=0 seconds=nan "
        "extension=nonsense "
    ),
    "compare simclr --data digits --{}": (
        "report={empty} report={file}/below.html report={odd} report={long} seeds=0 seeds=nan seed=-1 "
        "margin=nan temperature=0 alpha=-1 radius=nan epsilon=0 class-prior=1 held-out=1 epochs=0 "
        "batch-size=1 workers=-1 accelerator=tpu out={file} "
    ),
}


def command_lines() -> list[str]:
    lines = []
    for frame, table in FRAMES.items():
        # A frame with an option at its end has values in one line, any other a rest in each line.
        values = table.split() if "\n" not in table else [row.strip() for row in table.strip().splitlines()]
        before, _, after = frame.partition("{}")
        lines += [f"{before}{value}{after}" if "{}" in frame else value for value in values]
    return lines


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("places")
    for name in ("empty", "images/cat", "images/dog", "texts", "run", "deep", "study"):
        (folder / name).mkdir(parents=True)
    for kind in ("cat", "dog"):
        for number in range(3):
            Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / "images" / kind / f"{number}.png")
    for number in range(3):
        (folder / "texts" / f"{number}.txt").write_text("One sentence.\nAnother one.\nA third.\n")
    (folder / "file").write_text("nothing,special\n1,2\n")
    (folder / "file.png").write_text("no image")
    (folder / "edges").write_text("1 2\n2 3\n1 3\n3 4\n")
    noise = bytes(torch.randint(128, 256, (999,), generator=torch.Generator().manual_seed(0)).tolist())
    for name in ("bytes", "bytes.csv", "locked"):
        (folder / name).write_bytes(noise)
    (folder / "locked").chmod(0)
    (folder / "run" / "config.yaml").write_text("{kind: RunConfig, training: 3}")
    (folder / "run" / "model.safetensors").write_bytes(noise)
    (folder / "deep" / "config.yaml").write_text(5_000 * "[")
    (folder / "deep" / "model.safetensors").write_bytes(noise)
    (folder / "study" / "study.json").write_text(5_000 * "[")
    names = (
        "missing",
        "empty",
        "images",
        "texts",
        "run",
        "deep",
        "study",
        "file",
        "edges",
        "bytes",
        "locked",
    )
    odd, long = folder / os.fsdecode(b"caf\xe9"), folder / (300 * "a")
    return {name: str(folder / name) for name in names} | {"odd": str(odd), "long": str(long)}


def test_the_list_is_long() -> None:
    assert len(set(command_lines())) == len(command_lines()) >= 185


@pytest.mark.parametrize("line", command_lines())
def test_a_bad_command_line_ends_in_words(
    line: str,
    places: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    words = [word.format(**places) for word in shlex.split(line)]
    begin = time.monotonic()
    assert main(words) == 2
    assert time.monotonic() - begin < SECONDS
    output = capfd.readouterr()
    assert "Traceback" not in output.err + output.out
    lines = output.err.splitlines()
    assert lines[-1].startswith("tammes: ") or any("For full helptext" in each for each in lines), output.err
