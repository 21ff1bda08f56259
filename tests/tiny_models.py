"""Models of transformers of a few weights, each in a folder as save_pretrained writes it."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    ConvNextConfig,
    GPT2Config,
    LlamaConfig,
    PretrainedConfig,
    PreTrainedTokenizerFast,
    ResNetConfig,
    ViTConfig,
)

# The words of `tiny.random_texts`.
WORDS = [f"w{word}" for word in range(5)] + [
    f"d{document}w{word}" for document in range(4) for word in (5, 6, 7)
]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
SIZE = len(SPECIAL) + len(WORDS)
BLOCKS = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}


def bert(**settings: object) -> BertConfig:
    return BertConfig(vocab_size=SIZE, hidden_size=8, max_position_embeddings=16, **BLOCKS, **settings)


def llama(**settings: object) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=SIZE, hidden_size=8, bos_token_id=2, eos_token_id=3, **{**BLOCKS, **settings}
    )


def gpt2() -> GPT2Config:
    ends = {"bos_token_id": 2, "eos_token_id": 3}
    return GPT2Config(vocab_size=SIZE, n_embd=8, n_layer=1, n_head=2, n_positions=16, **ends)


def vit(size: int = 8, **settings: object) -> ViTConfig:
    return ViTConfig(hidden_size=8, image_size=size, patch_size=4, **BLOCKS, **settings)


def convnext() -> ConvNextConfig:
    return ConvNextConfig(hidden_sizes=[4, 6], depths=[1, 1], num_stages=2, image_size=16, patch_size=2)


def resnet() -> ResNetConfig:
    return ResNetConfig(embedding_size=4, hidden_sizes=[4, 6], depths=[1, 1], layer_type="basic")


def write_model(folder: Path, config: PretrainedConfig, *, seed: int = 0) -> Path:
    """A model with random weights, which differ from those of another seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.AutoModel.from_config(config)
        for parameter in model.parameters():  # their usual weights are almost zero
            torch.nn.init.normal_(parameter, std=0.3)
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    return folder


def write_tokenizer(folder: Path, *, left: bool = False, special: bool = True, **named: str) -> Path:
    """A tokenizer of whole words, which puts a sentence between `[CLS]` and `[SEP]` as BERT's does."""
    words = SPECIAL + WORDS
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        padding_side="left" if left else "right",
        **(named or {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}),
    ).save_pretrained(folder)
    return folder


def write_text_model(folder: Path, config: PretrainedConfig | None = None, *, left: bool = False) -> Path:
    """A model and its tokenizer."""
    return write_tokenizer(write_model(folder, bert() if config is None else config), left=left)
