"""What a user's next words say: go on, thanks, that is wrong, or something new.

Pure; imports nothing of ours but prose handling. English and Chinese.
"""

from __future__ import annotations

import re

from hindsight_daemon.engine.sentences import sentences, without_blocks
from hindsight_daemon.engine.statements import statements_of

_ACK = re.compile(
    r"^(?:ok(?:ay)?|k|yes|yep|yeah|yup|sure|y|no|nope|go(?: ahead| on| for it)?|continue|proceed"
    r"|please"
    r"(?: do| continue| proceed)?|do it|keep going|carry on|resume|retry|try again|again|next"
    r"|sounds good|lgtm|agreed|correct|right|exactly|fine|cool|great|good|perfect|nice|thanks?"
    r"|thank you|approved?|both|all(?: of them)?|the (?:first|second|former|latter)(?: one)?"
    r"|option [a-z0-9]|[a-d1-9]|继续|接着(?:做|来)?|好的?|好吧|可以|行|嗯+|是的?|对的?|没错|确认"
    r"|同意|开始吧?|how.?s it going"
    r"|status|any (?:progress|update|luck)|进展(?:如何|怎么样)?|怎么样了?"
    r"|去做吧|请继续|下一步|再试(?:一次|一下)?|重试|谢谢|多谢|辛苦了|不用了?|就这样|没问题)"
    r"(?:[\s,.!。，！、]+(?:please|then|go ahead|continue|proceed|thanks|thank you|do it|yes|吧|的"
    r"|继续"
    r"|谢谢))*"
    r"[\s.!。！~?？]*$",
    re.I,
)
_ACCEPT = re.compile(
    r"\b(?:thanks|thank you|thx|perfect|awesome|excellent|brilliant|lgtm|ship it|looks good"
    r"|works? (?:great|now|well|perfectly|fine)|that works|it works|great(?: job| work)?"
    r"|nice(?: work| job)?"
    r"|well done|good job|all good|fixed it|that (?:fixed|did) it)\b"
    r"|谢谢|多谢|感谢|完美|太好了|很好|不错|可以了|好了[，。!！]?|搞定|没问题|辛苦了|解决了|成功了"
    r"|通过了|正常了",
    re.I,
)
_REJECT = re.compile(
    r"^(?:(?:it|that|this)(?:'s| is) )?still (?!need|want|have|left|to\b)\w+"
    r"|\b(?:still (?:fail|broken|not|doesn.t|does not|get|getting|see|seeing|hang|crash|wrong"
    r"|the same|show|throw|return|happen|occur|missing|there|say|red\b|slow)\w*"
    r"|(?:doesn.t|does not|didn.t|did not|isn.t|not) (?:work|working|fix|help|compile|build"
    r"|pass)\w*"
    r"|(?:that|this|it).?s (?:wrong|not right|broken|incorrect|not what)|that is (?:wrong|not)"
    r"|same (?:error|problem|issue|failure)|revert|undo|roll ?back|you broke|broke(?:n)? (?:the|it)"
    r"|not what i (?:asked|wanted|meant)|i said|try again|fails? again|got (?:an|this|the) error"
    r"|now (?:it |there |i )?(?:fails|gets?|see|crash)\w*)\b"
    r"|还是(?:不|报|有|失败|会|没|出)|仍然|依然|不对|错了|不行|没有?(?:用|效果|解决|生效)|没用"
    r"|又报错|又失败|撤销|回滚|恢复原"
    r"|不是我要的|搞错|还报错|报错了|失败了|改坏",
    re.I,
)
_CORRECT = re.compile(
    r"^(?:no|nope|wait|stop|hold on|hmm|actually|wrong|not (?:that|like|quite)|don.?t\b|do not\b"
    r"|instead"
    r"|i meant|i said|please don.?t|不对?[，,。!！ ]|不是|别|停|等等|不要|错了|应该|我说的是"
    r"|你?搞错|改用|换成|不用)",
    re.I,
)
_CONTINUES = re.compile(
    r"^(?:(?:ok|okay|yes|yeah|sure|right|great|fine|perfect|好的?|行|可以|嗯)[,.，。 ]+(?=\S)"
    r"|also,? (?:fix|update|run|add a test|make sure)|and (?:run|then|also|now|the|what about)"
    r"|then\b"
    r"|now (?:run|commit|push|fix|test)|(?:please )?(?:commit|push)\b.{0,40}$|run (?:the )?(?:tests"
    r"|it)\b"
    r"|try\b|what about|how about|that.?s (?:wrong|not)|you (?:forgot|missed|broke|should)"
    r"|it (?:still|fails)"
    r"|there(?:'s| is) (?:still|another|an) (?:error|failure)|另外|还有|再|然后|那|顺便|跑一下|提交"
    r"|运行|你(?:忘|漏))",
    re.I,
)
_ERROR_PASTE = re.compile(
    r"^(?:Traceback|error[:\[ ]|fatal:|panic:|npm ERR!|FAILED |E {3}|\w+Error: |报错)", re.I
)
_WRAP_UP = re.compile(
    r"\b(?:commit|push|merge)(?: (?:it|this|that|these|up|everything|all|and)\b|ted\b|[.!]?$)"
    r"|\b(?:make|open|create) (?:a |the )?(?:pr|pull request)\b"
    r"|提交(?:一下|代码|吧)?[。！]?$|推送|提个 ?PR",
    re.I,
)
_NO = re.compile(r"(?:no|nope|wrong|stop)[,.!;:]|(?:不对|错了|不是)[,.，。! ]", re.I)
_NEW_TASK = re.compile(
    r"^(?:next(?: task)?[,:]|new task|now let.?s|let.?s (?:move|now|switch)|another (?:task|thing)"
    r"|different (?:topic|question)|下一个(?:任务|问题)|新任务|换个(?:话题|任务)|现在(?:来|我们))",
    re.I,
)


