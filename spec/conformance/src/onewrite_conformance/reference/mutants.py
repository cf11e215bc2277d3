"""The mutants of the reference: each breaks one thing, and the runs that it names must see it.

A run is the client `onewrite` by http, direct, where nothing else stands behind its case.
"""

from __future__ import annotations

__all__ = ["MUTANTS", "broken", "choose", "seen_by"]

MUTANTS = {
    "nodelay": ("TCP_NODELAY is never set", "tcp/1/nodelay-fresh-connections", "tcp/3/options-empty-list"),
    "nodelay_late": ("TCP_NODELAY is set after the first answer", "tcp/1/nodelay-fresh-connections"),
    "nagle_again": ("TCP_NODELAY is taken away after each answer", "wire/1/post-200b"),
    "nodelay_after_handshake": (
        "TCP_NODELAY is set when the TLS handshake is over",
        "tcp/2/nodelay-before-handshake https/direct",
    ),
    "lost_options": ("the user's socket options are not set", "tcp/3/options-keepalive-only"),
    "overrides_user": ("TCP_NODELAY is set although the user said 0", "tcp/3/options-nodelay-off-obeyed"),
    "quickack": ("TCP_QUICKACK is set before the request alone", "tcp/13/quickack-split-answer"),
    "corks": ("a stream waits until it is whole", "tcp/11/no-cork", "wire/9/stream-chunked-gap"),
    "split": (
        "head and body leave in two writes",
        "wire/1/post-200b",
        "wire/1/example-1 https/direct",
        "wire/2/mss-four",
        "wire/2/boundary-below https/direct",
        "wire/7/memory-file-15k",
        "wire/7/example-3",
        "wire/17/concurrent",
    ),
    "split_limited": ("with a time limit head and body leave in two writes", "wire/1/limit"),
    "head_alone": ("the head of a request larger than the limit leaves alone", "wire/4/post-1mb https/direct"),
    "record_split": ("the first TLS record of a large request is not filled", "wire/4/boundary-above https/direct"),
    "empty_write": ("the head of a request without a body leaves in two writes", "wire/6/post-empty-bytes"),
    "chunk_split": ("a chunk's size line and its data leave in two writes", "wire/10/stream-chunked-many https/direct"),
    "expect_ignored": ("the body does not wait for 100 Continue", "wire/12/example-1"),
    "copies_large": ("large bodies are copied to be joined with their head", "wire/14/large-not-copied"),
    "byte_changed": ("a byte of a header name is another one", "same/1/plain"),
    "connect_target": ("CONNECT names another authority", "same/1/tunnel https/connect"),
    "dup_post": ("a POST whose connection broke is sent again", "same/3/read-and-closed-post"),
    "kept_open": ("a connection that should close is used again", "same/3/connection-close"),
    "error_class": ("a call that fails has another class of error", "same/2/refused"),
    "error_message": ("a call that fails has another message", "same/2/refused"),
    "body_position": ("a readable body stands at its beginning after the call", "same/4/objects-memory-file"),
    "poison": ("bytes on an idle connection are taken for the next answer", "same/3/unsolicited-answer"),
    "deaf": ("time limits end no call that waits", "same/5/wait-timeout"),
    "ignores_kill_switch": ("ONEWRITE_DISABLED changes nothing", "same/6/off-hooks"),
    "reuse_given_up": ("a connection whose call was given up is used again", "same/7/cancelled"),
    "hooks": ("no event or record is delivered", "time/1/concurrent"),
    "mixed_records": ("of requests at the same time one gets the record of another", "time/1/concurrent"),
    "lost_call_end": ("a call that fails has no call_end", "time/21/refused"),
    "double_call_end": ("call_end comes twice", "time/3/fresh-events"),
    "out_of_order": ("connection_acquired comes after request_start", "time/3/reused-events"),
    "clock_back": ("times of events go back", "time/5/anchor"),
    "wall_clock": ("the wall clock of a record is an hour off", "time/5/anchor"),
    "zero_phase": ("a phase that did not happen is reported as 0", "time/7/reused-phases"),
    "stale_phase": ("a reused connection reports the phases of its making", "time/17/by-name"),
    "summed_attempts": ("a record's phases are summed over its attempts", "time/10/redirect"),
    "early_request_start": (
        "request_start is taken before the connection is made",
        "time/17/tunnel-slow-proxy https/connect",
    ),
    "early_request_end": ("request_end is taken when the first write begins", "time/12/send"),
    "wrong_bytes": ("the bytes of a request lack one", "time/12/record-fields"),
    "late_response_start": ("response_start is taken when the whole response has been read", "time/13/receive-split"),
    "early_response_start": ("response_start is taken when the request has been sent", "time/29/wait"),
    "interim_ends_wait": ("a 1xx answer ends the wait", "time/13/interim"),
    "ends_unread": ("a body that is given up has a response_end", "time/15/unread-body"),
    "no_queue": ("waiting for a connection is no phase", "time/16/queue"),
    "connect_without_tunnel": (
        "the CONNECT exchange is not part of connect",
        "time/17/tunnel-slow-proxy https/connect",
    ),
    "one_conn_id": ("every connection has the same number of requests", "time/19/conn-requests"),
    "idle_since_made": ("a connection is idle since it was made", "time/19/conn-requests"),
    "same_conn_id": ("all connections have one conn_id", "time/20/not-reusable"),
    "always_reusable": ("each connection is released as reusable", "time/20/not-reusable"),
    "no_kind": ("a failed call has no error_kind", "time/21/refused"),
    "cancel_is_error": ("a cancelled call ends as an error", "time/22/cancel-wait"),
    "raising_hook": ("a hook that raises breaks the request", "time/23/raising-hooks"),
    "wrong_cause": ("every long wait is blamed on the server", "time/26/cause-nagle"),
    "evidence_of_connection": ("kernel evidence counts since the connection was made", "time/28/evidence-after-loss"),
    "no_attempt": ("a refused call has a record without an attempt", "time/1/refused-request"),
    "wrong_total": ("a call's total ends before its last event", "time/9/fresh-post"),
    "wrong_distance": ("a phase is longer than its events are apart", "time/9/fresh-post http/forward"),
    "hooks_replace": ("hooks that are set later end those before", "time/36/handle"),
    "lost_phase": ("the phase in which an attempt failed is absent", "time/37/timeout-wait"),
    "credentials_shown": ("a record's URL holds user, password and signatures", "sec/17/credentials"),
    "silent": ("a bad value in the environment is ignored without a warning", "cfg/5/bad-words"),
    "one_is_false": ("a switch is thrown by the word true alone", "cfg/3/true-words"),
    "observe": ("observing, requests are joined all the same", "cfg/15/observe"),
    "unchecked_options": ("a bad option in code is taken", "cfg/13/bad-code-value"),
    "installs_once": ("an adapter that was taken out stays out", "api/1/installed"),
    "uninstall": ("taking the adapter out changes nothing", "api/2/taken-out"),
    "again_fails": ("installing twice calls hooks twice", "api/3/again"),
    "state": ("the state is always in force, without hooks and without errors", "api/4/status-hooks"),
    "lone_on_timing": ("on_timing without a listener gets nothing", "api/5/on-timing-alone"),
    "lone_listener": ("a listener without on_timing gets nothing", "api/5/listener-alone"),
    "handle": ("the handle of one hook takes all of them away", "time/36/handle"),
}

_chosen: set[str] = set()


def seen_by(name: str) -> list[str]:
    """The paths of the runs that must see this mutant. The whole reference passes them."""
    parted = (run.partition(" ") for run in MUTANTS[name][1:])
    return [f"{case}/onewrite/{way or 'http/direct'}" for case, _, way in parted]


def choose(name: str) -> None:
    """Break this one thing."""
    _chosen.add(name)


def broken(name: str) -> bool:
    assert name in MUTANTS, name
    return name in _chosen
