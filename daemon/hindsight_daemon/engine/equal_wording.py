"""Which wordings count as equal when two statements are compared, in English and Chinese.

Pure; imports nothing of ours. The tables hold function words, fillers and a few everyday verbs
whose choice never changes what a rule or fact says. Words of a subject matter do not belong here.
"""

from __future__ import annotations

import re

_EQUAL: tuple[tuple[str, str], ...] = (
    (r"\bcan'?t\b|\bcan not\b", "cannot"),
    (r"\bwon'?t\b", "will not"),
    (r"(\w)n't\b", r"\1 not"),
    (r"\bkept\b", "keep"),
    (r"\bheld\b", "hold"),
    (r"\b(?:wrote|written)\b", "write"),
    (r"\b(?:chose|chosen)\b", "choose"),
    (r"\bbuilt\b", "build"),
    (r"\bsent\b", "send"),
    (r"\bran\b", "run"),
    (r"\bstood\b", "stand"),
    (r"\b(?:gave|given)\b", "give"),
    (r"\b(?:took|taken)\b", "take"),
    (r"\bsettings?\b|\bconfigurations?\b|\bconfigs?\b", "config"),
    (r"\b(?:it|that|there|what|here)'s\b", "is"),
    (r"\bin order to\b|\bso as to\b", "to"),
    (r"\bprior to\b|\bahead of\b", "before"),
    (r"\bsubsequent to\b|\bonce\b|\bas soon as\b", "after"),
    (r"\bwhenever\b|\b(?:each|every|any) time\b|\bif\b|\bin case\b", "when"),
    (r"\b(is|are|was|were) (?:called|named)\b|\bgoes by the name\b", r"\1"),
    (r"\bat most\b|\bno more than\b|\bup to\b|\ba maximum of\b", "at most"),
    (r"\bat least\b|\bno (?:less|fewer) than\b|\ba minimum of\b", "at least"),
    (r"\brather than\b|\bin place of\b|\bin lieu of\b|\band not\b|, not\b", " instead of"),
    (r"\bmake sure (?:that |to )?|\bbe sure (?:that |to )?|\bensure (?:that )?", " "),
    (r"\b(?:remember|don'?t forget|do not forget)(?: to| that)?\b", " "),
    (r"\b(?:utili[sz]e|employ|make use of)(?=s|d|\b)", "use"),
    (r"\b(?:using|uses|used)\b", "use"),
    (r"\b(?:execut(?:e|es|ing)|invok(?:e|es|ing))\b", "run"),
    (r"\bis (?:located|situated|stored|kept|found) (?:in|at|under)\b|\blives? (?:in|under)\b",
     "is in"),
    (r"\b(?:is )?listen(?:s|ing)? (?:on|at)\b|\bruns? on(?= port)|\bis (?:on|at)(?= port)", "use"),
    (r"\b(?:have|has|need|needs|ought|required|is required|are required) to\b|\bshould\b|\bshall\b",
     "must"),
    (r"\bdepends? (?:up)?on\b|\brel(?:y|ies) on\b", "need"),
    (r"\brequires?\b|\bneeds\b", "need"),
    (r"\bprefers?\b|\blikes? (?=to|it when)", "want"),
    (r"\bwants?\b|\bwould like\b", "want"),
    (r"\bno longer\b|\bnot any ?more\b", "not"),
    (r"务必|一定要|一定|必须要|必须|始终|总是|一律|统一|永远|请|应该|应当|记住|记得|注意|需要先"
     r"|今后|往后|从现在起|从现在开始|以后都|以后要", ""),
    (r"[,，]?而非|[,，]?而不是|[,，](?:不要|不|别)用", "而不是"),
    (r"至多|最多|不超过|不要超过|不能超过", "最多"),
    (r"不要再|不要|不许|不得|不能|不可以|不可|不应该|不应|不准|禁止|严禁|切勿|请勿|别再|别|勿",
     "不"),
    (r"不再", "不"),
    (r"没有|没|未(?!来|必)|无需|不必|不用(?!\w)", "不"),
    (r"可以(?=用|在|把|直接|使)", ""),
    (r"使用|采用|改用|选用|运用", "用"),
    (r"执行|跑一遍|跑(?!步|道|车|题)", "运行"),
    (r"如果|假如|倘若|若是|每当|的时候|的话", ""),
    (r"要求(?=\s?[\w])", "需要"),
    (r"叫做|名字是|名称是|名字叫|名为|(?<=[\u4e00-\u9fff])叫(?=[\s\w])", "是"),
    (r"书写|编写|撰写", "写"),
    (r"拉取|拉一下", "拉"),
    (r"至少|最少|不少于", "至少"),
    (r"环境(?=的|中|里|下|$)", ""),
    (r"在(?=[^,，。;；]{1,20}(?:之前|以前|前))", ""),
    (r"之前|以前", "前"),
    (r"之后|以后", "后"),
    (r"端口号", "端口"),
    (r"位于|存放在|存放于|保存在|放在|存在(?=[\w/.])", "在"),
    (r"代码提交", "提交代码"),
)  # fmt: skip
_PATTERNS = tuple((re.compile(pattern), to) for pattern, to in _EQUAL)
_LATIN_PATTERNS = tuple(one for one in _PATTERNS if one[0].pattern.isascii())

_NEGATION = re.compile(
    r"\b(?:not|no|never|without|cannot|stop|avoid|nor|neither|none|refuse)\b"
    r"|不(?!同|过|久|断|管|论|仅|但)|而非|避免"
)
NEGATIONS = frozenset(
    {"not", "no", "never", "without", "cannot", "stop", "avoid", "instead", "不", "非"}
)
DIRECTIONS = re.compile(
    r"\b(?:before|after|over|than|instead of|from|into|unless|until|via|only|reports? to|calls?"
    r"|imports?|blocks?|replaces?|extends?|triggers?|precedes?|follows?|need)\b"
    r"|而不是|改成|改为|换成|先|再|比|从|到|除非|依赖|调用|导入|阻塞|替换|触发|继承|[早晚高低大小]于"
)
"""Words that give what follows them a part which it must keep."""

_FILLER_TEXT = """
    alway must pleas just simpli realli actual basic general usual note now current today anymor
    also kind thing go let get make sure ever happen mandatori compulsori was were been be do doe
    did so veri quit well
"""
FILLERS = frozenset(_FILLER_TEXT.split())
HAN_FILLERS = frozenset(
    "要时如果若当就都名字叫为个里中内面来去得地着过更很会可该应需求由对于并且需下本位处咱们哦啊呢些"
)
"""Terms that may come and go. Stemmed, as `terms_of` gives them."""


def canonical(normal: str) -> str:
    """Return a normal form with equal wordings made equal."""
    text = normal
    for pattern, to in _LATIN_PATTERNS if normal.isascii() else _PATTERNS:
        text = pattern.sub(to, text)
    return text


def negations_in(words: str) -> int:
    """Return how many negations a canonical text holds."""
    return len(_NEGATION.findall(words))
