"""A bag of words: a sentence as the mean of the embeddings of its tokens."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.data.subwords import Words
from tammes.data.tokens import Tokens
from tammes.encoders.encoder import Encoder


class BagOfWords(Encoder):
    """Bag of words: the mean of the embeddings of all tokens of a sentence.

        f(x)  =  sum over unique tokens t of x of p_t nu_t,        p_t the frequency of t in x

    The embeddings nu (vocabulary_size, dim) start from a standard normal distribution, torch's default.

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
        """Return the features of sentences."""
        return self.embeddings(tokens.ids, tokens.offsets)


@dataclass(frozen=True, kw_only=True)
class BagOfWordsConfig:
    """Settings of a `BagOfWords`, the mean of the embeddings of words, and of its vocabulary.

    Raises:
        ValueError: the width or the count is below 1.

    Example:
        >>> BagOfWordsConfig(dim=64).build(vocabulary_size=1000).features
        64
    """

    dim: int = 768
    """Width of the embeddings."""

    minimum_count: int = 5
    """Smallest number of occurrences in the training sentences of a word of the vocabulary."""

    lowercase: bool = False
    """Whether to convert text to lower case."""

    def __post_init__(self) -> None:
        check_integer("dim", self.dim)
        check_integer("minimum_count", self.minimum_count)

    @property
    def tokens(self) -> Words:
        """How text becomes tokens."""
        return Words(minimum_count=self.minimum_count, lowercase=self.lowercase)

    def build(self, vocabulary_size: int) -> BagOfWords:
        """Build the encoder for a vocabulary that includes `[UNK]`, with weights from torch's generator."""
        return BagOfWords(vocabulary_size=vocabulary_size, dim=self.dim)
