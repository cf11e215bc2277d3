"""The cure for one client, by its User-Agent: the row of docs/do-i-have-it.md, in a line."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["cure_for"]

OBSERVE = " (with ONEWRITE_OBSERVE=true it only measures)"
ONEWRITE_PYTHON = "pip install onewrite, then onewrite.install()" + OBSERVE
NODE_AGENT = "give it the Agent or HttpsAgent of onewrite (npm install onewrite)"


def gem(file: str) -> str:
    return f'gem "onewrite", then require "{file}"'


#: User-Agent, cure of split requests (OW101, OW103, OW105), cure of Nagle (OW102).
CURES = (
    (r"python-requests/|python-urllib3/|[Bb]oto(core|3)/|sentry\.python", ONEWRITE_PYTHON, ONEWRITE_PYTHON),
    (r"python-httpx2?/|OpenAI/Python|Anthropic/Python", "pip install onewrite, then onewrite.httpx.install()",
     "take TCP_NODELAY into your own socket_options"),
    (r"Python-urllib/", "http.client writes head and body apart; use urllib3 with onewrite.install()",
     "set TCP_NODELAY on HTTPConnection.sock after connect()"),
    (r"http\.rb/", f"give the body as a String, or {gem('onewrite/http_rb')}, which ends the stall", "HTTP.nodelay"),
    (r"excon/", f"give the body as a String (body:) instead of request_block:, or {gem('onewrite/excon')}, which ends the stall",
     "tcp_nodelay: true"),
    (r"HTTPClient/", f"give the body as a String, or {gem('onewrite/httpclient')}, which ends the stall",
     f"{gem('onewrite/httpclient')}: HTTPClient has no option"),
    (r"Ruby\b|Faraday|rest-client", gem("onewrite"), gem("onewrite")),
    (r"axios/|got \(|node-fetch|aws-sdk-js", NODE_AGENT, NODE_AGENT),
    (r"undici|node$", "use the Agent of onewrite (npm install onewrite)", "set noDelay in your own connect function"),
    (r"okhttp/", "use onewrite-okhttp", "use onewrite-okhttp: OkHttp has no option, but a socketFactory can set it"),
    (r"Java-http-client/|Java/", "the JDK's clients have no option: use onewrite's client, or OkHttp with onewrite-okhttp",
     "the JDK's clients set TCP_NODELAY: look for a relay or a wrapper that opens the socket"),
    (r"ReactorNetty/|AHC/|Spring", "use onewrite-reactor-netty or onewrite-ahc", "option(ChannelOption.TCP_NODELAY, true)"),
    (r"Apache-HttpClient/", "give an entity that is in memory, and a larger buffer (Http1Config)",
     "SocketConfig.setTcpNoDelay(true)"),
    (r"Go-http-client/", "http.Transport{WriteBufferSize: 16 << 10}: the default is 4 KiB for head and body together",
     "a custom DialContext lost it: call SetNoDelay(true) on its *net.TCPConn"),
    (r"GuzzleHttp/|PHP", "PHP's streams write head and body apart: use the curl extension (Guzzle's default handler)",
     "PHP 7.1 and newer: the stream context option socket.tcp_nodelay"),
    (r"reqwest/", "give the body as bytes or a String, not as a stream", "ClientBuilder::tcp_nodelay(true), its default"),
    (r"Wget/", "wget has no option: use curl", "wget has no option: use curl"),
    (r"curl/", "give the body with -d or --data-binary, not -T from a pipe", "leave out --no-tcp-nodelay"),
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
