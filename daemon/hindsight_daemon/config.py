"""Settings: defaults, then `config.toml`, then the environment; every value knows its origin.

Public. Unknown keys and wrong types are errors that name file, line and key. No project folder
can configure anything: a repository must not be able to choose paths, models or commands.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta, Struct

from hindsight_daemon.errors import ConfigProblem

Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]


class StoreSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[store]"""

    uri: str = ""
    """Where LanceDB keeps its tables: a path or s3://, gs://, az://, db:// ; empty: data folder."""
    reserve_bytes: Annotated[int, Meta(ge=0)] = 200 * 1024 * 1024
    """Free disk space below which writes are refused."""
    cache_bytes: Positive = 128 * 1024 * 1024
    """Bound of the engine's index cache; its metadata cache gets a sixteenth of it."""


class EmbedSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[embed]"""

    model: str = "auto"
    """Embedder: auto, none, a name of `hindsight model list` or of fastembed, a folder with an ONNX
    model, or openai:NAME for a model behind an endpoint."""
    reranker: str = "auto"
    """Cross-encoder: auto, none, or a name of `hindsight model list`."""
    threads: Positive = 1
    """CPU threads a model may use."""
    idle_unload_s: Seconds = 300.0
    """Seconds without use after which a model leaves memory; 0 keeps it."""
    allow_download: bool = False
    """Let models be fetched from their hub without an explicit `hindsight model install`."""
    base_url: str = ""
    """Endpoint of `openai:NAME` embedders, such as http://127.0.0.1:8080/v1; empty: OpenAI's."""
    key_env: str = ""
    """Environment variable with the endpoint's key."""
    key_file: str = ""
    """File of mode 0600 with the endpoint's key, where the variable is not set."""
    query_prefix: str = ""
    """What the endpoint's model wants before a query, such as `query: `."""
    passage_prefix: str = ""
    """What the endpoint's model wants before a stored text, such as `passage: `."""
    timeout_s: Annotated[float, Meta(gt=0, le=600)] = 30.0
    """Seconds one call of the endpoint may take."""


class JudgeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[judge]"""

    provider: str = "none"
    """Language model to ask: none, openai (any compatible endpoint), anthropic, ollama, command."""
    model: str = ""
    """Its name, as the endpoint knows it."""
    base_url: str = ""
    """Where it is asked; empty: the provider's own address, for ollama this machine."""
    key_env: str = ""
    """Environment variable with the key; the key itself never stands in the configuration."""
    key_file: str = ""
    """File of mode 0600 with the key, where the variable is not set."""
    command: tuple[str, ...] = ()
    """Program and arguments that read a prompt on stdin, such as ["claude", "-p"]."""
    timeout_s: Annotated[float, Meta(gt=0, le=3600)] = 90.0
    """Seconds one answer may take."""
    attempts: Annotated[int, Meta(ge=1, le=10)] = 3
    """How often a call is tried when the endpoint is busy or breaks."""
    tokens_per_day: Annotated[int, Meta(ge=0)] = 200_000
    """Tokens, in and out, that a day (UTC) may cost; then rules alone go on."""
    max_prompt_tokens: Annotated[int, Meta(ge=1000)] = 12_000
    """How much of a task is shown at most."""
    max_output_tokens: Annotated[int, Meta(ge=200)] = 2000
    """How long an answer may get."""
    distil: bool = True
    """Let it refine what the rules learned from a task that has ended."""


class RecallSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[recall]"""

    fusion: str = "mix"
    """How the arms are joined: mix (min-max scores) or rrf (reciprocal ranks)."""
    profile: str = "auto"
    """What recalls are after unless they say so: auto, facts, conversation or continuity."""
    keyword_weight: Annotated[float, Meta(ge=0)] = 1.0
    """Factor on the weight of words in common."""
    vector_weight: Annotated[float, Meta(ge=0)] = 1.0
    """Factor on the weight of meaning."""
    recent_weight: Annotated[float, Meta(ge=0)] = 1.0
    """Factor on the weight of recency."""
    rerank_budget_ms: Positive = 250
    """Time the cross-encoder may take."""


class WatchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[watch]"""

    enabled: bool = True
    """Follow the transcripts of the agents found on this machine."""
    roots: tuple[str, ...] = ()
    """Further folders to follow."""
    poll_s: Seconds = 2.0
    """Seconds between looks at recently active transcripts."""
    idle_task_s: Seconds = 600.0
    """Seconds of silence after which a task counts as ended."""


class WorkingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[working]"""

    ttl_s: Annotated[float, Meta(ge=60, le=72 * 3600)] = 24 * 3600.0
    """Seconds after its last word for which the live state of a session is kept."""
    capacity: Annotated[int, Meta(ge=16)] = 256
    """Entries that the live state of one session may hold; at 80 % of them it is consolidated."""
    assess_every_turns: Positive = 3
    """Turns after which the importance of a live session is assessed again."""


class ConsolidateSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[consolidate]"""

    every_s: Seconds = 1800.0
    """Seconds between runs of consolidation by the clock; 0: none."""
    max_items: Positive = 2000
    """Sessions and generalisations that one run may work on; the next one goes on from there."""
    max_s: Annotated[float, Meta(ge=1)] = 120.0
    """Seconds that one run may take."""


class McpSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[mcp]"""

    http: bool = False
    """Serve MCP over HTTP on loopback, behind a bearer token, from the daemon's start."""
    http_port: Annotated[int, Meta(ge=0, le=65535)] = 7438
    """Port of that endpoint; 0: any free one."""


class EventsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[events]"""

    keep_days: Annotated[int, Meta(ge=0)] = 365
    """Days after which the events of a session go, except those that memories cite; 0: never."""
    keep_bytes: Annotated[int, Meta(ge=0)] = 2 * 1024 * 1024 * 1024
    """Text of events (before compression) above which the oldest sessions' go; 0: no bound."""


class DaemonSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[daemon]"""

    autostart: bool = True
    """Start the daemon on the first call that needs it."""
    idle_exit_s: Seconds = 0.0
    """Seconds without a call after which the daemon stops; 0: never."""
    max_rss_bytes: Positive = 2 * 1024 * 1024 * 1024
    """Resident memory above which the daemon unloads models and, if that fails, restarts."""
    log_level: str = "info"
    """Least severe log line: debug, info, warning or error."""


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """All sections of `config.toml`."""

    store: StoreSettings = StoreSettings()
    embed: EmbedSettings = EmbedSettings()
    judge: JudgeSettings = JudgeSettings()
    recall: RecallSettings = RecallSettings()
    watch: WatchSettings = WatchSettings()
    working: WorkingSettings = WorkingSettings()
    consolidate: ConsolidateSettings = ConsolidateSettings()
    mcp: McpSettings = McpSettings()
    events: EventsSettings = EventsSettings()
    daemon: DaemonSettings = DaemonSettings()


ENVIRONMENT: dict[str, str] = {
    "HINDSIGHT_STORE_URI": "store.uri",
    "HINDSIGHT_EMBED_MODEL": "embed.model",
    "HINDSIGHT_JUDGE_PROVIDER": "judge.provider",
    "HINDSIGHT_WATCH": "watch.enabled",
    "HINDSIGHT_LOG_LEVEL": "daemon.log_level",
}
"""Environment variables that set a key; they win over the file."""

PLAIN_ENVIRONMENT: dict[str, str] = {
    "HINDSIGHT_HOME": "moves all folders below this one",
    "HINDSIGHT_CONFIG": "path of the configuration file",
    "HINDSIGHT_SOCKET": "path of the daemon's socket",
    "HINDSIGHT_NO_AUTOSTART": "if set, no command starts the daemon",
    "HINDSIGHT_OWN_SESSION": "set for a `judge.command`: hindsight itself asks",
}
"""Environment variables that are not configuration keys."""

CHOICES: dict[str, tuple[str, ...]] = {
    "judge.provider": ("none", "openai", "anthropic", "ollama", "command"),
    "recall.fusion": ("mix", "rrf"),
    "recall.profile": ("auto", "facts", "conversation", "continuity"),
    "daemon.log_level": ("debug", "info", "warning", "error"),
}
"""Keys that take one of a few words."""


MODELS: dict[str, tuple[str, ...]] = {
    "embed.model": (
        "e5-small",
        "e5-large",
        "paraphrase-multilingual-minilm",
        "bge-small-en",
        "bge-small-zh",
    ),
    "embed.reranker": ("minilm-l12-en", "bge-reranker-m3-int8", "bge-reranker-m3"),
}
"""Keys that name a model, with the names of `embed.catalog`; `auto`, `none` and folders go too."""
MODEL_ALIASES: frozenset[str] = frozenset(
    (
        "intfloat/multilingual-e5-large",
        "sentence-transformers/paraphrase-multilingual-minilm-l12-v2",
        "baai/bge-small-zh-v1.5",
        "baai/bge-reranker-v2-m3-int8",
        "baai/bge-reranker-v2-m3",
    )
)
"""Names under which the hubs know these models, in small letters."""


def setting_keys() -> dict[str, tuple[type[Struct], str]]:
    """Map each dotted key to its section class and field name, in file order."""
    sections = get_type_hints(Settings)
    return {
        f"{section}.{name}": (cls, name)
        for section, cls in sections.items()
        for name in cls.__struct_fields__
    }


def _line_of(text: str, section: str, key: str) -> int:
    """Return the 1-based line of `key` in `[section]`, or of the section, or 1."""
    current, section_line = "", 1
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[([^\]]+)\]", line)
        if header:
            current = header.group(1).strip()
            if current == section:
                section_line = number
        elif current == section and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return section_line


def _problem(path: Path, text: str, where: str, what: str, hint: str = "") -> ConfigProblem:
    section, _, key = where.partition(".")
    key = key.split("[")[0]
    line = _line_of(text, section, key)
    return ConfigProblem(
        f"{path}:{line}: `{where}`: {what}", hint=hint, file=str(path), line=line, key=where
    )


def _check_unknown(document: dict[str, Any], path: Path, text: str) -> None:
    known = list(setting_keys())
    sections = list(get_type_hints(Settings))
    for section, body in document.items():
        if section not in sections:
            near = difflib.get_close_matches(section, sections, 1)
            hint = f"did you mean `[{near[0]}]`?" if near else f"sections: {', '.join(sections)}"
            raise _problem(path, text, section, "no such section", hint)
        if not isinstance(body, dict):
            raise _problem(path, text, section, "must be a section, `[name]`")
        for key in body:
            dotted = f"{section}.{key}"
            if dotted not in known:
                near = difflib.get_close_matches(dotted, known, 1)
                hint = f"did you mean `{near[0]}`?" if near else "see `man 5 hindsight-config`"
                raise _problem(path, text, dotted, "no such key", hint)


def _convert(document: dict[str, Any], path: Path, text: str, *, strict: bool) -> Settings:
    try:
        settings = msgspec.convert(document, Settings, strict=strict)
    except msgspec.ValidationError as exc:
        what, _, place = str(exc).partition(" - at `$.")
        raise _problem(path, text, place.rstrip("`") or "?", what.lower()) from exc
    for dotted, choices in CHOICES.items():
        section, name = dotted.split(".")
        if (value := getattr(getattr(settings, section), name)) not in choices:
            raise _problem(path, text, dotted, f"`{value}` is none of {', '.join(choices)}")
    return settings


def parse_settings(text: str, path: Path) -> Settings:
    """Read TOML text; raises `ConfigProblem` with file, line and key."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        found = re.search(r"line (\d+)", str(exc))
        line = int(found.group(1)) if found else 1
        raise ConfigProblem(f"{path}:{line}: {exc}", file=str(path), line=line) from exc
    _check_unknown(document, path, text)
    return _convert(document, path, text, strict=True)


