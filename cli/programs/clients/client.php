<?php
// 20 POSTs by PHP. usage: client.php stream|large|nodelay|curl|socket URL
[, $way, $url] = $argv;
$body = str_repeat("x", $way === "large" ? 9000 : 200);
$curl = $way === "curl" ? curl_init($url) : null;
$socket = $way === "socket" ? fsockopen(parse_url($url, PHP_URL_HOST), parse_url($url, PHP_URL_PORT)) : null;
for ($turn = 0; $turn < 20; $turn++) {
    if ($curl) {
        curl_setopt_array($curl, [CURLOPT_POSTFIELDS => $body, CURLOPT_RETURNTRANSFER => true]);
        curl_exec($curl);
    } elseif ($socket) {
        fwrite($socket, "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 200\r\n\r\n");
        fwrite($socket, $body);
        while (trim(fgets($socket)) !== "ok");
    } else {
        $options = ["http" => ["method" => "POST", "header" => "Content-Type: text/plain", "content" => $body]];
        $options += $way === "nodelay" ? ["socket" => ["tcp_nodelay" => true]] : [];
        file_get_contents($url, false, stream_context_create($options));
    }
}
