"""What people state outright: rules, preferences, corrections, things to remember, and facts
about the environment. English and Chinese.

Pure; imports nothing of ours but prose handling, `screen` and `wording`. A request that holds
only for the moment ("don't push yet", 这次先不要…) is no statement, and neither is a sentence that
says nothing without its context ("do it like that").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import structs

from hindsight_daemon.engine.lang import has_han
from hindsight_daemon.engine.prefilter import Prefilter
from hindsight_daemon.engine.screen import has_content
from hindsight_daemon.engine.sentences import sentences, without_blocks
from hindsight_daemon.engine.statement_rules import RULES
from hindsight_daemon.engine.wording import sentence_case
from hindsight_daemon.model import MemoryKind, Record

MAX_SENTENCE_CHARS = 320
_TEMPLATE_CHARS = 1500
"""Prompts beyond this are written for the task, rules of procedure and all."""
_LASTING = re.compile(
    r"\b(?:remember|from now on|going forward|in (?:the )?future|I (?:already )?(?:said|told you)"
    r")\b"
    r"|记住|以后|今后|从现在|说过",
    re.I,
)
"""What even such a prompt says for longer than the task."""


class Statement(Record, frozen=True, kw_only=True):
    """A claim in the words of who made it; `sentence` is the literal source."""

    kind: MemoryKind
    text: str
    sentence: str
    rule: str
    score: float
    is_global: bool = False


def statements_of(prompt: str, *, is_followup: bool, at_work: bool = True) -> list[Statement]:
    """Return what a person's prompt states for good, best first.

    `is_followup` tells that the prompt answers work of the agent: then plain directives count as
    corrections, which in an opening prompt are merely the task. `at_work` tells that the session
    used tools; in mere conversation "always" and "remember" are figures of speech far more often.
    """
    found: list[Statement] = []
    seen: set[str] = set()
    is_template = len(prompt) > _TEMPLATE_CHARS
    for sentence, following in pairwise([*_own_sentences(prompt), ""]):
        statement = _statement(sentence, is_followup=is_followup, at_work=at_work)
        if statement is not None and is_template and not _LASTING.search(sentence):
            continue
        if statement is not None and statement.text.casefold() not in seen:
            seen.add(statement.text.casefold())
            found.append(_with_alternative(statement, following))
    return sorted(_joined(found), key=lambda statement: -statement.score)


def _with_alternative(statement: Statement, following: str) -> Statement:
    """Add to a prohibition what the next sentence says to do instead."""
    if not _FORBIDS.search(statement.text) or not _INSTEAD.match(following):
        return statement
    joint = "" if has_han(following) else " "
    text = f"{statement.text}{joint}{sentence_case(_LEAD.sub('', following))}"
    if len(text) > MAX_SENTENCE_CHARS or following.endswith(("?", "？")):
        return statement
    return structs.replace(statement, text=text)


def points_elsewhere(text: str) -> bool:
    """Tell whether the statement rests on something said before ("this way", 这个顺序)."""
    return bool(_DEICTIC.search(text))


def environment_fact(sentence: str) -> str:
    """Return the fact about ports, versions, variables or services a sentence states, or ""."""
    if len(sentence) > 240 or sentence.endswith(("?", "？", ":", "：")):
        return ""
    if not _MAY_BE_FACT.may_match(sentence) or _FACT_NOT.search(sentence):
        return ""
    if any(form.search(sentence) for form in _FACTS) and has_content(sentence):
        return sentence_case(_LEAD.sub("", sentence))
    return ""


def is_technical(sentence: str) -> bool:
    """Tell whether the sentence speaks of code and the tools around it."""
    return bool(_TECHNICAL.search(sentence))


def _statement(sentence: str, *, is_followup: bool, at_work: bool) -> Statement | None:
    if not _MAY_STATE.may_match(sentence):
        return None
    corrected = bool(_CORRECTION_LEAD.match(sentence))
    plain = _LEAD.sub("", sentence)
    plain = plain if plain != sentence else ""
    for rule in RULES:
        if rule.followup_only and not (is_followup or corrected):
            continue
        match = rule.form.search(sentence) or (rule.form.search(plain) if plain else None)
        if match is None or _PROTOCOL.search(sentence):
            continue
        if _MOMENTARY.search(sentence) and rule.name not in ("remember", "standing"):
            continue
        if not at_work and not _is_addressed(sentence, rule.name):
            continue
        if rule.form_not is not None and rule.form_not.search(sentence):
            continue
        body = match.groupdict().get("body") or sentence
        text = sentence_case(_LEAD.sub("", body).strip())
        if not has_content(text) or _DANGLING.search(text):
            continue
        kind = rule.kind
        if rule.name in ("remember", "note") and not _DIRECTIVE.search(text):
            kind = "fact"
        return Statement(
            kind=kind,
            text=text,
            sentence=sentence,
            rule="correction" if corrected and rule.name in ("use-not", "dont") else rule.name,
            score=rule.score + (0.05 if corrected else 0.0),
            is_global=bool(_GLOBAL.search(sentence)),
        )
    return None


def _is_addressed(sentence: str, rule: str) -> bool:
    """Tell whether a sentence of mere conversation is meant as an order to the agent."""
    if rule == "prefer":
        return True
    if rule in ("note", "project-rule"):
        return bool(_TECHNICAL.search(sentence))
    if rule == "remember":
        return bool(_PERSONAL.search(sentence) or _TECHNICAL.search(sentence))
    return bool(_TO_AGENT.search(sentence) or _TECHNICAL.search(sentence))


_MOMENTARY = re.compile(
    r"\b(?:for now|this time|just (?:this )?once|not yet|yet\b|right now|at the moment|until|today"
    r"|tonight|in this (?:pr|commit|branch|case|change|file|session|task)"
    r"|for this (?:pr|commit|task|one|change|fix|session)|first,? (?:don.?t|do not)|before (?:i"
    r"|we) (?:say|confirm|approve)|wait)\b"
    r"|暂时|这次|这一次|先不要|先别|目前|本次|今天|现在先|等我|这个(?:PR|提交|分支|任务)",
    re.I,
)
_GLOBAL = re.compile(
    r"\b(?:(?:all|any|each|every(?: one)?|none)(?: of)? (?:my |our |the )?(?:other )?(?:projects?"
    r"|repos?|repositor(?:y|ies)|codebases?)|everywhere|wherever (?:I|you) work|globally|in general"
    r"|across projects|every (?:project|repo)"
    r"|(?:reply|respond|answer|explain|talk|write) (?:to me )?in (?:english|chinese|german|french"
    r"|spanish|japanese)|your (?:answers|replies|responses|explanations|summaries))\b"
    r"|(?:所有|任何|每个|全部|各个)(?:的)?(?:项目|仓库|工程)|全局|(?:用|说|使用)(?:中文|英文|简体中文)(?:回答|回复|交流|解释|说|写)?"
    r"|回答(?:时|要|尽量)",
    re.I,
)
_CORRECTION_LEAD = re.compile(
    r"^(?:no|nope|wrong|stop|wait|actually|not (?:that|like that)|i said|i meant|不对|不是|错了|停"
    r"|等等"
    r"|你?搞错了)(?:\b|(?=[，,。!！ ])|(?<=[\u4e00-\u9fff]))",
    re.I,
)
_LEAD = re.compile(
    r"^(?:(?:no|nope|wrong \w+|ok|okay|yes|well|hey|hi|hmm|wait|stop|actually|wrong|also|and|but|so"
    r"|then"
    r"|please|pls|btw|fyi|thanks|great|good|sorry|perfect|nice"
    r"|from (?:now|here|this point) on(?:wards)?|going forward|in (?:the )?future"
    r"|as a (?:general )?rule|i said|i meant|one more thing|by the way|just"
    r"|not (?:that|like that)|that'?s (?:wrong|not right)|oh|important|remember"
    r"|note)(?:[,:;.!—–-]+\s*|\s+(?=(?:please|always|never|use|do|don|run|you|make|keep|put|write|i"
    r"|we|all|the|every|stop|only|no|not|commit)\b))"
    r"|(?:不对|错了|好的?|嗯|行|对了|另外|还有|请|等等|停|不是|谢谢|但是|那|不错|可以|很好|辛苦了"
    r"|完美|好了)[，,。！!：: ]+"
    r"|(?:请(?=[务不使用把在先])))+",
    re.I,
)
_TECHNICAL = re.compile(
    r"`[^`]+`|\w_\w|\w\(\)|(?<!\w)--\w|(?-i:\b[a-z]+[A-Z]\w+)|\b[\w-]+\.(?:py|ts|js|go|rs|md|json"
    r"|ya?ml|toml|sh|sql|java|rb|env)\b"
    r"|\b(?:codebase|commits?|git branch(?:es)?|repo(?:s|sitory|sitories)?|unit tests?|lint(?:er"
    r"|ing)?|api|apis|database|sql|deploy\w*|docker\w*|git|npm|pnpm|yarn|pip|pytest"
    r"|python|typescript|javascript|backend|frontend|endpoints?|pull requests?|refactor\w*|CI"
    r"|kubernetes|redis|postgres\w*|sqlite|kafka)\b"
    r"|代码|提交信息|分支|单元测试|接口|数据库|部署|仓库|函数|变量|注释|编译|依赖|脚本|迁移"
    r"|配置文件",
    re.I,
)
_PERSONAL = re.compile(
    r"\b(?:please|my|our|I(?:'m| am| have| use| live| work| like| need)|for me|me)\b|我|记住|always"
    r"|never",
    re.I,
)
_TO_AGENT = re.compile(
    r"^(?:please |from now on,? |in future,? |always |never |don.?t |do not "
    r"|stop )*(?:please )?(?:answer|reply|respond|explain|write|use|cite|ask|include|format"
    r"|keep your|call me"
    r"|address me|speak|talk to me|give me|show me|tell me|send me|translate|summari[sz]e"
    r"|be (?:brief|concise|short|direct))\b|\byou(?:r (?:answers?|replies|responses?)| (?:should"
    r"|must))\b"
    r"|回答|回复|用中文|用英文|叫我|称呼|翻译|总结|解释",
    re.I,
)
_DEICTIC = re.compile(
    r"\b(?:this|that) (?:way|order|style|pattern|approach|format|structure|layout)\b|\blike (?:this"
    r"|that)\b"
    r"|(?:这|那)(?:个|种|样)(?:的)?(?:顺序|方式|写法|格式|风格|做法|结构|思路|规范)|(?:这样"
    r"|那样)(?:写|做|来|处理|改)",
    re.I,
)
_DIRECTIVE = re.compile(
    r"^(?:(?:you |we |i )?(?:should |must |need to |have to |want |prefer )?)(?:always|never|use"
    r"|run|do|don.?t|do not|keep|put|write|make|avoid|prefer|ask|check|add|call|commit|stop|only|no"
    r"|name"
    r"|include|set|start|wrap|format|follow|reply|answer|test|update|push|read|create|store|import"
    r"|install)\b|不要|别|务必|始终|都|必须|用|使用|先|要|禁止|一律|改|统一|只",
    re.I,
)
_PROTOCOL = re.compile(
    r"\b(?:tool|function) calls?\b|\b(?:exactly|only|at most) one (?:action|command|tool|bash)\b"
    r"|\b(?:your|every|each) (?:response|reply) (?:must|should) (?:contain|include|have|be in)\b"
    r"|\bone command at a time\b|\bask for (?:human|user) help\b",
    re.I,
)
"""How a harness talks to a model: no rule of the person's or the project's."""
_FORBIDS = re.compile(
    r"\b(?:don.?t|do not|never|no|not|stop)\b|不要|别|不能|不许|不准|禁止|切勿", re.I
)
_INSTEAD = re.compile(
    r"(?:please |instead,? |just |always |we )?(?:use|run|change|put|open|write|edit|call|go"
    r"|work|create|move|push|commit|ask|keep|make|install|import|prefer)\b"
    r"(?! (?:it|this|that|them)\b)"
    r"|.{0,6}(?:写在|放在|改用|改成|应该|要用|请用|统一用|只用)",
    re.I,
)
_DANGLING = re.compile(
    r"^(?:\w+ )?(?:do|use|run|keep|make|change|fix|try|put|add|write|don.?t (?:do|use|add|change"
    r"|touch)|never do|always do|stop doing)\s+(?:it|that|this|them|those|these)"
    r"(?:\s+(?:instead|again|way|like that|anymore|ever|please|here|there))*[\s.!]*$|^(?:不要|别"
    r"|请)?(?:再)?(?:这样|那样|这么|那么)(?:做|写|改|弄)?(?:了|吧)?[。！]*$",
    re.I,
)
_FACTS = (
    re.compile(
        r"\b(?:listens? on|runs? on|is (?:running )?on|served (?:on|at)|available (?:on|at)"
        r"|exposed on|bound to|uses?|on) port \d{2,5}\b", re.I),
    re.compile(
        r"\b(?:requires?|needs|only works? (?:with|on)|must (?:run|be run|be built) (?:on|with"
        r"|under)|is pinned to|supports? only|is incompatible with|does not (?:support"
        r"|work with))\b"
               r".{0,60}\b(?:v?\d+(?:\.\d+)+|(?:Node(?:\.js)?|Python|Java|JDK|Go|Ruby|PHP|Rust"
               r"|Postgres(?:QL)?|MySQL|Redis|glibc|CUDA)[ -]?(?:>=?|≥)? ?v?\d)", re.I),
    re.compile(
        r"\b(?:requires?|needs|expects?|reads?|must (?:have|set|export)|won.?t (?:start|run"
        r"|work) without)\b.{0,50}`?\b[A-Z][A-Z0-9]*_[A-Z0-9_]{2,}\b"),
    re.compile(
        r"`?\b[A-Z][A-Z0-9]*_[A-Z0-9_]{2,}\b`? (?:must|has to|needs to|should) (?:be|point|contain"
        r"|match)\b"),
    re.compile(
        r"\b(?:docker|redis|postgres(?:ql)?|mysql|mongo(?:db)?|kafka|rabbitmq|elasticsearch|minio"
        r"|localstack|chromedriver|xvfb|nginx)\b.{0,40}\b(?:must|has to|needs to) be (?:running|up"
        r"|started|installed)\b", re.I),
    re.compile(
        r"\b(?:needs?|requires?|expects?) .{2,60} to be (?:running|set|installed|up|started"
        r"|exported|reachable|built)\b", re.I),
    re.compile(
        r"\b(?:reads?|loads?|looks? (?:in|at|for)|stores?|writes? to|lives? in|is (?:kept|stored"
        r"|installed) in)\b .{0,60}(?<![\w/])(?:/(?:etc|opt|var|usr|srv|home|mnt)|~)/[\w.-]+",
        re.I),
    re.compile(
        r"(?:读取|加载|使用|位于|放在|存在)的?(?:是)?\s*`?"
        r"(?:/(?:etc|opt|var|usr|srv|home|data)|~)/[\w.-]+"),
    re.compile(r"(?:端口(?:号)?(?:是|为|用的是|改成了)?\s*\d{2,5}|监听(?:在)?\s*\S*\d{2,5})"),
    re.compile(
        r"(?:需要|要求|依赖|必须(?:用|使用|是)|只(?:支持|能用))\s*.{0,20}(?:Node(?:\.js)?|Python"
        r"|Java|JDK|Go|Ruby"
        r"|PHP|Postgres(?:QL)?|MySQL|Redis)\s*(?:>=?|≥)?\s*v?\d", re.I),
    re.compile(
        r"(?:需要|必须|要)(?:先)?(?:设置|配置|导出"
        r"|export)\s*(?:环境变量)?\s*`?[A-Z][A-Z0-9]*_[A-Z0-9_]{2,}"),
    re.compile(
        r"(?:必须|需要|要)先(?:启动|运行|安装)\s*\S*(?:docker|redis|postgres|mysql|mongo|kafka"
        r"|rabbitmq|服务|数据库"
        r"|容器)", re.I),
)  # fmt: skip
_MAY_STATE = Prefilter(rule.form for rule in RULES)
_MAY_BE_FACT = Prefilter(_FACTS)
_FACT_NOT = re.compile(
    r"\b(?:let me|i'?ll|i will|i need|we need to|if you|might|maybe|probably|should i|would you"
    r"|could|todo)\b|可能|也许|让我|我来|如果|是否",
    re.I,
)


def _own_sentences(prompt: str) -> Sequence[str]:
    """Return the sentences a person typed; a long paste counts only at its edges."""
    found = [s for s in sentences(without_blocks(prompt)) if len(s) <= MAX_SENTENCE_CHARS]
    return found if len(found) <= 60 else [*found[:25], *found[-25:]]


def _joined(statements: list[Statement]) -> list[Statement]:
    """Drop statements whose words another one contains already."""
    return [
        one
        for one in statements
        if not any(
            other is not one and one.text.rstrip("。.").casefold() in other.text.casefold()
            for other in statements
        )
    ]
