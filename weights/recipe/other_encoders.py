"""Encoders of several families over texts on one device, for training readers of them.

Each gives the vectors of the package's own embedder (`difference` looks), only many at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from encoder import Encoder
from torch import Tensor
from torch.nn import functional as F

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.embedders import load_embedder

Embed = Callable[[Sequence[str]], Tensor]
"""Texts in, unit vectors on the device out."""


def on(device: str, rows: np.ndarray) -> Tensor:
    return torch.from_numpy(np.array(rows, np.float32)).to(device)


def padded(rows: Sequence[Sequence[int]], device: str) -> tuple[Tensor, Tensor]:
    """Numbers of pieces side by side, and which are there."""
    wide = max(map(len, rows))
    table = np.zeros((len(rows), wide), np.int64)
    keep = np.zeros((len(rows), wide), bool)
    for at, row in enumerate(rows):
        table[at, : len(row)], keep[at, : len(row)] = row, True
    return torch.from_numpy(table).to(device), torch.from_numpy(keep).to(device)


class MiniLMTexts:
    """all-MiniLM-L6-v2 with the recipe's own encoder."""

    def __init__(self, device: str, data: Path) -> None:
        self.pieces, self.encode, self.device = Wordpieces.minilm(), Encoder(data, device), device

    def __call__(self, texts: Sequence[str]) -> Tensor:
        tokens = torch.from_numpy(self.pieces.encode(texts, 254)).to(self.device)
        return self.encode(tokens[:, : int((tokens != 0).sum(1).max())])


class WordLlamaTexts:
    """Token vectors, summed."""

    def __init__(self, device: str) -> None:
        own = load_embedder("wordllama")
        self.weights, self.tokenizer, self.device = on(device, own._weights), own._tokenizer, device

    def __call__(self, texts: Sequence[str]) -> Tensor:
        rows = [row.ids or [1] for row in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]
        flat = torch.from_numpy(np.concatenate([np.array(row, np.int64) for row in rows])).to(self.device)
        starts = np.cumsum([0, *map(len, rows[:-1])])
        sums = F.embedding_bag(flat, self.weights, torch.from_numpy(starts).to(self.device), mode="sum")
        return F.normalize(sums, dim=1)


class UseLiteTexts:
    """The two layers of Universal Sentence Encoder Lite, many texts at once."""

    def __init__(self, device: str) -> None:
        own = load_embedder("use-lite")
        network, self.device = own._network, device
        self.cutter, self.known = own._pieces, {}
        self.longest = network.longest
        self.words, self.places = on(device, network._words), on(device, network._places)
        self.wider, self.last = self._pair(network._wider), self._pair(network._last)
        self.layers = [
            {
                name: self._pair(getattr(layer, f"_{name}"))
                for name in ("first_norm", "second_norm", "in", "out", "up", "down")
            }
            | {"scale": on(device, layer._scale)}
            for layer in network._layers
        ]

    def _pair(self, both: tuple[np.ndarray, np.ndarray]) -> tuple[Tensor, Tensor]:
        return on(self.device, both[0]), on(self.device, both[1])

    def _read(self, text: str) -> list[int]:
        """Its pieces, each word looked up where it was cut before."""
        found: list[int] = []
        for word in text.split(" "):
            if word not in self.known:
                self.known[word] = self.cutter.read(word, self.longest)
            found += self.known[word]
        return found[: self.longest] or [0]

    def _layer(self, layer: dict, rows: Tensor, kept: Tensor, keep: Tensor) -> Tensor:
        def normed(x: Tensor, name: str) -> Tensor:
            return F.layer_norm(x, (x.shape[-1],), *layer[name], 1e-6)

        def mapped(x: Tensor, name: str) -> Tensor:
            return x @ layer[name][0] + layer[name][1]

        queries, keys, values = (
            part.unflatten(-1, (4, -1)).transpose(1, 2)
            for part in mapped(normed(rows, "first_norm"), "in").chunk(3, -1)
        )
        scores = (queries * layer["scale"]) @ keys.transpose(2, 3)
        shares = scores.masked_fill(~keep[:, None, None], float("-inf")).softmax(-1)
        between = mapped((shares @ values).transpose(1, 2).flatten(2), "out") + kept
        return mapped(F.relu(mapped(normed(between, "second_norm"), "up")), "down") + between

    def __call__(self, texts: Sequence[str]) -> Tensor:
        tokens, keep = padded([self._read(text) for text in texts], self.device)
        words = self.words[tokens]
        rows = words + (words + self.places[: tokens.shape[1]])
        rows = self._layer(self.layers[0], rows, rows @ self.wider[0] + self.wider[1], keep)
        rows = self._layer(self.layers[1], rows, rows, keep) * keep[..., None]
        mean = rows.sum(1) / keep.sum(1, keepdim=True)
        return F.normalize(torch.tanh(mean @ self.last[0] + self.last[1]), dim=1)


class FolderTexts:
    """A sentence-transformers model out of a folder."""

    def __init__(self, device: str, folder: str) -> None:
        from sentence_transformers import SentenceTransformer

        self.model = SentenceTransformer(folder, device=device, local_files_only=True)

    def __call__(self, texts: Sequence[str]) -> Tensor:
        found = self.model.encode(
            list(texts), batch_size=512, convert_to_tensor=True, show_progress_bar=False
        )
        return F.normalize(found.float().clone(), dim=1)


class SmolLM2Texts:
    """The first layers of SmolLM2, pooled as the package pools them."""

    def __init__(self, device: str) -> None:
        from sfumato.embedders.smollm2.encoder import decoder, spread

        self.model, self.device = decoder(spread(), device), device

    def __call__(self, texts: Sequence[str]) -> Tensor:
        features = {key: rows.to(self.device) for key, rows in self.model.preprocess(list(texts)).items()}
        return F.normalize(self.model(features)["sentence_embedding"].float(), dim=1)


class ProductTexts:
    """Any other embedder of the package, as it is."""

    def __init__(self, device: str, name: str) -> None:
        self.own, self.device = load_embedder(name), device

    def __call__(self, texts: Sequence[str]) -> Tensor:
        return F.normalize(on(self.device, self.own.embed(list(texts))), dim=1)


def encoder_of(name: str, device: str, data: Path) -> Embed:
    """The encoder of this name, or the sentence-transformers model of this folder."""
    if name == "minilm":
        return MiniLMTexts(device, data)
    if name == "wordllama":
        return WordLlamaTexts(device)
    if name == "use-lite":
        return UseLiteTexts(device)
    if name == "smollm2":
        return SmolLM2Texts(device)
    if Path(name).is_dir():
        return FolderTexts(device, name)
    return ProductTexts(device, name)


@torch.no_grad()
def many(encoder: Embed, texts: Sequence[str], rows: int = 2048) -> Tensor:
    """Vectors of many texts in 32 bits, those of about equal lengths together."""
    order = np.argsort([len(text) for text in texts], kind="stable")
    found: Tensor | None = None
    for start in range(0, len(order), rows):
        part = order[start : start + rows]
        vectors = encoder([texts[at] or "." for at in part])
        if found is None:
            found = torch.empty(len(texts), vectors.shape[1], device=vectors.device)
        found[torch.from_numpy(part).to(vectors.device)] = vectors.float()
    assert found is not None, "there must be a text"
    return found


def likeness(encoder: Embed, name: str, texts: Sequence[str]) -> float:
    """The smallest cosine between its vectors of some texts and those of the package's embedder."""
    own = load_embedder(name).embed(list(texts))
    found = many(encoder, texts).cpu().numpy()
    return float((found * own).sum(1).min())
