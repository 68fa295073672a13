"""The words that `restatement` reads by: glue, denial, comparison, correction, number, synonym.

Data only. English words are in the small letters of the folded form; Chinese glue is by character
after `CHINESE_SYNONYMS` has put one word for several.
"""

from __future__ import annotations

import re

LEAD_INS = re.compile(
    r"^(?:(?:please|pls|ok(?:ay)?|well|actually|btw|fyi|again|also|just|so|hey|hi)\b[\s,:.!-]*"
    r"|(?:remember|note|reminder|important|update|fact|correction|attention|tip|nb|ps|psst|memo)"
    r"(?: to self)?(?: that\b| this\b)?[\s,:.!-]*"
    r"|(?:don't forget|keep in mind|bear in mind|be aware|mind you)(?: that\b)?[\s,:-]*"
    r"|(?:as a (?:reminder|rule)|for the record|in fact|as (?:i|we) said|once more|from now on"
    r"|as (?:you|we) know|to repeat)[\s,:-]*"
    r"|it (?:is|was) (?:true|confirmed|known|clear|a fact|established) that\b\s*"
    r"|(?:i|we|they|the (?:user|team)|user) (?:confirmed|confirm|repeat|said|says|say|agreed"
    r"|verified|learned|found|know|think|believe|noted|note)\b(?: out)?(?: that\b)?[\s,:]*"
    r"|(?:请?记住|请?记得|请?注意|备注|提醒(?:一下|你)?|顺便说一下|顺便|另外|再说一遍|再次确认"
    r"|(?:我们)?确认(?:一下|过)?|事实上|其实|总之|(?:我|我们|用户)(?:说过?|认为|发现|确认)|重要|更新"
    r"|以后|从现在起|别忘了|不要忘记|好的?|嗯)[了,:：，。!！\s]*)+",
    re.ASCII,
)
TRAILERS = re.compile(
    r"(?:[\s,;.!?-]*(?:\b(?:please|thanks|thank you|ok(?:ay)?|right|again|indeed|for sure|now"
    r"|got it|remember that|remember this)|谢谢|好吗|对吧|记住了?|哦|啊|呢|吧|了))+$"
)
CORRECTIONS = re.compile(
    r"\b(?:no longer|any ?more|not any|instead of|changed (?:from|to)|moved (?:from|to)|used to"
    r"|was wrong|is wrong|wrong(?:ly)?|outdated|obsolete|deprecated|formerly|previously|replaced"
    r"|incorrect|not true|false)\b|不再|改为|改成|改用|换成|而不是|已经不|以前是|原来是|之前是|不对"
    r"|错了|过时|作废|不正确|有误"
)
_NEGATIONS = (
    "not no never without avoid avoids stop stops cannot dont nor none neither must'nt dislike "
    "dislikes hate hates allergic forbid forbids forbidden prohibit prohibited prohibits refuse "
    "refuses ban banned disallow disallowed fails-to "
    "不 没 别 勿 未 无 莫 禁 忌 非"
)
NEGATIONS = frozenset(_NEGATIONS.split())
COMPARATORS = frozenset(("over", "than", "rather", "versus", "vs", "instead", "比"))
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS = {word: str(number) for number, word in enumerate(_NUMBERS.split())}
_GLUE = """
    a about after-all all also am an and any are as at be because been being but by can could did do
    does doing for from had has have having he her here hers him his how i if in into is it its just
    me my of on or our ours out she should so some such that the their theirs them then there these
    they this those through to too up us very was we were what when where which while who whom whose
    why will with would you your yours ever each every per via let lets
    use uses used using call calls called need needs needed require requires required must shall
    make makes made sure get gets got take takes go goes keep kept set put run runs find found
    listen listens reachable locate located location live lives lie lies serve serves served
    belong belongs own owns owner receive receives received send sends sent happen happens occur
    want wants wish wishes like likes prefer prefers preferred better itself same-time may might
    support supports supported store stores stored check checks checked enable enables enabled
    turn turned cause caused causes reason due available exists exist work works working handle
    handles handled provide provides provided host hosts know known please really
    path under ones thing self way time done give gives given
    """
