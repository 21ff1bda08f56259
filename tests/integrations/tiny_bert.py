"""A network of a few weights and its tokenizer, in a folder as the hub would have it."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

WORDS = ["red", "green", "blue", "cat", "dog", "bird", "runs", "sleeps", "sings", "far", "near", "now"]


def saved(folder: Path) -> Path:
    """Write the network and its tokenizer, and return the folder."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (folder / "vocab.txt").write_text("\n".join([*special, *WORDS]) + "\n")
    torch.manual_seed(4)
    config = BertConfig(
        vocab_size=len(WORDS) + len(special),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    BertModel(config).save_pretrained(folder)
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def sentences(count: int, seed: int) -> list[str]:
    """Return texts of three words each, drawn at random."""
    generator = torch.Generator().manual_seed(seed)
    draws = torch.randint(len(WORDS), (count, 3), generator=generator)
    return [" ".join(WORDS[word] for word in row) for row in draws.tolist()]