def check_models(settings: Settings, path: Path, text: str = "") -> None:
    """Raise `ConfigProblem` if a setting names a model that there is not.

    Asked when a person writes the settings. A daemon that finds such a name goes on without the
    model and says so: recall by keywords is better than none.
    """
    for dotted, names in MODELS.items():
        section, name = dotted.split(".")
        value = getattr(getattr(settings, section), name)
        is_folder = value.startswith(("/", "~", "./", "../"))
        if is_folder or value.lower() in {"auto", "none", "", *names} | MODEL_ALIASES:
            continue
        near = difflib.get_close_matches(value, names, 1)
        hint = f"did you mean `{near[0]}`? " if near else ""
        hint += f"known: auto, none, {', '.join(names)}, or a folder with an ONNX model"
        raise _problem(path, text, dotted, f"no model is called `{value}`", hint)


def load_settings(path: Path, env: Mapping[str, str] | None = None) -> Settings:
    """Read settings from the file (if there is one) and the environment."""
    return load_with_origins(path, env)[0]


def load_with_origins(
    path: Path, env: Mapping[str, str] | None = None
) -> tuple[Settings, dict[str, str]]:
    """Read settings and, for each dotted key, whether it came from default, file or environment."""
    env = os.environ if env is None else env
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigProblem(f"cannot read `{path}`: {exc}", file=str(path)) from exc
    settings = parse_settings(text, path)
    origins = dict.fromkeys(setting_keys(), "default")
    for section, body in tomllib.loads(text).items():
        origins.update({f"{section}.{key}": "file" for key in body})
    for variable, dotted in ENVIRONMENT.items():
        if value := env.get(variable, ""):
            section, name = dotted.split(".")
            source = Path(f"${variable}")
            merged = msgspec.to_builtins(settings)
            merged[section][name] = value
            try:
                settings = _convert(merged, source, "", strict=False)
            except ConfigProblem as exc:
                raise ConfigProblem(f"${variable}: {exc.message}", hint=exc.hint) from exc
            origins[dotted] = f"${variable}"
    return settings, origins
