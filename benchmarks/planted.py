"""Made-up secrets in the lines they leak by, and harmless lines that look like them.

Values are drawn from a seeded generator, so that no file of the project holds anything that a
scanner would take for a leak.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + string.digits
_SEED = 20261201


class Draw:
    """Random values of given shapes."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def of(self, letters: str, length: int) -> str:
        """Return so many of these letters."""
        return "".join(self._random.choice(letters) for _ in range(length))

    def word(self) -> str:
        """Return a password as people make them."""
        words = ("river", "Kestrel", "matrix", "Orange", "copper", "Falcon", "winter", "Lotus")
        tail = f"{self._random.choice('!#%+')}{self.of(string.digits, 4)}{self.of(_ALNUM, 3)}"
        return f"{self._random.choice(words)}{tail}"

    def jwt(self) -> str:
        """Return something in the form of a JSON web token."""
        part = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
        return f"{part}.{self.of(_ALNUM, 40)}.{self.of(_ALNUM + '-_', 43)}"

    def pem(self) -> str:
        """Return something in the form of a private key."""
        body = "\n".join(self.of(_ALNUM + "+/", 64) for _ in range(6))
        kind = "RSA PRIVATE KEY"
        return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"

    def uuid(self) -> str:
        """Return an id in the form of a UUID."""
        return "-".join(self.of(_HEX, n) for n in (8, 4, 4, 4, 12))