def accepts(text: str) -> bool:
    """Tell whether these words accept what was done."""
    head = without_blocks(text)[:240]
    return bool(_ACCEPT.search(head)) and not rejects(text)


def rejects(text: str) -> bool:
    """Tell whether these words say that it did not work or was not wanted."""
    head = without_blocks(text)[:400]
    if _NEW_TASK.match(head):
        return False
    return bool(_REJECT.search(head) or _NO.match(head))


def corrects(text: str) -> bool:
    """Tell whether these words begin as a correction of what the agent did."""
    return bool(_CORRECT.match(without_blocks(text)[:200].strip()))


def is_acknowledgement(text: str) -> bool:
    """Tell whether these words only confirm, thank or say to go on."""
    return len(text) < 120 and bool(_ACK.match(without_blocks(text).strip()))


def only_states(text: str) -> bool:
    """Tell whether the words state rules or preferences and ask for nothing else."""
    told = [s for s in sentences(text) if not is_acknowledgement(s) and len(s) > 12]
    return bool(told) and len(statements_of(text, is_followup=True)) >= len(told)


def continues(prompt: str, *, goal: str, last_said: str, acted: bool) -> bool:
    """Tell whether a prompt carries on the task that began with `goal`.

    `last_said` is the assistant's latest text; a short answer to its question continues too.
    """
    text = without_blocks(prompt).strip()
    if _NEW_TASK.match(text) or text.startswith("/"):
        return False
    if is_acknowledgement(text) or text == without_blocks(goal).strip():
        return True
    if _ERROR_PASTE.match(text):
        return acted
    short = len(text) < 400
    if acted and len(text) < 100 and (accepts(text) or _WRAP_UP.search(text)):
        return True
    if acted and short and only_states(text):
        return True
    if short and acted and (corrects(text) or rejects(text)):
        return True
    if short and len(text) < 160 and acted and _CONTINUES.match(text):
        return True
    asked = last_said.rstrip(" \n`*)").endswith(("?", "？"))
    return asked and len(text) < 60 and not text.endswith(("?", "？"))
