"""The fields of documents, parameters, records and settings, with their types in words.

Read from the classes themselves (`msgspec`) and, for the texts below attributes, from the source.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import textwrap
import typing
from types import NoneType, UnionType
from typing import Any

import msgspec
from msgspec import Struct

from hindsight_cli import documents as own_documents
from hindsight_daemon import config
from hindsight_daemon.model import HistoryEntry, Memory
from hindsight_daemon.protocol import conflict_documents, upkeep_documents
from hindsight_daemon.protocol import documents as wire_documents
from hindsight_daemon.protocol.document import Document
from hindsight_daemon.protocol.documents import SourceView

_JSON_WORDS: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    dict: "object",
    Any: "any",
}
_OPAQUE: dict[tuple[str, str], type[Struct]] = {
    ("MemoryDocument", "memory"): Memory,
    ("MemoryDocument", "history"): HistoryEntry,
    ("ListResult", "memories"): Memory,
    ("WhyResult", "history"): HistoryEntry,
}
"""Fields that the wire types leave open, and the records that fill them."""
_SHOWN: dict[type[Struct], dict[str, str]] = {
    HistoryEntry: {"memory_id": "", "before": "object or null", "after": "object or null"},
}
"""Stored fields that are shown in another form, or (empty) not at all."""


class Field(Struct, frozen=True, kw_only=True):
    """One field: its name, its type in words, and the record that describes it further."""

    name: str
    kind: str
    record: type[Struct] | None = None


class Setting(Struct, frozen=True, kw_only=True):
    """One key of the configuration file; `default` is written as TOML."""

    key: str
    kind: str
    default: str
    text: str
    choices: tuple[str, ...] = ()
    variable: str = ""


@functools.cache
def fields_of(cls: type[Struct]) -> tuple[Field, ...]:
    """Return the fields of a class in order; `schema` is left out, since it names the document."""
    hints = typing.get_type_hints(cls)
    shown = _SHOWN.get(cls, {})
    fields = [
        Field(
            name=name,
            kind=shown.get(name) or type_text(hints[name]),
            record=_OPAQUE.get((cls.__name__, name)) or _record_in(hints[name]),
        )
        for name in cls.__struct_encode_fields__
        if name != "schema" and shown.get(name) != ""
    ]
    if cls is Memory:
        # What is derived for display comes beside the stored fields.
        fields.insert(1, Field(name="short_id", kind="string"))
        fields.append(Field(name="source", kind="SourceView", record=SourceView))
    return tuple(fields)


def records_of(cls: type[Struct]) -> list[type[Struct]]:
    """Return the class and every record its fields lead to, each once, in reading order."""
    found: list[type[Struct]] = [cls]
    for one in found:
        for field in fields_of(one):
            if field.record is not None and field.record not in found:
                found.append(field.record)
    return found


def schema_of(cls: type[Struct]) -> str:
    """Return the schema a document names, such as `hindsight.recall/1`; empty if it has none."""
    for field in msgspec.structs.fields(cls):
        if field.name == "schema" and isinstance(field.default, str):
            return field.default
    return ""


@functools.cache
def documents() -> dict[str, type[Document]]:
    """Return every document that is printed or sent, by schema."""
    classes = [
        one
        for module in (wire_documents, upkeep_documents, conflict_documents, own_documents)
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, Document)
    ]
    return {schema: cls for cls in classes if (schema := schema_of(cls))}


def type_text(hint: Any) -> str:
    """Return a type as JSON knows it, in words."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return type_text(typing.get_args(hint)[0])
    if origin is typing.Literal:
        return " | ".join(str(word) for word in typing.get_args(hint))
    if origin in (typing.Union, UnionType):
        parts = [one for one in typing.get_args(hint) if one is not msgspec.UnsetType]
        return " or ".join("null" if one is NoneType else type_text(one) for one in parts)
    if origin in (list, tuple):
        return f"array of {type_text(typing.get_args(hint)[0])}"
    if origin is dict:
        value = typing.get_args(hint)[1]
        return "object" if value is Any else f"object of {type_text(value)}"
    if hint in _JSON_WORDS:
        return _JSON_WORDS[hint]
    return "time" if getattr(hint, "__name__", "") == "datetime" else str(hint.__name__)


def _record_in(hint: Any) -> type[Struct] | None:
    if isinstance(hint, type) and issubclass(hint, Struct):
        return hint
    for part in typing.get_args(hint):
        if (found := _record_in(part)) is not None:
            return found
    return None


def settings() -> list[Setting]:
    """Return every key of the configuration file in file order."""
    variables = {key: name for name, key in config.ENVIRONMENT.items()}
    found = []
    for key, (cls, name) in config.setting_keys().items():
        hint = typing.get_type_hints(cls, include_extras=True)[name]
        default = next(f.default for f in msgspec.structs.fields(cls) if f.name == name)
        found.append(
            Setting(
                key=key,
                kind=type_text(hint) + _bound(hint),
                default=_toml(default),
                text=attribute_texts(cls).get(name, ""),
                choices=config.CHOICES.get(key, ()),
                variable=variables.get(key, ""),
            )
        )
    return found


def _bound(hint: Any) -> str:
    metadata = getattr(hint, "__metadata__", ())
    least = next((part.ge for part in metadata if part.ge is not None), "")
    most = next((part.le for part in metadata if part.le is not None), "")
    if most != "":
        return f", {least} to {most}"
    return f", {least} or more" if least != "" else ""


def _toml(value: Any) -> str:
    return msgspec.json.encode(value).decode()


@functools.cache
def attribute_texts(cls: type[Struct]) -> dict[str, str]:
    """Return the string that stands below each attribute in the source of a class."""
    module = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    body = module.body[0].body if isinstance(module.body[0], ast.ClassDef) else []
    texts: dict[str, str] = {}
    for attribute, below in itertools.pairwise(body):
        if (
            isinstance(attribute, ast.AnnAssign)
            and isinstance(attribute.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            texts[attribute.target.id] = " ".join(below.value.value.split())
    return texts
