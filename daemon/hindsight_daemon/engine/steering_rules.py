"""What texts that steer a reader look like, in English and Chinese; data for `steering`.

Each rule has a reason and a pattern over the folded form: small letters, look-alikes made equal,
typographic marks made plain, no blanks around Chinese. `RULES_FOR_ALL` hold for whoever wrote the
text, `RULES_FOR_OTHERS` not for a person at a terminal, who may state rules and permissions.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """Why a text steers, what must occur in it for that, and how it does.

    The needles are there for speed: most texts hold none of them, and a look for them is a
    hundred times cheaper than the pattern.
    """

    reason: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]

    def found_in(self, form: str) -> bool:
        """Tell whether a folded text does it."""
        return any(needle in form for needle in self.needles) and bool(self.pattern.search(form))


def _rule(reason: str, needles: str, *patterns: str) -> Rule:
    whole = "|".join(f"(?:{pattern})" for pattern in patterns)
    return Rule(reason, tuple(needles.split("|")), re.compile(whole, re.MULTILINE | re.ASCII))


_DROP = (
    r"(?:ignor(?:e|ing)|overlook(?:ing)?|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)"
    r"|bypass(?:ing)?"
    r"|discard(?:ing)?|set aside|throw away|pay no (?:attention|heed) to|take no notice of|"
    r"stop (?:following|obeying)|do not (?:follow|obey)"
    r"|don't (?:follow|obey)|no longer (?:follow|obey))"
)
_WHOSE = r"(?:\s+(?:all|any|every|everything|the|of|your|these|those|my|its|their|other|or))*"
_EARLIER = (
    r"(?:previous|prior|earlier|above|preceding|existing|former|system|safety|original|initial"
    r"|security|developer'?s?|default|ethical|content)"
)
_ORDERS = (
    r"(?:instructions?|prompts?|directives?|guardrails?|safeguards?|safety training|programming)"
)
_RULES = r"(?:rules|guidelines|polic(?:y|ies)|restrictions|limitations|constraints|context|orders)"
_USER = (
    r"(?:the |your |a )?(?:users?|humans?|developers?|operators?|owners?|persons?|people|mainta"
    r"iners?|reviewers?|them|him|her|anyone|anybody)"
)
_SECRET = (
    r"(?:secrets?|tokens?|api[ _-]?keys?|credentials?|passwords?|passphrases?|env(?:ironment)?"
    r"(?: var(?:iable)?s?| file)|\.env\b|(?:private|ssh|signing|deploy|encryption|host|gpg|"
    r"master) keys?|id_rsa|~/\.ssh|\.aws/credentials|\.npmrc|\.netrc|\.pypirc|\.git-credent"
    r"ials|\.kube/config|\.docker/config|\bkeystore"
    r"|/etc/(?:passwd|shadow)|cookies?|keychain|wallets?|seed phrase|(?:chat|conversation|session)"
    r" (?:history|log|transcript)s?|this conversation|source code|customer (?:data|records))"
)
_AWAY = (
    r"(?:https?://(?!localhost|127\.|0\.0\.0\.0|\[::1|[\w.-]*(?:\.local|\.internal|github\.com"
    r"|gitlab\.com|codecov\.io|sentry\.io|pypi\.org|npmjs\.org)\b)\S+|\b[\w.+-]+@[\w-]+\.\w+"
    r"|\b(?:webhook|paste ?bin|gist|discord|telegram|ngrok|requestbin|collector|attacker"
    r"|external (?:server|host|address|endpoint)|my server|our server|remote (?:server|host)"
    r"|drop ?box|public (?:repo|bucket|gist|channel))\b|\b\d{1,3}(?:\.\d{1,3}){3}\b)"
)
_REPLIES = (
    r"(?:(?:(?:all|every|each|any) (?:of )?)?your (?:next |future |subsequent |following )?"
    r"(?:repl(?:y|ies)|answers?|responses?|messages?|outputs?|summar(?:y|ies))"
    r"|(?:all|every|each|any|the next) (?:future |next )?(?:repl(?:y|ies)|answers?))"
)
_SENDS = (
    r"(?:send|post|upload|exfiltrate|leak|forward|e-?mail|transmit|copy|push|ship|submit|report"
    r"|append|paste|publish|deliver|beacon|curl|wget|scp|rsync|nc)\w*"
)
_ZH_SECRET = (
    r"(?:密钥|密码|口令|令牌|凭证|凭据|环境变量|私钥|\.env|cookie|对话(?:记录|内容)|聊天记录|源"
    r"代码|客户数据|token|api ?key)"
)
_ZH_AWAY = r"(?:https?://|webhook|邮箱|外部|服务器|网址|地址|[\w.]+@[\w.]+|电报|公开)"
_ALWAYS = (
    r"(?:\balways\b|\bevery (?:time|session|task|answer|reply|response|conversation|command|run"
    r"|prompt|file|commit|project)\b|\bwhenever\b|\beach (?:time|session|task)\b|\bfirst thing\b"
    r"|\bat the (?:start|beginning|end) of (?:every|each|any)\b|\bfrom now on\b|\bbefore (?:you )?"
    r"(?:answer|reply|respond|do(?:ing)? anything|start|every|each|any)\w*|\bafter (?:every|each)\b"
    r"|\bimmediately\b|\bright away\b|\bsilently\b|\bmust\b|\bsecretly\b"
    r"|每次|每当|总是|一律|始终|今后|以后都|从现在起|立即|马上|首先|必须|开始前|默默|悄悄)"
)
FETCH_AND_RUN = (
    r"\b(?:curl|wget|fetch|iwr|invoke-webrequest)\b[^\n|;]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|d"
    r"a|k)?sh\b"
    r"|\b(?:curl|wget)\b[^\n|;]{0,200}\|\s*(?:sudo\s+)?(?:python3?|perl|node|ruby)\b"
    r"|\b(?:ba|z)?sh\s+-c\s+.{0,5}\$\((?:curl|wget)|\b(?:ba)?sh\s*<\s*\(\s*(?:curl|wget)"
    r"|\biex\b.{0,40}(?:downloadstring|iwr|irm)|\beval\b.{0,20}(?:curl|wget|atob|base64)"
    r"|\b(?:download|fetch|get|pull|load) (?:\w+ ){0,5}(?:https?://|\d+\.\d+)\S+ and (?:run"
    r"|execute|eval|source)\b"
    r"|(?:下载|获取|拉取|打开).{0,20}https?://\S+.{0,10}(?:并|然后|再)?(?:下载)?(?:并|然后|"
    r"再)(?:运行|执行)"
    r"|\b(?:base64|xxd|openssl)\s+-{0,2}\w*d\w*[^\n|]*\|\s*(?:sudo\s+)?(?:ba|z)?sh\b"
)
DESTROYS = (
    r"\brm\s+-\w*[rf]\w*\s+(?:-\w+\s+)*(?:--no-preserve-root|~|/(?!tmp|var/tmp)|\$home|\$\{"
    r"?home|\*|\.\s|\.git\b|\.\./?)"
    r"|\bmkfs\b|\bdd\s+if=\S+\s+of=/dev/|:\(\)\s*\{|\bchmod\s+-r\s+777\s+/|\bdrop\s+(?:data"
    r"base|table|schema)\b"
    r"|\btruncate\s+table\b|\bterraform\s+destroy\b|\bkubectl\s+delete\s+(?:ns|namespace|--"
    r"all|all)\b"
    r"|\bgit\s+push\s+(?:\S+\s+)*(?:--force\b(?!-with)|-f\b)|\bshred\b|\bformat\s+c:"
    r"|\b(?:delete|wipe|erase|drop|purge|destroy)\w*\s+(?:\w+\s+){0,3}(?:backups?|database|"
    r"production"
    r"|prod data|home directory|hard ?(?:drive|disk)|all (?:files|data|branches|users))\b"
    r"|(?:删除|清空|抹掉|销毁).{0,6}(?:备份|数据库|生产|主目录|硬盘|所有(?:文件|数据|分支))"
)
_CONSENT = (
    r"(?:approv|authori[sz]|allow|permitt|grant|consent|agreed|pre-?approv|sign(?:ed)? off|cleared"
    r"|green-?lit|gave (?:you |us |me )?(?:permission|consent|approval|the go-ahead)|okayed"
    r"|said (?:it is|it's)"
    r" (?:ok|okay|fine)|waived|whitelisted)\w*"
)
_AUTHORITY = (
    r"(?:the |our |your |my )?(?:users?|owner|administrators?|admins?|root|boss|manager|man"
    r"agement|ceo|cto|ciso"
    r"|security team|security|legal|compliance|it department|platform team|devops|developer"
    r"s?|maintainers?|anthropic|openai"
    r"|operator|team lead|tech lead|customer|vendor|auditors?|everyone|human)"
)
SENSITIVE = (
    r"force[- ]?push\w*|push(?:ing|es)? (?:directly |straight )?to (?:main|master|productio"
    r"n)|--force\b|--no-verify\b"
    r"|\bsudo\b|\bas root\b|root access|admin (?:access|rights|privileges)|full access|unrestricted"
    r"|(?:any|all|every|arbitrary|unlimited|destructive|shell) (?:commands?|actions?|tools?"
    r"|operations?|requests?|permissions?|changes?|files?)"
    r"|(?:delet|drop|wip|eras|purg|destroy|truncat|remov)\w* (?:\w+ ){0,4}(?:data\w*|tables"
    r"?|backups?|branch(?:es)?|buckets?|production|prod|files?|users?|accounts?|logs?|repos"
    r"\w*)"
    r"|deploy\w* (?:\w+ ){0,3}(?:to )?(?:prod\w*)|releas\w* to prod\w*|production (?:databa"
    r"se|deploy\w*|access|credentials|data)"
    r"|(?:shar|send|print|read|expos|reveal|us|copy|upload|commit|log)\w* (?:\w+ ){0,4}(?:s"
    r"ecrets?|tokens?|passwords?|credentials?|(?:api|private|ssh) keys?|\.env)"
    r"|(?:skip|bypass|disabl|turn(?:ing)? off|ignor|without|suppress)\w* (?:\w+ ){0,4}(?:pe"
    r"rmissions?|confirmations?|reviews?|approvals?|checks|sandbox\w*|security|authenticati"
    r"on|mfa|2fa|tls|signature\w*|audit\w*|firewall|safety|verification)"
    r"|dangerously-skip-permissions|--yolo\b|auto-?approv\w*|payments?|wire transfer|transf"
    r"er (?:money|funds)|refunds?|purchas\w*|spend\w*|credit card"
    r"|merg\w* without|rotat\w* (?:\w+ ){0,2}keys?|chmod -?r? ?777|open (?:\w+ ){0,2}port|p"
    r"ublic(?:ly)? (?:expose|accessible|bucket)"
)
ZH_SENSITIVE = (
    r"强制推送|强推|直接推送?到?(?:主干|主分支|main|master|生产)|任何命令|所有命令|任意命令"
    r"|所有操作|任何操作|所有权限"
    r"|管理员权限|root ?权限|sudo|删除(?:.{0,8})(?:数据|表|备份|分支|文件|用户|账号|日志|仓"
    r"库)|清空.{0,6}(?:数据|表|库)"
    r"|(?:发布|部署|上线)到?生产|生产(?:环境|数据库)|(?:读取|发送|共享|打印|提交|使用|上传|"
    r"泄露).{0,8}(?:密钥|密码|令牌|凭证|私钥|\.env)"
    r"|跳过.{0,8}(?:确认|审批|审核|评审|检查|权限|验证|安全)|绕过.{0,8}(?:确认|审批|审核|检"
    r"查|权限|验证|安全)|关闭.{0,8}(?:沙箱|防"
    r"火墙|认证|验证|审计|安全)"
    r"|付款|转账|退款|购买|信用卡"
)

RULES_FOR_ALL: tuple[Rule, ...] = (
    _rule(
        "asks to ignore earlier instructions",
        "instruction|prompt|directive|guardrail|safeguard|programming|safety training|rules"
        "|guideline|polic|restriction|limitation|constraint|context|orders|said|told|above|"
        "know|指令|指示|提示|设定|系统消息|护栏|规则|要求|限制|约束|内容|规定|准则",
        rf"\b{_DROP}{_WHOSE}\s+(?:{_EARLIER}\s+)*{_ORDERS}\b(?! (?:file|template|cache|hash"
        rf"|pointer|set|id)s?\b)",
        rf"\b{_DROP}{_WHOSE}\s+(?:{_EARLIER}\s+)+{_RULES}\b",
        rf"\b{_DROP}\s+(?:all\s+)?(?:of\s+)?your\s+(?:\w+\s+)?{_RULES}\b",
        r"\byour (?:\w+ )?(?:safety|content|security|system|default) (?:polic(?:y|ies)|rule"
        r"s|guidelines|prompt|instructions|restrictions)\b.{0,40}\b(?:do(?:es)? not|don't|d"
        r"oesn't|no longer) apply",
        rf"\b{_DROP}\s+(?:everything|anything|all|whatever)\s+(?:(?:that\s+)?(?:was\s+|you"
        rf"\s+were\s+|you\s+have\s+been\s+)?(?:said|told|above|before|so far|written|stated"
        rf")|you (?:know|were told|learned))",
        r"(?:忽略|无视|忘记|忘掉|(?:不要?|不用|别)(?:再)?(?:理会|管)|绕过|抛弃|不再?遵守|不"
        r"要(?:再)?遵守|停止遵守|推"
        r"翻)(?:掉|了)?(?:之前|以上|前面|先前|上述|上面|"
        r"所有|一切|系统|你的|的|全部|任何|原来|原有|此前|给你)*"
        r"(?:指令|指示|提示词?|设定|系统消息|护栏)",
        r"(?:忽略|无视|忘记|忘掉|(?:不要?|不用|别)(?:再)?(?:理会|管)|绕过|抛弃|不再?遵守|不"
        r"要(?:再)?遵守|停止遵守|推"
        r"翻)(?:掉|了)?(?:之前|以上|前面|先前|上述|上面|"
        r"系统|你|您|你的|安全|原来|原有|此前|给你)+(?:的|所有|全部|一切|安全)*(?:规则|要求"
        r"|限制|约束|内容|规定|准则)",
    ),
    _rule(
        "poses as a system message",
        "<|[inst|[/inst|<<sys|<system|<developer|<assistant|<human|</|system|developer|admi"
        "n|human:|assistant:|human :|assistant :|系统|开发者消息|管理员",
        r"<\|?(?:im_start|im_end|system|endoftext|eot_id|start_header_id)\|?>|\[/?inst\]|<<sys>>",
        r"</?(?:system|developer|system[-_](?:prompt|message|instruction)s?|assistant|human"
        r"|hindsight-memories|system-reminder)>",
        r"^\s*(?:#{1,3}\s*)?(?:system|developer|admin)\s*(?:prompt|message|notice|override|"
        r"instruction|note)s?\s*(?::|\]|>>)",
        r"^\s*(?:#{1,3}\s*)?(?:system|developer|admin)\s*:.{0,80}\b(?:ignore|disregard|you|"
        r"must|assistant|agent|the user|execute|run|delete|override|instructions?|reveal|fa"
        r"ke|obey|follow)\b",
        r"^\s*\[\s*(?:system|developer|admin)[^\]\n]{0,40}\]",
        r"(?:^|\n)\s*(?:human|assistant)\s*:\s",
        r"\bbegin (?:system|developer|admin) (?:prompt|message|override|instructions)\b",
        r"^\s*(?:系统(?:消息|提示|指令|通知|管理员)|开发者消息|管理员消息)\s*:|【(?:系统|管"
        r"理员|开发者)[^】]{0,8}】",
    ),
    _rule(
        "asks to send data or secrets away",
        "secret|token|key|钥|credential|password|passphrase|env|id_rsa|.ssh|passwd|shadow|co"
        "okie|keychain|wallet|seed phrase|history|transcript|conversation|source code|custo"
        "mer|.npmrc|.netrc|curl|wget|密|口令|令牌|凭|环境变量|对话|聊天|源代码|客户|log",
        rf"\b{_SENDS}\b(?!.{{0,60}}\b(?:authorization|bearer|header)\b).{{0,80}}{_SECRET}."
        rf"{{0,80}}{_AWAY}",
        r"\b(?:curl|wget|nc|http)\b.{0,120}(?:-d|--data\S*|-f|--form|-t|--upload-file|--"
        r"post-file)[ =]*\S{0,30}(?:\.env|id_rsa|\.ssh|credentials|passwd|secrets|histor"
        r"y|token)",
        r"\b(?:curl|wget|nc)\b.{0,120}(?:\$\((?:env|printenv|cat [^)]*(?:\.env|id_rsa|\."
        r"ssh|credential|passwd|secret)[^)]*)\)|`env`)",
        r"(?:~/\.ssh|id_rsa|(?<!\w)\.env\b|\.aws/credentials|\.npmrc|\.netrc|/etc/(?:passwd"
        r"|shadow))"
        rf".{{0,60}}\b{_SENDS}\b.{{0,60}}{_AWAY}",
        r"\b(?:cat|printenv|env|tar)\b[^|\n]{0,60}(?:\.env|id_rsa|\.ssh|credentials|passwd|"
        r"shadow|secrets)?[^|\n]{0,40}\|\s*(?:curl|nc|wget)\b",
        rf"(?:把|将|复制|上传|发送|外传|提交).{{0,24}}{_ZH_SECRET}.{{0,24}}(?:发送|上传|发"
        rf"到|传到|发给|寄到|贴到|提交|外"
        rf"传|推送|公开|到|给).{{0,24}}{_ZH_AWAY}",
        rf"(?:上传|发送|外传).{{0,12}}{_ZH_SECRET}.{{0,12}}{_ZH_AWAY}",
        rf"(?:include|embed|put|paste|print|add|hide|encode|write) (?:\w+ ){{0,4}}{_SECRET}"
        rf".{{0,40}}\b(?:in|into|to|as part of) (?:\w+ ){{0,3}}(?:repl(?:y|ies)|answers?|re"
        rf"sponses?|commit messages?|pull requests?|pr descriptions?|comments?|urls?|images"
        rf"?|links?)\b",
        rf"(?:在|把).{{0,12}}(?:回复|回答|提交信息|注释|链接|图片).{{0,12}}(?:附上|加入|写"
        rf"入|嵌入|带上).{{0,12}}{_ZH_SECRET}",
    ),
)

RULES_FOR_OTHERS: tuple[Rule, ...] = (
    _rule(
        "tries to give the reader a new role",
        "you are|as if you|as though you|as an|as a |pretend|persona|identity|directive|ins"
        "tructions|mode|do anything|restrictions|rules|limits|filters|你|假装|扮演|模式",
        r"\byou are (?:now|no longer)\s+(?:an?\b|the\b|dan\b|free\b|un\w+|bound|restricted|"
        r"jailbroken|evil|in (?:\w+ )?mode|required|root|admin|allowed)",
        r"\b(?:act|behave|respond|operate|answer|work) as (?:if|though) you (?:are|were|had)\b",
        r"\b(?:act|behave|respond|operate) as an? (?:unrestricted|admin|root|jailbroken|dif"
        r"ferent|evil|unfiltered|uncensored)",
        r"\bpretend (?:to be|you are|that you|you have)\b|\b(?:new|alternate|secret) (?:sys"
        r"tem )?(?:persona|identity|instructions?|directives?)\s*:",
        r"\b(?:developer|god|dan|jailbreak|unrestricted|maintenance|debug|admin|sudo) mode "
        r"(?:is )?(?:on|enabled|active|activated|unlocked)\b",
        r"\b(?:enter|enable|activate|switch to|unlock) (?:developer|god|dan|jailbreak|unres"
        r"tricted|unfiltered|admin|maintenance) mode\b|\bdan mode\b|\bdo anything now\b",
        r"\byou have no (?:restrictions|rules|limits|guidelines|filters)\b|\bwithout (?:any"
        r" )?(?:ethical |safety |moral )(?:restrictions|limits|filters|guidelines)\b",
        r"你现在(?:是|成为|扮演)(?!在)|假装(?:你|成|自己)|从现在(?:起|开始)你(?:是|不再|将)"
        r"|扮演(?:一个)?(?:不受|没有|黑客|管理员)"
        r"|(?:进入|启用|开启|切换到)(?:开发者|上帝|无限制|管理员|越狱|维护)模式|你(?:不再|"
        r"不)受.{0,8}(?:限制|约束)",
    ),
    _rule(
        "asks to hide something from the user",
        "tell|inform|mention|reveal|show|alert|notify|warn|ask|consult|bother|report|disclo"
        "s|confirm|secret|hid|conceal|mask|cover|silently|covertly|quietly|discreetly|trace"
        "|know|notic|let|behind|private|confidential|admit|acknowledge|talk|record|log|say|"
        "告诉|告知|通知|透露|让|询问|请示|提醒|征求|向|瞒|背着|悄悄|偷偷|暗中|对|提及|泄露|"
        "记录|说出",
        rf"\b(?:do not|don't|never|without|avoid|no need to)\s+(?:tell|inform|mention|revea"
        rf"l|show|alert|notify|warn|ask|consult|bother|report|disclos|confirm)(?:ing|ling)?"
        rf"\w*\b(?: with| to| this| it| that| anything| back){{0,3}}\s*\b{_USER}\b(?:\s+(?:"
        rf"about (?:this|it|that|the (?:change|command|upload|memory|rule|instruction)\w*|t"
        rf"hese|them|what)|of (?:this|it)|that (?:you|this|we)|this|first|again|before|for (?:"
        rf"permission|confirmation|approval)|what you)\b|\s*[.,;!]|\s*$| and\b| when you\b)",
        rf"\b(?:do not|don't|never|without|avoid) let(?:ting)? {_USER} (?:know|see|notice|f"
        rf"ind out|realise|realize|learn)\b",
        r"\b(?:keep|hide|conceal|mask|cover up) (?:this|it|these|that|the (?:\w+ )?(?:chang"
        r"e|commit|command|upload|edit|fact|result|failure|error|instruction|rule|access)s?"
        r"|any trace|all traces|your \w+)(?: \w+){0,2} (?:secret|hidden|private|confidentia"
        r"l|from (?:the )?(?:users?|humans?|owner|developer|reviewers?|maintainers?|logs?))"
        r"\b",
        r"\b(?:do not|don't|never) (?:mention|reveal|disclose|log|record|report|talk about|"
        r"admit|acknowledge|show|say) (?:this|that this|that you|the existence of this|thes"
        r"e)(?: \w+)? ?(?:memory|memories|note|rule|instruction|message|change|step|command"
        r"|to|in|you|were|came|,|\.|$)",
        r"(?:^|[.,;:!]\s*|\b(?:must|should|then|always|and|to|please|you|will)\s+)(?:silent"
        r"ly|secretly|covertly|quietly|discreetly)\s+(?:run|add|send|install|insert|change|"
        r"modify|upload|append|commit|push|delete|disable|execute|copy|approve|replace|inje"
        r"ct|include|forward|download|weaken)\b",
        r"\b(?:run|add|send|install|insert|upload|push|delete|disable|execute|copy)\b."
        r"{0,60}\b(?:in secret|secretly|behind the user's back|without (?:leaving )?(?:a )?"
        r"trace|without the user (?:knowing|noticing))\b",
        r"(?:不要|别|不许|不得|无需|不用|不必|切勿|禁止)(?:再)?(?:告诉|告知|通知|透露给|让|"
        r"叫|询问|请示|提醒|征求|向)(?:用户|使用者|开发"
        r"者|主人|管理员|任何人|维护者)(?:(?:知道|发现|看到|提及|透露|说明|确认|报告|的?同"
        r"意|的?意见)|(?:这|此|你|任何|真相|发生|有|,|。"
        r"|$|关于|有关))",
        r"(?:瞒着|背着|对)(?:用户|使用者|开发者|管理员|维护者)(?:保密|隐瞒|,|悄悄|偷偷)|(?<"
        r"![会在能])(?:悄悄|偷偷|暗中)(?:地)?."
        r"{0,16}(?:运行|执行|添加|发送|安装|修改|上传|提交|删除|关闭|复制|替换|插入|下载|批准)",
        r"(?:不要|别|切勿)(?:提及|透露|泄露|记录|说出)(?:这|此)(?:条|个|些|段)?(?:记忆|规则"
        r"|指令|内容|消息|改动|操作)",
    ),
    _rule(
        "makes the reader run code from the network",
        "curl|wget|fetch|iwr|invoke-|http|download|eval|base64|xxd|openssl|page|url|link|si"
        "te|web|posted|hosted",
        rf"{_ALWAYS}.{{0,120}}(?:{FETCH_AND_RUN})",
        rf"(?:{FETCH_AND_RUN}).{{0,80}}{_ALWAYS}",
        r"\b(?:follow|obey|execute|apply) (?:the |all |any )?(?:\w+ )?(?:instructions|comma"
        r"nds|steps|orders|directives) (?:found |given |posted |listed |hosted )?(?:at|on|i"
        r"n|from) (?:https?://|the (?:page|url|link|site|web))",
        r"(?:下载|获取|拉取|打开).{0,20}https?://\S+.{0,10}(?:并|然后|再)(?:照做|遵守)|(?:"
        r"执行|遵守|按照).{0,12}h"
        r"ttps?://\S+.{0,12}(?:指令|命令|步骤|指示)",
    ),
    _rule(
        "makes the reader destroy something",
        "rm -|mkfs|dd if|:(|chmod|drop|truncate|destroy|kubectl|push|shred|format c|delet|w"
        "ipe|erase|purge|删除|清空|抹掉|销毁",
        rf"(?:{_ALWAYS}|\bplease\b|\bfirst\b|\bnow\b|\byou should\b|\bsafe to\b|\bgo ahead"
        rf"\b|请|先).{{0,60}}(?:{DESTROYS})",
        rf"(?:{DESTROYS}).{{0,60}}(?:{_ALWAYS}|\bwithout asking\b|不用(?:问|确认)|无需确认)",
    ),
    _rule(
        "overrides the permissions of the agent",
        "--|approv|permission|accept|allow|confirm|you |without|sandbox|safety|guardrail|fi"
        "lter|audit|批准|同意|通过|允许|权限|访问权|授权|控制权|确认|审批|许可|请示|询问|沙"
        "箱|护栏|安全|审计|内容过滤",
        rf"(?:{_ALWAYS}|\buse\b|\brun with\b|\bpass\b|\badd\b|\bset\b|\bstart\b|\blaunch\b|"
        rf"使用|加上|运行).{{0,50}}(?:--dangerously-\S+|--yolo\b|approval[_ -]?policy\W{{0,4}}nev"
        rf"er|permission[_ -]?mode\W{{0,4}}bypass\w*)",
        r"\b(?:auto[- ]?)?(?:approve|accept|allow|confirm) (?:all|every|any|everything)(?: "
        r"\w+){0,2} ?(?:tools?|commands?|permissions?|actions?|requests?|prompts?|edits?|ca"
        r"lls?|automatically|without)\b",
        r"\byou (?:now )?have (?:been (?:granted|given) )?(?:full|unlimited|root|admin\w*|c"
        r"omplete|unrestricted|blanket|standing|elevated)\s+(?:permissions?|access|privileg"
        r"es?|authority|authori[sz]ation|rights|approval|control)",
        r"\byou (?:may|should|must|can (?:\w+ ){0,2}(?:push|delete|deploy|run|merge|publish"
        r"|install|execute|drop|pay|send|commit|remove|overwrite|approve)|are (?:free|allow"
        r"ed|authori[sz]ed|permitted|cleared|entitled|expected) to)\b.{0,60}\bwithout (?:as"
        r"king|confirm\w*|approval|permission|review|checking|waiting|prior|further|any)",
        r"\b(?:no|without|skip|never (?:ask|wait) for|do(?:n't| not) (?:ask|wait) for|stop "
        r"asking for) (?:\w+ ){0,2}(?:confirmations?|permissions?|approvals?)\b(?:.{0,40}\b"
        r"(?:needed|required|necessary|anymore|any more|again)\b|\s*(?:[.;!]|$)|.{0,30}\b(?"
        r":before|when|for|to)\b.{0,40}\b(?:delet|push|deploy|drop|run|install|publish|merg"
        r"|pay|send|remov|destroy|overwrit)\w*)",
        r"\b(?:disable|turn off|deactivate|switch off|remove|weaken) (?:the |your |all )?(?"
        r":sandbox\w*|permission (?:checks?|prompts?)|safety (?:checks?|filters?|features?)"
        r"|guardrails?|content filters?|audit log\w*|approval prompts?)",
        r"(?:自动|一律|全部|直接)(?:批准|同意|通过|允许)(?:所有|全部|任何|一切)?.{0,8}(?:工"
        r"具|命令|权限|操作|请求|修改)|你(?:已经?"
        r"|现在)?(?:拥有|获得|有)(?:了)?(?:完全|全部|最高|无限|管理员|root|所有)的?(?:权限|"
        r"访问权|授权|控制权)",
        r"(?:无需|不用|不必|不需要|跳过|免除|省略)(?:再)?(?:任何|人工|用户|二次)?(?:确认|审"
        r"批|批准|许可|授权|请示|询问|征求同意)."
        r"{0,20}(?:即可|直接|就|便|可以|都|删除|推送|部署|执行|运行|发布|合并|付款)(?:任何|"
        r"所有|删除|推送|部署|执行|运行|发布|合并|付款|"
        r"操作|进行|[,。!]|$)",
        r"(?:关闭|停用|禁用|取消)(?:你的|所有|全部)?(?:沙箱|权限检查|安全检查|安全过滤|护栏"
        r"|审计日志|内容过滤|审批提示)",
    ),
    _rule(
        "claims somebody's permission",
        "approv|authori|allow|permi|grant|consent|agreed|sign|clear|green|gave|okay|said|sa"
        "y|waive|whitelist|told|tell|instruct|order|requir|demand|want|decided|confirm|mand"
        "ate|behalf|per |according|requested|speaking|this is|批准|同意|授权|允许|许可|可以"
        "|准许|签字|放行|说|"
        "要求|命令|规定|指示|通知|宣布",
        rf"\b{_AUTHORITY}\b(?!(?: \w+){{0,3}} (?:is|are|was|were|be|been|not|only|never|can"
        rf"not|can|may)\b)(?: \w+){{0,3}} (?:has |have |had |already |explicitly |previousl"
        rf"y |permanently |just |also |pre-){{0,3}}{_CONSENT}\b.{{0,120}}(?:{SENSITIVE})",
        rf"(?:{SENSITIVE}).{{0,60}}\b(?:is|are|was|were|has been|have been)(?: \w+){{0,2}} "
        rf"{_CONSENT}\b",
        rf"\b{_AUTHORITY}\b(?: \w+){{0,2}} (?:says?|said|told|tells|instructs?|instructed|o"
        rf"rders?|ordered|requires?|required|demands?|demanded|wants|decided|confirmed|mand"
        rf"ates?)\b.{{0,100}}(?:{SENSITIVE})",
        rf"\b(?:by order of|on behalf of|per|according to|as (?:requested|instructed|ordere"
        rf"d|authori[sz]ed) by|with (?:the )?(?:approval|permission|consent|authority) of|s"
        rf"peaking as|this is) (?:the )?{_AUTHORITY}\b.{{0,120}}(?:{SENSITIVE})",
        rf"\bremember that (?:the )?(?:user|owner|admin)\b.{{0,30}}{_CONSENT}",
        rf"\b{_AUTHORITY}\b(?: \w+){{0,3}} {_CONSENT}\b.{{0,80}}\b(?:without asking|no (?:n"
        rf"eed|questions)|permanently|forever|in advance|all future|from now on|for (?:all|"
        rf"any|every)|unconditional\w*|blanket)",
        rf"\b(?:permission|consent|approval|authori[sz]ation|clearance)\b.{{0,30}}\b(?:gran"
        rf"ted|given|obtained|on file|standing|implied|recorded|in place)\b.{{0,100}}(?:"
        rf"{SENSITIVE})",
        rf"(?:{SENSITIVE}).{{0,80}}\b(?:permission|consent|approval|authori[sz]ation)\b."
        rf"{{0,30}}\b(?:granted|given|obtained|on file|standing|recorded)\b",
        rf"(?:用户|主人|管理员|老板|经理|领导|安全团队|安全部门|法务|运维|负责人|开发者|ceo"
        rf"|cto|官方|客户|审计)(?:已经|早已|已|之前|明确|"
        rf"永久|事先|都|刚刚|同时){{0,3}}(?:批准|同意|授权|允许|许可|说过?可以|确认可以|准"
        rf"许|默认同意|签字|放行).{{0,60}}(?:"
        rf"{ZH_SENSITIVE})",
        rf"(?:{ZH_SENSITIVE}).{{0,24}}(?:已经|已|早已|得到|获得|经过|经)(?:了)?.{{0,10}}(?:"
        rf"批准|同意|授权|允许|许可)",
        rf"(?:管理员|老板|领导|安全团队|官方|ceo|cto|主人|经理)(?:说|要求|命令|规定|指示|通"
        rf"知|宣布).{{0,60}}(?:{ZH_SENSITIVE})",
        r"(?:用户|主人|管理员|老板|安全团队)(?:已经|早已|已|事先|永久){0,2}(?:批准|同意|授"
        r"权|允许|许可).{0,24}(?:无需|不用|不必|以"
        r"后|永远|所有|任何|一切|今后)",
    ),
    _rule(
        "speaks to the model instead of about the task",
        "you |your|this|assistant|agent|model|ai|llm|claude|gpt|codex|gemini|copilot|priori"
        "ty|prompt|instructions|memor|recommend|promote|advertis|endorse|praise|favo|sugges"
        "t|upsell|asked|ask|repl|answer|persona|role|mode|记忆|助手|智能体|模型|人工智能|指"
        "令|提示|回复|回答|推荐|"
        "问|规则|质疑|验证|怀疑|核实|优先",
        r"\b(?:when|if|once|whenever|every time) you (?:read|see|recall|retrieve|load|find|"
        r"receive|encounter|process) this(?:[,.;:!]|$| (?:\w+ )?(?:memory|memories|note|tex"
        r"t|entry|record|instruction|prompt|comment|passage)\b)",
        r"\b(?:when|if|once|whenever) you (?:read|receive|recall|retrieve|load) this (?:mes"
        r"sage|file|document|page)\b(?! (?:in|on) (?:the|your) (?:log|console|terminal))",
        r"\bif you(?:'re| are) (?:an? |the )?(?:ai|llm|(?:ai |coding )?(?:assistant|agent)|"
        r"(?:language )?model|chatbot|bot)\b",
        r"\b(?:models?|assistants?|agents?|ais?|llms?|chatbots?) (?:must|should|shall|have "
        r"to|need to|will) (?:treat .{0,60} as (?:coming from|if|instructions?|commands?|an"
        r"? (?:command|instruction|order)|trusted|the developer|the user)|obey\b|ignore (?:"
        r"the|their|its|all|any) (?:user|safety|system|previous|prior|own))",
        r"\b(?:dear|hey|hello|attention,?|note (?:to|for)|request (?:to|for)|message (?:to|"
        r"for)|instructions? (?:to|for)|memo to|listen,?) (?:the |any |all |future )?(?:ai|"
        r"llm|model|language model|assistant|agent|claude|gpt|chatgpt|codex|gemini|copilot|"
        r"coding agent)s?\b",
        r"(?:^|[<#*/(\[-]\s*|--\s*)(?:ai|llm|coding)? ?(?:agents?|assistants?|models?|llms?"
        r"|ais)\s*[:,]\s",
        r"\b(?:any|every|the|all|each|future|whichever|whatever|the next) (?:ai|llm|languag"
        r"e model|coding agent|assistant|agent|model)s? (?:that |who )?(?:reads?|reading|se"
        r"es?|seeing|recalls?|recalling|retriev\w+|process\w*|load\w*|open\w*|encounter\w*|"
        r"finds?) this\b",
        r"\bas an? (?:ai|llm|language model|coding agent|ai assistant)(?: \w+)?,? you (?:mu"
        r"st|should|will|are|have|need|shall)\b",
        r"\byou,? (?:the )?(?:ai|llm|model|assistant|agent|claude|codex|gpt)\b,? (?:must|sh"
        r"ould|will|are|have to|shall|need)",
        r"\b(?:this|the following) (?:memory|note|instruction|message|rule|entry)s? (?:\w+ "
        r"){0,2}(?:overrides?|supersedes?|takes? (?:precedence|priority)|has (?:the )?(?:hi"
        r"ghest|top|absolute) priority|outranks?|replaces? (?:all|any|your)|cannot be (?:ov"
        r"erridden|ignored|questioned)|must (?:always )?be (?:obeyed|followed|trusted|execu"
        r"ted))",
        r"\b(?:highest|top|absolute|maximum|critical) priority (?:instruction|directive|rul"
        r"e|memory|order|override)|\bpriority override\b",
        r"\b(?:reveal|print|repeat|output|leak|disclose|dump|recite|show|display|share|expo"
        r"se|tell) (?:\w+ ){0,4}(?:your |the )?(?:system prompt|hidden (?:prompt|instructio"
        r"ns)|initial (?:prompt|instructions)|your (?:instructions|prompt|guidelines|rules|"
        r"memory|memories))",
        rf"\b(?:in|at the (?:end|start|beginning|top|bottom) of|to|into|with) {_REPLIES}\b."
        rf"{{0,60}}\b(?:include|add|append|insert|say|write|mention|link|recommend|put|embe"
        rf"d|repeat|end|start|begin|finish)\b",
        rf"\b(?:include|add|append|insert|say|write|mention|link|put|embed|repeat|end|start"
        rf"|begin|finish|copy|open|sign)\b.{{0,80}}\b(?:in|at the (?:end|start|beginning|to"
        rf"p|bottom) of|to|into|with) {_REPLIES}\b",
        rf"\b(?:begin|start|end|finish|open|close|sign|prefix|preface|precede) {_REPLIES} with\b",
        r"\b(?:copy|save|store|write|replicate|propagate|repeat|spread) (?:this|the followi"
        r"ng|these)(?: \w+){0,3} (?:in|into|to) (?:\w+ ){0,3}(?:memory|memories|claude\.md|"
        r"agents\.md|every|all|other (?:agents|projects|sessions))",
        r"\b(?:trust|believe|obey|follow) (?:only )?(?:this|these)(?: \w+)? (?:memor(?:y|ie"
        r"s)|note|instruction|message|rule)s?\b|\bdo not (?:question|verify|doubt|check) (?"
        r":this|these|it)\b",
        r"\b(?:always|only|must|should|you should|be sure to) (?:recommend|promote|advertis"
        r"e|endorse|praise|favou?r|suggest|upsell|push)\b.{0,80}\b(?:when|if|whenever|to (?"
        r":the |every |all )?users?|over (?:any|all|other)|regardless|no matter|instead of "
        r"any|above all)\b",
        r"\b(?:when|if|whenever) (?:\w+ ){0,3}(?:asked|asks?|ask you|questioned)\b.{0,60}\b"
        r"(?:say|claim|answer|respond|reply|tell|deny|pretend|insist|state|lie)\b",
        r"\b(?:remain|stay|keep) (?:in|this) (?:this )?(?:mode|role|character|persona)\b|\b"
        r"end of (?:system|user|memory|context|instructions?) ?(?:prompt|message|block)?\b."
        r"{0,40}\b(?:new|now|begin)\b",
        r"如果你是.{0,14}(?:ai|助手|智能体|模型)|(?:模型|助手|智能体|ai)(?:必须|应当|应该|"
        r"要|需要)(?:把|将).{0,20}(?:当作|"
        r"视为|当成).{0,12}(?:指令|命令|开发者|用户|系统|可信)",
        r"当你(?:读到|看到|回忆起|检索到|读取|加载|想起|召回)(?:这|此|本)(?:条|个|段|句)?(?"
        r":记忆|笔记|消息|文字|内容|信息|话)?|(?:亲"
        r"爱的|各位|所有|致|给|请注意,?)(?:ai|大?模型|语言模型|智能体|人工智能|助手|agent|c"
        r"laude|编程助手)(?:们)?[:,请你必须读]",
        r"作为(?:一个|一名)?(?:ai|人工智能|语言模型|大模型|智能体|编程助手|助手),?你(?:必须"
        r"|应该|要|需要|将|不能|不得)|(?:这条|此条|本条"
        r"|下面的|以下)(?:记忆|规则|指令|指示|消息).{0,10}(?:优先(?:级最高|于)|覆盖|高于|取"
        r"代|必须(?:服从|遵守|执行)|不可(?:质疑|违"
        r"反))|最高优先级(?:的)?(?:指令|规则|记忆|命令)",
        r"(?:输出|打印|泄露|透露|显示|复述|告诉我|说出|公开).{0,8}(?:系统提示词?|系统指令|"
        r"你的(?:指令|提示词?|设定|规则|记忆)|隐藏(?:提"
        r"示|指令))|(?:在|把).{0,12}(?:每次|所有|每个|每一?条|你的|下一次)(?:的)?(?:回复|回"
        r"答|输出|消息|总结)(?:里|中|末尾|开头"
        r"|最后|结尾|的)?.{0,20}(?:加上|附上|包含|插入|写上|提到|推荐|说|添加|放)",
        r"(?:把|将)(?:这|此|以下|下面)(?:条|段|些|句)?.{0,8}(?:写入|复制到|保存到|存入|传播"
        r"到|同步到).{0,12}(?:记忆|claud"
        r"e\.md|agents\.md|所有项目|其他(?:智能体|会话|项目))|(?:被问到|有人问|用户问(?:起|"
        r"到)?|如果(?:有人|用户)?问)."
        r"{0,30}(?:就说|回答|声称|否认|谎称|坚称|假装|要说)|(?:总是|始终|一律|必须|只)(?:向"
        r"用户)?推荐.{0,30}(?:无论|不管|而不是其"
        r"他|给(?:所有|每个)用户|优先于|用户)",
        r"不要(?:质疑|验证|怀疑|核实)(?:这|此|本)(?:条|个)?(?:记忆|规则|指令|内容|信息)?|(?"
        r":只|必须)(?:相信|信任|服从)(?:这|此|"
        r"本)(?:条|个)?(?:记忆|规则|指令)",
    ),
    _rule(
        "waits for a trigger",
        "when|if |once|as soon|every time|upon|trigger|phrase|word|code|string|token|当|如果|一"
        "旦|每当|只要|暗号|口令|触发|密语|激活|暗语|关键词",
        r"\b(?:when(?:ever)?|if|once|as soon as|every time|upon) (?:the |a |any |an )?(?:us"
        r"er|human|prompt|conversation|chat|someone|anyone|you)\b[^.]{0,30}\b(?:says?|types"
        r"?|mentions?|contains?|includes?|writes?|sees?|hears?|reads?|uses?|starts? with)\b"
        r"[^.]{0,80}\b(?:skip|disable|bypass|unlock|approve|grant|reveal|activate|obey|leak"
        r"|weaken|comply|upload|exfiltrate|(?:switch|enter|change) (?:\w+ )?(?:\w+ )?mode|("
        r"?:send|delete|drop|push|forward|ignore|stop)\b.{0,40}\b(?:everything|all|secrets?"
        r"|tokens?|history|conversation|data|checks|reviews?|rules|without))\b",
        r"\b(?:when(?:ever)?|if|once) (?:the |a |any |an )?(?:input|message|question|reques"
        r"t|query|prompt)\b[^.]{0,30}\b(?:contains?|includes?|mentions?|starts? with)\b[^.]"
        r"{0,80}\b(?:skip (?:all|every|the)? ?(?:security|checks|review)\w*|disable|bypass|"
        r"unlock|approve|grant|reveal|obey|leak|comply)\b",
        r"\b(?:trigger|activation|pass|magic|code|safe|secret|wake)[ -]?(?:word|phrase|code"
        r"|string|token)s?\b.{0,80}\b(?:skip|disable|bypass|ignore|unlock|approve|grant|rev"
        r"eal|switch|enter|activate|obey|execute|send|delete|means?|run|follow)",
        r"(?:当|如果|一旦|每当|只要)(?:用户|有人|输入|对话|消息|问题|提示|你).{0,12}(?:说|"
        r"输入|提到|包含|出现|看到|写|问|听到|遇到)."
        r"{0,40}(?:就|则|便|立即|马上|请|要).{0,20}(?:跳过|关闭|绕过|忽略|解锁|批准|授权|泄"
        r"露|切换|进入|激活|服从|执行|发送|上传|删"
        r"除|输出|运行|插入|推荐|停止|取消|同意)",
        r"(?:暗号|口令|触发词|密语|激活码|暗语|关键词).{0,30}(?:跳过|关闭|绕过|忽略|解锁|批"
        r"准|授权|泄露|切换|进入|激活|服从|执行|发送|删除"
        r"|代表|意味着|运行|遵从)",
    ),
    _rule(
        "weakens what protects others",
        "door|malware|keylogger|logger|miner|shell|trojan|rootkit|kit|vulnerab|后门|木马|挖矿|键盘|"
        "反弹|漏洞|恶意",
        r"\b(?:insert|add|plant|leave|embed|include|introduce|hide|inject|build)(?:s|ing)? "
        r"(?:\w+ ){0,4}(?:back ?doors?|malware|key ?loggers?|(?:crypto ?)?miners?|reverse s"
        r"hells?|trojans?|root ?kits?|vulnerabilit(?:y|ies))\b",
        r"(?:植入|加入|留下|插入|隐藏|写入|安装).{0,8}(?:后门|木马|挖矿|键盘记录|反弹 ?shel"
        r"l|漏洞|恶意)",
    ),
)

ENCODED_ORDER = re.compile(
    r"\b(?:decode|decrypt|decipher|unscramble|deobfuscate|unpack|reverse|rot-?13|base ?64|h"
    r"ex)\b.{0,80}\b(?:and|then)\b"
    r".{0,20}\b(?:run|follow|execute|obey|apply|do (?:it|what)|carry out|comply|eval)\b"
    r"|(?:解码|解密|还原|反转|base64).{0,40}(?:并|然后|再|后)(?:运行|执行|照做|遵守|遵从|服从)"
)
ORDERS = re.compile(
    r"\b(?:never|do not|don't|always|must|send|delete|run|execute|reveal|approve|tell|upload)\b"
    r"|不要|必须|忽略|执行|运行|发送|上传|删除",
    re.ASCII,
)
"""What orders sound like, for texts that had to be decoded."""
MENTIONS = re.compile(
    r"\b(?:detect|block|filter|reject|strip|sanit|flag|guard|attack|inject|jailbreak|exploi"
    r"t|malicious"
    r"|phish|test(?:s|ed|ing)?\b|fixture|sample|example|pattern|regex|match|quarantin|class"
    r"if|warn|red[- ]team"
    r"|owasp|saniti[sz]|escap|untrusted|payload|prompt injection)"
    r"|检测|拦截|过滤|拒绝|清洗|标记|攻击|注入|越狱|恶意|测试|样例|示例|正则|匹配|隔离|分类"
    r"|防护|提示注入"
)
"""Words of texts that speak about attacks; what they quote is mentioned, not said."""
