"""Base of everything that crosses the socket or is printed with `--json`.

Public. Fields may be added to a document, never renamed or removed within a schema number.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Document(Struct, kw_only=True):
    """A typed message body; fields read as attributes or, like its JSON, by key."""

    def __getitem__(self, name: str) -> Any:
        """Return the field `name`; raises `KeyError` like a dict."""
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None


class Notice(Document, kw_only=True):
    """Something a person should know that is not an error; `code` is stable."""

    code: str
    message: str
