# frozen_string_literal: true

require_relative "support/helper"

# TCP_NODELAY for other clients, beside their default. The option is read from the client's own socket.
class ClientsTest < OnewriteTest
  CLIENTS = {
    "excon" => <<~'RUBY',
      SEND = lambda do |url|
        pieces = %w[a b]
        excon = Excon.new(url, persistent: true)
        3.times { excon.post(path: "/", request_block: -> { pieces.shift.to_s }) && pieces.concat(%w[a b]) }
        excon
      end
    RUBY
    "http_rb" => <<~'RUBY',
      SEND = lambda do |url|
        client = HTTP.persistent(url)
        3.times { client.post("/", headers: { "Transfer-Encoding" => "chunked" }, body: %w[a b].each).flush }
        client
      end
    RUBY
    "httpclient" => <<~'RUBY'
      SEND = lambda do |url|
        client = HTTPClient.new
        3.times { client.post(url, StringIO.new("x" * 200)) }
        client
      end
    RUBY
  }.freeze

  # The switches are there, though neither "onewrite" nor "onewrite/api" was loaded.
  CLIENTS.each do |name, code|
    define_method("test_#{name} has TCP_NODELAY until it is switched off, and has it not by default") do
      tap = tap_server
      out = ruby(<<~RUBY, env: { "PORT" => tap.port.to_s }, options: ["-W0"])
        require "socket"
        require "stringio"
        require "#{{ "http_rb" => "http" }.fetch(name, name)}"
        #{code}
        def on?
          kept = SEND.call("http://127.0.0.1:" + ENV["PORT"])
          open = ObjectSpace.each_object(BasicSocket).reject(&:closed?).select do |one|
            one.remote_address.ip_port == ENV["PORT"].to_i
          end
          found = open.map { |one| one.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY).bool }
          open.each(&:close)
          kept && found.uniq
        end
        p on?
        require "onewrite/#{name}"
        [-> {}, -> { Onewrite.configure(observe: true) }, -> { Onewrite.configure(observe: nil, nodelay_disabled: true) },
         -> { Onewrite.configure(nodelay_disabled: nil) }, -> { Onewrite.disable! }, -> { Onewrite.enable! }].each do |switch|
          switch.call
          puts [on?.inspect, Onewrite.enabled?, *Onewrite.status[:clients].values].join(" ")
        end
      RUBY
      on = "[true] false on\n"
      off = "[false] false off\n"
      assert_equal ["[false]\n", on, off, off, on, off, "[true] true on\n"], out.lines
      assert_equal 21, tap.seen.size
    end
  end

  { "excon" => ["Excon.defaults[:tcp_nodelay] = false", "Excon.defaults[:tcp_nodelay]"],
    "http_rb" => ["HTTP.default_options = HTTP.default_options.with_nodelay(false)", "HTTP.default_options.nodelay"] }
    .each do |name, (set, read)|
    define_method("test_a default of #{name} that the program sets stays when another option changes") do
      out = ruby("require 'onewrite/#{name}'; p #{read}; #{set}; Onewrite.configure(quickack: true); p #{read}", options: ["-W0"])
      assert_equal "true\nfalse\n", out
    end
  end

  # What counts is whether the client has the means, not its number.
  { "excon" => "require 'excon'; Excon.defaults.delete(:tcp_nodelay)",
    "http_rb" => "require 'http'; HTTP::Options.send(:undef_method, :with_nodelay)",
    "httpclient" => "require 'httpclient'; HTTPClient::Session.send(:remove_method, :create_socket)" }.each do |name, code|
    define_method("test_#{name} without the means is left alone") do
      out = ruby("#{code}; require 'onewrite/#{name}'; puts Onewrite.status[:clients].values", options: ["-W1"])
      assert_match(/^onewrite: .* has no way to set TCP_NODELAY/, out)
      assert_equal "off: no way to set the option\n", out.lines.last
    end
  end
end