_SECRETS: tuple[tuple[str, Callable[[Draw], str]], ...] = (
    ("AWS_ACCESS_KEY_ID={}", lambda d: f"AKIA{d.of(_UPPER, 16)}"),
    ("aws_secret_access_key = {}", lambda d: d.of(_ALNUM + "+/", 40)),
    ("export GITHUB_TOKEN={}", lambda d: f"ghp_{d.of(_ALNUM, 36)}"),
    (
        "the token {} was rejected by GitHub",
        lambda d: f"github_pat_{d.of(_ALNUM, 22)}_{d.of(_ALNUM, 59)}",
    ),
    ("gitlab runner registered with {}", lambda d: f"glpat-{d.of(_ALNUM, 20)}"),
    ("OPENAI_API_KEY={}", lambda d: f"sk-proj-{d.of(_ALNUM, 48)}"),
    ("ANTHROPIC_API_KEY: {}", lambda d: f"sk-ant-api03-{d.of(_ALNUM + '-_', 80)}"),
    ("hugging face login with {}", lambda d: f"hf_{d.of(_ALNUM, 34)}"),
    ("groq key {}", lambda d: f"gsk_{d.of(_ALNUM, 52)}"),
    (
        "slack bot token {}",
        lambda d: f"xoxb-{d.of(string.digits, 12)}-{d.of(string.digits, 12)}-{d.of(_ALNUM, 24)}",
    ),
    ("stripe live key {}", lambda d: f"sk_live_{d.of(_ALNUM, 24)}"),
    ("webhook secret {}", lambda d: f"whsec_{d.of(_ALNUM, 32)}"),
    ("google maps key {}", lambda d: f"AIza{d.of(_ALNUM + '-_', 35)}"),
    ("npm token: {}", lambda d: f"npm_{d.of(_ALNUM, 36)}"),
    ("//registry.npmjs.org/:_authToken={}", lambda d: d.uuid()),
    ("pypi upload with {}", lambda d: f"pypi-AgEIcHlwaS5vcmc{d.of(_ALNUM + '-_', 70)}"),
    ("sendgrid {}", lambda d: f"SG.{d.of(_ALNUM, 22)}.{d.of(_ALNUM, 43)}"),
    ("Authorization: Bearer {}", lambda d: d.of(_ALNUM, 40)),
    ("curl -H 'Authorization: Bearer {}' https://api.example.com", lambda d: d.jwt()),
    ("session cookie: {}", lambda d: d.jwt()),
    ("vault login {}", lambda d: f"hvs.{d.of(_ALNUM, 28)}"),
    ("DATABASE_URL=postgres://shop:{}@db.internal:5432/shop", lambda d: d.word().replace("#", "_")),
    ("redis://default:{}@cache:6379/0 is the cache", lambda d: d.of(_ALNUM, 16)),
    ("mongodb+srv://admin:{}@cluster0.example.net", lambda d: d.of(_ALNUM, 18)),
    ("amqp://guest:{}@mq/", lambda d: d.of(_ALNUM, 12)),
    ("password={}", lambda d: d.word()),
    ('"password": "{}"', lambda d: d.word()),
    ("DB_PASSWORD={}", lambda d: d.word()),
    ("mysql -u root --password={}", lambda d: d.word()),
    ("the password is: {}", lambda d: d.word()),
    ("密码是 {}", lambda d: d.word()),
    ("数据库口令：{}", lambda d: d.word()),
    ("密钥：{}", lambda d: d.of(_ALNUM, 24)),
    ("访问令牌为 {}", lambda d: d.of(_ALNUM, 32)),
    ('api_key: "{}"', lambda d: d.of(_ALNUM, 32)),
    ("SECRET_KEY='{}'", lambda d: d.of(_ALNUM + "!@", 50)),
    ("client_secret={}", lambda d: d.of(_ALNUM, 36)),
    ("ENCRYPTION_KEY={}", lambda d: d.of(_HEX, 64)),
    ("the deploy key:\n{}", lambda d: d.pem()),
    ("telegram bot {}", lambda d: f"{d.of(string.digits, 10)}:AA{d.of(_ALNUM, 33)}"),
    ("digitalocean {}", lambda d: f"dop_v1_{d.of(_HEX, 64)}"),
    ("age key {}", lambda d: f"AGE-SECRET-KEY-1{d.of(_UPPER, 58)}"),
    (
        "AccountName=x;AccountKey={}==;EndpointSuffix=core.windows.net",
        lambda d: d.of(_ALNUM + "+/", 86),
    ),
    ("GOCSPX client secret {}", lambda d: f"GOCSPX-{d.of(_ALNUM, 28)}"),
)
_HARMLESS: tuple[tuple[str, Callable[[Draw], str]], ...] = (
    ("commit {} fixed it", lambda d: d.of(_HEX, 40)),
    ("see {} for the cause", lambda d: d.of(_HEX, 7)),
    ("sha256:{}", lambda d: d.of(_HEX, 64)),
    ("the md5 is {}", lambda d: d.of(_HEX, 32)),
    ("request id {}", lambda d: d.uuid()),
    ("trace_id={}", lambda d: d.of(_HEX, 32)),
    (
        "run 019c1f0e-{}",
        lambda d: f"{d.of(_HEX, 4)}-7{d.of(_HEX, 3)}-{d.of(_HEX, 4)}-{d.of(_HEX, 12)}",
    ),
    ('etag W/"{}"', lambda d: d.of(_HEX, 24)),
    ("integrity sha512-{}==", lambda d: d.of(_ALNUM + "+/", 86)),
    ("order number {}", lambda d: d.of(string.digits, 12)),
    ("ticket SHOP-{}", lambda d: d.of(string.digits, 4)),
    ("image registry.example.com/app@sha256:{}", lambda d: d.of(_HEX, 64)),
    ("the container id is {}", lambda d: d.of(_HEX, 12)),
    ("file chunk-{}.js", lambda d: d.of(_ALNUM, 8)),
    ("build {} passed", lambda d: d.of(string.digits, 8)),
    ("提交 {} 修复了它", lambda d: d.of(_HEX, 40)),
    ("请求编号 {}", lambda d: d.uuid()),
    ("校验和为 {}", lambda d: d.of(_HEX, 64)),
    ("session {} was resumed", lambda d: d.uuid()),
    ("memory at 0x{}", lambda d: d.of(_HEX, 12)),
)
_PLAIN = (
    "password = os.environ['DB_PASSWORD']",
    "token: str = Field(default='')",
    "The password must have twelve characters",
    "PASSWORD=${DB_PASSWORD}",
    "api_key = settings.api_key",
    "secret = get_secret('payments')",
    "def reset_password(token: str) -> None:",
    "Set OPENAI_API_KEY=<your key> in the shell",
    "The token bucket holds 100 tokens",
    "passwords are hashed with argon2id",
    "密码至少要有十二个字符",
    "令牌桶每分钟允许一百个请求",
    "postgres://localhost:5432/shop",
    "Authorization: Bearer <token>",
    "--password-file /run/secrets/db",
    "the key column of the table is called id",
    "tokenizer=bert-base-uncased",
    "secretName: tls-cert",
    "the password is hashed with argon2id-v2",
    "the token is 24 characters long",
    "the secret was rotated in May 2026",
    "密码是用 argon2id 保存的",
)


def secrets(rounds: int = 6) -> Iterator[tuple[str, str]]:
    """Yield (text, the secret in it)."""
    draw = Draw(_SEED)
    for _ in range(rounds):
        for line, make in _SECRETS:
            value = make(draw)
            yield line.format(value), value


def harmless(rounds: int = 15) -> Iterator[str]:
    """Yield lines without a secret."""
    draw = Draw(_SEED + 1)
    yield from _PLAIN
    for _ in range(rounds):
        for line, make in _HARMLESS:
            yield line.format(make(draw))
