"""Rules of the house that a machine can hold: names, sizes, docstrings, broad excepts, tables."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from hindsight_daemon.errors import HindsightError, error_classes, error_from_wire
from hindsight_daemon.protocol.methods import METHODS
from hindsight_daemon.service.table import BODIES

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path
    for folder in ("hindsight_cli", "daemon/hindsight_daemon", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
)
OF_THE_PROCESS = {
    "hello",
    "cancel",
    "daemon.status",
    "daemon.shutdown",
    "mcp.open",
    "mcp.serve_http",
}
LEGAL_EXIT_CODES = {1, 2, 65, 66, 69, 70, 73, 74, 75, 76, 77, 78}
CATCH_ALL = {
    "hindsight_cli/app.py": "the command line's boundary",
    "daemon/hindsight_daemon/runtime/dispatch.py": "the boundary of a call",
    "hindsight_cli/hook.py": "a hook must never be in its agent's way",
    "daemon/hindsight_daemon/mcp/calls.py": "the boundary of a tool call",
    "daemon/hindsight_daemon/runtime/background.py": "the supervisor of components",
    "daemon/hindsight_daemon/service/consolidation.py": "one poisoned item must not stop the rest",
}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_is_small_named_after_what_it_holds_and_says_so(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 600
    assert path.stem not in ("utils", "util", "helpers", "helper", "common", "manager", "misc")
    assert ast.get_docstring(ast.parse(text)), "no docstring"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_only_boundaries_catch_everything(path: Path) -> None:
    if _name(path) in CATCH_ALL:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else "everything"
            swallows = not any(isinstance(n, ast.Raise) for n in ast.walk(node))
            assert not (caught in ("everything", "Exception", "BaseException") and swallows), (
                f"line {node.lineno} swallows {caught}"
            )


def test_every_method_of_the_protocol_has_one_body() -> None:
    assert set(METHODS) == set(BODIES) | OF_THE_PROCESS
    assert not set(BODIES) & OF_THE_PROCESS
    assert all(name == method.name and method.summary for name, method in METHODS.items())


def test_error_codes_are_unique_legal_and_survive_the_wire() -> None:
    seen: dict[str, type[HindsightError]] = {}
    for cls in error_classes():
        assert cls.code not in seen, f"{cls.__name__} and {seen[cls.code].__name__}"
        seen[cls.code] = cls
        assert cls.exit_code in LEGAL_EXIT_CODES
        assert cls.default_hint and not cls.default_hint.endswith(".")
        assert cls.code in (ROOT / "daemon/hindsight_daemon/errors.py").read_text("utf-8")
        back = error_from_wire(cls.code, "what", "hint", {"key": 1})
        assert type(back) is cls
        assert (back.message, back.hint, back.detail) == ("what", "hint", {"key": 1})
    assert all("." in code for code in seen)


def test_every_error_stands_in_the_tree_at_the_top_of_its_module() -> None:
    import hindsight_daemon.errors as module

    tree = module.__doc__ or ""
    for cls in error_classes():
        line = next((line for line in tree.splitlines() if f" {cls.__name__} " in f"{line} "), "")
        assert cls.code in line and line.rstrip().endswith(str(cls.exit_code)), cls.__name__
