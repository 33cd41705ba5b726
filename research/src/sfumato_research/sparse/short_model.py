"""SmolLM2's first blocks as a language model of its own, small enough to be tuned many times over."""

from __future__ import annotations

from pathlib import Path

BLOCKS = 7
"""Of 30: those that the encoder of that name reads, too."""


def first_blocks(folder: Path, blocks: int = BLOCKS) -> Path:
    """Write the first blocks, the word vectors they begin and end with, and a last norm that starts anew.

    What is in the folder already stays.
    """
    if (folder / "config.json").exists():
        return folder
    from sfumato.embedders.huggingface.gguf import first_layers
    from sfumato.embedders.huggingface.models import SMOLLM2, find_model, load_tokenizer, transformers

    local = find_model(SMOLLM2)
    assert local.gguf is not None  # the package holds nothing else
    inner = first_layers(local.folder / local.gguf, blocks)
    inner.config.tie_word_embeddings = True
    whole = transformers().LlamaForCausalLM(inner.config)
    inner.norm = whole.model.norm
    whole.model = inner
    whole.tie_weights()
    load_tokenizer(local).save_pretrained(str(folder))
    whole.save_pretrained(str(folder))
    return folder
