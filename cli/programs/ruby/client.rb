# frozen_string_literal: true

# Ruby's HTTP clients as people use them. usage: client.rb LIBRARY URL COUNT     (-r onewrite or onewrite/excon … before it)

require "uri"

# A body of unknown size: what a library is given when an upload is streamed.
class Pieces
  include Enumerable

  def each
    yield "x" * 100
    yield "x" * 100
  end
end

def net_http(url)
  require "net/http"
  http = Net::HTTP.start(url.host, url.port, use_ssl: url.scheme == "https")
  -> { http.post(url.path, "x" * 200, "Content-Type" => "text/plain") }
end

def http_rb(url)
  require "http"
  client = HTTP.persistent("#{url.scheme}://#{url.host}:#{url.port}")
  -> { client.post(url.path, body: "x" * 200).flush }
end

def http_rb_stream(url)
  require "http"
  client = HTTP.persistent("#{url.scheme}://#{url.host}:#{url.port}").headers("Transfer-Encoding" => "chunked")
  -> { client.post(url.path, body: Pieces.new).flush }
end

def excon(url)
  require "excon"
  client = Excon.new(url.to_s, persistent: true)
  -> { client.post(body: "x" * 200) }
end

def excon_stream(url)
  require "excon"
  client = Excon.new(url.to_s, persistent: true)
  lambda do
    pieces = ["x" * 100, "x" * 100, ""]
    client.post(request_block: -> { pieces.shift })
  end
end

def httpclient(url)
  require "httpclient"
  client = HTTPClient.new
  -> { client.post(url.to_s, body: "x" * 200) }
end

def httpclient_io(url)
  require "httpclient"
  require "stringio"
  client = HTTPClient.new
  -> { client.post(url.to_s, body: StringIO.new("x" * 200)) }
end

name, address, count = ARGV
post = send(name, URI(address))
count.to_i.times { post.call }
