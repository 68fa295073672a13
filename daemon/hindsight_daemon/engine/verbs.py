"""English verb forms: turns "I added X" and "by adding X" into "add X".

Pure; imports nothing of ours. Only verbs that name a change are known, so that a sentence about
looking around gives no imperative.
"""

from __future__ import annotations

import re
from typing import Literal

VerbForm = Literal["base", "past", "gerund", "any"]

_REGULAR = (
    "add allow append apply attach await bind bump cache call cast change clamp clean clear clone "
    "close commit compile"
    " configure convert copy correct create declare decode define delete disable downgrade drop "
    "enable encode"
    " ensure escape exclude expand export expose extend extract filter fix flush force format gate "
    "generate grant guard"
    " handle ignore import include increase indent initialize inject inline insert install "
    "invalidate isolate join"
    " kill limit link load lock lower map mark merge migrate mock mount move normalize omit open "
    "order override"
    " parse pass patch persist pin point prefix prepend prevent publish purge quote raise reduce "
    "refactor register"
    " release reload remove rename reorder replace require reset resolve restart restore restrict "
    "retry return reuse revert"
    " round sanitize save scope seed serialize shorten silence skip sort specify split start stop "
    "store strip"
    " subtract swap switch sync terminate trim truncate turn unlock unset untrack update upgrade "
    "use validate"
    " vendor wait wire wrap yield zero whitelist allowlist lengthen unify separate introduce "
    "adjust comment uncomment"
    " regenerate recreate reinstall rebuild clear downcast upcast debounce throttle delegate hoist "
    "preload lazy-load"
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
    "rebuild": ("rebuilt", "rebuilding"), "read": ("read", "reading"),
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


def _index() -> dict[str, tuple[str, VerbForm]]:
    index: dict[str, tuple[str, VerbForm]] = {}
    for verb in (*_REGULAR.split(), *_IRREGULAR):
        past, gerund = _forms(verb)
        index[gerund] = (verb, "gerund")
        index[past] = (verb, "past")
    for verb in (*_REGULAR.split(), *_IRREGULAR):
        past, _ = _forms(verb)
        index[verb] = (verb, "any" if past == verb else "base")
    return index


_VERBS = _index()
_CHAINED = re.compile(r"(,? and (?:then )?(?:also )?|, then |, )(\w+)(?= )")
_LED_IN = re.compile(r"^(?:(?:have|now|also|then|simply|just|to|instead) )+", re.I)


def imperative(words: str, *forms: VerbForm) -> str:
    """Return the words as an imperative ("added X and removed Y" → "add X and remove Y").

    Empty if they do not begin with a verb that names a change, in one of `forms` if any are given.
    """
    text = _LED_IN.sub("", words.strip())
    match = re.match(r"(?:get|got|getting) rid of|shut(?:ting)? down|[A-Za-z-]+", text)
    if match is None:
        return ""
    verb, form = _VERBS.get(match.group().lower(), ("", "any"))
    if not verb or (forms and form != "any" and form not in forms):
        return ""
    rest = text[match.end() :]
    if not rest.strip() or not rest.startswith(" "):
        return ""

    def chain(link: re.Match[str]) -> str:
        base, form = _VERBS.get(link.group(2).lower(), ("", "base"))
        return link.group(1) + (base if form in ("past", "gerund") else link.group(2))

    return verb + _CHAINED.sub(chain, rest)
