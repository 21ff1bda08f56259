"""Data sets: images, volumes, sentences and graphs, from folders and files, from scikit-learn, or drawn."""

from tammes.data.block_model import block_model
from tammes.data.cifar import cifar10, cifar100
from tammes.data.corrupted_images import corrupted
from tammes.data.corruptions import CORRUPTIONS, Corruption, corruption
from tammes.data.digits import digits
from tammes.data.digits_over import digits_over
from tammes.data.edge_lists import edge_lists
from tammes.data.folder import MixedFolderWarning, folder, usual_shape
from tammes.data.glyphs import glyphs
from tammes.data.graph_batch import GraphBatch
from tammes.data.graph_packing import graphs_of
from tammes.data.graph_set import GraphSet
from tammes.data.graph_stream import GraphStream, graph_stream
from tammes.data.graph_tables import graph_stream_of_files, graph_table
from tammes.data.images import Images, Pixels, TensorPixels, as_floats
from tammes.data.labels import Labeling
from tammes.data.listing import SkippedFilesWarning
from tammes.data.mnist import mnist
from tammes.data.node_batch import NodeBatch
from tammes.data.node_files import node_set, nodes_of
from tammes.data.node_set import NodeSet
from tammes.data.outcomes import Outcomes, read_outcomes
from tammes.data.published import Published, published_at
from tammes.data.shards import shards
from tammes.data.stream import stream
from tammes.data.subwords import BytePairs, Subwords, Tokenization, Unigrams, Words
from tammes.data.svhn import svhn
from tammes.data.synthetic_volumes import synthetic_volumes
from tammes.data.texts import Texts
from tammes.data.texts_loading import texts
from tammes.data.tokens import Tokens
from tammes.data.trifeature import trifeature
from tammes.data.triples import triples
from tammes.data.tu_sets import tu_set
from tammes.data.vocabulary import Vocabulary
from tammes.data.volume_files import volumes
from tammes.data.volumes import Volumes, windowed

__all__ = [
    "CORRUPTIONS",
    "BytePairs",
    "Corruption",
    "GraphBatch",
    "GraphSet",
    "GraphStream",
    "Images",
    "Labeling",
    "MixedFolderWarning",
    "NodeBatch",
    "NodeSet",
    "Outcomes",
    "Pixels",
    "Published",
    "SkippedFilesWarning",
    "Subwords",
    "TensorPixels",
    "Texts",
    "Tokenization",
    "Tokens",
    "Unigrams",
    "Vocabulary",
    "Volumes",
    "Words",
    "as_floats",
    "block_model",
    "cifar10",
    "cifar100",
    "corrupted",
    "corruption",
    "digits",
    "digits_over",
    "edge_lists",
    "folder",
    "glyphs",
    "graph_stream",
    "graph_stream_of_files",
    "graph_table",
    "graphs_of",
    "mnist",
    "node_set",
    "nodes_of",
    "published_at",
    "read_outcomes",
    "shards",
    "stream",
    "svhn",
    "synthetic_volumes",
    "texts",
    "trifeature",
    "triples",
    "tu_set",
    "usual_shape",
    "volumes",
    "windowed",
]
