"""Names of things of which one takes the place of another, and words that exclude each other.

Pure; imports nothing of ours. "The project uses yarn" ends "the project uses npm", while a
project that uses Redis may well use Postgres: only names of one group below are rivals. A name
that is missing here costs a replacement, never a memory, so groups hold only what is commonly
used one at a time.
"""

from __future__ import annotations

_GROUPS = """
npm | yarn | pnpm | bun
pip | poetry | pipenv | conda | uv | pdm
black | yapf | autopep8
prettier | biome | dprint
eslint | biome | jshint | standardjs
pytest | unittest | nose | nose2
jest | vitest | mocha | jasmine | ava
cypress | playwright | selenium | puppeteer
junit | testng
postgres,postgresql | mysql | mariadb | sqlite | oracle | mongodb | cockroachdb
redis | memcached | valkey
kafka | rabbitmq | pulsar
webpack | vite | rollup | parcel | esbuild
react | vue | svelte | angular
django | flask | fastapi
express | koa | fastify | hapi
maven | gradle | bazel | ant
make | cmake | ninja | just
jenkins | github actions | gitlab ci | circleci | travis,travis ci | teamcity | drone
github | gitlab | bitbucket | gitea
docker | podman
kubernetes | nomad | docker swarm
terraform | pulumi | opentofu
heroku | netlify | vercel | render
aws | azure | gcp
datadog | newrelic,new relic | grafana cloud
ruby | go,golang | rust | python | java | kotlin | typescript | javascript | php | scala | swift \
 | c# | c++ | elixir
english,英文,英语 | german,德文,德语 | french,法文,法语 | spanish,西班牙语 | chinese,中文,汉语 \
 | japanese,日文,日语 | italian,意大利语 | portuguese,葡萄牙语 | russian,俄语 | korean,韩语,韩文
tabs,tab,制表符 | spaces,空格
single quotes,single,单引号 | double quotes,double,双引号
vim | neovim | emacs | vscode,vs code | intellij | helix
bash | zsh | fish | powershell
ubuntu | debian | alpine | fedora | centos | arch
snake_case,snake case | camelcase,camel case | pascalcase | kebab-case
dark,深色,暗色 | light,浅色,亮色
on,enabled,enable,开启,启用,打开 | off,disabled,disable,关闭,禁用,停用
true | false
required,mandatory,必填,必须 | optional,可选,选填
public,公开 | private,私有
allowed,允许 | forbidden,disallowed,禁止
synchronous,sync,同步 | asynchronous,async,异步
monday,周一,星期一 | tuesday,周二,星期二 | wednesday,周三,星期三 | thursday,周四,星期四 \
 | friday,周五,星期五 | saturday,周六,星期六 | sunday,周日,星期日,星期天
january,一月 | february,二月 | march,三月 | april,四月 | may,五月 | june,六月 | july,七月 \
 | august,八月 | september,九月 | october,十月 | november,十一月 | december,十二月
daily,每天,每日 | weekly,每周 | monthly,每月 | yearly,每年 | hourly,每小时
squash | rebase | merge commit
rest | graphql | grpc
json | yaml | toml | xml | ini
metric | imperial
"""


def _read() -> dict[str, frozenset[tuple[int, int]]]:
    table: dict[str, set[tuple[int, int]]] = {}
    for number, line in enumerate(_GROUPS.strip().splitlines()):
        for place, names in enumerate(line.split("|")):
            for name in names.split(","):
                table.setdefault(name.strip(), set()).add((number, place))
    return {name: frozenset(places) for name, places in table.items()}


_PLACES = _read()


def groups_of(name: str) -> frozenset[int]:
    """Return the groups that a name belongs to; empty for one that has no rivals here."""
    return frozenset(number for number, _ in _PLACES.get(name.strip(), ()))


def are_rivals(one: str, other: str) -> bool:
    """Tell whether two names stand for different members of one group."""
    mine, its = _PLACES.get(one.strip()), _PLACES.get(other.strip())
    if not mine or not its:
        return False
    return any(a == b and i != j for a, i in mine for b, j in its)
