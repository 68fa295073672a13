"""The judge's reasons in Chinese, for what is kept of Chinese sessions.

Pure. The judge words its signals in English, as verdicts are data; a summary is read by people.
"""

from __future__ import annotations

import re

_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"^{english}$", re.S), chinese)
    for english, chinese in (
        (r"(`.+`) passed after the last edit", r"最后一次修改之后 \1 通过"),
        (r"(`.+`) failed after the last edit", r"最后一次修改之后 \1 失败"),
        (r"(`.+`) failed before and passes now", r"\1 之前失败，现在通过"),
        (
            r"(`.+`) failed, and was not run again after the last edit",
            r"\1 失败，修改之后没有再运行",
        ),
        (r"(`.+`) passed, but files were edited after it", r"\1 通过，但之后又改了文件"),
        (r"(`.+`) passed, (`.+`) failed", r"\1 通过，\2 失败"),
        (r"(`.+`) reported success", r"\1 报告成功"),
        (r"(`.+`) reported partial success", r"\1 报告部分成功"),
        (r"(`.+`) reported failure", r"\1 报告失败"),
        (r"(`.+`) failed", r"\1 失败"),
        (r"(`.+`) succeeded after the last edit", r"最后一次修改之后 \1 成功"),
        (r"the user said: (.+)", r"用户说：\1"),
        (r"the user accepted: (.+)", r"用户认可：\1"),
        (r"the last (\d+) actions failed", r"最后 \1 步都失败"),
        (r"the agent gave up", "代理放弃了"),
        (r"no evidence of the outcome", "没有结果的证据"),
        (r"reported as not completed", "报告为未完成"),
    )
)


def in_chinese(reason: str) -> str:
    """Return a reason of `outcome.judge` in Chinese; words of the transcript stay as they are."""
    for english, chinese in _PHRASES:
        if english.match(reason):
            return english.sub(chinese, reason)
    return reason
