"""Which case turns red for which mutant of the reference."""

from __future__ import annotations

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.run.adapters import reference
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.result import Result

__all__ = ["SEEN_BY", "killers"]

# Each mutant, and the runs that must see it. The whole reference passes the same runs.
SEEN_BY = {
    "nodelay": ["tcp/1/nodelay-fresh/onewrite/http/direct", "tcp/3/options-empty-list/onewrite/http/direct"],
    "nodelay_late": ["tcp/1/nodelay-fresh/onewrite/http/direct"],
    "nodelay_after_handshake": ["tcp/2/nodelay-before-handshake/onewrite/https/direct"],
    "lost_options": ["tcp/3/options-keepalive-only/onewrite/http/direct"],
    "overrides_user": ["tcp/3/options-nodelay-off-obeyed/onewrite/http/direct"],
    "quickack": ["tcp/13/quickack-split-answer/onewrite/http/direct"],
    "corks": ["tcp/11/no-cork/onewrite/http/direct", "wire/9/stream-chunked-gap/onewrite/http/direct"],
    "split": [
        "wire/1/post-200b/onewrite/http/direct",
        "wire/1/example-1/onewrite/https/direct",
        "wire/2/mss-four/onewrite/http/direct",
        "wire/2/boundary-below/onewrite/https/direct",
        "wire/7/memory-file/onewrite/http/direct",
        "wire/7/form/onewrite/http/direct",
        "wire/17/concurrent/onewrite/http/direct",
    ],
    "split_limited": ["wire/1/limit/onewrite/http/direct"],
    "head_alone": ["wire/4/post-1mb/onewrite/https/direct"],
    "record_split": ["wire/4/post-20k/onewrite/https/direct"],
    "empty_write": ["wire/6/post-empty-bytes/onewrite/http/direct"],
    "chunk_split": ["wire/10/stream-chunked-many/onewrite/https/direct"],
    "expect_ignored": ["wire/12/expect-continue/onewrite/http/direct"],
    "copies_large": ["wire/14/large-not-copied/onewrite/http/direct"],
    "byte_changed": ["same/1/plain/onewrite/http/direct"],
    "dup_post": ["same/3/read-and-closed-post/onewrite/http/direct"],
    "kept_open": ["same/3/connection-close/onewrite/http/direct"],
    "error_class": ["same/2/refused/onewrite/http/direct"],
    "error_message": ["same/2/refused/onewrite/http/direct"],
    "body_position": ["same/4/objects-memory-file/onewrite/http/direct"],
    "poison": ["same/3/unsolicited-answer/onewrite/http/direct"],
    "deaf": ["same/5/wait-timeout/onewrite/http/direct"],
    "ignores_kill_switch": ["same/6/off-hooks/onewrite/http/direct"],
    "reuse_given_up": ["same/7/cancelled/onewrite/http/direct"],
    "hooks": ["time/1/concurrent/onewrite/http/direct"],
    "lost_call_end": ["time/3/refused-events/onewrite/http/direct"],
    "double_call_end": ["time/3/fresh-events/onewrite/http/direct"],
    "out_of_order": ["time/3/reused-events/onewrite/http/direct"],
    "clock_back": ["time/5/anchor/onewrite/http/direct"],
    "zero_phase": ["time/7/reused-phases/onewrite/http/direct"],
    "stale_phase": ["time/7/by-name-reused/onewrite/http/direct"],
    "summed_attempts": ["time/10/redirect/onewrite/http/direct"],
    "early_request_start": ["time/11/tunnel-slow-proxy-not-tls/onewrite/https/connect"],
    "early_request_end": ["time/12/send/onewrite/http/direct"],
    "late_response_start": ["time/13/receive-split/onewrite/http/direct"],
    "early_response_start": ["time/29/wait/onewrite/http/direct"],
    "interim_ends_wait": ["time/13/interim/onewrite/http/direct"],
    "ends_unread": ["time/15/unread-body/onewrite/http/direct"],
    "no_queue": ["time/16/queue/onewrite/http/direct"],
    "connect_without_tunnel": ["time/17/tunnel-slow-proxy/onewrite/https/connect"],
    "one_conn_id": ["time/19/conn-requests/onewrite/http/direct"],
    "always_reusable": ["time/20/not-reusable/onewrite/http/direct"],
    "no_kind": ["time/21/refused/onewrite/http/direct"],
    "cancel_is_error": ["time/22/cancel-wait/onewrite/http/direct"],
    "raising_hook": ["time/23/raising-hooks/onewrite/http/direct"],
    "wrong_cause": ["time/26/cause-nagle/onewrite/http/direct"],
    "evidence_of_connection": ["time/28/evidence-segments/onewrite/http/direct"],
    "no_attempt": ["time/1/refused-request/onewrite/http/direct"],
    "wrong_total": ["time/9/fresh-post/onewrite/http/direct"],
    "wrong_distance": ["time/9/forward/onewrite/http/forward"],
    "hooks_replace": ["time/36/hooks-add/onewrite/http/direct"],
    "lost_phase": ["time/37/timeout-wait/onewrite/http/direct"],
    "credentials_shown": ["sec/17/credentials/onewrite/http/direct"],
    "silent": ["cfg/5/bad-words/onewrite/http/direct"],
    "one_is_false": ["cfg/3/true-words/onewrite/http/direct"],
    "observe": ["cfg/15/observe/onewrite/http/direct"],
    "unchecked_options": ["cfg/13/bad-code-value/onewrite/http/direct"],
    "installs_once": ["api/1/installed/onewrite/http/direct"],
    "uninstall": ["api/2/taken-out/onewrite/http/direct"],
    "again_fails": ["api/3/again/onewrite/http/direct"],
    "state": ["api/4/status-hooks/onewrite/http/direct"],
    "lone_on_timing": ["api/5/on-timing-alone/onewrite/http/direct"],
    "lone_listener": ["api/5/listener-alone/onewrite/http/direct"],
    "handle": ["time/36/handle/onewrite/http/direct"],
}


def killers(
    mutant: str | None, paths: list[str], cases: list[Case], requirements: dict[str, Requirement]
) -> list[Result]:
    """The results of these runs for the reference with `mutant` (None: whole)."""
    # A mutant may hang, which counts as seen: a short time limit is enough.
    timeout_s = 30.0 if mutant is None else 8.0
    judge = Judge(reference(mutant), cases, requirements, only=paths, stock=False, timeout_s=timeout_s)
    results = [result for result in judge.results() if result.path in paths]
    judge.finish(results)
    return results
