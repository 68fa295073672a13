"""What people state outright: rules, preferences, corrections, things to remember, and facts
about the environment. English and Chinese.

Pure; imports nothing of ours but prose handling, `screen` and `wording`. A request that holds
only for the moment ("don't push yet", 这次先不要…) is no statement, and neither is a sentence that
says nothing without its context ("do it like that").
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_daemon.engine.screen import has_content
from hindsight_daemon.engine.sentences import sentences, without_blocks
from hindsight_daemon.engine.wording import sentence_case
from hindsight_daemon.model import MemoryKind, Record

MAX_SENTENCE_CHARS = 320


class Statement(Record, frozen=True, kw_only=True):
    """A claim in the words of who made it; `sentence` is the literal source."""

    kind: MemoryKind
    text: str
    sentence: str
    rule: str
    score: float
    is_global: bool = False


def statements_of(prompt: str, *, is_followup: bool) -> list[Statement]:
    """Return what a person's prompt states for good, best first.

    `is_followup` tells that the prompt answers work of the agent: then plain directives count as
    corrections, which in an opening prompt are merely the task.
    """
    found: list[Statement] = []
    seen: set[str] = set()
    for sentence in _own_sentences(prompt):
        statement = _statement(sentence, is_followup=is_followup)
        if statement is not None and statement.text.casefold() not in seen:
            seen.add(statement.text.casefold())
            found.append(statement)
    return sorted(_joined(found), key=lambda statement: -statement.score)


def environment_fact(sentence: str) -> str:
    """Return the fact about ports, versions, variables or services a sentence states, or ""."""
    if len(sentence) > 240 or sentence.endswith(("?", "？", ":", "：")):
        return ""
    if _FACT_NOT.search(sentence):
        return ""
    if any(form.search(sentence) for form in _FACTS) and has_content(sentence):
        return sentence_case(_LEAD.sub("", sentence))
    return ""


def _statement(sentence: str, *, is_followup: bool) -> Statement | None:
    corrected = bool(_CORRECTION_LEAD.match(sentence))
    for rule in _RULES:
        if rule.followup_only and not (is_followup or corrected):
            continue
        match = rule.form.search(sentence)
        if match is None:
            continue
        if _MOMENTARY.search(sentence) and rule.name not in ("remember", "standing"):
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


class _Rule(Record, frozen=True, kw_only=True):
    name: str
    form: re.Pattern[str]
    kind: MemoryKind = "preference"
    score: float = 0.8
    followup_only: bool = False
    form_not: re.Pattern[str] | None = None


_START = r"(?:^|[,;:—–-] ?|\b(?:and|but|so|please|also|then|just) )"
_START_ZH = r"(?:^|[，,。；;：:、！!]\s*|请|你|但|而且|并且|另外)"
_BUG_TALK = re.compile(
    r"\b(?:it|that|this|which|page|button|test|app|server|query|request|function|loop|job|process|code)s? "
    r"(?:\w+ )?(?:never|always)\b|\b(?:never|always) (?:\w+s|been|seems?|gets?|worked|\w+ed)\b(?! to use)",
    re.I,
)
_RULES: tuple[_Rule, ...] = (
    _Rule(name="remember", score=0.95, form=re.compile(
        r"(?:^|[.!,;:] |^\w+ )(?:please |pls |also |and |so )*(?:remember|keep in mind|bear in mind|don.?t forget|memori[sz]e|take note)"
        r"(?: this| for (?:next time|later|the future))?\s*(?:,|:|-|—| that\b| to\b)\s*(?P<body>.+)", re.I)),
    _Rule(name="remember", score=0.95, form=re.compile(
        r"(?:^|[，,。]\s*)(?:请|你)?(?:要)?(?:记住|牢记|记下来?|记一下|别忘了)[，,：: ]*(?P<body>(?!了).{3,})")),
    _Rule(name="standing", score=0.92, form=re.compile(
        r"\b(?:from (?:now|here|this point) on(?:wards?)?|going forward|in (?:the )?future|for (?:all )?future (?:\w+)|as a (?:general )?rule"
        r"|from today(?: on)?|whenever you|every time you|each time you|any time you|before you (?:commit|push|merge|start|edit|finish)"
        r"|after (?:every|each) (?:edit|change|commit|task)|before (?:every|each|any) (?:commit|push|edit|change|release|merge))\b", re.I),
        form_not=re.compile(r"\b(?:might|may|could|would|will be|plan to|we can)\b|\?$", re.I)),
    _Rule(name="standing", score=0.92, form=re.compile(
        rf"{_START_ZH}(?:以后|今后|从现在(?:起|开始)|从今(?:以后|往后|天起)|往后|下次|每次).{{0,20}}?"
        r"(?:都|要|请|不要|别|一律|必须|先|用|得|统一|记得|只|不准|不能)"),
        form_not=re.compile(r"以后再(?:说|看|做|处理)|[吗？?]$")),
    _Rule(name="always", score=0.9, form=re.compile(
        rf"{_START}(?:you |we |agents? |tests? |commits? |code |everyone |i want you to |make sure (?:to|you) |be sure to )?"
        r"(?:should |must |have to )?(?:always|never)\s+[a-z]\w+\s+\S", re.I), form_not=_BUG_TALK),
    _Rule(name="always", score=0.9, form=re.compile(
        rf"{_START_ZH}(?:务必|始终|永远(?:不要|都|别)|一律|切勿|千万(?:不要|别)|绝对?不(?:要|能|允许|可以|准)|禁止|严禁"
        r"|必须(?:始终|总是|都|一直)|统一(?:用|使用|采用))"), form_not=re.compile(r"[吗？?]$")),
    _Rule(name="never-again", score=0.9, form=re.compile(
        r"\b(?:don.?t|do not|never|stop|no more)\b.{3,}\b(?:again|ever|anymore|any more)\b"
        rf"|{_START}stop (?:\w+ing)\b\s+\S|{_START}no more \w+", re.I),
        form_not=re.compile(r"\b(?:it|they|this|that|which) (?:don.?t|do not|stop)|\?$|don.?t (?:know|think|see|understand)", re.I)),
    _Rule(name="never-again", score=0.9, form=re.compile(r"(?:不要|别|不许|不准|不能|请勿|不用)再"),
        form_not=re.compile(r"[吗？?]$")),
    _Rule(name="prefer", score=0.85, form=re.compile(
        r"\b(?:i|we|the team)(?:.d| would)? (?:strongly |much |really |generally |usually )?(?:prefer|like it when you|want you to always|hate it when)"
        r"\s+(?!if |to (?:see|wait|know)).+|\bmy preference is\b|\bpreference:", re.I), form_not=re.compile(r"\?$")),
    _Rule(name="prefer", score=0.85, form=re.compile(
        r"我(?:们)?(?:个人)?(?:更|比较|都)?(?:喜欢|偏好|倾向于?|习惯于?)(?!吗|的是).{2,}"), form_not=re.compile(r"[吗？?]$")),
    _Rule(name="use-not", score=0.82, followup_only=True, form=re.compile(
        r"\b(?:use|run|call|write|prefer|stick (?:to|with)|go with|switch to|keep|put|import|name|it should (?:be|use)|should (?:use|be)|must (?:use|be))\s+"
        r"\S.{0,100}?(?:,? not|,? instead of|,? rather than|,? and not|, never|, don.?t use)\b\s*\S.*"
        r"|\b(?:don.?t|do not|not|no|instead of) (?:use |using )?\S.{0,60}?[,;.—-]+ ?(?:please )?(?:use|run|go with|switch to|we use)\s+\S.*"
        r"|\b(?:use|run|go with|switch to)\s+\S.{1,60} instead\b", re.I), form_not=re.compile(r"\?$|\bwhy (?:did|not)\b", re.I)),
    _Rule(name="use-not", score=0.82, followup_only=True, form=re.compile(
        r"(?:改用|换成|换为|应该(?:用|使用|是|写|放)|要用|请用|使用|用|写成|改成).{1,40}?[，,]?\s*(?:而不是|而非|不要用|别用|不用|不是|不要)\s*\S+"
        r"|(?:不要|别|不是|不能)(?:使)?用?.{1,30}?[，,；;]\s*(?:要|请|改|应该|而是)+(?:使)?用?.{2,}|(?:不对|错了|不是)[，,。]\s*(?:应该|要|请|改).{3,}"
        r"|(?:改用|换成)\s*\S{2,}"), form_not=re.compile(r"[吗？?]$")),
    _Rule(name="dont", score=0.72, followup_only=True, form=re.compile(
        rf"{_START}(?:please )?(?:don.?t|do not)\s+(?:use|add|install|commit|push|edit|touch|modify|change|create|write|mock|run|delete|import"
        r"|generate|put|include|bump|skip|rename|reformat|hard-?code|amend|force)\b\s+\S.+", re.I), form_not=re.compile(r"\?$")),
    _Rule(name="dont", score=0.72, followup_only=True, form=re.compile(
        rf"{_START_ZH}(?:不要|别|请勿|不准|不许)(?:使用|用|加|添加|装|安装|提交|改|动|修改|删|删除|写|创建|推送|跑|引入|直接|硬编码|跳过|把|在).{{2,}}"),
        form_not=re.compile(r"[吗？?]$")),
    _Rule(name="project-rule", score=0.78, form=re.compile(
        r"^(?:in (?:this|our) (?:project|repo|repository|codebase|team|monorepo|service),? .{8,}|(?:this|our) (?:project|repo|repository|codebase|team|ci) "
        r"(?:uses?|requires?|runs?|targets?|expects?|deploys?|only|never|always|follows?)\b.{4,}|we (?:only |always |never |don.?t )?(?:use|deploy|target|commit|run|write|follow|pin|support|store)\b.{4,})",
        re.I), form_not=re.compile(r"\?$|\b(?:can|could|should|would|might|need to|want to|will|how|when we|used to)\b", re.I), kind="fact"),
    _Rule(name="project-rule", score=0.78, form=re.compile(
        r"^(?:(?:在)?(?:这个|本|我们的?)(?:项目|仓库|团队|工程|服务|代码库)(?:里|中|内)?.{0,6}(?:用|使用|采用|要求|必须|只|不|都|统一|跑|部署|规定|约定).{2,}|我们(?:都|统一|一直|只|不)(?:用|使用|采用).{2,})"),
        form_not=re.compile(r"[吗？?]$|怎么|如何|为什么"), kind="fact"),
    _Rule(name="note", score=0.7, form=re.compile(
        r"^(?:please |also |fyi,? )?(?:note|fyi|heads[- ]up|important|btw)\s*(?:,|:|-|—| that\b)\s*(?P<body>.{12,})", re.I),
        form_not=re.compile(r"\?$")),
    _Rule(name="note", score=0.7, form=re.compile(r"^(?:请)?(?:注意|重要|提醒一下|记得)[，,：: ](?P<body>.{4,})"),
        form_not=re.compile(r"[吗？?]$")),
)  # fmt: skip
_MOMENTARY = re.compile(
    r"\b(?:for now|this time|just (?:this )?once|not yet|yet\b|right now|at the moment|until|today|tonight|in this (?:pr|commit|branch|case|change|file|session|task)"
    r"|for this (?:pr|commit|task|one|change|fix|session)|first,? (?:don.?t|do not)|before (?:i|we) (?:say|confirm|approve)|wait)\b"
    r"|暂时|这次|这一次|先不要|先别|目前|本次|今天|现在先|等我|这个(?:PR|提交|分支|任务)",
    re.I,
)
_GLOBAL = re.compile(
    r"\b(?:all (?:my |our )?(?:projects|repos|repositories)|everywhere|globally|in general|across projects|every (?:project|repo)"
    r"|(?:reply|respond|answer|explain|talk|write) (?:to me )?in (?:english|chinese|german|french|spanish|japanese)|your (?:answers|replies|responses|explanations|summaries))\b"
    r"|所有项目|任何项目|全局|(?:用|说|使用)(?:中文|英文|简体中文)(?:回答|回复|交流|解释|说|写)?|回答(?:时|要|尽量)",
    re.I,
)
_CORRECTION_LEAD = re.compile(
    r"^(?:no|nope|wrong|stop|wait|actually|not (?:that|like that)|i said|i meant|不对|不是|错了|停|等等|你?搞错了)(?:\b|(?=[，,。!！ ])|(?<=[\u4e00-\u9fff]))",
    re.I,
)
_LEAD = re.compile(
    r"^(?:(?:no|nope|ok|okay|yes|well|hey|hi|hmm|wait|stop|actually|wrong|also|and|but|so|then|please|pls|btw|fyi|thanks|great|good|sorry|perfect|nice"
    r"|from (?:now|here|this point) on(?:wards)?|going forward|in (?:the )?future|as a (?:general )?rule|i said|i meant|one more thing|by the way|just"
    r"|not (?:that|like that)|that'?s (?:wrong|not right)|oh|important|remember|note)(?:[,:;.!—–-]+\s*|\s+(?=(?:please|always|never|use|do|don|run|you|make|keep|put|write|i|we|all|the|every|stop|only|no|not|commit)\b))"
    r"|(?:不对|错了|好的?|嗯|行|对了|另外|还有|请|等等|停|不是|谢谢|但是|那)[，,。！!：: ]+|(?:请(?=[务不使用把在先])))+",
    re.I,
)
_DIRECTIVE = re.compile(
    r"^(?:(?:you |we |i )?(?:should |must |need to |have to |want |prefer )?)(?:always|never|use|run|do|don.?t|do not|keep|put|write|make|avoid|prefer|ask|check|add|call|commit|stop|only|no|name"
    r"|include|set|start|wrap|format|follow|reply|answer|test|update|push|read|create|store|import|install)\b|不要|别|务必|始终|都|必须|用|使用|先|要|禁止|一律|改|统一|只",
    re.I,
)
_DANGLING = re.compile(
    r"^(?:\w+ )?(?:do|use|run|keep|make|change|fix|try|put|add|write|don.?t (?:do|use|add|change|touch)|never do|always do|stop doing)\s+(?:it|that|this|them|those|these)"
    r"(?:\s+(?:instead|again|way|like that|anymore|ever|please|here|there))*[\s.!]*$|^(?:不要|别|请)?(?:再)?(?:这样|那样|这么|那么)(?:做|写|改|弄)?(?:了|吧)?[。！]*$",
    re.I,
)
_FACTS = (
    re.compile(r"\b(?:listens? on|runs? on|is (?:running )?on|served (?:on|at)|available (?:on|at)|exposed on|bound to|uses?|on) port \d{2,5}\b", re.I),
    re.compile(r"\b(?:requires?|needs|only works? (?:with|on)|must (?:run|be run|be built) (?:on|with|under)|is pinned to|supports? only|is incompatible with|does not (?:support|work with))\b"
               r".{0,60}\b(?:v?\d+(?:\.\d+)+|(?:Node(?:\.js)?|Python|Java|JDK|Go|Ruby|PHP|Rust|Postgres(?:QL)?|MySQL|Redis|glibc|CUDA)[ -]?(?:>=?|≥)? ?v?\d)", re.I),
    re.compile(r"\b(?:requires?|needs|expects?|reads?|must (?:have|set|export)|won.?t (?:start|run|work) without)\b.{0,50}`?\b[A-Z][A-Z0-9]*_[A-Z0-9_]{2,}\b"),
    re.compile(r"`?\b[A-Z][A-Z0-9]*_[A-Z0-9_]{2,}\b`? (?:must|has to|needs to|should) (?:be|point|contain|match)\b"),
    re.compile(r"\b(?:docker|redis|postgres(?:ql)?|mysql|mongo(?:db)?|kafka|rabbitmq|elasticsearch|minio|localstack|chromedriver|xvfb|nginx)\b.{0,40}\b(?:must|has to|needs to) be (?:running|up|started|installed)\b", re.I),
    re.compile(r"(?:端口(?:号)?(?:是|为|用的是|改成了)?\s*\d{2,5}|监听(?:在)?\s*\S*\d{2,5})"),
    re.compile(r"(?:需要|要求|依赖|必须(?:用|使用|是)|只(?:支持|能用))\s*.{0,20}(?:Node(?:\.js)?|Python|Java|JDK|Go|Ruby|PHP|Postgres(?:QL)?|MySQL|Redis)\s*(?:>=?|≥)?\s*v?\d", re.I),
    re.compile(r"(?:需要|必须|要)(?:先)?(?:设置|配置|导出|export)\s*(?:环境变量)?\s*`?[A-Z][A-Z0-9]*_[A-Z0-9_]{2,}"),
    re.compile(r"(?:必须|需要|要)先(?:启动|运行|安装)\s*\S*(?:docker|redis|postgres|mysql|mongo|kafka|rabbitmq|服务|数据库|容器)", re.I),
)  # fmt: skip
_FACT_NOT = re.compile(
    r"\b(?:let me|i'?ll|i will|i need|we need to|if you|might|maybe|probably|should i|would you|could|todo)\b|可能|也许|让我|我来|如果|是否",
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
