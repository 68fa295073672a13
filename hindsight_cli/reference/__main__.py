"""`python -m hindsight_cli.reference --write | --check`: the committed reference and its drift."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hindsight_cli.app import root_command
from hindsight_cli.output import Output
from hindsight_cli.reference import completions, man, markdown
from hindsight_cli.reference.tree import Command, read_tree


def generated(checkout: Path, root: Command) -> dict[str, str]:
    """Return every generated file by its path in the checkout."""
    readme = (checkout / "README.md").read_text(encoding="utf-8")
    return {
        **{f"man/{name}": text for name, text in man.pages(root).items()},
        **{f"completions/{name}": text for name, text in completions.scripts(root).items()},
        "README.md": markdown.with_table(readme, root),
    }


def drift(checkout: Path, root: Command) -> list[str]:
    """Return `changed`, `missing` or `superfluous`, with the path, for what is not as generated."""
    wanted = generated(checkout, root)
    found = []
    for name, text in wanted.items():
        path = checkout / name
        if not path.exists():
            found.append(f"missing {name}")
        elif path.read_text(encoding="utf-8") != text:
            found.append(f"changed {name}")
    found += [f"superfluous {name}" for name in _existing(checkout) if name not in wanted]
    return sorted(found)


def write(checkout: Path, root: Command) -> list[str]:
    """Bring the generated files up to date and return what was done."""
    found = drift(checkout, root)
    wanted = generated(checkout, root)
    for one in found:
        path = checkout / one.split(" ", 1)[1]
        if one.startswith("superfluous"):
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[str(path.relative_to(checkout))], encoding="utf-8")
    return found


def _existing(checkout: Path) -> list[str]:
    files = [*checkout.glob("man/man*/*"), *checkout.glob("completions/*")]
    return [str(file.relative_to(checkout)) for file in files if file.is_file()]


def main(argv: list[str]) -> int:
    """Write or check; 1 if the check found drift."""
    parser = argparse.ArgumentParser(prog="python -m hindsight_cli.reference", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="bring the files up to date")
    what.add_argument("--check", action="store_true", help="name what is not up to date")
    options = parser.parse_args(argv)
    checkout = Path(__file__).resolve().parents[2]
    root = read_tree(root_command())
    out = Output()
    if options.write:
        out.lines(write(checkout, root))
        return 0
    found = drift(checkout, root)
    out.lines(found)
    if found:
        out.error("the reference is not up to date", "`make docs`")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
