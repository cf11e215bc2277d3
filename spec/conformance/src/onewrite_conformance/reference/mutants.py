"""The mutants of the reference: each breaks one thing."""

from __future__ import annotations

__all__ = ["MUTANTS", "broken", "choose"]

MUTANTS = {
    "nodelay": "TCP_NODELAY is never set",
    "nodelay_late": "TCP_NODELAY is set after the first answer",
    "nodelay_after_handshake": "TCP_NODELAY is set when the TLS handshake is over",
    "lost_options": "the user's socket options are not set",
    "overrides_user": "TCP_NODELAY is set although the user said 0",
    "quickack": "TCP_QUICKACK is set before the request alone",
    "corks": "a stream waits until it is whole",
    "split": "head and body leave in two writes",
    "split_limited": "with a time limit head and body leave in two writes",
    "head_alone": "the head of a request larger than the limit leaves alone",
    "record_split": "the first TLS record of a large request is not filled",
    "empty_write": "the head of a request without a body leaves in two writes",
    "chunk_split": "a chunk's size line and its data leave in two writes",
    "expect_ignored": "the body does not wait for 100 Continue",
    "copies_large": "large bodies are copied to be joined with their head",
    "byte_changed": "a byte of a header name is another one",
    "dup_post": "a POST whose connection broke is sent again",
    "kept_open": "a connection that should close is used again",
    "error_class": "a call that fails has another class of error",
    "error_message": "a call that fails has another message",
    "body_position": "a readable body stands at its beginning after the call",
    "poison": "bytes on an idle connection are taken for the next answer",
    "deaf": "time limits end no call that waits",
    "ignores_kill_switch": "ONEWRITE_DISABLED changes nothing",
    "reuse_given_up": "a connection whose call was given up is used again",
    "hooks": "no event or record is delivered",
    "lost_call_end": "a call that fails has no call_end",
    "double_call_end": "call_end comes twice",
    "out_of_order": "connection_acquired comes after request_start",
    "clock_back": "times of events go back",
    "zero_phase": "a phase that did not happen is reported as 0",
    "stale_phase": "a reused connection reports the phases of its making",
    "summed_attempts": "a record's phases are summed over its attempts",
    "early_request_start": "request_start is taken before the connection is made",
    "early_request_end": "request_end is taken when the first write begins",
    "late_response_start": "response_start is taken when the whole response has been read",
    "early_response_start": "response_start is taken when the request has been sent",
    "interim_ends_wait": "a 1xx answer ends the wait",
    "ends_unread": "a body that is given up has a response_end",
    "no_queue": "waiting for a connection is no phase",
    "connect_without_tunnel": "the CONNECT exchange is not part of connect",
    "one_conn_id": "every connection has the same number of requests",
    "always_reusable": "each connection is released as reusable",
    "no_kind": "a failed call has no error_kind",
    "cancel_is_error": "a cancelled call ends as an error",
    "raising_hook": "a hook that raises breaks the request",
    "wrong_cause": "every long wait is blamed on the server",
    "evidence_of_connection": "kernel evidence counts since the connection was made",
    "no_attempt": "a refused call has a record without an attempt",
    "wrong_total": "a call's total ends before its last event",
    "wrong_distance": "a phase is longer than its events are apart",
    "hooks_replace": "hooks that are set later end those before",
    "lost_phase": "the phase in which an attempt failed is absent",
    "credentials_shown": "a record's URL holds user, password and signatures",
    "silent": "a bad value in the environment is ignored without a warning",
    "one_is_false": "a switch is thrown by the word true alone",
    "observe": "observing, requests are joined all the same",
    "unchecked_options": "a bad option in code is taken",
    "installs_once": "an adapter that was taken out stays out",
    "uninstall": "taking the adapter out changes nothing",
    "again_fails": "installing twice calls hooks twice",
    "state": "the state is always in force, without hooks and without errors",
    "lone_on_timing": "on_timing without a listener gets nothing",
    "lone_listener": "a listener without on_timing gets nothing",
    "handle": "the handle of one hook takes all of them away",
}

_chosen: set[str] = set()


def choose(name: str) -> None:
    """Break this one thing. Raises ValueError with the list of names."""
    if name not in MUTANTS:
        raise ValueError(f"no mutant {name}; there are {', '.join(MUTANTS)}")
    _chosen.add(name)


def broken(name: str) -> bool:
    assert name in MUTANTS, name
    return name in _chosen
