"""The forms in which people state rules, preferences and corrections, in English and Chinese.

Data for `statements`, imported by nothing else. Order matters: stronger forms come first.
"""

from __future__ import annotations

import re

from hindsight_daemon.model import MemoryKind, Record


class Rule(Record, frozen=True, kw_only=True):
    """One form of statement; the first rule that fits a sentence wins.

    A group `body` holds the statement proper; `form_not` rules a sentence out.
    """

    name: str
    form: re.Pattern[str]
    kind: MemoryKind = "preference"
    score: float = 0.8
    followup_only: bool = False
    form_not: re.Pattern[str] | None = None


_QUESTION = re.compile(r"\?$")
_QUESTION_ZH = re.compile(r"[吗？?]$")
_START = r"(?:^|[,;:—–-] ?|\b(?:and|but|so|please|also|then|just) )"
_START_ZH = r"(?:^|[，,。；;：:、！!]\s*|请|你|但|而且|并且|另外)"
_BUG_TALK = re.compile(
    r"\b(?:it|that|this|which|page|button|test|app|server|query|request|function|loop|job|process"
    r"|code)s? "
    r"(?:\w+ )?(?:never|always)\b|\b(?:never|always) (?:\w+s|been|seems?|gets?|worked"
    r"|\w+ed)\b(?! to use)",
    re.I,
)
RULES: tuple[Rule, ...] = (
    Rule(name="remember", score=0.95, form=re.compile(
        r"(?:^|[.!,;:] |^\w+ )(?:please |pls |also |and |so )*(?:remember|keep in mind|bear in mind"
        r"|don.?t forget|memori[sz]e|take note)"
        r"(?: this| for (?:next time|later|the future))?"
        r"\s*(?:,|:|-|—| that\b| to\b)\s*(?P<body>.+)", re.I)),
    Rule(name="remember", score=0.95, form=re.compile(
        r"(?:^|[，,。]\s*)(?:请|你)?(?:要)?(?:记住|牢记|记下来?|记一下"
        r"|别忘了)[，,：: ]*(?P<body>(?!了).{3,})")),
    Rule(name="reminder", score=0.92, form=re.compile(
        r"\b(?:i (?:already |just )?(?:told|asked) you(?: before| already| to)?"
        r"|as i (?:already )?said|like i said|i(?:'ve| have) said)"
        r"[:,. ]+(?:before|already|twice|again)?[:,. ]*(?P<body>(?:please )?(?:do not|don.?t|never"
        r"|always|to (?=use|run|keep)|use|run|keep|only)\b.{4,})", re.I),
        form_not=_QUESTION),
    Rule(name="reminder", score=0.92, form=re.compile(
        r"(?:我)?(?:之前|已经|前面)?(?:说过|讲过|强调过)(?:很多次|多次|了"
        r"|的)*[，,：:。 ]*(?P<body>(?:不要|别|要|必须|只|用|都|统一|不能).{3,})"),
        form_not=_QUESTION_ZH),
    Rule(name="standing", score=0.92, form=re.compile(
        r"\b(?:from (?:now|here|this point) on(?:wards?)?|going forward|in (?:the )?future"
        r"|for (?:all )?future (?:\w+)|as a (?:general )?rule"
        r"|from today(?: on)?|whenever you|every time you|each time you|any time you"
        r"|before you (?:commit|push|merge|start|edit|finish)"
        r"|after (?:every|each) (?:edit|change|commit|task)|before (?:every|each|any) (?:commit"
        r"|push|edit|change|release|merge))\b", re.I),
        form_not=re.compile(
            r"\b(?:might|may|could|would|will be|plan to|we can|I(?:.ll| will| hope| plan| can| was"
            r"| am|.m)|you need|help|feel free|hesitate)\b|\?$", re.I)),
    Rule(name="standing", score=0.92, form=re.compile(
        rf"{_START_ZH}(?:以后|今后|从现在(?:起|开始)|从今(?:以后|往后|天起)|往后|下次"
        rf"|每次).{{0,20}}?"
        r"(?:都|要|请|不要|别|一律|必须|先|用|得|统一|记得|只|不准|不能)"),
        form_not=re.compile(r"以后再(?:说|看|做|处理)|[吗？?]$")),
    Rule(name="always", score=0.9, form=re.compile(
        rf"(?:{_START}|^(?:in|for|on) (?:all |every |each )?(?:my|our|this|these|all|every"
        rf"|each) \w+,? )"
        rf"(?:please )?(?:(?:i want you to |make sure (?:to|you) |be sure to "
        rf"|try to )?(?:always|never)"
        r"|we (?:always|never)|(?:\w+ ){1,3}?(?:should|must|have to|has to|needs? to) (?:always"
        r"|never)|(?:always|never) (?:should|must) \w+) "
        r"(?!(?:\w+(?:ing|ed)|had|saw|been|was|were|is|are|did|up|down|there|a|the|my|know|mind"
        r"|give up|be|stop|forget|knew|said|felt|thought|heard|went|got|took|made)\b)"
        r"[a-z][\w-]+ \S", re.I), form_not=_BUG_TALK),
    Rule(name="always", score=0.9, form=re.compile(
        rf"(?:务必|切勿|千万(?:不要|别)|严禁|一律(?:用|使用|采用|要|不)|必须(?:始终|总是|一直))"
        rf"|{_START_ZH}(?:始终|永远(?:不要|都|别)|绝对?不(?:要|能|允许|可以|准)|禁止|必须都"
        r"|统一(?:用|使用|采用))"),
        form_not=_QUESTION_ZH),
    Rule(name="never-again", score=0.9, form=re.compile(
        r"\b(?:don.?t|do not|never|stop|no more)\b.{3,}\b(?:again|ever|anymore|any more)\b"
        rf"|{_START}stop (?:\w+ing)\b\s+\S|{_START}no more \w+", re.I),
        form_not=re.compile(
            r"\b(?:it|they|this|that|which) (?:don.?t|do not|stop)|\?$|don.?t (?:know|think|see"
            r"|understand)", re.I)),
    Rule(name="never-again", score=0.9, form=re.compile(r"(?:不要|别|不许|不准|不能|请勿|不用)再"),
        form_not=_QUESTION_ZH),
    Rule(name="prefer", score=0.85, form=re.compile(
        r"\b(?:i|we|the team)(?:.d| would)? (?:strongly |much |really |generally "
        r"|usually )?(?:prefer|like it when you|want you to always|hate it when)"
        r"\s+(?!if |to (?:see|wait|know)).+|\bmy preference is\b|\bpreference:", re.I),
        form_not=_QUESTION),
    Rule(name="prefer", score=0.85, form=re.compile(
        r"我(?:们)?(?:个人)?(?:更|比较|都)?(?:喜欢|偏好|倾向于?|习惯于?)(?!吗|的是).{2,}"),
        form_not=_QUESTION_ZH),
    Rule(name="use-not", score=0.82, followup_only=True, form=re.compile(
        r"\b(?:use|uses|run|call|write|prefer|stick (?:to|with)|go with|switch to|keep|put|import"
        r"|name|it should (?:be|use)|should (?:use|be)|must (?:use|be))\s+"
        r"\S.{0,100}?(?:,? not|,? instead of|,? rather than|,? and not|, never"
        r"|, don.?t use)\b\s*\S.*"
        r"|\b(?:don.?t|do not|not|no|instead of) (?:use "
        r"|using )?\S.{0,60}?[,;.—-]+ ?(?:please )?(?:use|run|go with|switch to|we use)\s+\S.*"
        r"|\b(?:use|run|go with|switch to)\s+\S.{1,60} instead\b", re.I),
        form_not=re.compile(
            r"\?$|\bwhy (?:did|not)\b|^(?:the|a|this) (?:\w+ )?(?:fix|issue|problem|error|bug"
            r"|solution)\b",
            re.I)),
    Rule(name="use-not", score=0.82, followup_only=True, form=re.compile(
        r"(?:改用|换成|换为|应该(?:用|使用|是|写|放)|要用|请用|使用|用|写成"
        r"|改成).{1,40}?[，,]?\s*(?:而不是|而非|不要用|别用|不用|不是"
        r"|不要)\s*\S+"
        r"|(?:不要|别|不是|不能)(?:使)?用?.{1,30}?[，,；;]\s*(?:要|请|改|应该|而是)+(?:使)?用?.{2,}"
        r"|(?:不对|错了"
        r"|不是)[，,。]\s*(?:应该|要|请|改).{3,}"
        r"|(?:改用|换成)\s*\S{2,}"),
        form_not=_QUESTION_ZH),
    Rule(name="dont", score=0.72, followup_only=True, form=re.compile(
        rf"{_START}(?:please )?(?:don.?t|do not)\s+(?:use|add|install|commit|push|edit|touch|modify"
        rf"|change|create|write|mock|run|delete|import"
        r"|generate|put|include|bump|skip|rename|reformat|hard-?code|amend|force)\b\s+\S.+", re.I),
        form_not=_QUESTION),
    Rule(name="dont", score=0.72, followup_only=True, form=re.compile(
        rf"{_START_ZH}(?:不要|别|请勿|不准|不许)(?:使用|用|加|添加|装|安装|提交|改|动|修改|删|删除"
        rf"|写|创建|推送|跑|引入|直接|硬编码|跳过|把"
        rf"|在).{{2,}}"),
        form_not=_QUESTION_ZH),
    Rule(name="project-rule", score=0.78, form=re.compile(
        r"^(?:in (?:this|our) (?:project|repo|repository|codebase|team|monorepo|service),? .{8,}"
        r"|(?:this|our) (?:project|repo|repository|codebase|team|ci) "
        r"(?:uses?|requires?|runs?|targets?|expects?|deploys?|only|never|always|follows?)\b.{4,}"
        r"|we (?:only |always |never |don.?t )?(?:use|deploy|target|commit|run|write|follow|pin"
        r"|support|store)\b.{4,})",
        re.I),
        kind="fact", form_not=re.compile(
            r"\?$|\b(?:can|could|should|would|might|need to|want to|will|how|when we|used to)\b",
            re.I)),
    Rule(name="project-rule", score=0.78, form=re.compile(
        r"^(?:(?:在)?(?:这个|本|我们的?)(?:项目|仓库|团队|工程|服务|代码库)(?:里|中|内)?.{0,6}(?:用"
        r"|使用|采用|要求|必须|只|不|都|统一|跑"
        r"|部署|规定|约定).{2,}|我们(?:都|统一|一直|只|不)(?:用|使用|采用).{2,})"),
        form_not=re.compile(r"[吗？?]$|怎么|如何|为什么"), kind="fact"),
    Rule(name="manner", score=0.8, form=re.compile(
        r"\b(?:keep|make) (?:your |the |all )?(?:answers?|replies|responses?|explanations?"
        r"|summaries|comments|commits?|commit messages|prs?|pull requests|functions|diffs) "
        r"(?:short|brief|concise|small|focused|minimal|simple|in \w+)\b", re.I),
        form_not=_QUESTION),
    Rule(name="manner", score=0.8, form=re.compile(
        r"(?:回答|回复|解释|注释|提交信息|代码注释)(?:都|要|请|尽量|必须)?(?:用|写|保持)?(?:中文"
        r"|英文|简短|简洁|精简)"),
        form_not=_QUESTION_ZH),
    Rule(name="dont", score=0.74, form=re.compile(
        r"(?:^|[,;] (?:and )?)(?:please )?(?:don.?t|do not|no) (?:use |add |put |write "
        r"|include )?\S.{2,40} in (?:commit messages?|comments|code comments|tests|docs|prs?"
        r"|pull requests|answers|the codebase)\b",
        re.I), form_not=_QUESTION),
    Rule(name="project-rule", score=0.76, form=re.compile(
        r"^(?:all|every|each|any|no) (?:[\w-]+ ){1,4}?(?:must|should|needs? to|has to|have to"
        r"|may not|may) (?!be (?:fixed|working|green|done|updated)\b)\w+", re.I),
        form_not=re.compile(r"\?$|\bnow\b", re.I)),
    Rule(name="project-rule", score=0.76, form=re.compile(
        r"^(?:所有|每个|每次|任何|全部)?(?:的)?(?:接口|代码|提交|测试|文档|日志|变量|函数|字段|页面"
        r"|组件|配置|迁移|分支|金额|时间|密码|镜像)\S{0,8}?(?:必须|都要|都得|一律|不能|不得|不允许"
        r"|禁止|统一).{2,}"),
        form_not=re.compile(r"[吗？?]$|怎么|为什么|报错|失败|了$")),
    Rule(name="note", score=0.7, form=re.compile(
        r"^(?:please |also |fyi,? )?(?:note|fyi|heads[- ]up|important)\s*(?:,|:|-|—"
        r"| that\b)\s*(?P<body>.{12,})", re.I),
        form_not=_QUESTION),
    Rule(name="note", score=0.7, form=re.compile(
        r"^(?:请)?(?:注意|重要|提醒一下|记得)[，,：: ](?P<body>.{4,})"),
        form_not=_QUESTION_ZH),
)  # fmt: skip
