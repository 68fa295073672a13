"""Tells whether two statements cannot both hold: same subject, same attribute, another value.

Pure; imports the comparison of wordings only. Which of the two holds is not decided here.
"""

from __future__ import annotations

import re

from hindsight_daemon.engine.sameness import form_of, overlap

_KEY_FACT = re.compile(
    r"\b(?:passwords?|passphrases?|credentials?|secrets?|api[ _-]?keys?|access[ _-]?tokens?"
    r"|private keys?|ssh keys?|2fa|mfa|sudo|root access|permissions?|admin(?:istrator)? rights?"
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
_OPPOSITE_OVERLAP = 0.75


def is_local_request(text: str) -> bool:
    """Tell whether a statement is about one occasion only."""
    return bool(_LOCAL.search(text))


def is_key_fact(text: str) -> bool:
    """Tell whether a statement is about identity, permissions, credentials or destruction."""
    return bool(_KEY_FACT.search(text))


def contradiction(new: str, known: str) -> str:
    """Return why the two cannot both hold; empty if they can."""
    one, other = form_of(new), form_of(known)
    if (
        one.negations % 2 != other.negations % 2
        and one.hard == other.hard
        and overlap(one, other) >= _OPPOSITE_OVERLAP
    ):
        return "one asserts what the other denies"
    return ""
