"""What people state outright, and what only sounds like it."""

from __future__ import annotations

import pytest

from hindsight_daemon.engine.decisions import decisions_of
from hindsight_daemon.engine.screen import is_junk
from hindsight_daemon.engine.statements import environment_fact, statements_of


def texts(prompt: str, *, is_followup: bool = False) -> list[str]:
    return [s.text for s in statements_of(prompt, is_followup=is_followup)]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Always run `make lint` before committing.", "Always run `make lint` before committing."),
        ("please never edit files under vendor/", "Never edit files under vendor/."),
        ("From now on, write commit messages in English.", "Write commit messages in English."),
        (
            "Remember: the staging db is read-only on Fridays.",
            "The staging db is read-only on Fridays.",
        ),
        (
            "great. please remember that releases are cut from `main`",
            "Releases are cut from `main`.",
        ),
        ("I prefer small commits over big ones.", "I prefer small commits over big ones."),
        ("don't mock the database again", "Don't mock the database again."),
        ("In this repo all migrations must be reversible.",
         "In this repo all migrations must be reversible."),
        ("以后都用 pnpm，不要再用 npm", "以后都用 pnpm，不要再用 npm。"),
        ("记住：数据库迁移先在 staging 上跑", "数据库迁移先在 staging 上跑。"),
        ("提交之前务必跑一遍 make test。", "提交之前务必跑一遍 make test。"),
        ("不要再改 vendor 目录", "不要再改 vendor 目录。"),
        ("我更喜欢用 dataclass 而不是字典", "我更喜欢用 dataclass 而不是字典。"),
    ],
)  # fmt: skip
def test_standing_rules_are_kept_in_the_words_of_who_made_them(prompt: str, text: str) -> None:
    assert texts(prompt) == [text]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("no, use pnpm, not npm", "Use pnpm, not npm."),
        ("don't use requests, use httpx", "Don't use requests, use httpx."),
        ("use `uv run` instead of activating the venv",
         "Use `uv run` instead of activating the venv."),
        ("不对，应该用 httpx，不要用 requests", "应该用 httpx，不要用 requests。"),
        ("改用 vitest 而不是 jest", "改用 vitest 而不是 jest。"),
    ],
)  # fmt: skip
def test_directives_count_as_corrections_after_work_of_the_agent(prompt: str, text: str) -> None:
    assert texts(prompt, is_followup=True) == [text]


@pytest.mark.parametrize(
    "prompt",
    [
        "don't push yet",
        "skip the tests for now and never mind the lint errors this time",
        "the button never shows up after login, please fix it",
        "why do the tests always fail on CI?",
        "tests always fail on CI since monday",
        "it always returns None",
        "always do it like that",
        "never mind",
        "do you remember the parser bug?",
        "remember when we rewrote the parser?",
        "could we use redis in the future?",
        "replace moment by dayjs in utils.ts",
        "登录以后页面一直空白，帮我看看",
        "这个以后再说",
        "这次先不要提交",
        "以后还需要支持 Windows 吗？",
    ],
)
def test_bug_talk_questions_and_requests_of_the_moment_are_no_rules(prompt: str) -> None:
    assert texts(prompt) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "I never laughed so hard",
        "You never know what comes, but always try your best!",
        "Remember, staying positive is very important.",
        "We always look forward to our camping trip.",
        "I hope to travel more in the future.",
    ],
)
def test_figures_of_speech_in_conversation_are_no_rules(prompt: str) -> None:
    assert statements_of(prompt, is_followup=True, at_work=False) == []


@pytest.mark.parametrize(
    "prompt",
    ["From now on, answer in French.", "以后都用中文回答", "Remember that I am allergic to nuts."],
)
def test_orders_to_the_agent_count_in_conversation_too(prompt: str) -> None:
    assert len(statements_of(prompt, is_followup=True, at_work=False)) == 1


def test_rules_for_all_projects_are_global() -> None:
    (one,) = statements_of("In all my projects always use tabs.", is_followup=False)
    (other,) = statements_of("Always use tabs in src/.", is_followup=False)
    assert one.is_global
    assert not other.is_global


def test_text_in_code_blocks_and_quotes_is_not_the_users_word() -> None:
    prompt = "fix this:\n```\n# Always use foo\n```\n> never use bar\nthanks"
    assert texts(prompt) == []


def test_text_that_memory_systems_injected_is_not_the_users_word() -> None:
    prompt = "<hindsight-memories>Always use tabs in src.</hindsight-memories>\nfix the parser"
    assert texts(prompt) == []


@pytest.mark.parametrize(
    ("text", "by_user", "decision"),
    [
        (
            "I chose SQLite over Postgres because the app runs on one machine.",
            False,
            "Use SQLite rather than Postgres, because the app runs on one machine.",
        ),
        (
            "We'll use Celery since the team already runs it. Sidekiq was rejected because it "
            "needs Ruby.",
            False,
            "Use Celery, because the team already runs it (rejected Sidekiq: it needs Ruby).",
        ),
        (
            "let's go with server components instead of a SPA, because of SEO",
            True,
            "Use server components rather than a SPA, because of SEO.",
        ),
        ("We decided to keep the old API until v3.", True, "Keep the old API until v3."),
        (
            "我们决定用 Redis Stream，而不是 Kafka，因为消息量不大。",
            True,
            "采用 Redis Stream，而不是 Kafka，因为消息量不大。",
        ),
    ],
)
def test_decisions_keep_reason_and_rejected_option(text: str, by_user: bool, decision: str) -> None:
    assert [d.text for d in decisions_of(text, by_user=by_user)] == [decision]


@pytest.mark.parametrize(
    "text",
    [
        "I'll use grep because the file is large.",
        "Let's use a different approach because this fails.",
        "I'll use the Read tool to look at the file.",
        "We could use Redis or Postgres.",
        "Should we go with SQLite because it is simple?",
        "I decided to run the tests.",
        "我来用 grep 查一下，因为文件很大",
    ],
)
def test_what_an_agent_says_of_its_own_steps_is_no_decision(text: str) -> None:
    assert decisions_of(text, by_user=False) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "The staging database listens on port 5433.",
        "The build requires Node 20.3 or newer.",
        "The payment tests need `STRIPE_KEY` to be set.",
        "Redis must be running before the tests.",
        "测试环境的 MySQL 端口是 3307",
        "构建需要 Node 20",
        "运行前必须设置环境变量 REDIS_ADDR",
    ],
)
def test_facts_about_the_environment_are_recognised(sentence: str) -> None:
    assert environment_fact(sentence)


@pytest.mark.parametrize(
    "sentence",
    ["Let me check which port it uses.", "I need to add 3 tests.", "If you use port 80, run sudo."],
)
def test_plans_and_conditions_are_no_facts(sentence: str) -> None:
    assert environment_fact(sentence) == ""


@pytest.mark.parametrize(
    "text",
    ["hi", "Thanks!", "你好", "ok", "All tests pass.", "do it like that", "You are Claude, an AI.",
     "<hindsight-memories>x</hindsight-memories>", '{"a": 1, "b": [2, 3]}', "这样就好",
     "foo bar " * 40],
)  # fmt: skip
def test_junk_is_named_as_such(text: str) -> None:
    assert is_junk(text)


@pytest.mark.parametrize("text", ["用 pnpm，不要用 npm", "Use tabs in Makefiles.", "端口是 5433"])
def test_short_facts_are_no_junk(text: str) -> None:
    assert is_junk(text) == ""
