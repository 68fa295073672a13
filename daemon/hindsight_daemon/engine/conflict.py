"""Tells whether two statements cannot both hold: same subject, same attribute, another value.

Pure; imports `claims`, `rivals` and the comparison of wordings. Which of the two holds is not
decided here. Where in doubt the answer is that both can hold: a memory that is left beside a newer
one costs a line, one that is wrongly retired is lost to the reader.
"""

from __future__ import annotations

import re

from hindsight_daemon.engine.claims import Claim, Token, claim_of
from hindsight_daemon.engine.exclusive import claimed_by_two, exclusive_of
from hindsight_daemon.engine.rivals import are_rivals, groups_of
from hindsight_daemon.engine.sameness import Form, form_of
from hindsight_daemon.engine.terms import is_cjk_term, terms_of

_KEY_FACT = re.compile(
    r"\b(?:passwords?|passphrases?|credentials?|secrets?|api[ _-]?keys?|access[ _-]?tokens?"
    r"|private keys?|ssh keys?|2fa|mfa|sudo|root access|permissions?"
    r"|admin(?:istrator)?s?(?: rights?)?"
    r"|access rights?|authori[sz](?:ed|ation)|force[- ]push\w*|rm -rf|drop(?:ping)? (?:the )?"
    r"(?:tables?|databases?|schemas?)|delet\w+ (?:the )?(?:production|prod|backups?|data|database)"
    r"|wip(?:e|ing)|truncat\w+|destroy\w*|terraform destroy|reset --hard"
    r"|my (?:full )?name|(?:call|address) me|(?:user|owner)'s (?:full )?name)\b"
    r"|密码|口令|凭证|凭据|密钥|私钥|令牌|权限|授权|管理员|提权|强制推送|强推|删库|删除(?:生产|线上|备份|数据)"
    r"|清空|销毁|我(?:的名字)?叫|我的名字|用户名是|真实姓名|身份证",
    re.I,
)
_LOCAL = re.compile(
    r"\b(?:this time|just (?:this )?once|for now|for today|only today|right now only"
    r"|for this (?:task|pr|pull request|commit|change|session|file|branch|one|run|test)"
    r"|in this (?:task|pr|pull request|commit|session|case)|temporarily|as an exception"
    r"|one[- ]off)\b"
    r"|这次|这一次|这回|本次|此次|暂时|临时|先这样|仅此一次|今天先|就这一次|当前(?:任务|分支|会话)",
    re.I,
)
_TYPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("url", re.compile(r"https?://\S+|[\w.-]+\.(?:com|org|net|io|dev|local|cn)(?:[:/]\S*)?")),
    ("time", re.compile(r"\d{1,2}:\d{2}(?:am|pm)?|\d{1,2}(?:am|pm)")),
    ("number", re.compile(r"[v~<>=]*\d+(?:[.,]\d+)*(?:%|[a-z]{1,3})?")),
    ("path", re.compile(r"~?[\w.@-]*/[\w./@~-]+|[\w-]+\.[a-z]{1,5}")),
)
_NUMBERED = re.compile(
    r"^(?:issue|pr|ticket|step|line|chapter|http|error|code|rfc|task|bug|exit|page|version|tag|q)$"
    r"|^(?:题|单|骤|第|号|行|误|本)$"
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_LIGHT_TEXT = """
    use run set make do be have get switch move migrat chang new current project repo repositori
    team we code now 用 使 项 目 团 队 做 的 了 现 在 改 我 们 项目 团队 目用
"""
_LIGHT = frozenset(_LIGHT_TEXT.split())
_OPPOSITE_EXTRA = 1
_COMMON_LEAST = 2
_NAME_CHARS = 60

_NAME = rf"([^,;.。，；]{{1,{_NAME_CHARS}}}?)"
_REPLACED: tuple[re.Pattern[str], ...] = (
    re.compile(rf"\bfrom {_NAME} to {_NAME}(?= for\b| in\b| as\b| on\b| because\b|[,;.]|$)"),
    re.compile(rf"\breplac(?:ed|es|ing) {_NAME} (?:with|by) {_NAME}(?= for\b| in\b|[,;.]|$)"),
    re.compile(rf"从{_NAME}(?:换|切换|迁移|改|升级|搬|转)(?:成|到|为|用)了?{_NAME}(?=[,;。]|$)"),
    re.compile(rf"[把将]{_NAME}(?:换|改|替换|升级)(?:成|为)了?{_NAME}(?=[,;。]|$)"),
)


def is_local_request(text: str) -> bool:
    """Tell whether a statement is about one occasion only."""
    return bool(_LOCAL.search(text))


def is_key_fact(text: str) -> bool:
    """Tell whether a statement is about identity, permissions, credentials or destruction."""
    return bool(_KEY_FACT.search(text)) or exclusive_of(text) is not None


def contradiction(new: str, known: str) -> str:
    """Return why the two cannot both hold; empty if they can."""
    if told := claimed_by_two(new, known):
        return told
    one, other = form_of(new), form_of(known)
    if _denies(one, other):
        return "one asserts what the other denies"
    if one.negations != other.negations:
        return _replacement(one, other)
    mine, its = claim_of(new), claim_of(known)
    if mine is not None and its is not None and mine.is_cjk == its.is_cjk:
        if mine.is_additive or its.is_additive:
            return ""
        values = _chinese_values(mine, its) if mine.is_cjk else _english_values(mine, its)
        if values:
            return f"`{values[0]}` in place of `{values[1]}`"
    return _replacement(one, other)


def _denies(one: Form, other: Form) -> bool:
    if one.negations % 2 == other.negations % 2 or one.hard != other.hard:
        return False
    ours, theirs = _contents(one), _contents(other)
    if len(ours & theirs) + len(one.hard) < _COMMON_LEAST or (ours - theirs and theirs - ours):
        return False
    return len(ours ^ theirs) <= _OPPOSITE_EXTRA


def _contents(form: Form) -> set[str]:
    """Return the words, of Chinese the single characters: pairs change with every particle."""
    return {term for term in form.soft if not _is_pair(term)}


def _replacement(one: Form, other: Form) -> str:
    """Return whether the new statement says itself that it takes the place of the known one."""
    for pattern in _REPLACED:
        for match in pattern.finditer(one.normal):
            old, now = (set(terms_of(part)) for part in match.groups()[:2])
            known = other.soft | other.hard
            if not old or not now or not old <= known or now <= known:
                continue
            rest = {term for term in known - old if term not in _LIGHT and not _is_pair(term)}
            if rest <= one.soft | one.hard:
                return f"`{match.group(2)}` in place of `{match.group(1)}`"
    return ""


def _is_pair(term: str) -> bool:
    return len(term) > 1 and is_cjk_term(term)


def _english_values(mine: Claim, its: Claim) -> tuple[str, str] | None:
    spans = _spans(mine, its)
    if spans is None:
        return None
    ours, theirs = spans
    shared = {token.term for token in mine.tokens} & {token.term for token in its.tokens}
    is_rival = _rivals(ours, theirs)
    if not (shared if is_rival else shared - _LIGHT) or _rest(mine, ours) != _rest(its, theirs):
        return None
    values = _words_of(ours), _words_of(theirs)
    if mine.predicate == "event" or its.predicate == "event":
        return None
    if _before_verb(ours, mine) and _before_verb(theirs, its):
        is_role = mine.is_inverted and its.is_inverted
        return values if is_role and _is_whole_subject(ours, mine) else None
    if not (_in_object(ours, mine) and _in_object(theirs, its)):
        return None
    predicates = {mine.predicate, its.predicate}
    if is_rival:
        return values if "list" not in predicates or mine.verb in _TOOL_VERBS else None
    kinds = _type_of(ours, mine), _type_of(theirs, its)
    if _belongs_elsewhere(values) and not (mine.has_role and its.has_role):
        return None
    if kinds[0] in ("number", "time") and kinds[0] == kinds[1]:
        return values if "list" not in predicates or mine.verb in _AMOUNTS else None
    if not (_in_value(ours, mine) and _in_value(theirs, its)):
        return None
    if kinds[0] and kinds[0] == kinds[1]:
        return values if predicates & {"single"} or mine.has_role else None
    if mine.verb.split()[0] != its.verb.split()[0] and not mine.has_role:
        return None
    if predicates == {"single"}:
        return values
    return values if mine.has_role and its.has_role and "list" not in predicates else None


_TOOL_VERBS = frozenset(
    ("use", "uses", "need", "needs", "require", "requires", "prefer", "prefers")
)
_AMOUNTS = _TOOL_VERBS | {"takes", "costs", "has", "cover", "covers"}


def _before_value(claim: Claim) -> list[str]:
    return [token.term for token in claim.tokens if token.at < claim.value_at]


def _spans(mine: Claim, its: Claim) -> tuple[list[Token], list[Token]] | None:
    """Return the one stretch of words in which two statements differ; None if there are more."""
    if mine.verb_at and _before_value(mine) == _before_value(its) and mine.rest == its.rest:
        # A value may repeat words of its subject: "Ford was founded by Henry Ford".
        ours, theirs = _value_tokens(mine), _value_tokens(its)
        while len(ours) > 1 and len(theirs) > 1 and ours[0].term == theirs[0].term:
            ours, theirs = ours[1:], theirs[1:]
        is_same = [token.term for token in ours] == [token.term for token in theirs]
        return None if is_same or not ours or not theirs else (ours, theirs)
    ours, theirs = _own_tokens(mine, its), _own_tokens(its, mine)
    if not ours or not theirs or not _is_one_span(ours, mine) or not _is_one_span(theirs, its):
        return None
    return ours, theirs


def _value_tokens(claim: Claim) -> list[Token]:
    return [token for token in claim.tokens if claim.value_at <= token.at < claim.value_end]


def _own_tokens(one: Claim, other: Claim) -> list[Token]:
    known = {token.term for token in other.tokens}
    return [token for token in one.tokens if token.term not in known and token.term not in _LIGHT]


def _is_one_span(own: list[Token], claim: Claim) -> bool:
    inside = [t for t in claim.tokens if own[0].at <= t.at <= own[-1].at and t.term not in _LIGHT]
    return len(inside) == len(own)


def _words_of(tokens: list[Token]) -> str:
    return " ".join(token.word for token in tokens)


def _before_verb(own: list[Token], claim: Claim) -> bool:
    return own[-1].at < claim.verb_at


def _is_whole_subject(own: list[Token], claim: Claim) -> bool:
    return len(own) == sum(token.at < claim.verb_at for token in claim.tokens)


def _in_object(own: list[Token], claim: Claim) -> bool:
    return own[0].at > claim.verb_at


def _rest(claim: Claim, own: list[Token]) -> list[str]:
    """Return the circumstances without what differs."""
    words = {token.word for token in own}
    return [word for word in claim.rest.split() if word not in words]


def _in_value(own: list[Token], claim: Claim) -> bool:
    if claim.verb_at == 0:
        return own[0].at >= 1
    return own[0].at >= claim.value_at and own[-1].at < claim.value_end


def _rivals(ours: list[Token], theirs: list[Token]) -> bool:
    return are_rivals(_words_of(ours), _words_of(theirs))


def _belongs_elsewhere(values: tuple[str, str]) -> bool:
    """Tell whether the values are of different sorts, so that both may hold."""
    groups = [groups_of(value) for value in values]
    return any(groups) and not groups[0] & groups[1]


def _type_of(own: list[Token], claim: Claim) -> str:
    if len(own) != 1:
        return ""
    before = next((t.word for t in reversed(claim.tokens) if t.at < own[0].at), "")
    if _NUMBERED.match(before) or own[0].word.startswith("#"):
        return ""
    return _sort_of(own[0].word)


def _sort_of(word: str) -> str:
    return next((name for name, pattern in _TYPES if pattern.fullmatch(word)), "")


def _chinese_values(mine: Claim, its: Claim) -> tuple[str, str] | None:
    ours = [token.word for token in mine.tokens]
    theirs = [token.word for token in its.tokens]
    start = 0
    while start < min(len(ours), len(theirs)) and ours[start] == theirs[start]:
        start += 1
    end = 0
    while end < min(len(ours), len(theirs)) - start and ours[-1 - end] == theirs[-1 - end]:
        end += 1
    rival = _rival_span(ours, theirs, start, end)
    predicates = {mine.predicate, its.predicate}
    if rival:
        return rival if not predicates & {"list"} or mine.verb in _HAN_ONE_TOOL else None
    left, right = ours[start : len(ours) - end], theirs[start : len(theirs) - end]
    if len(left) == len(right) == 1 and start > 0:
        sort = _sort_of(left[0])
        before = ours[start - 1]
        if sort and sort == _sort_of(right[0]) and not _NUMBERED.match(before):
            is_amount = sort in ("number", "time")
            if is_amount and ("list" not in predicates or mine.verb in _HAN_AMOUNTS):
                return left[0], right[0]
    if not mine.subject or _bare(mine.subject) != _bare(its.subject) or mine.verb != its.verb:
        return None
    if predicates != {"single"} or not mine.value or not its.value:
        return None
    values = mine.value, its.value
    return None if _belongs_elsewhere(values) or mine.value == its.value else values


_HAN_ONE_TOOL = frozenset(("用", "需要", "要求"))
_HAN_AMOUNTS = frozenset(("需要", "要求", "用"))
_SPAN_SLACK = 3


def _rival_span(ours: list[str], theirs: list[str], start: int, end: int) -> tuple[str, str] | None:
    """Return the rivals around the place where the two differ, if there are any.

    Rivals may share characters (英文, 中文), so the span is widened a little on both sides.
    """
    for before in range(_SPAN_SLACK):
        for after in range(_SPAN_SLACK):
            if before > start or after > end:
                continue
            left = _joined(ours[start - before : len(ours) - end + after])
            right = _joined(theirs[start - before : len(theirs) - end + after])
            if are_rivals(left, right):
                return left, right
    return None


def _joined(words: list[str]) -> str:
    text = ""
    for word in words:
        both_latin = text and not _HAN.search(text[-1]) and not _HAN.match(word)
        text += f" {word}" if both_latin else word
    return text


def _bare(subject: str) -> str:
    return re.sub(r"[的\s]", "", subject)
