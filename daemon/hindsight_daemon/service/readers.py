"""Who may read and who may remove: agents keep to their scopes, people see everything.

A caller without an agent's identity is a person at the command line of this account.
"""

from __future__ import annotations

from hindsight_daemon.errors import PermissionProblem
from hindsight_daemon.model import Memory
from hindsight_daemon.service.call import Call
from hindsight_daemon.service.filters import projects_for


def may_read(memory: Memory, call: Call) -> bool:
    """Tell whether the caller may see a memory.

    Private ones are for the agent that wrote them, shared ones for the agents of their project,
    global ones and those without a project for all.
    """
    if not call.agent:
        return True
    if memory.scope == "private":
        return memory.agent == call.agent
    return memory.scope == "global" or memory.project in ("", call.project)


def readable_projects(
    call: Call, named: str, cwd: str, *, all_projects: bool = False
) -> tuple[str, ...]:
    """Return the projects a read is about; an agent's is that of its connection, always."""
    return (call.project,) if call.agent else projects_for(named, cwd, all_projects)


def private_to(call: Call) -> str | None:
    """Return the restriction of a read to what the caller may see; None for a person."""
    return call.agent or None


def check_may_remove(memory: Memory, call: Call) -> None:
    """Raise `PermissionProblem` if an agent wants to remove what a person stated or pinned."""
    if call.agent and (memory.trust == "user" or memory.pinned):
        what = "pinned" if memory.pinned else "stated by the user"
        raise PermissionProblem(
            f"memory `{memory.id}` is {what}, an agent cannot forget it",
            hint=f"ask the user to run `hindsight forget {memory.id[:13]}`",
        )


def check_may_write(scope: str, call: Call) -> None:
    """Raise `PermissionProblem` if an agent wants to write for everybody."""
    if call.agent and scope == "global":
        raise PermissionProblem(
            "an agent cannot write to the scope `global`",
            hint="use `shared`, or ask the user to run `hindsight remember --scope global`",
        )
