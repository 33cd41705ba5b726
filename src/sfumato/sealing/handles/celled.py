"""What handles share that file rows under cells which only the client knows."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.errors import ArtifactError
from sfumato.sealing.cells.filing import Place
from sfumato.sealing.client.cells import LearnedCells, Learning
from sfumato.sealing.handles.base import Handle
from sfumato.types import Vectors


class CelledHandle(Handle):
    """Rows are filed under the cells of their vectors and of their sentences."""

    @property
    def _learning(self) -> Learning:
        return Learning.of(self._client.state.settings)

    def learn(self, texts: Sequence[str], vectors: Vectors) -> LearnedCells:
        """Cells for rows like these, and how many of them a query asks for."""
        learning, client = self._learning, self._client
        filed = learning.filed(client, texts, vectors)
        return learning.learn(filed, vectors, client.posting_bytes(vectors.shape[1]))

    def places(self, texts: Sequence[str], vectors: Vectors) -> list[set[Place]]:
        """The cells of rows and of their sentences."""
        codebook = self._client.state.codebook()
        if codebook is None:
            raise ArtifactError("Rows are filed under cells, and none are learned. Restore the state.")
        return self._learning.filed(self._client, texts, vectors).places(codebook)
