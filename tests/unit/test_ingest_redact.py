"""Secrets of each family go, ordinary text stays."""

from __future__ import annotations

import pytest

from hindsight_daemon.ingest.redact import redact, redact_event
from hindsight_daemon.model import Event, ToolUse

ORDINARY = [
    "def login(user, password): return check(user, password=password)",
    "password: str = Field(...)",
    "interface Login { password: string; token?: string }",
    'const token = request.headers.get("Authorization");',
    "api_key=os.environ['API_KEY']",
    "password = get_password()",
    "client = Client(api_key=settings.api_key, secret=self.secret)",
    "max_tokens=4096, token_count: 12345678",
    "DATABASE_URL=postgres://user:$DB_PASSWORD@localhost/app",
    "DATABASE_URL=postgres://user:${DB_PASSWORD}@localhost/app",
    "git clone git@github.com:owner/repo.git",
    "http://localhost:8080/health and ssh://host:22/path",
    "commit 5438f91c2d3e4f5061728394a5b6c7d8e9f00112",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "/home/me/.claude/projects/-w-app/1af7fc5e-8455-4414-9ccd-011d40f70b2a.jsonl",
    "task-management-system-refactoring-plan risk-assessment-2024-quarterly",
    '{"token": "<your-token>", "password": "********", "api_key": null}',
    "export PASSWORD=$(pass show db)",
    "PWD=/home/me/work OLDPWD=/home/me",
    "the password: reset it, then tell me the token count",
    '"password": "Password is required"',
    "primary_key=True, cache_key=user_id, foreign_key='users.id'",
    "secrets: ${{ secrets.GITHUB_TOKEN }}",
    "Bearer authentication is explained below",
    "token: Token | None, secret: SecretStr",
    "if password == confirm_password:",
    'input[type="password"] { color: red }',
    "忘记密码怎么办？请先修改密码，再登录。密码是必填项",
    "pytest tests/test_tokens.py::test_password_reset -k 'secret and not token'",
    "hf_hub_download(repo_id) and eyJ is a prefix",
    "from secrets import token_hex; token = token_hex(16)",
    "AWS_REGION=us-east-1 and AKIA is the prefix of ids",
]

# Written with a bar inside, so that scanners of this repository do not take them for real.
_SECRETS = {
    "anthropic": "sk|-ant-api03-AbCdEf0123456789_abcdefghij-KLMNOP",
    "openai": "sk|-proj-Ab12Cd34Ef56Gh78Ij90Kl12Mn34",
    "openai-legacy": "sk|-a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6",
    "github": "gh|p_0123456789abcdefghijABCDEFGHIJ012345",
    "github-fine": "github|_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789",
    "gitlab": "gl|pat-abcDEF123456_-7890xy",
    "aws": "AK|IAIOSFODNN7EXAMPLE",
    "slack": "xo|xb-1234567890-abcdefGHIJKL",
    "google": "AI|zaSyA-0123456789abcdefghijklmnopqrstu",
    "jwt": "ey|JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "stripe": "sk_l|ive_0123456789abcdefABCDEFGH",
    "npm": "npm|_0123456789abcdefghijABCDEFGHIJ012345",
    "sendgrid": "S|G.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ",
    "private-key": "-----BE|GIN EC PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END EC PRIVATE KEY-----",
}
SECRETS = {name: text.replace("|", "") for name, text in _SECRETS.items()}

ASSIGNED = [
    ("password=hunter2", "hunter2"),
    ("password: S3cr3t!pass", "S3cr3t!pass"),
    ('{"password": "correct-horse"}', "correct-horse"),
    (r"{\"password\": \"correct-horse\"}", "correct-horse"),
    ("DB_PASSWORD=swordfish", "swordfish"),
    ("export PGPASSWORD='swordfish'", "swordfish"),
    ("mysql --password swordfish1 -h db", "swordfish1"),
    ("mysql --password=swordfish", "swordfish"),
    ("api_key: abc123def456ghi", "abc123def456ghi"),
    ("apiKey = 'abc123def456ghi'", "abc123def456ghi"),
    (
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzz",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzz",
    ),
    ("STRIPE_KEY=a1b2c3d4e5f6", "a1b2c3d4e5f6"),
    ("client_secret=9f8e7d6c5b4a", "9f8e7d6c5b4a"),
    ("https://me:tr0ub4dor@example.org/repo.git", "tr0ub4dor"),
    ("Authorization: Bearer abcdef0123456789", "abcdef0123456789"),
    ("curl -H 'Authorization: Basic dXNlcjpwYXNzMTIz'", "dXNlcjpwYXNzMTIz"),
    ("数据库密码：hunter2abc", "hunter2abc"),
    ("密码是 hunter2abc。", "hunter2abc"),
    ('os.environ["API_TOKEN"] = "zyx987wvu654"', "zyx987wvu654"),
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == (text, 0)


@pytest.mark.parametrize("family", SECRETS)
@pytest.mark.parametrize(
    "frame", ["{}", "key is {} here", "值是{}。", '{{"value":"{}"}}', "a\n{}\nb", "X={}"]
)
def test_a_secret_is_replaced_wherever_it_stands(family: str, frame: str) -> None:
    secret = SECRETS[family]
    clean, count = redact(frame.format(secret))
    assert secret not in clean
    assert count >= 1
    assert redact(clean) == (clean, 0)


@pytest.mark.parametrize(("text", "secret"), ASSIGNED)
def test_a_value_is_replaced_because_of_its_name(text: str, secret: str) -> None:
    clean, count = redact(text)
    assert secret not in clean
    assert count == 1
    assert redact(clean) == (clean, 0)


def test_what_surrounds_a_secret_stays() -> None:
    assert redact("run with password=hunter2 now") == (
        "run with password=[redacted:password] now",
        1,
    )


def test_a_private_key_in_json_text_or_cut_off_is_replaced_whole() -> None:
    body = "MIIEowIBAAKCAQEA7bq"
    for text in (
        f'{{"key": "-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY-----\\n"}}',
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n{body}",
        f"{body}\n{body}\n-----END EC PRIVATE KEY-----",
    ):
        assert body not in redact(text)[0]


def test_arguments_and_commands_of_a_tool_are_redacted_too() -> None:
    command = "PGPASSWORD=swordfish psql"
    event = Event(
        id="x",
        agent="a",
        session_id="s",
        seq=1,
        role="assistant",
        kind="tool_call",
        text=f"token {SECRETS['github']}",
        tool=ToolUse(name="Bash", arguments=command, command=command),
    )
    clean, count = redact_event(event)
    assert count == 2
    assert clean.tool is not None
    assert clean.tool.command == clean.tool.arguments == "PGPASSWORD=[redacted:password] psql"
    assert clean.text == "token [redacted:github]"
