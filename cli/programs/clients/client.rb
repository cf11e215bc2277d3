# 20 POSTs by an HTTP library of Ruby. usage: client.rb LIBRARY URL
require "net/http"
require "stringio"

library, url = ARGV
body = "x" * 200
uri = URI(url)
net = lambda do |&send|
  Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == "https") { |http| 20.times { send.call(http) } }
end

case library
when "net_http" then net.call { |http| http.post("/", body) }
when "net_http_each" then 20.times { Net::HTTP.post(uri, body) }
when "net_http_stream"
  net.call do |http|
    request = Net::HTTP::Post.new("/", "Content-Length" => "200")
    request.body_stream = StringIO.new(body)
    http.request(request)
  end
when "excon"
  require "excon"
  connection = Excon.new(url, persistent: true)
  20.times { connection.post(body: body) }
when "excon_stream"
  require "excon"
  connection = Excon.new(url, persistent: true)
  20.times do
    parts = [body[0, 100], body[100, 100]]
    connection.post(request_block: -> { parts.shift.to_s })
  end
when "excon_nodelay"
  require "excon"
  connection = Excon.new(url, persistent: true, tcp_nodelay: true)
  20.times { connection.post(body: body) }
when "http_rb_nodelay"
  require "http"
  HTTP.nodelay.persistent(url) { |http| 20.times { http.post("/", body: body).flush } }
when "http_rb"
  require "http"
  HTTP.persistent(url) { |http| 20.times { http.post("/", body: body).flush } }
when "http_rb_stream"
  require "http"
  streamed = HTTP.headers("Transfer-Encoding" => "chunked").persistent(url)
  20.times { streamed.post("/", body: [body[0, 100], body[100, 100]]).flush }
when "httpclient"
  require "httpclient"
  client = HTTPClient.new
  client.ssl_config.add_trust_ca(ENV["SSL_CERT_FILE"]) if ENV["SSL_CERT_FILE"]
  20.times { client.post(url, body) }
when "httpclient_io"
  require "httpclient"
  client = HTTPClient.new
  20.times { client.post(url, StringIO.new(body)) }
when "faraday"
  require "faraday"
  20.times { Faraday.post(url, body) }
when "rest_client"
  require "rest-client"
  20.times { RestClient.post(url, body) }
when "httparty"
  require "httparty"
  20.times { HTTParty.post(url, body: body) }
else abort "no such library: #{library}"
end
