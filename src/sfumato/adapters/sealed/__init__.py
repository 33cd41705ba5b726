"""A sealed collection where LangChain, LlamaIndex or Haystack expect a vector store of their own.

Each framework has its module. Rows, filters and searches are the same for all (`rows`, `shared`).
"""

from sfumato.adapters.sealed.reference import SealedReference
from sfumato.adapters.sealed.shared import IncompleteResultWarning

__all__ = ["IncompleteResultWarning", "SealedReference"]
