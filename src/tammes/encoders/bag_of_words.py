"""A bag of words: a sentence as the mean of the embeddings of its tokens."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from tammes.data.tokens import Tokens
from tammes.encoders.encoder import Encoder


class BagOfWords(Encoder):
    """f(x) = sum over unique tokens t of x of p_t nu_t, with p_t the frequency of t in the sentence x.

    That is the mean of the embeddings of all tokens. The embeddings nu (vocabulary_size, dim) are drawn
    from a standard normal distribution, torch's default.

    Source: Ash et al., Investigating the Role of Negatives in Contrastive Representation Learning, 2022,
    section 4.

    Example:
        >>> import torch
        >>> encoder = BagOfWords(vocabulary_size=100, dim=16)
        >>> encoder(Tokens(torch.tensor([5, 6, 6]), torch.tensor([0, 1, 3]))).shape
        torch.Size([2, 16])
    """

    def __init__(self, *, vocabulary_size: int, dim: int) -> None:
        super().__init__()
        self.features = dim
        self.embeddings = nn.EmbeddingBag(vocabulary_size, dim, mode="mean", include_last_offset=True)

    def forward(self, tokens: Tokens) -> Float[Tensor, "batch features"]:
        return self.embeddings(tokens.ids, tokens.offsets)


@dataclass(frozen=True, kw_only=True)
class BagOfWordsConfig:
    """Settings of a `BagOfWords` and of its vocabulary.

    Raises:
        ValueError: If the width or the count is not positive.

    Example:
        >>> BagOfWordsConfig(dim=64).build(vocabulary_size=1000).features
        64
    """

    dim: int = 768
    """Width of the embeddings."""

    minimum_count: int = 5
    """How often a word must occur in the training sentences to be in the vocabulary."""

    lowercase: bool = False
    """Whether text is put into lower case."""

    def __post_init__(self) -> None:
        if self.dim < 1 or self.minimum_count < 1:
            raise ValueError(f"expected dim and minimum_count of at least 1, got {self}")

    def build(self, vocabulary_size: int) -> BagOfWords:
        """Build it for so many words, `[UNK]` among them, with weights from torch's generator."""
        return BagOfWords(vocabulary_size=vocabulary_size, dim=self.dim)
