"""Private text: words blurred in a public vector space and written again (STAMP)."""

from sfumato.text.budgets import Budgets, Group
from sfumato.text.channel import Channel
from sfumato.text.decoders import DECODERS, Exact, WordDecoder
from sfumato.text.grouping import GroupFunction, TermGroups, WordPlace
from sfumato.text.groups import GroupMap
from sfumato.text.importance import EncoderImportance, Importance, WordImportance
from sfumato.text.promise import Promise
from sfumato.text.rewriter import Position, Rewriter, Rewritten
from sfumato.text.vocabulary import VOCABULARIES, WordVectors, load_vocabulary

__all__ = [
    "DECODERS",
    "VOCABULARIES",
    "Budgets",
    "Channel",
    "EncoderImportance",
    "Exact",
    "Group",
    "GroupFunction",
    "GroupMap",
    "Importance",
    "Position",
    "Promise",
    "Rewriter",
    "Rewritten",
    "TermGroups",
    "WordDecoder",
    "WordImportance",
    "WordPlace",
    "WordVectors",
    "load_vocabulary",
]
