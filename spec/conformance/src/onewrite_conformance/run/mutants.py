"""Which case turns red for which mutant of the reference."""

from __future__ import annotations

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.places import CONFORMANCE
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.run.adapters import reference
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.result import Result

__all__ = ["OWN_CASES", "SEEN_BY", "killers"]

# Cases for the reference alone: what no requirement asks of every client, but the judge must be able to see.
OWN_CASES = CONFORMANCE / "tests" / "cases"

# Each mutant, and the runs that must see it. The whole reference passes the same runs.
SEEN_BY = {
    "nodelay": ["tcp-nodelay-fresh/onewrite/http/direct", "tcp-nodelay-before-handshake/onewrite/https/direct"],
    "nodelay_late": ["tcp-nodelay-fresh/onewrite/http/direct"],
    "nodelay_after_handshake": ["tcp-nodelay-before-handshake/onewrite/https/direct"],
    "leaky_pool": ["pool-closed/onewrite/http/direct", "pool-closed/onewrite/https/direct"],
    "evidence_of_connection": ["time-evidence-segments/onewrite/http/direct"],
    "silent": ["cfg-coalesce-max-word/onewrite/http/direct"],
    "split": ["wire-post-200b/onewrite/http/direct", "example-wire-1-1/onewrite/https/direct"],
    "split_limited": ["wire-post-200b/onewrite/http/direct"],
    "split_unlimited": ["wire-post-200b/onewrite/https/direct"],
    "wrong_total": ["time-fresh-post/onewrite/http/direct"],
    "head_alone": ["wire-post-20k/onewrite/https/direct"],
    "chunk_split": ["wire-stream-chunked-many/onewrite/https/direct"],
    "record_split": ["example-wire-5-1/onewrite/https/direct"],
    "empty_write": ["wire-post-empty-bytes/onewrite/http/direct"],
    "hooks": ["time-fresh-post/onewrite/http/direct"],
    "late_response_start": ["time-receive-split/onewrite/http/direct"],
    "early_response_start": ["time-wait/onewrite/http/direct"],
    "stale_phase": ["time-reused-phases/onewrite/http/direct"],
    "zero_phase": ["time-reused-phases/onewrite/http/direct"],
    "lost_call_end": ["time-refused/onewrite/http/direct"],
    "double_call_end": ["time-fresh-events/onewrite/http/direct"],
    "interim_ends_wait": ["time-interim/onewrite/http/direct"],
    "summed_attempts": ["sec-redirect-timing/onewrite/http/direct"],
    "raising_hook": ["time-raising-hooks/onewrite/http/direct"],
    "wrong_cause": ["time-cause-nagle/onewrite/http/direct"],
    "server_timing_lost": ["time-server-timing/onewrite/http/direct", "time-server-timing-many/onewrite/http/direct"],
    "server_timing_old": ["time-server-timing-redirect/onewrite/http/direct"],
    "server_timing_interim": ["time-server-timing-interim/onewrite/http/direct"],
    "server_timing_believed": ["time-server-timing-too-long/onewrite/http/direct"],
    "dup_post": ["pool-read-and-closed-post/onewrite/http/direct"],
    "poison": ["pool-unsolicited-answer/onewrite/http/direct"],
    "reuse_early": ["pool-early-answer-unsent-body/onewrite/http/direct"],
    "deaf": ["judge-early-answer-unread/onewrite/http/direct"],
    "crlf": ["sec-value-crlf/onewrite/http/direct", "sec-name-crlf/onewrite/http/direct"],
    "both_framings": ["sec-length-and-coding/onewrite/http/direct"],
    "unframed_delete": ["sec-framed-delete/onewrite/http/direct", "sec-framed-delete-stream/onewrite/https/direct"],
    "wrong_length": ["sec-length-too-small/onewrite/http/direct"],
    "truncation": ["sec-floor-truncated-length/onewrite/http/direct"],
    "head_body": ["sec-outside-head/onewrite/http/direct"],
    "trust_all": ["sec-certificate-name/onewrite/https/direct", "sec-certificate-authority/onewrite/https/direct"],
    "lost_options": ["tcp-options-keepalive-only/onewrite/http/direct"],
    "overrides_user": ["tcp-options-nodelay-off-obeyed/onewrite/http/direct"],
    "ignores_kill_switch": ["cfg-disabled-post/onewrite/http/direct", "cfg-disabled-hooks/onewrite/http/direct"],
    "unchecked_options": ["cfg-bad-code-value/onewrite/http/direct", "cfg-bad-code-unknown/onewrite/http/direct"],
    "credentials_told": ["sec-told-credentials/onewrite/http/direct", "sec-told-signature/onewrite/http/direct"],
    "no_attempt": ["err-refused-input-record/onewrite/http/direct"],
    "one_is_false": ["cfg-one-disables/onewrite/http/direct", "cfg-true-mixed-case/onewrite/http/direct"],
    "copies_large": ["judge-large-not-copied/onewrite/http/direct"],
    "expect_ignored": ["wire-expect-continue/onewrite/http/direct"],
    "uninstall": ["api-taken-out/onewrite/http/direct", "api-taken-out-hooks/onewrite/https/direct"],
    "installs_once": ["api-installed/onewrite/http/direct"],
    "state": [f"api-status-{one}/onewrite/http/direct" for one in ("hooks", "hook-errors", "taken-out", "disabled")],
    "lone_on_timing": ["api-on-timing-alone/onewrite/http/direct"],
    "lone_listener": ["api-listener-alone/onewrite/http/direct"],
    "handle": ["api-handle/onewrite/http/direct"],
    "no_keepalive": ["pool-reuse/onewrite/http/direct"],
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
