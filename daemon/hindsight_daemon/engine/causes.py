"""Finds, in what the assistant wrote, the sentence that gives the cause and the one that names
the fix.

Pure; imports nothing of ours but prose handling. Candidates are scored, never invented: every
clause returned stands in the transcript (with the person of its verb changed).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import structs

from hindsight_daemon.engine.prefilter import Prefilter
from hindsight_daemon.engine.sentences import sentences
from hindsight_daemon.engine.verbs import VerbForm, imperative
from hindsight_daemon.model import Record

MAX_SENTENCE_CHARS = 500


class Passage(Record, frozen=True, kw_only=True):
    """A text of the assistant with its weight: how near to the solution it was said."""

    text: str
    event_id: str
    weight: float = 0.0
    is_first_reaction: bool = False


class Clause(Record, frozen=True, kw_only=True):
    """A cause or a fix in the transcript's own words; `sentence` is the literal source."""

    text: str
    sentence: str
    event_id: str
    score: float
    is_first_reaction: bool = False


def find_cause(passages: Sequence[Passage], hints: Sequence[str] = ()) -> Clause | None:
    """Return the best explanation of why something failed; `hints` are words it should name."""
    best: Clause | None = None
    for passage in passages:
        is_announced = False
        for sentence in sentences(passage.text):
            if len(sentence) > MAX_SENTENCE_CHARS:
                continue
            clause = cause_clause(sentence) or _diagnosis(sentence, passage)
            if clause is None and is_announced and _has_content(sentence):
                clause = _trimmed(_before_fix(sentence)), 4.0
            is_announced = bool(_ANNOUNCED.match(sentence))
            if clause is None:
                continue
            best = _better(best, clause, sentence, passage, hints, least=3)
    return best


def _better(
    best: Clause | None,
    clause: tuple[str, float],
    sentence: str,
    passage: Passage,
    hints: Sequence[str],
    *,
    least: float,
) -> Clause | None:
    """Return the new clause if it scores at least as well as the best so far."""
    text, weight = clause
    score = weight + passage.weight + relevance(sentence, hints)
    if _HEDGED.search(sentence):
        score -= 3
    if len(text) > 190:
        score -= 1
    if score < least or (best is not None and score < best.score):
        return best
    return Clause(
        text=text,
        sentence=sentence,
        event_id=passage.event_id,
        score=score,
        is_first_reaction=passage.is_first_reaction,
    )


def find_fix(passages: Sequence[Passage], hints: Sequence[str] = ()) -> Clause | None:
    """Return the best statement of what was changed, as an imperative clause."""
    best: Clause | None = None
    for passage in passages:
        for sentence in sentences(passage.text):
            if len(sentence) > MAX_SENTENCE_CHARS:
                continue
            clause = fix_clause(sentence)
            if clause is None:
                continue
            if _PRONOUN_OBJECT.match(clause[0]):
                clause = clause[0], clause[1] - 2
            best = _better(best, clause, sentence, passage, hints, least=2)
    return best


