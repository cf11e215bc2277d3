"""The cure for one client, by its User-Agent, or by the name of its program. programs/clients.py has a test of each."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["cure_for"]

PACKAGES = "https://github.com/onewrite/onewrite/tree/main"


def onewrite(language: str, use: str) -> str:
    """No package is on a registry yet: the README says how to install it."""
    return f"onewrite ({PACKAGES}/{language}#readme): {use}"


def gem(file: str) -> str:
    return onewrite("ruby", f'require "onewrite{file}"')


INSTALL = onewrite("python", "onewrite.install(); with ONEWRITE_OBSERVE=true it only measures")
AGENTS = onewrite("node", "its HttpAgent or HttpsAgent")
CLIENT = onewrite("java", "its client, or its classes for OkHttp")
LWP_NODELAY = "@LWP::Protocol::http::EXTRA_SOCK_OPTS = (Sockopts => [[IPPROTO_TCP, TCP_NODELAY, 1]])"
LUA_NODELAY = 'a `create` function that makes socket.tcp4() and calls setoption("tcp-nodelay", true)'

#: User-Agent, cure of split requests (OW101, OW103, OW105), cure of Nagle (OW102).
CURES = (
    (r"python-requests/|python-urllib3/|[Bb]oto(core|3)/|sentry\.python", INSTALL, INSTALL),
    (r"python-httpx2?/|OpenAI/Python|Anthropic/Python", onewrite("python", "onewrite.httpx.install()"),
     "httpcore sets it: look for a transport of your own"),
    (r"Python-urllib/", "http.client writes head and body apart; use urllib3 with " + INSTALL,
     "set TCP_NODELAY on HTTPConnection.sock after connect()"),
    (r"http\.rb/", f"give the body as a String, or {gem('/http_rb')}, which ends the stall", "HTTP.nodelay"),
    (r"excon/", f"give the body as a String (body:) instead of request_block:, or {gem('/excon')}, which ends the stall",
     "tcp_nodelay: true"),
    (r"HTTPClient/", f"give the body as a String, or {gem('/httpclient')}, which ends the stall",
     f"{gem('/httpclient')}: HTTPClient has no option"),
    (r"Ruby\b|Faraday|rest-client", gem(""), gem("")),
    (r"^node |axios/|got \(|node-fetch|aws-sdk-js", AGENTS, AGENTS),
    (r"undici|node$", onewrite("node", "its Agent"), "set noDelay in your own connect function"),
    (r"okhttp/", CLIENT, "OkHttp has no option: a socketFactory can set it, or " + CLIENT),
    (r"Java-http-client/|Java/", "the JDK's clients have no option: " + CLIENT,
     "the JDK's clients set TCP_NODELAY: look for a relay or a wrapper that opens the socket"),
    (r"ReactorNetty/|AHC/|Spring", onewrite("java", "its classes for Reactor Netty or async-http-client"),
     "option(ChannelOption.TCP_NODELAY, true)"),
    (r"Go-http-client/", "give the body as a strings.Reader, bytes.Reader or bytes.Buffer; where it has more than some 3 KiB, "
     "also http.Transport{WriteBufferSize: 16 << 10}", "a custom DialContext lost it: call SetNoDelay(true) on its *net.TCPConn"),
    (r"^php |PHP|GuzzleHttp/", "use the curl extension, Guzzle's default handler",
     "the stream context option socket.tcp_nodelay"),
    (r"HTTP-Tiny/", "HTTP::Tiny has no option: use LWP::UserAgent with a string as content, up to 8 KiB, or " + LWP_NODELAY,
     "HTTP::Tiny has no option: LWP::UserAgent, with " + LWP_NODELAY),
    (r"libwww-perl/", "give the content as a string, up to 8 KiB. It does not stall with " + LWP_NODELAY, LWP_NODELAY),
    (r"LuaSocket", "LuaSocket writes head and body apart, and does not stall with " + LUA_NODELAY, LUA_NODELAY),
    (r"Wget/", "wget has no option: use curl", "wget has no option: use curl"),
    (r"ApacheBench/|\(JoeDog", "it has no option", "it has no option; it costs nothing here, where each request is one write"),
    (r"curl/", "give the body with -d or --data-binary, not -F, nor -T from a pipe", "leave out --no-tcp-nodelay"),
)  # fmt: skip


def cure_for(rule_id: str, user_agents: Iterable[str]) -> str | None:
    """The cure, if all requests come from one client that is in the table."""
    wanted = {"OW101": 1, "OW103": 1, "OW105": 1, "OW102": 2}.get(rule_id)
    if wanted is None:
        return None
    found = set()
    for agent in set(user_agents):
        found.add(next((row[wanted] for row in CURES if re.search(row[0], agent)), None))
    return found.pop() if len(found) == 1 else None