GLUE = frozenset(_GLUE.split())
SYNONYMS = {
    "db": "database",
    "databases": "database",
    "dbs": "database",
    "prod": "production",
    "repo": "repository",
    "config": "configuration",
    "env": "environment",
    "dev": "development",
    "dir": "folder",
    "directory": "folder",
    "docs": "documentation",
    "auth": "authentication",
    "deps": "dependencies",
    "pkg": "package",
    "app": "application",
    "admin": "administrator",
    "k8s": "kubernetes",
    "postgres": "postgresql",
    "pg": "postgresql",
    "js": "javascript",
    "ts": "typescript",
    "pr": "pull-request",
    "prs": "pull-request",
    "sec": "second",
    "secs": "second",
    "seconds": "second",
    "s": "second",
    "min": "minute",
    "mins": "minute",
    "deployments": "deploy",
    "deployment": "deploy",
    "release": "deploy",
    "later": "newer",
    "slowness": "slow",
    "startup": "start",
    "before": "before",
    "prior": "before",
    "tests": "test",
    "testing": "test",
    "execute": "run",
    "launch": "start",
    "bust": "invalidate",
    "invalidated": "invalidate",
    "close": "drop",
    "closes": "drop",
    "dropped": "drop",
    "drops": "drop",
    "disconnect": "drop",
    "shares": "same",
    "share": "same",
    "shared": "same",
}
_CHINESE_NUMBER = "零一二三四五六七八九十"
_MEASURE = "(?=次|天|分钟|小时|秒|个|倍|月|年|周|位|人|条|台|轮|点|号|楼|遍|份|层|级)"
CHINESE_SYNONYMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile("而不是|而非|而不用|而不要"), " rather "),
    (re.compile("一个|一些|这些|那些|我们|你们|大家"), ""),
    (re.compile("区域|得到"), ""),
    *(
        (re.compile(f"(?<![{_CHINESE_NUMBER}百千万])(?:{forms}){_MEASURE}"), f" {number} ")
        for number, forms in enumerate(
            ("零", "一", "二|两", "三", "四", "五", "六", "七", "八", "九", "十")
        )
    ),
    *(
        (re.compile(f"(?:周|星期|礼拜){forms}"), f" day_{number} ")
        for number, forms in enumerate("一二三四五六", 1)
    ),
    (re.compile("(?:周|星期|礼拜)[日天]"), " day_7 "),
    (re.compile("之所以|是因为|因为|由于|导致|造成的?|引起的?"), ""),
    (re.compile("的?时候|如果|的话|一遍|一下|才行|命令|方式|进行|版本|请|就"), ""),
    (re.compile("之前|以前"), "前"),
    (re.compile("之后|以后|后会"), "后"),
    (re.compile("运行|执行"), "跑"),
    (re.compile("存储于?|存放着?|保存|放在|存于"), "存"),
    (re.compile("发布|发版"), "发"),
    (re.compile("以上|及以上|或以上|以及更高|及更高|更高|更新"), "上"),
    (re.compile("应用程序|软件"), "应用"),
    (re.compile("合并进|合入|合并到"), "合并"),
    (re.compile("共享"), "共用"),
    (re.compile("负责人|负责"), "负责"),
    (re.compile("数据库"), "db "),
    (re.compile("跟|与"), "和"),
    (re.compile("超时时间"), "超时"),
    (re.compile("希望|喜欢|想要|更"), ""),
    (re.compile("监听"), "端口"),
    (re.compile("禁止|不要|不准|不许|不得|不可以?|不能"), "不"),
    (re.compile("可以|必须|需要|应该|应当|能够|务必|一定|每次|所有"), ""),
    (re.compile("收到|发给|发送给"), "发给"),
    (re.compile("使用的?|采用|通过|利用"), ""),
    (re.compile("代码"), ""),
)
"""Applied in order to texts with Chinese; a number or weekday becomes a value."""
CHINESE_GLUE = frozenset(
    "的了是在为把被由会要先再也都将用需得着过个里中内上从来去做让给这那有能可想同一得才"
)
