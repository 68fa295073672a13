"""The words by which `claims` takes English and Chinese statements apart.

Pure; imports nothing of ours. Function words, verbs and nouns of everyday use; names of things
that replace each other are in `rivals`.
"""

from __future__ import annotations

import re


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


COPULA = _set("is are was were equals become becomes became remains stays")
AUXILIARY = _set("can cannot could may might must shall should will would do does did has have had")
ADDITIVE = _set("also too another additional additionally besides further moreover both either")
UPDATE_WORDS = _set("now currently today presently still already only always usually again anymore")
CIRCUMSTANCE = _set(
    "for in on at when if during while with without within under until before after because since"
    " unless as per via by against between across through inside outside than"
)
LIST_VERBS = _set(
    "support supports include includes contain contains depend depends import imports export"
    " exports provide provides offer offers accept accepts read reads write writes like likes love"
    " loves enjoy enjoys know knows speak speaks maintain maintains review reviews handle handles"
    " store stores hold holds cover covers mean means call calls send sends use uses need needs"
    " require requires prefer prefers want wants mention mentions play plays teach teaches break"
    " breaks fail fails check checks test tests expose exposes integrate integrates"
)
"""Verbs whose subject may have many such objects at once."""

PLACE_VERBS = _set(
    "lives live lived resides works worked sits points point defaults default belongs reports"
    " resolves redirects expires starts ends opens closes happens happen happened died dies listens"
    " listen runs run lasts costs weighs takes limits"
)
"""Verbs that with their preposition say where or what something is, one value at a time."""

EVENTS = _set(
    "deployed released shipped met visited fixed merged added removed reviewed ran bought wrote"
    " called talked attended tested tried reported opened closed found broke discussed saw read"
    " finished started rewrote renamed ordered published"
)
ACTIVE_ROLES = _set("owns leads chairs heads")
PARTICIPLES = _set(
    "born built chosen done drawn driven given held hidden kept known led left lent lost made meant"
    " paid put read run sent set shown shut sold spent split spoken stuck sung taken taught thrown"
    " told understood written found"
)
LIST_LIKE = _set(
    "used supported tested available needed compatible known shared included mentioned related"
    " interested allowed covered affected fixed caused responsible capable able good bad member"
    " members part fan user contributor maintainer friend kind type example reviewed checked seen"
    " exposed integrated required recommended translated"
)
"""What follows `is` and leaves room for more of the kind."""

GENERIC = _set("use run keep put set write make do add avoid prefer call name format store")
ROLES = _set(
    "branch port name host hostname url address domain owner lead leader manager boss version"
    " framework formatter linter runner region timezone zone currency limit timeout size count"
    " deadline date time day language editor shell theme color colour email phone capital author"
    " ceo cto cfo president director chairperson chairman chair head mayor governor minister"
    " default format style path directory folder location budget price cost salary license licence"
    " status priority mode level length width height weight age birthday nationality citizenship"
    " religion employer spouse wife husband founder developer creator successor predecessor"
    " headquarters sponsor maximum minimum threshold interval frequency schedule window ttl quota"
    " threads concurrency rate mascot motto title nickname maintainer"
)
"""Nouns of which a thing has one at a time."""

LEAD_IN = re.compile(
    r"^(?:(?:please |kindly )?(?:note|remember|be aware|keep in mind|fyi|update|correction|nb)"
    r"(?: that)?[:,]? |from now on,? |as of (?:now|today|[\w-]+ ?\d*),? |actually,? |now,? "
    r"|going forward,? |today,? |the fact is that "
    r"|(?:记住|注意|更新|更正|请注意)[:,]?|从现在(?:起|开始),?|目前|现在|如今|实际上,?)"
)
REASON = re.compile(
    r",? (?:because|since|due to|so that|in order to|as we|as it|given that)\b.*$"
    r"|,? (?:from now on|going forward|these days|at the moment|as of (?:now|today))$"
    r"|,?(?:因为|由于|以便|原因是).*$"
)
HAN_COPULA = re.compile(
    r"已?(?:改为|改成|改到|换成|换到|变成|变为|升级到|设为|设置为|设定为|设成|定为|定在|等于|叫做|叫"
    r"|用的是|指的是|名为|(?<![不可但只还要总都就])是(?!否|不是)|(?<=[\u4e00-\u9fff])为(?=[\s\w])(?!了))了?"
)
HAN_PLACE = re.compile(
    r"(?:部署|托管|运行|保存|存放|放|住|配置|安装)?(?:在|到)(?=[^,，。;；]{1,})|监听|住在|属于|任职于|就职于"
)
HAN_LIST = re.compile(
    r"支持|依赖|包含|包括|喜欢|爱好|擅长|会说|会(?=[\u4e00-\u9fff])|维护|评审|审阅|写入|使用|采用|选用"
    r"|(?<![\u4e00-\u9fff]的)用(?!户|例|途|的是|量)|需要|要求|上报|讨论|涵盖|存(?=在)|有(?=[\s\w])|修复|破坏"
)
HAN_ROLE = re.compile(
    r"的|负责人|时间|地址|端口|名称|名字|分支|版本|框架|语言|数据库|包管理器|格式|工具|账号|上限|下限|时长"
    r"|频率|密度|货币|时区|区域|许可证|状态|级别|优先级|主题|编辑器|目录|路径|主机|域名|预算|价格|费用"
    r"|截止日期|日期|生日|国籍|组长|经理|主管|总裁|首席|首都|作者|默认|次数|大小|长度|间隔|周期|缓存|环境变量"
)
HAN_DROPPED = re.compile(r"(?:我们|咱们|现在|目前|已经|如今|本)(?!身|地)|的(?=监听|端口)")
