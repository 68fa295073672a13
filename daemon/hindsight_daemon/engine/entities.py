"""Names in a text: files, packages, commands, error codes, variables, people; and anchors.

Pure; imports records and `commands`. Names are kept exactly as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hindsight_daemon.engine.commands import parse
from hindsight_daemon.model import Anchor

_SPAN = re.compile(r"`([^`\n]{2,80})`")
_EXTENSIONS = (
    "py|pyi|js|jsx|ts|tsx|mjs|cjs|go|rs|rb|java|kt|kts|swift|c|h|cc|cpp|hpp|cs|php|scala|sh|bash|zsh|sql|md|rst|txt"
    "|json|ya?ml|toml|ini|cfg|conf|env|lock|xml|html|css|scss|vue|svelte|tf|proto|gradle|ipynb|lua|ex|exs|erl|zig|mod|sum"
)
_FILE = re.compile(
    rf"(?<![\w/:@-])((?:[~.]{{0,2}}/)?(?:[\w.@+-]+/)*[\w.@+-]*[\w-]\.(?:{_EXTENSIONS})"
    rf"|(?:[\w.-]+/)*(?:Makefile|Dockerfile|Gemfile|Procfile|Jenkinsfile|\.env(?:\.\w+)?"
    rf"|\.gitignore|\.npmrc|\.nvmrc))(?![\w/])"
)
_CODE_NAME = re.compile(
    r"\b(?:E[A-Z]{4,}|ERR_[A-Z_]{4,}|TS\d{4,5}|E\d{4}|[A-Z]{1,3}\d{3,4}(?=\W)|SQLSTATE \w{5}"
    r"|ORA-\d{5}|HTTP \d{3}|(?:[\w]+\.)*[A-Z]\w+(?:Error|Exception))\b"
)
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]{2,}\b")
_SYMBOL = re.compile(
    r"^(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:::\w+)*\(\)|[a-z]\w*(?:_\w+)+"
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)$"
)
_PERSON = re.compile(r"(?:^|\s)@([A-Za-z][\w-]{2,30})\b(?!/)")
_PORT = re.compile(r"\bport (\d{2,5})\b|端口(?:是|为)?\s*(\d{2,5})", re.I)
_VERSION = re.compile(
    r"\b([A-Za-z][\w.@/-]{1,40}?)(?:==| ?(?:>=|<=|~=|\^|~|v|version )|@"
    r"| )(\d+(?:\.\d+){1,2}(?:-?[a-z]\w*)?)(?![.\w])"
)
_INSTALL = re.compile(
    r"\b(?:pip3?|uv pip|uv|npm|pnpm|yarn|bun|cargo|gem|go|brew|apt(?:-get)?|poetry"
    r"|composer)(?: -\S+)* (?:install|add|get|i)((?: +(?:-\S+|[\w@./\[\]=<>~^-]+))+)"
)
_NOT_PACKAGE = frozenset(
    [
        "python",
        "node",
        "version",
        "line",
        "port",
        "step",
        "at",
        "in",
        "of",
        "to",
        "the",
        "and",
        "or",
        "is",
        "was",
        "on",
        "release",
        "python3",
    ]
)
_PROGRAMS = frozenset(
    [
        "pytest",
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "npx",
        "cargo",
        "go",
        "make",
        "docker",
        "git",
        "pip",
        "uv",
        "poetry",
        "alembic",
        "tsc",
        "eslint",
        "ruff",
        "mypy",
        "node",
        "python",
        "gradle",
        "mvn",
        "kubectl",
        "terraform",
        "helm",
        "jest",
        "vitest",
        "playwright",
        "prisma",
        "rails",
        "rake",
        "bundle",
        "composer",
        "dotnet",
        "cmake",
        "tox",
        "nox",
        "deno",
        "just",
        "brew",
        "systemctl",
        "psql",
        "redis-cli",
        "mysql",
        "curl",
        "./gradlew",
        "./mvnw",
    ]
)


def entities_of(*texts: str, files: Iterable[str] = (), limit: int = 16) -> tuple[str, ...]:
    """Return the names found, in order of appearance, each once."""
    found: list[str] = []
    for text in texts:
        found.extend(match.group(1) for match in _FILE.finditer(text))
        found.extend(match.group(0) for match in _CODE_NAME.finditer(text))
        found.extend(match.group(0) for match in _VARIABLE.finditer(text))
        found.extend(match.group(1) for match in _PERSON.finditer(text))
        found.extend(name for name, _ in _packages(text))
        for match in _SPAN.finditer(text):
            span = match.group(1).strip()
            if (2 < len(span) <= 48 and " " not in span) or _is_command(span):
                found.append(span)
    found.extend(files)
    return tuple(dict.fromkeys(name.rstrip(" .,;:") for name in found if len(name) > 1))[:limit]


def anchors_of(*texts: str, files: Iterable[str] = (), limit: int = 12) -> tuple[Anchor, ...]:
    """Return the things spoken of that can be checked again in the working tree."""
    found: dict[tuple[str, str], Anchor] = {}

    def add(anchor: Anchor) -> None:
        if anchor.value:
            found.setdefault((anchor.kind, anchor.value), anchor)

    for text in texts:
        for match in _FILE.finditer(text):
            add(Anchor(kind="file", value=match.group(1)))
        for name, version in _packages(text):
            add(Anchor(kind="package", value=name, detail=version))
        for match in _SPAN.finditer(text):
            span = match.group(1).strip()
            if _is_command(span):
                add(Anchor(kind="command", value=span))
            elif _SYMBOL.match(span) and not _FILE.fullmatch(span):
                add(Anchor(kind="symbol", value=span))
    for path in files:
        add(Anchor(kind="file", value=path))
    return tuple(found.values())[:limit]


def files_in(text: str) -> tuple[str, ...]:
    """Return the file names a text speaks of."""
    return tuple(dict.fromkeys(match.group(1) for match in _FILE.finditer(text)))


def _is_command(span: str) -> bool:
    head = span.split(" ", 1)[0].rsplit("/", 1)[-1] if span else ""
    if head not in _PROGRAMS and not span.startswith("./"):
        return False
    return (" " in span and bool(parse(span))) or head in _PROGRAMS


def _packages(text: str) -> list[tuple[str, str]]:
    found = [
        (name, version)
        for name, version in _VERSION.findall(text)
        if name.lower() not in _NOT_PACKAGE
        and not name[0].isdigit()
        and "/" not in name.lstrip("@")
        and (name.islower() or name[0].isupper() or "==" in text)
    ]
    for words in _INSTALL.findall(text):
        for word in words.split():
            if word.startswith(("-", ".")) or "://" in word:
                continue
            name, _, version = re.sub(r"(?<=\w)(?:==|>=|~=|<=|@)(?=[\d^~])", " ", word).partition(
                " "
            )
            found.append((name, version))
    return found
