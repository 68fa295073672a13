"""What a shell command is: its parts, its normalised key, and whether it verifies work.

Pure; imports records only. Two runs are "the same command" when their keys agree: `cd`,
environment, wrappers (`uv run`, `npx`, `timeout 60`), pipes into `tail`, redirections, flags of
verification commands, paths below the working directory and line numbers do not count.
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from typing import Literal

from hindsight_daemon.model import Record

CommandRole = Literal["test", "build", "check", "read", "commit", "other"]


class Command(Record, frozen=True, kw_only=True):
    """One simple command of a shell line.

    `display` is what a person would type again; `subcommand` may be empty; `targets` are the
    normalised operands, with the selector flags of monorepo tools.
    """

    program: str
    subcommand: str = ""
    targets: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    role: CommandRole = "other"
    display: str = ""

    @property
    def key(self) -> str:
        """The normalised form by which two runs are recognised as the same."""
        flags = () if self.verifies or self.role == "commit" else self.flags
        targets = () if self.role == "commit" else self.targets
        return " ".join(filter(None, (self.program, self.subcommand, *flags, *targets)))

    @property
    def asks_service(self) -> bool:
        """True for looking something up where a service must answer, which is a lesson if not."""
        return self.role == "read" and self.program in _SERVICES

    @property
    def verifies(self) -> bool:
        return self.role in ("test", "build", "check")


# The same line is looked at for its state, its files and its outcome.
@lru_cache(maxsize=512)
def parse(line: str, cwd: str = "") -> tuple[Command, ...]:
    """Return the simple commands of a shell line in order; filters after a pipe are left out."""
    commands: list[Command] = []
    for part in _split(_HEREDOC.sub(" ", line[:_MAX_LINE])):
        inner = _shell_argument(part)
        if inner:
            commands.extend(parse(inner, cwd))
            continue
        command = _simple(part, cwd)
        if command is not None:
            commands.append(command)
    return tuple(commands)


def decisive(line: str, cwd: str = "") -> Command | None:
    """Return the part of a shell line whose result matters most.

    That is the last verifying one, else the last that does more than read, else the last.
    """
    commands = parse(line, cwd)
    checks = [command for command in commands if command.verifies]
    active = [command for command in commands if command.role != "read"]
    ranked = checks or active or list(commands)
    return ranked[-1] if ranked else None


def covers(later: Command, earlier: Command) -> bool:
    """Tell whether success of `later` says that `earlier` would succeed now."""
    if (later.program, later.subcommand) != (earlier.program, earlier.subcommand):
        return False
    if not later.verifies:
        # Other flags are how a wrong call is put right; other operands are another job.
        return later.role == "commit" or later.targets == earlier.targets
    if not later.targets:
        return True
    return bool(earlier.targets) and all(
        any(_within(target, outer) for outer in later.targets) for target in earlier.targets
    )


def _within(target: str, outer: str) -> bool:
    base = outer.removesuffix("...").rstrip("/")
    return (
        base in ("", ".") or target in (outer, base) or target.startswith((base + "/", base + "::"))
    )


_MAX_LINE = 8000
_PLAIN_WORDS = re.compile(r"[^'\"\\]*\Z")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1.*?(?:^\s*\2\s*$|\Z)", re.S | re.M)
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_REDIRECT = re.compile(r"^(?:\d*|&)>>?(?:&\d|\S*)$|^<\S*$|^2>&1$|^&>\S*$")
_LINE_NUMBER = re.compile(r"(?<=[\w)]):\d+(?::\d+)?$")
_TEMPORARY = re.compile(r"(?:/private)?/(?:tmp|var/folders)/\S*")
_SCRIPT = re.compile(r"\.(?:py|js|mjs|cjs|ts|tsx|rb|sh|bash|pl|php|go)$")
_TEST_NAME = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|e2e)(?:[/_.-]|$)|run[_-]?tests?", re.I)

_WRAPPERS = {"sudo", "time", "nohup", "exec", "command", "env", "builtin", "npx", "bunx", "xargs"}
_RUNNERS = {"uv", "poetry", "pipenv", "hatch", "rye", "pdm", "pixi"}
_VALUE_FLAGS = {
    "-k", "-m", "-n", "-c", "-o", "-j", "-t", "--maxfail", "--timeout", "--tb",
    "--color", "--reporter", "--format", "--config", "--cov", "--durations", "--jobs", "--run",
    "-run", "--name", "--output", "--env", "--grep", "-g", "-timeout", "-count", "--seed",
}  # fmt: skip
_SELECTORS = {
    "--filter", "-F", "-p", "--package", "-C", "--prefix", "-w", "--workspace", "--project",
    "--manifest-path", "--directory",
}  # fmt: skip
_SUBCOMMANDED = {
    "git", "npm", "pnpm", "yarn", "bun", "cargo", "go", "docker", "docker-compose", "podman",
    "kubectl", "pip", "uv", "poetry", "pdm", "hatch", "make", "alembic", "rails", "rake",
    "terraform", "dotnet", "mvn", "gradle", "gh", "brew", "apt", "apt-get", "systemctl", "helm",
    "flutter", "deno", "mix", "bundle", "composer", "conda", "django-admin", "manage.py",
    "prisma", "ng", "next", "vite", "vercel", "wrangler", "aws", "gcloud", "az", "swift", "zig",
    "just", "task", "nx", "turbo", "lerna", "playwright", "cypress", "pre-commit", "bazel",
    "sbt", "artisan", "nox", "tox", "svn", "hg", "cmake", "ruff", "biome", "supabase",
}  # fmt: skip
_READERS = {
    "ls", "cat", "head", "tail", "less", "more", "grep", "rg", "ag", "fd", "find", "wc", "sed",
    "awk", "cd", "pwd", "echo", "printf", "which", "whereis", "type", "file", "stat", "du", "df",
    "tree", "test", "[", "[[", "diff", "cmp", "sort", "uniq", "cut", "tr", "jq", "yq", "date",
    "env", "printenv", "ps", "top", "lsof", "whoami", "id", "uname", "sleep", "true", "false",
    "export", "set", "source", ".", "history", "man", "basename", "dirname", "realpath", "nl",
    "readlink", "md5sum", "sha256sum", "column", "pushd", "popd", "wait", "hexdump",
    "xxd", "strings", "watch", "read", "for", "while", "if", "do", "done", "then", "fi", "else",
    "function", "{", "}", "(", ")", "mkdir", "touch", "unset", "alias", "trap", "exit", "return",
}  # fmt: skip
_READING = {
    "git": {"status", "log", "diff", "show", "branch", "blame", "ls-files", "remote", "rev-parse",
            "grep", "describe", "fetch", "config", "check-ignore", "cat-file", "shortlog"},
    "docker": {"ps", "logs", "images", "inspect"},
    "kubectl": {"get", "describe", "logs"},
    "pip": {"list", "show", "freeze"}, "npm": {"ls", "view", "list", "outdated", "why"},
    "gh": {"pr view", "issue", "api", "run"}, "brew": {"list", "info", "search"},
    "systemctl": {"status"}, "cargo": {"tree", "metadata"}, "go": {"list", "env", "version"},
    "alembic": {"heads", "current", "history", "show", "branches"},
    "helm": {"list", "ls", "status", "get", "history", "show", "template"},
    "terraform": {"plan", "show", "output", "state"},
}  # fmt: skip
_WRITES_SETTING = re.compile(r"^-[wu]\b")
_ALIASES = {
    ("npm", "ci"): "install", ("npm", "i"): "install", ("npm", "t"): "test",
    ("pnpm", "i"): "install", ("pnpm", "t"): "test", ("bun", "i"): "install",
}  # fmt: skip
"""Subcommands that do the same job under another name."""
_LEADING_VALUES = {
    "kubectl": ("-n", "--namespace", "--context", "--kubeconfig", "--cluster"),
    "helm": ("-n", "--namespace", "--kube-context", "--kubeconfig"),
    "docker": ("-H", "--host", "--context", "-f", "--file", "-p", "--profile"),
    "docker-compose": ("-f", "--file", "-p", "--profile"),
    "git": ("-C", "-c"), "gh": ("-R", "--repo"), "alembic": ("-c",), "az": ("--subscription",),
}  # fmt: skip
"""Flags before the subcommand that take a value, by program."""
_SERVICES = {
    "docker", "docker-compose", "kubectl", "helm", "gh", "systemctl", "terraform", "alembic",
}  # fmt: skip
_TESTERS = {
    "pytest", "py.test", "unittest", "tox", "nox", "jest", "vitest", "mocha", "ava", "rspec",
    "phpunit", "pest", "ctest", "bats", "behave", "nose2", "nosetests", "gotestsum", "karma",
    "trial", "busted", "minitest", "pester",
}  # fmt: skip
_BUILDERS = {
    "make", "gmake", "tsc", "vue-tsc", "webpack", "rollup", "esbuild", "tsup", "gcc", "g++", "cc",
    "clang", "clang++", "javac", "rustc", "xcodebuild", "ninja", "meson", "hugo", "sphinx-build",
    "mkdocs", "msbuild", "ant", "lake", "latexmk", "pdflatex", "xelatex", "kotlinc", "scalac",
}  # fmt: skip
_CHECKERS = {
    "ruff", "flake8", "pylint", "mypy", "pyright", "basedpyright", "eslint", "biome", "oxlint",
    "stylelint", "golangci-lint", "staticcheck", "shellcheck", "rubocop", "svelte-check",
    "pre-commit", "lint-imports", "ktlint", "swiftlint", "hadolint", "yamllint", "ansible-lint",
    "clang-tidy", "cppcheck", "bandit", "phpstan", "psalm", "credo", "standardrb", "tflint",
    "actionlint", "markdownlint", "knip", "ty",
}  # fmt: skip
_SUB_ROLES: tuple[tuple[str, str, CommandRole], ...] = (
    (r"go", r"test", "test"),
    (r"cargo", r"n?test|nextest", "test"),
    (r"cargo", r"build|check", "build"),
    (r"cargo", r"clippy|fmt", "check"),
    (r"go", r"build|install", "build"),
    (r"go", r"vet", "check"),
    (r"npm|pnpm|yarn|bun|deno|nx|turbo|lerna|just|task|rake|mix|make|gmake|ng|composer",
     r"(?:\w+[:_-])*(?:tests?|spec|e2e|unit|integration|smoke|t)(?:[:_-].*)?", "test"),
    (r"npm|pnpm|yarn|bun|deno|nx|turbo|lerna|just|task|rake|make|gmake|composer|mix",
     r"(?:\w+[:_-])*(?:\w*lint|type-?check|types|check|format-check|clippy|mypy|tsc)(?:[:_-].*)?",
     "check"),
    (r"npm|pnpm|yarn|bun|deno|nx|turbo|lerna|just|task|vite|next|ng|swift|zig|docker|podman|dotnet"
     r"|gradle|terraform|cmake|flutter|mix|bazel|sbt|docker-compose|hatch|poetry|uv",
     r"(?:\w+[:_-])*(?:build|compile|assemble|bundle|validate|publish|--build)(?:[:_-].*)?",
     "build"),
    (r"mvn", r"(?:clean)?(?:test|verify|integration-test|surefire.*)", "test"),
    (r"mvn", r"package|compile|install", "build"),
    (r"gradle", r".*(?:test|check|Test)\w*", "test"),
    (r"gradle", r".*(?:lint|detekt|ktlint).*", "check"),
    (r"dotnet|swift|flutter|zig|bazel|sbt|playwright|cypress|manage\.py|rails|artisan|forge",
     r"test|run", "test"),
    (r"black|prettier|isort|gofmt|rustfmt", r"--check|-l|-c", "check"),
)  # fmt: skip


def _split(line: str) -> list[str]:
    parts: list[str] = []
    current: list[str] = []
    quote = ""
    piped = False

    def close() -> None:
        text = "".join(current).strip()
        if text and not piped:
            parts.append(text)
        current.clear()

    index = 0
    text = line.replace("\\\n", " ")
    while index < len(text):
        char = text[index]
        if quote:
            current.append(char)
            if char == "\\" and quote == '"' and index + 1 < len(text):
                index += 1
                current.append(text[index])
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
            current.append(char)
        elif text.startswith(("&&", "||"), index):
            close()
            piped = False
            index += 1
        elif char in ";\n":
            close()
            piped = False
        elif char == "|":
            close()
            piped = True
        elif char == "#" and (index == 0 or text[index - 1].isspace()):
            while index + 1 < len(text) and text[index + 1] != "\n":
                index += 1
        elif (
            char == "&"
            and not (index and text[index - 1] == ">")
            and text[index + 1 : index + 2] != ">"
        ):
            close()
            piped = False
        else:
            current.append(char)
        index += 1
    close()
    return parts


def _words(part: str) -> list[str]:
    if _PLAIN_WORDS.match(part):
        return part.split()  # many times faster, and the same where nothing is quoted
    try:
        return shlex.split(part, posix=True)
    except ValueError:  # an open quote or a stray backslash: take the words as they stand
        return part.split()


def _shell_argument(part: str) -> str:
    words = _words(part)
    if len(words) >= 3 and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh"):
        for index, word in enumerate(words[1:-1], start=1):
            if re.fullmatch(r"-\w*c", word):
                return words[index + 1]
    return ""


def _strip_wrappers(words: list[str]) -> list[str]:
    rest = list(words)
    while rest:
        head = rest[0].rsplit("/", 1)[-1]
        if _ASSIGNMENT.match(rest[0]) or (head in _WRAPPERS and len(rest) > 1):
            rest = rest[1:]
            while rest and rest[0].startswith("-"):
                rest = rest[1:]
        elif head in ("timeout", "gtimeout", "nice", "stdbuf") and len(rest) > 1:
            rest = rest[1:]
            while rest and (rest[0].startswith("-") or re.fullmatch(r"[\d.]+[smhd]?", rest[0])):
                rest = rest[1:]
        elif head in _RUNNERS and len(rest) > 2 and rest[1] == "run":
            rest = rest[2:]
            while rest and rest[0].startswith("-"):
                rest = rest[2:] if rest[0] in ("--with", "--extra", "--group") else rest[1:]
        elif head in ("pnpm", "yarn", "bundle", "direnv", "mise") and rest[1:2] in (
            ["exec"],
            ["dlx"],
        ):
            rest = rest[2:]
            while rest and rest[0] in ("--", "."):
                rest = rest[1:]
        elif re.fullmatch(r"python[\d.]*|py", head) and "-m" in rest[1:3] and len(rest) > 2:
            at = rest.index("-m")
            module = rest[at + 1 : at + 2]
            if not module or module[0] in ("venv", "http.server"):
                return ["python", *rest[1:]]
            rest = rest[at + 1 :]
        elif head in ("docker", "docker-compose", "podman") and _in_container(rest):
            rest = _in_container(rest)
        else:
            return rest
    return rest


def _in_container(words: list[str]) -> list[str]:
    """Return the command run inside by `docker compose exec|run SERVICE …` if it verifies."""
    if not {"exec", "run"} & set(words[1:4]):
        return []
    for index in range(2, len(words)):
        inner = _simple(shlex.join(words[index:]), "") if index > 2 else None
        if inner is not None and inner.verifies and words[index] == words[index].lower():
            return words[index:]
    return []


def _simple(part: str, cwd: str) -> Command | None:
    raw = [word for word in _words(part) if not _REDIRECT.match(word)]
    words = _strip_wrappers([word for word in raw if word not in ("(", ")", "{", "}", "!")])
    if not words:
        return None
    program = words[0].strip("()").rsplit("/", 1)[-1]
    program = re.sub(r"^(python|pip|node|ruby|perl)[\d.]+$", r"\1", program)
    program = {"gradlew": "gradle", "mvnw": "mvn"}.get(program, program)
    if not program:
        return None
    operands = words[1:]
    if program in ("python", "node", "ruby", "php", "bash", "sh", "tsx", "ts-node", "bun"):
        script = next((word for word in operands if not word.startswith("-")), "")
        base = script.rsplit("/", 1)[-1]
        if base in _SUBCOMMANDED:
            program, operands = base, operands[operands.index(script) + 1 :]
    subcommand = ""
    if program in _SUBCOMMANDED:
        subcommand, operands = _take_subcommand(program, operands)
        subcommand = _ALIASES.get((program, subcommand), subcommand)
    targets, flags = _operands(operands, cwd)
    role = _role(program, subcommand, targets, flags)
    if role in ("test", "build", "check") and targets and program in ("git",):
        role = "other"
    return Command(
        program=program,
        subcommand=subcommand,
        targets=targets,
        flags=flags,
        role=role,
        display=_display(part, cwd),
    )


def _take_subcommand(program: str, operands: list[str]) -> tuple[str, list[str]]:
    rest: list[str] = []
    words = list(operands)
    while words:
        word = words.pop(0)
        if word.startswith("-"):
            rest.append(word)
            takes_value = word in _LEADING_VALUES.get(program, ("-c", "-f"))
            if (word in _SELECTORS or takes_value) and words:
                rest.append(words.pop(0))
            if program == "cmake" and word == "--build":
                return word, rest[:-1] + words
            continue
        if word in ("run", "run-script", "compose", "exec") and words and program in (
            "npm", "pnpm", "yarn", "bun", "docker", "podman", "nx", "turbo", "deno"
        ):  # fmt: skip
            inner, more = _take_subcommand("", words)
            if word in ("compose",) or (inner == "" and word == "run"):
                return f"{word} {inner}".strip(), rest + more
            return inner or word, rest + more
        return _LINE_NUMBER.sub("", word), rest + words
    return "", rest


def _operands(words: list[str], cwd: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    targets: list[str] = []
    flags: list[str] = []
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
            continue
        if word == "--":
            continue
        if word.startswith("-") and len(word) > 1:
            name, _, value = word.partition("=")
            following = words[index + 1] if index + 1 < len(words) else ""
            if name in _SELECTORS and (value or following):
                targets.append(f"{name} {value or following}")
                skip = not value
            elif name in _VALUE_FLAGS and not value and not following.startswith("-"):
                skip = bool(following)
                flags.append(f"{name} {following}".strip())
            elif name.startswith("--") and not value and following.isdecimal():
                skip = True
                flags.append(f"{name} {following}")
            else:
                flags.append(word)
            continue
        targets.append(_normal_path(word, cwd))
    return tuple(sorted(targets)), tuple(sorted(flags))


def _normal_path(word: str, cwd: str) -> str:
    if cwd and word.startswith(cwd.rstrip("/") + "/"):
        word = word[len(cwd.rstrip("/")) + 1 :]
    word = _TEMPORARY.sub("/tmp/*", word)
    word = word[2:] if word.startswith("./") and word != "./..." else word
    word = _LINE_NUMBER.sub("", word)
    return word.rstrip("/") or word


def _role(
    program: str, subcommand: str, targets: tuple[str, ...], flags: tuple[str, ...]
) -> CommandRole:
    if program == "git" and subcommand in ("commit", "push", "merge"):
        return "commit"
    if program == "gh" and subcommand == "pr" and "create" in targets:
        return "commit"
    if program in _READERS or (
        subcommand in _READING.get(program, ())
        and not _sets_something(program, subcommand, targets)
    ):
        return "read"
    if (program, subcommand) == ("kubectl", "config") and not set(targets) & {
        "use-context", "set-context", "set"
    }:  # fmt: skip
        return "read"
    if flags and set(flags) <= {"--version", "-V", "-v", "--help", "-h"} and not targets:
        return "read"
    if program in _TESTERS:
        return "test"
    for programs, names, role in _SUB_ROLES:
        if re.fullmatch(programs, program) and re.fullmatch(names, subcommand):
            return role
    if program in ("black", "prettier", "isort", "gofmt", "rustfmt"):
        return "check" if {"--check", "-l", "-c", "--check-only"} & set(flags) else "other"
    if program in _BUILDERS:
        return "build" if subcommand in ("", "all", "build") else "other"
    if program in _CHECKERS:
        return "other" if subcommand == "format" and "--check" not in flags else "check"
    if program in ("gradle", "mvn") and any(re.search("test|check|verify", t) for t in targets):
        return "test"
    if program in ("python", "node", "ruby", "bash", "sh", "php", "tsx", "ts-node"):
        script = next((t for t in targets if _SCRIPT.search(t)), "")
        return "test" if "--test" in flags or (script and _TEST_NAME.search(script)) else "other"
    if _TEST_NAME.search(program) and (_SCRIPT.search(program) or "test" in program.lower()):
        return "test"
    return "other"


def _sets_something(program: str, subcommand: str, targets: tuple[str, ...]) -> bool:
    """Tell whether `go env -w` or `git config NAME VALUE` writes instead of reads."""
    if (program, subcommand) == ("go", "env"):
        return any(_WRITES_SETTING.match(target) for target in targets)
    return (program, subcommand) == ("git", "config") and len(targets) > 1


def _display(part: str, cwd: str) -> str:
    text = re.sub(r"\s*(?:\d|&)?>>?\s*(?:&\d|\S+)", "", part)
    if cwd:
        text = text.replace(cwd.rstrip("/") + "/", "")
    text = re.sub(r"^(?:\S*/)?\.?venv/bin/", "", text.strip())
    text = re.sub(r"^(?:sudo|time|nohup)\s+", "", text)
    text = re.sub(r"^g?timeout\s+(?:-\S+\s+)*[\d.]+[smhd]?\s+", "", text)
    return " ".join(text.split())
