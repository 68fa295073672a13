"""English verb forms: turns "I added X" and "by adding X" into "add X".

Pure; imports nothing of ours. Only verbs that name a change are known, so that a sentence about
looking around gives no imperative.
"""

from __future__ import annotations

import re

_REGULAR = (
    "add allow append apply attach await bind bump cache call cast change clamp clean clear clone close commit compile"
    " configure convert copy correct create declare decode define delete disable downgrade drop enable encode"
    " ensure escape exclude expand export expose extend extract filter fix flush force format gate generate grant guard"
    " handle ignore import include increase indent initialize inject inline insert install invalidate isolate join"
    " kill limit link load lock lower map mark merge migrate mock mount move normalize omit open order override"
    " parse pass patch persist pin point prefix prepend prevent publish purge quote raise reduce refactor register"
    " release reload remove rename reorder replace require reset resolve restart restore restrict retry return reuse revert"
    " round sanitize save scope seed serialize shorten silence skip sort specify split start stop store strip"
    " subtract swap switch sync terminate trim truncate turn unlock unset untrack update upgrade use validate"
    " vendor wait wire wrap yield zero whitelist allowlist lengthen unify separate introduce adjust comment uncomment"
    " regenerate recreate reinstall rebuild clear downcast upcast debounce throttle delegate hoist preload lazy-load"
    " rollback stub seed stage tag whitelist"
)
_IRREGULAR = {
    "set": ("set", "setting"), "put": ("put", "putting"), "make": ("made", "making"),
    "write": ("wrote", "writing"), "rewrite": ("rewrote", "rewriting"), "run": ("ran", "running"),
    "give": ("gave", "giving"), "take": ("took", "taking"), "keep": ("kept", "keeping"),
    "build": ("built", "building"), "cut": ("cut", "cutting"), "split": ("split", "splitting"),
    "bring": ("brought", "bringing"), "tell": ("told", "telling"), "swap": ("swapped", "swapping"),
    "send": ("sent", "sending"), "hold": ("held", "holding"), "catch": ("caught", "catching"),
    "unset": ("unset", "unsetting"), "reset": ("reset", "resetting"), "hide": ("hid", "hiding"),
    "rebuild": ("rebuilt", "rebuilding"), "let": ("let", "letting"), "read": ("read", "reading"),
    "commit": ("committed", "committing"), "defer": ("deferred", "deferring"),
    "rerun": ("reran", "rerunning"), "bind": ("bound", "binding"), "quit": ("quit", "quitting"),
    "override": ("overrode", "overriding"), "get rid of": ("got rid of", "getting rid of"),
    "format": ("formatted", "formatting"), "shut down": ("shut down", "shutting down"),
}  # fmt: skip
_DOUBLED = re.compile(r"^[^aeiou]*[aeiou][bdgklmnprt]$")


def _forms(verb: str) -> tuple[str, str]:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return verb + "d", verb[:-1] + "ing"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied", verb + "ing"
    if _DOUBLED.match(verb):
        return verb + verb[-1] + "ed", verb + verb[-1] + "ing"
    return verb + "ed", verb + "ing"


def _index() -> dict[str, str]:
    index: dict[str, str] = {}
    for verb in (*_REGULAR.split(), *_IRREGULAR):
        past, gerund = _forms(verb)
        index.update({verb: verb, past: verb, gerund: verb})
    return index


_VERBS = _index()
_CHAINED = re.compile(r"(,? and (?:then )?(?:also )?|, then |, )(\w+)(?= )")


def imperative(words: str) -> str:
    """Return the words as an imperative ("added X and removed Y" → "add X and remove Y").

    Empty if they do not begin with a verb that names a change.
    """
    text = re.sub(r"^(?:have |now |also |then |simply |just |to )+", "", words.strip(), flags=re.I)
    match = re.match(
        r"(get rid of|got rid of|getting rid of|shut(?:ting)? down|[A-Za-z-]+)\b", text
    )
    if match is None:
        return ""
    verb = _VERBS.get(match.group(1).lower())
    if verb is None:
        return ""
    rest = text[match.end() :]
    if not rest.strip() or rest.startswith((":", "'")):
        return ""

    def chain(link: re.Match[str]) -> str:
        base = _VERBS.get(link.group(2).lower(), link.group(2))
        return link.group(1) + (
            base if link.group(2).lower().endswith(("ed", "ing")) else link.group(2)
        )

    return verb + _CHAINED.sub(chain, rest)


def is_change_verb(word: str) -> bool:
    """Tell whether the word is a form of a verb that names a change."""
    return word.lower() in _VERBS
