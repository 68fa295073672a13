"""Decisions with their reason and the options that were rejected, in English and Chinese.

Pure; imports nothing of ours but prose handling and wording. What an agent says about its own
tools ("I'll use grep because the file is large") is no decision about the work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_daemon.engine.prefilter import Prefilter
from hindsight_daemon.engine.sentences import sentences
from hindsight_daemon.engine.statements import is_technical
from hindsight_daemon.engine.verbs import imperative
from hindsight_daemon.engine.wording import (
    chinese_sentence,
    clip,
    lower_first,
    sentence_case,
    spaced,
)
from hindsight_daemon.model import Record


class Decision(Record, frozen=True, kw_only=True):
    """A choice; `rejected` and `reason` are empty where none was given."""

    text: str
    sentence: str
    chosen: str
    rejected: str = ""
    reason: str = ""


def decisions_of(text: str, *, by_user: bool, at_work: bool = True) -> list[Decision]:
    """Return the decisions stated in a message.

    A person's needs a reason, a rejected option or the word itself; an agent's needs a reason.
    Outside work (`at_work`: the session used tools) it must speak of technical things as well.
    """
    found: list[Decision] = []
    lines = sentences(text)
    for position, sentence in enumerate(lines):
        if len(sentence) > 420 or sentence.endswith(("?", "？")):
            continue
        decision = _decision(sentence, lines[position + 1 : position + 3])
        if decision is None or (not by_user and not decision.reason):
            continue
        if not at_work and not (is_technical(sentence) and (decision.reason or decision.rejected)):
            continue
        explicit = bool(_EXPLICIT.search(sentence))
        if not (decision.reason and (explicit or decision.rejected or by_user)) and not (
            by_user and (explicit or decision.rejected)
        ):
            continue
        if not by_user and (_HEDGED.search(sentence) or _TOOLING.search(decision.chosen)):
            continue
        found.append(decision)
    return found


_CHOICES = (
    re.compile(
        r"(?:^|[,;:—–-] |\b(?:so|and|therefore|ok|then) )(?:"
        r"(?:let'?s|we(?:'ll| will| should)|I(?:'ll| will))(?: also| both| then)? (?:use|go with"
        r"|opt for|pick|choose|stick (?:with|to)|stay with|settle on|adopt|keep)"
        r"|(?:we|I|the team)(?:'ve| have|'d| had)?(?: both| finally| all)? (?:decided|agreed|chose"
        r"|opted|settled|picked|went|kept)(?: (?:to|on|for|with|that we(?:'ll)?))*"
        r"|(?:we're|we are|I'm|I am) (?:going with|sticking with|keeping|using(?= .+ (?:instead of"
        r"|rather than|over)\b))"
        r"|(?:we|our team) use(?= .+ (?:instead of|rather than|over)\b))\s+(?P<chosen>.+)",
        re.I,
    ),
    re.compile(
        r"^(?:the )?(?:final |design |key )?decision(?: is| was)?(?: to)?[:\s]+(?P<chosen>.+)", re.I
    ),
    re.compile(
        r"^(?P<chosen>(?:Using|Use|Chose|Picked|Went with|Opted for|Kept|Keeping"
        r"|Keep) .+? (?:instead of|over|rather than) .+)"
    ),
)
_CHOICES_ZH = (
    re.compile(
        r"(?:^|[，,；;：:]\s*)(?:我们?|最终|所以|那就?|这里|团队|还是|决定[:：])*(?:最终|已经?|就"
        r"|还是|一致)?(?:决定|选择|选定|选用|采用"
        r"|敲定|改为采用|定下来)(?:了|用|使用|采用|：|:)*\s*(?P<chosen>.+)"
    ),
    re.compile(
        r"(?:^|[，,；;]\s*)(?:我们|那)(?:就|还是|统一)?(?:用|使用)\s*(?P<chosen>.+?(?:而不是|，因为"
        r"|,因为|不用|放弃).+)"
    ),
)
_MAY_CHOOSE = Prefilter((*_CHOICES, *_CHOICES_ZH))
_VERB = re.compile(r"\b(decided|agreed|decide|agree)(?: (?:to|that we(?:'ll)?|on))+\s+", re.I)
_EXPLICIT = re.compile(
    r"\b(?:decid|decision|chose|choose|opted|settled on|agreed|went with|go with|going with"
    r"|picked)\w*|决定|选择|选定|选用|采用|敲定|定下来",
    re.I,
)
_REJECTED = re.compile(
    r"(?:,? (?:instead of|rather than|over|and not|as opposed to)"
    r"|, not(?! only))\s+(?P<rejected>.+?)(?=(?:,|;|\.|:)? (?:because|since|as|so that|due to|for"
    r"|given|to (?:avoid|keep))\b|[;.:]|$| [—–-] |, )",
    re.I,
)
_REJECTED_ZH = re.compile(
    r"[，,]?\s*(?:而不是|而非|而没有(?:用|选|采用)?|不(?:再)?用|放弃(?:了)?|不选(?:用|择)?"
    r"|没有(?:选"
    r"|用))\s*(?P<rejected>.+?)(?=[，,。；;]|因为|$)"
)
_REASON = re.compile(
    r"(?:,|;|\.|:)? ?\b(?:because|since|given that|so that|due to|as (?=(?:it|they|we|the|this|that"
    r"|there)\b)|the reason (?:is|being)(?: that)?|reason:)\s*(?P<reason>.+)"
    r"| [—–-] (?P<dash>(?=\w+ (?:is|are|has|have|needs?|would|can|does|keeps?|avoids?)\b).+)|(?:,"
    r"|;)? (?P<aim>to (?:avoid|keep|prevent|reduce|allow) .+)",
    re.I,
)
_REASON_ZH = re.compile(
    r"[，,；;（(]?\s*(?:因为|由于|理由是|原因是|理由[:：]|原因[:：]|考虑到)\s*(?P<reason>[^）)]+)"
)
_REJECTION = re.compile(
    r"\b(?:rejected|ruled out|decided against|discarded|dropped|dismissed"
    r"|considered)\s+(?P<rejected>.+?)[,:;]? (?:because|since|as it|as they|but|—|–|:|would"
    r"|needs?)\s*(?P<why>.+)"
    r"|^(?P<rejected2>[\w`][\w` ./-]{1,40}?) (?:was|were|is|are) (?:rejected|ruled out|discarded"
    r"|not an option|overkill)\b(?:[,:]? (?:because|since|as)\s*(?P<why2>.+))?",
    re.I,
)
_REJECTION_ZH = re.compile(
    r"(?:没有?(?:选|用|采用)|放弃(?:了)?|否决(?:了)?|排除(?:了)?|不(?:选|用"
    r"|采用))\s*(?P<rejected>.{2,30}?)(?:[，,：:]"
    r"|是)?(?:因为|由于|它|理由是)\s*(?P<why>.+)"
)
_WORD = re.compile(r"[A-Za-z][\w.+-]{2,}|[\u4e00-\u9fff]{2}|[A-Z]")
_HEDGED = re.compile(
    r"\b(?:might|maybe|perhaps|probably|could|would you|if you|should we|either)\b|可能|也许|是否",
    re.I,
)
_TOOLING = re.compile(
    r"\b(?:grep|ripgrep|rg|sed|awk|find|cat|head|tail|the (?:read|edit|write|task|bash|glob|grep"
    r"|search|todo\w*|web\w*|multi\w*) tool|subagents?|sub-agents?"
    r"|a? ?(?:parallel|different|simpler|another|more \w+) (?:approach|way|search|command)"
    r"|todo list|this (?:approach|command|file)|absolute paths?)\b",
    re.I,
)


def _decision(sentence: str, following: Sequence[str]) -> Decision | None:
    if not _MAY_CHOOSE.may_match(sentence):
        return None
    chinese = False
    match = next((m for form in _CHOICES if (m := form.search(sentence))), None)
    if match is None:
        match = next((m for form in _CHOICES_ZH if (m := form.search(sentence))), None)
        chinese = match is not None
    if match is None:
        return None
    rest = match.group("chosen").strip()
    reason = _reason(rest, chinese)
    told = (_REASON_ZH if chinese else _REASON).split(rest, maxsplit=1)[0] if reason else rest
    rejected_form = _REJECTED_ZH if chinese else _REJECTED
    dropped = rejected_form.search(told)
    if dropped is None and reason:
        dropped = rejected_form.search(rest)
    rejected = _tidy(dropped.group("rejected")) if dropped else ""
    chosen = _tidy(
        told[: dropped.start()] + told[dropped.end() :]
        if dropped and dropped.end() <= len(told)
        else told
    )
    for other in following:
        if reason and rejected:
            break
        more = (_REJECTION_ZH if chinese else _REJECTION).search(other)
        if more is not None and not rejected:
            groups = more.groupdict()
            rejected = _tidy(groups.get("rejected") or groups.get("rejected2") or "")
            why = _tidy(groups.get("why") or groups.get("why2") or "")
            if why:
                rejected = f"{rejected}：{why}" if chinese else f"{rejected}: {lower_first(why)}"
        elif not reason and re.match(r"(?:the )?reasons?\b|because|理由|原因|因为", other, re.I):
            reason = _reason(other, chinese) or _tidy(re.sub(r"^[^:：]*[:：]\s*", "", other))
    if not _WORD.search(chosen) or re.match(
        r"(?:it|this|that|them|these|the (?:first|second|same))\b$|(?:并(?![行发])|[和再且与，])",
        chosen,
        re.I,
    ):
        return None
    text = _worded(match.group(0), chosen, rejected, reason, chinese=chinese)
    return Decision(text=text, sentence=sentence, chosen=chosen, rejected=rejected, reason=reason)


def _reason(text: str, chinese: bool) -> str:
    match = (_REASON_ZH if chinese else _REASON).search(text)
    if match is None:
        return ""
    return _tidy(next((value for value in match.groupdict().values() if value), ""))


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(" ,;:，；：。.()（）*_—–")


def _worded(opening: str, chosen: str, rejected: str, reason: str, *, chinese: bool) -> str:
    chosen, reason = clip(chosen, 120), clip(reason, 130)
    if chinese:
        verb = "" if re.match(r"(?:用|使用|采用|在|把|将|不|保留|先|改|按)", chosen) else "采用 "
        told = f"{verb}{chosen}"
        short = rejected and len(rejected) <= 30
        told += f"，而不是{spaced(rejected)}" if short else ""
        told += f"，因为{spaced(reason)}" if reason else ""
        told += f"（未采用{clip(rejected, 70)}）" if rejected and not short else ""
        return chinese_sentence(told)
    keeps = re.search(
        r"\b(?:keep|kept|keeping|stick|stay)\b", opening[: len(opening) - len(chosen)], re.I
    )
    done = imperative(chosen)
    told = done or (f"keep {chosen}" if keeps else f"use {chosen}")
    short = rejected and ":" not in rejected
    told += f" rather than {clip(rejected, 60)}" if short else ""
    if reason:
        told += f", {reason}" if reason.startswith("to ") else f", because {lower_first(reason)}"
    told += f" (rejected {clip(rejected, 80)})" if rejected and not short else ""
    return sentence_case(told)
