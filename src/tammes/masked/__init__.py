"""Contrast, masked autoencoding and denoising on one Vision Transformer: CAN, with MAE and SimCLR as ends."""

from tammes.masked.can import CAN, Decoded, Losses
from tammes.masked.corrupted import Corrupted
from tammes.masked.decoder import Decoder, DecoderConfig
from tammes.masked.masking import Mask, draw_mask
from tammes.masked.weights import Weights

__all__ = [
    "CAN",
    "Corrupted",
    "Decoded",
    "Decoder",
    "DecoderConfig",
    "Losses",
    "Mask",
    "Weights",
    "draw_mask",
]
