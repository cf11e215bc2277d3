"""What can be broken in the reference, one thing at a time."""

from __future__ import annotations

__all__ = ["MUTANTS", "broken", "choose"]

MUTANTS = {
    "nodelay": "TCP_NODELAY is never set",
    "nodelay_late": "TCP_NODELAY is set after the first answer",
    "nodelay_after_handshake": "TCP_NODELAY is set when the TLS handshake is over",
    "leaky_pool": "a closed client leaves its idle connections open",
    "evidence_of_connection": "kernel evidence counts since the connection was made",
    "silent": "a bad value in the environment is ignored without a warning",
    "split": "head and body leave in two writes",
    "split_limited": "with a time limit head and body leave in two writes",
    "split_unlimited": "without a time limit head and body leave in two writes",
    "wrong_total": "a call's total ends before its last event",
    "head_alone": "the head of a request larger than the limit leaves alone",
    "chunk_split": "a chunk's size line and its data leave in two writes",
    "record_split": "the first TLS record of a large request is not filled",
    "empty_write": "an empty body is announced as chunked and sent as an empty message of its own",
    "hooks": "no event or record is delivered",
    "late_response_start": "response_start is taken when the whole response has been read",
    "early_response_start": "response_start is taken when the request has been sent",
    "stale_phase": "a reused connection reports the phases of its making",
    "zero_phase": "a phase that did not happen is reported as 0",
    "lost_call_end": "a call that fails has no call_end",
    "double_call_end": "call_end comes twice",
    "interim_ends_wait": "a 1xx answer ends the wait",
    "summed_attempts": "a record's phases are summed over its attempts",
    "raising_hook": "a hook that raises breaks the request",
    "wrong_cause": "every long wait is blamed on the server",
    "server_timing_lost": "Server-Timing of a response is not read",
    "server_timing_old": "an attempt tells the Server-Timing of the attempt before it",
    "server_timing_interim": "Server-Timing of a 1xx answer is told as the response's",
    "server_timing_believed": "a server's time is told though it is longer than the wait",
    "dup_post": "a POST whose connection broke is sent again",
    "poison": "bytes on an idle connection are taken for the next answer",
    "reuse_early": "a connection on which the body was not fully sent is used again",
    "deaf": "an early answer is not heard while the body is being sent",
    "crlf": "control characters in headers and targets are sent",
    "both_framings": "Content-Length and Transfer-Encoding are sent together",
    "unframed_delete": "the body of a DELETE is sent without Content-Length and Transfer-Encoding",
    "wrong_length": "a body that is not as long as its Content-Length is sent",
    "truncation": "a body that ends early is delivered as whole",
    "head_body": "bytes behind an answer to HEAD are delivered as its body",
    "trust_all": "certificates and names are not verified",
    "lost_options": "the user's socket options are not set",
    "overrides_user": "TCP_NODELAY is set although the user said 0",
    "ignores_kill_switch": "ONEWRITE_DISABLED changes nothing",
    "unchecked_options": "a bad option in code is taken",
    "credentials_told": "a record's URL holds user, password and signatures",
    "no_attempt": "a refused call has a record without an attempt",
    "one_is_false": "a switch is thrown by the word true alone",
    "copies_large": "large bodies are copied to be joined with their head",
    "expect_ignored": "the body does not wait for 100 Continue",
    "uninstall": "taking the adapter out changes nothing",
    "installs_once": "an adapter that was taken out stays out",
    "state": "the state is always in force, without hooks and without errors",
    "lone_on_timing": "on_timing without a listener gets nothing",
    "lone_listener": "a listener without on_timing gets nothing",
    "handle": "the handle of one hook takes all of them away",
    "no_keepalive": "every request makes a connection of its own",
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
