"""The learning rates that the library chooses, beside others.

    python benchmarks/learning_rates.py --tasks TASKS
    python benchmarks/learning_rates.py --tasks TASKS --only gru text-transformer

TASKS holds the questions of TREC as published. Networks with random weights learn by `tammes train`. From
those questions and their labels, for ten epochs: a model of transformers with two layers of 128 dimensions,
gated recurrent units (`gru`), and the small transformer over words (`text-transformer`). From scikit-learn's
digits, by masks and contrast (`can`) for 30 epochs: a Vision Transformer with two blocks of width 48. A row
is a rate; its accuracy is that of 20 nearest neighbors on what the command held out, in percent, mean with
its 95 % interval over three seeds, and the difference to the chosen rate is taken seed by seed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoModel, BertConfig, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

from defaults import CELL, task
from machine import description
from tammes.estimate import Estimate

SEEDS = (0, 1, 2)
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
RATES = {
    "transformers": (3e-4, 1e-4, 1e-3),
    "gru": (1e-2, 1e-3, 1e-1),
    "text-transformer": (1e-3, 1e-2, 1e-1),
    "can": (1e-3, 1.6e-4, 3e-3),
}
"""Rates of each network, the chosen one first."""


def write_model(table: Path, folder: Path) -> None:
    """Write an architecture of two layers and a tokenizer of pieces of the words in the table's sentences."""
    # Byte pairs: the trainer of WordPiece numbers its pieces in another order in each process.
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = list(SPECIAL.values())
    tokenizer.train([str(table)], trainers.BpeTrainer(vocab_size=4000, special_tokens=special))
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL).save_pretrained(folder)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=512,
    )
    disable_progress_bar()
    AutoModel.from_config(config).save_pretrained(folder)


def accuracies(before: list[str], encoder: list[str], rate: float, seed: int) -> tuple[float, float]:
    """Train, and return the accuracies of the trained and of the untrained encoder, in percent.

    Args:
        before: objective and options of `tammes train`.
        encoder: the encoder, and its options.
        rate: learning rate.
        seed: random seed.
    """
    with tempfile.TemporaryDirectory() as place:
        options = ["--out", f"{place}/run", "--accelerator", "cpu", "--learning-rate", f"{rate:g}"]
        options += ["--seed", str(seed)]
        ended = subprocess.run(
            [sys.executable, "-m", "tammes", "train", *before, *options, *encoder],
            env={**os.environ, "COLUMNS": "300"},
            capture_output=True,
            text=True,
            check=False,
        )
    if ended.returncode:
        raise RuntimeError(ended.stderr.strip())
    trained, untrained, *_ = (float(found["cell"].split()[0]) for found in CELL.finditer(ended.stdout))
    return trained, untrained


def print_rates(name: str, before: list[str], encoder: list[str], rates: tuple[float, ...]) -> None:
    """Print the table of a network."""
    print(f"| {name} | accuracy of 20 neighbors, % | points above {rates[0]:g} |\n|---|---|---|", flush=True)
    chosen: list[float] = []
    before_training: list[float] = []
    for rate in rates:
        pairs = [accuracies(before, encoder, rate, seed) for seed in SEEDS]
        trained = [pair[0] for pair in pairs]
        chosen = chosen or trained
        before_training = [pair[1] for pair in pairs]
        gain = "" if rate == rates[0] else Estimate.of_difference(trained, chosen).text(1, signed=True)
        print(f"| {rate:g} | {Estimate.over_seeds(trained).text(1)} | {gain} |", flush=True)
    print(f"| untrained | {Estimate.over_seeds(before_training).text(1)} | |\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=Path, required=True, help="folder with the questions of TREC")
    parser.add_argument("--only", nargs="+", choices=RATES, default=list(RATES), help="networks to train")
    choice = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        table, *labels = task("TREC")(choice.tasks, Path(place))
        model = Path(place, "model")
        write_model(Path(table), model)
        from_config = [
            "encoder:transformers",
            "--encoder.name-or-path",
            str(model),
            "--encoder.no-pretrained",
        ]
        vit = ["encoder:vit", "--encoder.depth", "2", "--encoder.width", "48", "--encoder.patch", "2"]
        questions = ["simclr", "--temperature", "0.1", "--epochs", "10", "--data", table, *labels]
        for network in choice.only:
            if network == "can":
                before = ["can", "--data", "digits", "--epochs", "30", "--batch-size", "128"]
                print_rates("CAN, digits", before, vit, RATES[network])
            else:
                encoder = from_config if network == "transformers" else [f"encoder:{network}"]
                print_rates(f"{network}, TREC", questions, encoder, RATES[network])
    print(description())


if __name__ == "__main__":
    main()
