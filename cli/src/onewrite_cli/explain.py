"""`onewrite explain`: what a finding means and what helps; and what a cause means in a record of onewrite or in `watch`."""

from __future__ import annotations

from onewrite_cli.common.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.common.rules import RULES, rule_named
from onewrite_cli.common.terminal import print_out, wrapped

__all__ = ["CAUSES", "explain"]

#: Of a wait of 20 ms or more; the largest of its three shares names it: held, unread, the rest. `cork` is of this tool alone.
CAUSES = {
    "nagle_delayed_ack": "The kernel held a second write until the first was acknowledged: TCP_NODELAY or one write ends it.",
    "peer_window": "The kernel held bytes because the receiver's window was full: the receiver reads too slowly.",
    "retransmit": "The kernel held bytes while it sent a lost segment again: the network, or a full queue on the way.",
    "cork": "The kernel held bytes because the program asked it to (MSG_MORE, TCP_CORK): flush behind the last piece.",
    "client": "The answer lay in the client's own socket buffer: its threads, interpreter lock, event loop or reactor were busy.",
    "server": "Neither: all bytes had left and none had come. The server, or a hop behind the first, took the time.",
}


def explain(name: str | None) -> ExitStatus:
    """Print one rule or cause, or the list of all. Raises CouldNotRun."""
    if name is None:
        lines = [line for rule in RULES for line in wrapped(f"{rule.id}  {rule.name:<16} {rule.title}", "", " " * 7)]
        lines += ["", *wrapped(f"causes of a wait: {', '.join(CAUSES)}", "", "  ")]
        print_out("\n".join([*lines, "", *wrapped("`onewrite explain OW101` says more of one.")]))
        return ExitStatus.CLEAN
    if name.lower() in CAUSES:
        print_out("\n".join(wrapped(f"{name.lower()}: {CAUSES[name.lower()]}", "", "  ")))
        return ExitStatus.CLEAN
    try:
        rule = rule_named(name)
    except KeyError:
        names = ", ".join([*(f"{rule.id} ({rule.name})" for rule in RULES), *CAUSES])
        raise CouldNotRun(f"there is no rule or cause {name!r}: {names}") from None
    parts = [f"{rule.id}  {rule.name}: {rule.title}", rule.means, rule.why, f"Decides: {rule.decides}"]
    parts += [f"Cure: {rule.cure}.", f"Seen by: {rule.seen_by}."]
    severity = "it costs time, so the check fails" if rule.is_stall else "it costs no time, so the check warns (--strict: fails)"
    parts.append(f"When found: {severity}. --rule {rule.name}=fail, warn or off says otherwise.")
    print_out("\n\n".join("\n".join(wrapped(part)) for part in parts))
    return ExitStatus.CLEAN
