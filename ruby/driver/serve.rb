# frozen_string_literal: true

require "socket"
require_relative "exchange"

# The bridge: a small HTTP/1.1 service that forwards each request as a POST to an upstream, through the client.
# Keep-alive, NODELAY, one write per answer; GET /null answers without going upstream.
module Serve
  module_function

  # @return [Integer] the port it listens on
  def start(client, message)
    server = TCPServer.new("127.0.0.1", message["port"].to_i)
    upstream = message.fetch("upstream")
    Thread.new do
      loop do
        socket = server.accept
        socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
        Thread.new { connection(socket, client, upstream) }
      end
    end
    server.addr[1]
  end

  def connection(socket, client, upstream)
    while (line = socket.gets("\r\n"))
      method, path, = line.split
      fields = head(socket)
      body = fields["content-length"] ? socket.read(fields["content-length"].to_i) : nil
      status, answer = method == "GET" && path == "/null" ? [200, ""] : forward(client, upstream, body)
      reason = status == 200 ? "OK" : "Other"
      socket.write("HTTP/1.1 #{status} #{reason}\r\nContent-Length: #{answer.bytesize}\r\n\r\n".b << answer.b)
      break if fields["connection"].to_s.casecmp?("close")
    end
  rescue SystemCallError, IOError
    nil # the caller went away
  ensure
    socket.close
  end

  def head(socket)
    fields = {}
    while (line = socket.gets("\r\n")) && line != "\r\n"
      name, value = line.split(":", 2)
      fields[name.downcase] = value.strip
    end
    fields
  end

  def forward(client, upstream, body)
    response = client.session(upstream, nil) do |http, path|
      request = Net::HTTP::Post.new(path)
      request.body = body || ""
      http.request(request)
    end
    [response.code.to_i, response.body.to_s]
  rescue StandardError => e
    [502, "#{e.class}: #{e.message}"]
  end
end
