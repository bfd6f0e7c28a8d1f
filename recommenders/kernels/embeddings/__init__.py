"""Item neighbours from learned item vectors: pruning, BM25, least squares, cosines."""

from recommenders.kernels.embeddings.model import similarity
from recommenders.kernels.embeddings.settings import EmbeddingSettings

__all__ = ["EmbeddingSettings", "similarity"]
