"""A handle of sealed search: here the shared tags under a name of its own."""

from __future__ import annotations

from sfumato.sealing.handles.tags import TagHandle


class OwnTags(TagHandle):
    """Say in `sees` what the store can see; change what `file` gives it."""

    name = "own-tags"