def without_retracted(passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages with less weight on what was said before a later "wait, no"."""
    last = max((i for i, p in enumerate(passages) if _RETRACTS.match(p.text)), default=0)
    return [
        structs.replace(p, weight=p.weight - 1.5) if index < last else p
        for index, p in enumerate(passages)
    ]


@lru_cache(maxsize=2048)
def cause_clause(sentence: str) -> tuple[str, float] | None:
    """Return the cause that a sentence states and how plainly it does, or None."""
    if not _MAY_EXPLAIN.may_match(sentence):
        return None
    if _PLANNING.match(sentence) or sentence.endswith(("?", "？", ":", "：")):
        return None
    for weight, form in _CAUSES:
        match = form.search(sentence)
        if match is None:
            continue
        clause = _trimmed(_before_fix(match.group("cause")))
        if _has_content(clause) and not (_VAGUE.match(clause) or _CIRCULAR.search(clause)):
            return clause, weight
    return None


def _diagnosis(sentence: str, passage: Passage) -> tuple[str, float] | None:
    """Return a plain statement of a state, where it was said right after the failure."""
    if not passage.is_first_reaction or len(sentence) > 180 or sentence[-1] in ":：?？":
        return None
    if _PLANNING.match(sentence) or _NARRATED.match(sentence):
        return None
    clause = _trimmed(_before_fix(sentence))
    if not _STATE.search(clause) or _PRESCRIBES.search(clause):
        return None
    return (clause, 2.0) if _has_content(clause) and not _CIRCULAR.search(clause) else None


def states_rule(cause: Clause) -> bool:
    """Tell whether a cause, said at once after the failure, holds beyond the slip that led to it.

    "Recipes must start with a tab" does, "I forgot the import" does not.
    """
    return (
        cause.is_first_reaction and bool(_RULE.search(cause.text)) and not _SLIP.search(cause.text)
    )


@lru_cache(maxsize=2048)
def fix_clause(sentence: str, *, named: bool = True) -> tuple[str, float] | None:
    """Return what a sentence says was (to be) done, as an imperative, with its plainness.

    Clauses that name nothing of the code ("I updated the logic") count only where `named` is
    false or the sentence calls itself the fix.
    """
    if sentence.endswith(("?", "？", ":", "：")):
        return None
    for weight, forms, pattern in _FIXES:
        match = pattern.search(sentence)
        if match is None:
            continue
        words = _trimmed(_before_cause(match.group("fix")))
        chinese = bool(_STARTS_HAN.match(words))
        clause = _chinese_action(words) if chinese else imperative(words, *forms)
        if not clause or not _has_content(clause) or _VAGUE_FIX.match(clause):
            continue
        if named and weight < 4 and not _SPECIFIC.search(clause):
            continue
        return clause, weight
    return None


_CAUSES: tuple[tuple[float, re.Pattern[str]], ...] = (
    (5, re.compile(
        r"\b(?:root|real|actual|underlying|true) (?:cause|reason|problem|issue"
        r"|culprit)\b[^.:]{0,70}?"
        r"(?:\bis\b|\bwas\b|:|—|–)\s*(?:that\s+|because\s+)?(?P<cause>.+)", re.I)),
    (4.5, re.compile(
        r"\b(?:hangs?|hung|fails?|failed|failing|breaks?|broke|crash(?:es|ed)?|times? out|timed out"
        r"|blocks?"
        r"|blocked|errors?|rejected|refuses?|stalls?|deadlocks?"
        r"|loops?)\b.{0,60}?\bbecause\s+(?P<cause>(?!of course).+)", re.I)),
    (4, re.compile(
        r"\bthe (?:problem|issue|bug|culprit|cause|reason|error|failure|hang|mismatch|trouble)"
        r"\b[^.:]{0,60}?(?:\bis\b|\bwas\b|:|—|–| comes from | came from )\s*(?:that\s+"
        r"|because\s+)?(?P<cause>.+)", re.I)),
    (4, re.compile(
        r"\b(?:found (?:it|the (?:problem|issue|bug|cause|culprit))|there'?s the (?:problem|issue"
        r"|bug)"
        r"|I (?:can )?see the (?:problem|issue|bug))\s*[:—–.,-]+\s*(?P<cause>.+)", re.I)),
    (4, re.compile(r"\b(?:is|was|were|are|been|being)?\s*caused by\s+(?P<cause>.+)", re.I)),
    (3, re.compile(
        r"^(?P<cause>(?!(?:I|we|it|this|that|there|they)\b).{3,80}\b(?:lacked|lacks|(?:was|were"
        r"|is|are) missing (?:from|the|a|an)|had no|did not have|does not have)\b.{3,90})", re.I)),
    (3.5, re.compile(r"\bturn(?:s|ed) out(?: that)?,?\s+(?:that\s+)?(?P<cause>.+)", re.I)),
    (3, re.compile(r"\bbecause\s+(?P<cause>.+)", re.I)),
    (3, re.compile(r"\bdue to\s+(?P<cause>.+)", re.I)),
    (5, re.compile(
        r"(?:根本|真正的?)?(?:原因|根因|症结|问题)(?:就)?(?:是|在于|出在|："
        r"|:)\s*(?:因为)?(?P<cause>.+)")),
    (4.5, re.compile(
        r"(?:失败|报错|卡住|卡死|超时|挂起|崩溃|出错|阻塞|不通过).{0,16}?(?:是因为|，因为|因为"
        r"|是由于)(?P<cause>.+)")),
    (4, re.compile(r"(?:是)?由于\s*(?P<cause>.+)")),
    (4, re.compile(
        r"(?P<cause>(?<!.)(?!我|已).{4,120}?，?(?:所以|导致|结果|因此|于是|从而|就会|引起"
        r"|造成).{2,})")),
    (3.5, re.compile(r"原来是?\s*(?P<cause>.+)")),
    (3, re.compile(r"因为\s*(?P<cause>.+)")),
    (2.5, re.compile(
        r"(?P<cause>^(?!I\b|We\b|Now\b|Let\b).{15,160}?,? (?:so|which means|which (?:makes|made"
        r"|causes|caused|leaves|left"
        r"|blocks|blocked))"
        r"(?: that)? .{8,})", re.I)),
)  # fmt: skip
_MAY_EXPLAIN = Prefilter(form for _, form in _CAUSES)
_ACTION_ZH = (
    r"(?:把|将|改(?:成|为|用|回)|换成|加上|加了|加(?=\s*`)|添加|增加|补上|删除|删掉|去掉|移除|设置"
    r"|设为|升级"
    r"|降级|固定|锁定|关闭"
    r"|启动|开启|安装|重启|重建|提交|回滚|调整|修改|使用|在.{2,40}?(?:中|里|前|后|时)(?:先"
    r"|再)?(?:加|添加|关闭|设置|调用|执行|改))"
)
_FIXES: tuple[tuple[float, tuple[VerbForm, ...], re.Pattern[str]], ...] = (
    (5, ("base", "gerund"), re.compile(
        r"\b(?:the )?(?:right |proper |correct |real |actual )?(?:fix|solution|remedy|workaround)"
        r"(?: here)?(?: is| was|:)\s*(?:to\s+|by\s+)?(?P<fix>.+)", re.I)),
    (5, ("gerund",), re.compile(
        r"\b(?:fixed|solved|resolved|addressed|avoided)(?: (?:it|this|that|the \w+(?: \w+)?))?"
        r" by\s+(?P<fix>\w+ing\b.+)", re.I)),
    (3.5, ("past",), re.compile(
        r"(?:^|\b(?:so|then|and|now|instead,?|therefore,?|this,?|that,?) )"
        r"(?:I|we)(?:'ve| have)?(?: now| also)? (?P<fix>\w+ .+)", re.I)),
    (3, ("past",), re.compile(
        r"^(?:(?:Fixed|Done|Resolved)[:.,—– -]+|Fix(?:ed)? [^:]{2,40}: )\s*(?:I |we )?(?:'ve "
        r"|have )?(?P<fix>\w+ .+)", re.I)),
    (3, ("past",), re.compile(r"^(?P<fix>[A-Z]\w+ .+)")),
    (2.6, ("base",), re.compile(
        r"^(?:So |Please |Now |Then |Instead,? )?(?P<fix>[A-Za-z]\w+ (?:the|a|an|all|any|each|every"
        r"|your|this|both|[`\"'$]|\w*[._/(=-]|[A-Z_]{2,}).+)")),
    (3, ("base",), re.compile(
        r"^(?:After|Before|When(?:ever)?|If|Once|To) [^,]{3,90}, (?:please |always |you (?:must"
        r"|should|have to) )?(?P<fix>[a-z]\w+ .+)")),
    (2, ("base",), re.compile(
        r"\b(?:I'?ll|I will|I need to|we need to|needs? to|we should|I should|you (?:need|have) to"
        r"|must|let me|we have to)\s+(?P<fix>\w+ .+)", re.I)),
    (5, (), re.compile(
        r"(?:修复|解决)(?:方法|方案|办法|方式|思路)?(?:就)?(?:是|：|:|为)\s*(?P<fix>.+)")),
    (4, (), re.compile(
        rf"(?:所以|因此|于是|已经?"
        rf"|现在)(?:我)?(?:已经?)?(?P<fix>(?:在[^，。]{{2,40}}?)?{_ACTION_ZH}.+)")),
    (3, (), re.compile(
        rf"^(?:我(?:们)?)?(?:已经?|先|再|来|会|要|需要|应该|可以"
        rf"|得)*(?P<fix>(?:在[^，。]{{2,40}}?)?{_ACTION_ZH}.+)")),
    (2.5, (), re.compile(rf"(?:需要|应该|必须|只要|改为|得)(?:先)?(?P<fix>{_ACTION_ZH}.+)")),
)  # fmt: skip
_PRONOUN_OBJECT = re.compile(r"^\w+ (?:it|them|that|this|these|those)\b")
"""A fix whose object stands in another sentence reads badly alone."""
_SPECIFIC = re.compile(
    r"`[^`]+`|\w/\w|\b\w+\.\w{1,5}\b|\w_\w|\b[a-z]+[A-Z]\w*|\b[A-Z]{2,}\b|\d|--\w|\w\(\)"
)
_STARTS_HAN = re.compile(r"^\W*[\u4e00-\u9fff]")
_RETRACTS = re.compile(
    r"^\W*(?:wait\b|actually\b|hmm\b|no,|that'?s (?:not right|wrong)|you'?re (?:absolutely )?right"
    r"|i was wrong|my mistake|oops)"
    r"|^\W*(?:等等|不对|你说得对|其实|我错了|搞错了)",
    re.I,
)
_ANNOUNCED = re.compile(
    r"^(?:aha|ah|ok|okay|great|good)?[,!. ]*(?:I )?(?:(?:have |'ve )?(?:now )?(?:found|see|spotted"
    r"|identified|located)"
    r" (?:it|(?:the|our) (?:actual |real |root )?(?:problem|issue|bug|cause|culprit|reason))"
    r"|there'?s (?:the|our) (?:problem|bug|issue))[.!:]*$"
    r"|^(?:我)?(?:找到|发现|定位到?)(?:了)?(?:问题|原因|根因)(?:所在)?(?:了)?[。！：:!]*$",
    re.I,
)
"""A sentence that says the next one is the cause."""
_HEDGED = re.compile(
    r"\b(?:might|maybe|perhaps|probably|possibly|could be|may be|not sure|seems?|I (?:think|suspect"
    r"|guess)"
    r"|likely|let's see|let me (?:check|see|look)|if (?:the|it|this|that|we|you|I)\b)|可能|也许"
    r"|大概|似乎"
    r"|猜测|怀疑|看看|先检查|如果",
    re.I,
)
_PLANNING = re.compile(
    r"^(?:let me|let's|I'?ll|I will|I'm going to|next,|first,|now (?:let|I'll)|我来|让我|先看"
    r"|接下来|我先|下面)",
    re.I,
)
_VAGUE = re.compile(
    r"^(?:it|this|that|they|there|these|those|of (?:this|that|it)|we|you|I|the (?:above|same"
    r"|following))(?: (?:is|was|are|were))?"
    r"(?: \w+){0,2}$|^(?:now |here|clear|obvious|simple|fixed|resolved|that we|(?:in|with|at|on|how"
    r"|about|related|likely) )|^(?:这样|如此|这个|它)[了的]?$"
    r"|^(?:just|please|let|try|make sure|don'?t|do not|fix|add|remove|change|move) ",
    re.I,
)
_SOLVED_TAIL = re.compile(
    r"(?:之?后(?:问题|测试|构建|打包|服务|接口|页面)?|[，,][^，,]{0,12}?)(?:就|已|都|也)?"
    r"(?:恢复正常|解决|消失|正常|好|通过|成功)了?[。！]?$"
)
_STATE = re.compile(
    r"\b(?:is|are|was|were|has|have|had) (?:not|no|never|still|already|only|taken|held|missing"
    r"|pinned|set|unset|moved|renamed|removed|deprecated|locked|stale|outdated|out of|too|older"
    r"|newer)\b"
    r"|\b(?:isn't|aren't|wasn't|weren't|hasn't|doesn't|does not|don't|cannot|can't|lacks?|needs?"
    r"|requires?|expects?|still|no longer|without|instead of|pins?|lacked|only (?:allows?"
    r"|accepts?|works?|reads?)|must (?:be|start|have|come|match|use|end|run|not))\b"
    r"|没有|不是|不存在|未|缺|需要|要求|不支持|不兼容|不一致|只支持|只有|只能|写死|被占用|过期|冲突"
    r"|太[低高旧新]|超时|指向",
    re.I,
)
_RULE = re.compile(
    r"\b(?:must|only|requires?|needs?|has to|have to|does not (?:support|accept|allow|work)"
    r"|doesn't (?:support|accept|allow|work)|cannot|can't)\b|必须|只能|只支持|只有|不支持|不兼容"
    r"|要求|需要先",
    re.I,
)
_SLIP = re.compile(
    r"\b(?:I|my|we|forgot|forgotten|typo|mistake|accidentally|misspelled)\b|我|忘|漏|写错|手误",
    re.I,
)
_NARRATED = re.compile(
    r"^(?:I|we|good|great|ok|perfect|this|that|these|now|so|it|same|both|all|still|again|another"
    r"|still|looks|seems|the (?:test|tests|build|command|error|output|same)s? (?:is|are|still"
    r"|now))\b|^(?:我|好|这|那|还是|仍然|看来)",
    re.I,
)
_PRESCRIBES = re.compile(
    r"\b(?:should|ought)\b|\b(?:I|we|you|it|this|that) must\b|应该|必须|需要(?:加|改|把)", re.I
)
_CIRCULAR = re.compile(
    r"\b(?:checks?|tests?|build|commands?|ci|lint\w*|compilation)s? (?:is |are |has |have |was "
    r"|were )?(?:still )?fail\w*"
    r"|there (?:are|were) (?:\w+ )?errors\b|(?:测试|构建|编译|命令)(?:没有通过|失败了?)$",
    re.I,
)
"""A "cause" that only says again that something failed."""
_VAGUE_FIX = re.compile(
    r".*\bbut (?:actually|the|it|that)\b|^(?:fix|solve|resolve|address|check|see|look|verify"
    r"|(?:re-?)?run (?!.*`)|test|try|find|read"
    r"|understand|investigate"
    r"|debug|search|explore|examine|inspect|review|analyze|confirm|continue|think|know|get"
    r"|make sure|go|do|have|be|use it)\b"
    r"|^(?:修复|检查|看|查|运行|测试|确认|调查|分析|继续)"
    r"|^(?:启动|开启|关闭|安装|重启|重建|提交|回滚|修改|添加|调整|升级|删除)(?:成功|完成)?[了好]?(?:[，,。；]|$)",
    re.I,
)
_CONTENT = re.compile(r"[A-Za-z_]\w{2,}|[\u4e00-\u9fff]{2}|\d+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d{2,}(?:\.\d+)*")
_COMMON_WORDS = (
    "error errors failed failure exception with that this from have type types some cannot could"
    " does file files line test tests expected received value argument arguments command found"
    " such when python node module object null true false into after before more than only code"
    " exit src index main lib app info warning undefined property none"
)
_COMMON = frozenset(_COMMON_WORDS.split())
_STOP = frozenset(
    [
        "the",
        "and",
        "that",
        "this",
        "with",
        "from",
        "for",
        "was",
        "were",
        "are",
        "has",
        "had",
        "have",
        "not",
        "its",
        "it's",
        "you",
        "your",
        "our",
        "but",
        "they",
        "them",
        "then",
        "than",
        "into",
        "when",
        "what",
        "which",
        "there",
        "here",
        "some",
        "any",
        "can",
        "could",
        "will",
        "would",
        "should",
        "does",
        "did",
        "been",
        "being",
        "just",
        "also",
        "very",
    ]
)


def relevance(sentence: str, hints: Sequence[str]) -> float:
    """Return from 0 to 2 how much of what the hints name the sentence speaks of."""
    words = {word.casefold() for word in _NAME.findall(sentence)}
    hits = sum(1 for hint in hints if hint.casefold() in words)
    return min(2.0, hits * 0.7)


def hints_of(*texts: str) -> list[str]:
    """Return the names in error lines and paths that tell one problem from another."""
    found = [name for text in texts for name in _NAME.findall(text)]
    return [name for name in dict.fromkeys(found) if len(name) > 3 and name.lower() not in _COMMON]


def _before_fix(clause: str) -> str:
    """Cut what the sentence says about the remedy off the cause."""
    cut = re.split(
        r"[,;.]? (?:so|and|thus|therefore|hence) (?:I|we)\b|; (?:[^\s;]+ ){1,6}now\b"
        r"|; (?:I|we) |, (?:I|we)(?:'ll|'ve| will"
        r"| now) "
        r"|[,;] (?:the )?fix(?:ed)? (?:is|was|by)\b| (?:—|–) (?:I|we|fix)|[，,；]?\s*(?:所以|因此"
        r"|于是)我"
        r"|[，,；]\s*(?:修复|解决)(?:方法|方案|办法)"
        r"|[，,；]\s*(?:需要|应该|应|得|必须)(?=先|再|把|将|改|换|加|切|用|设|升|降|装|补|删|去)"
        r"|; [^;]{3,60}\b(?:fixed|fixes|solved|solves) (?:it|this|that)\b",
        clause,
        maxsplit=1,
    )
    return cut[0]


def _before_cause(clause: str) -> str:
    return re.split(
        r",? (?:because|since|due to|as (?:the|it)\b|so that's|which (?:is|was) why)\b"
        r"|[，,]\s*(?:因为"
        r"|由于)",
        clause,
        maxsplit=1,
    )[0]


def _trimmed(clause: str) -> str:
    text = clause.strip().strip("*_ ").rstrip(" .。!！;；,，:：")
    return re.sub(
        r"^(?:simply|just|simple|clear|obvious|now|actually|that|的是|，|：)\s+", "", text
    )


def _has_content(clause: str) -> bool:
    words = [word for word in _CONTENT.findall(clause) if word.lower() not in _STOP]
    return len(words) >= 2 and len(clause) >= 6


def _chinese_action(words: str) -> str:
    text = _SOLVED_TAIL.sub("", words.strip())
    text = re.sub(r"^(?:我们?|已经?|现在|然后|先|再|就|来|会|要|需要|应该|可以)+", "", text)
    return re.sub(r"了(?=$|[，,。])", "", text, count=1)
