"""The tagger as it is trained: the first layers of all-MiniLM-L6-v2, the case of words added to its input."""

from __future__ import annotations

from pathlib import Path

import torch
from rows import KINDS, Row
from tokenizers import Tokenizer
from torch import nn

from sfumato.embedders.digests import require_published
from sfumato.embedders.minilm import PACKAGE, PUBLISHED, model_folder
from sfumato.tagging.cases import CASES, case_of

LENGTH = 128
"""Wordpieces read together, the two special ones included."""
_IGNORED = -100


class Network(nn.Module):
    """Logits of every wordpiece: none, or one of the kinds."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        from transformers import BertConfig, BertModel

        folder = model_folder()
        require_published(folder, PUBLISHED, PACKAGE)
        config = BertConfig.from_pretrained(folder)
        config.num_hidden_layers = layers
        config._attn_implementation = "sdpa"
        self.bert = BertModel.from_pretrained(folder, config=config, add_pooling_layer=False)
        self.cases = nn.Embedding(CASES, config.hidden_size)
        nn.init.normal_(self.cases.weight, std=0.02)
        self.head = nn.Linear(config.hidden_size, 1 + len(KINDS))
        # Words and places are the packaged encoder's own, and are not shipped again.
        for table in (self.bert.embeddings.word_embeddings, self.bert.embeddings.position_embeddings):
            table.weight.requires_grad_(False)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, cases: torch.Tensor) -> torch.Tensor:
        """`(n, length)` wordpieces in, `(n, length, kinds + 1)` logits out."""
        embedded = self.bert.embeddings.word_embeddings(ids) + self.cases(cases)
        found = self.bert(inputs_embeds=embedded, attention_mask=mask).last_hidden_state
        return self.head(found)


def tokenizer() -> Tokenizer:
    """The encoder's own, without cutting or padding."""
    read: Tokenizer = Tokenizer.from_file(str(Path(model_folder()) / "tokenizer.json"))
    read.no_padding()
    read.no_truncation()
    return read


Example = tuple[list[int], list[int], list[int], list[int]]
"""Wordpieces, cases, target kinds, and the kinds that may stand there without being labelled (bits)."""


def examples(row: Row, read: Tokenizer) -> list[Example]:
    """The row in stretches that fit; target -100 where nothing is learned."""
    text, spans = row.text, []
    at = 0
    for part, kind in row.segments:
        spans.append((at, at + len(part), kind))
        at += len(part)
    encoded = read.encode(text, add_special_tokens=False)
    unseen = sum(1 << (1 + KINDS.index(kind)) for kind in KINDS if kind not in row.looked_for)
    ids, cases, targets = list(encoded.ids), [], []
    place = 0
    for start, end in encoded.offsets:
        while place < len(spans) - 1 and spans[place][1] <= start:
            place += 1
        kind = spans[place][2] if spans else None
        cases.append(case_of(text[start:end]))
        targets.append(0 if kind is None else 1 + KINDS.index(kind) if kind in KINDS else _IGNORED)
    made = []
    for low in range(0, len(ids), LENGTH - 2):
        cut = slice(low, low + LENGTH - 2)
        made.append((
            [101, *ids[cut], 102], [0, *cases[cut], 0], [_IGNORED, *targets[cut], _IGNORED],
            [unseen] * (len(ids[cut]) + 2),
        ))  # fmt: skip
    return made


def loss(logits: torch.Tensor, targets: torch.Tensor, unseen: torch.Tensor) -> torch.Tensor:
    """Cross entropy; where nothing was labelled, a kind that nobody looked for is as right as none."""
    kept = targets != _IGNORED
    logits, targets, unseen = logits[kept].float(), targets[kept], unseen[kept]
    total = torch.logsumexp(logits, 1)
    bits = (unseen[:, None] >> torch.arange(logits.shape[1])) & 1
    free = (targets == 0)[:, None] & (bits == 1)
    right = torch.zeros_like(free)
    right[torch.arange(len(targets)), targets] = True
    allowed = torch.where(right | free, logits, torch.full_like(logits, -1e9))
    return (total - torch.logsumexp(allowed, 1)).mean()
