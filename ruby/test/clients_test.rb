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

  CLIENTS.each do |name, code|
    define_method("test_#{name} has TCP_NODELAY until disable!, and has it not by default") do
      tap = tap_server
      library = { "http_rb" => "http" }.fetch(name, name)
      script = <<~RUBY
        require "socket"
        require "stringio"
        require "#{library}"
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
        found = [on?]
        require "onewrite/#{name}"
        require "onewrite/api"
        found << on?
        Onewrite.disable!
        found << on?
        Onewrite.enable!
        Onewrite.configure(nodelay_disabled: true)
        found << on?
        puts found.inspect, Onewrite.status[:clients].values
      RUBY
      out = ruby(script, env: { "PORT" => tap.port.to_s }, options: ["-W0"])
      assert_equal ["[[false], [true], [false], [false]]\n", "off\n"], out.lines
      assert_equal 12, tap.seen.size
    end

    # The switches are there, though neither "onewrite" nor "onewrite/api" was loaded.
    define_method("test_the file of #{name} alone has all switches, and observing leaves the client alone") do
      out = ruby(<<~RUBY, options: ["-W0"])
        require "onewrite/#{name}"
        puts Onewrite.status[:clients].values, Onewrite.enabled?
        Onewrite.configure(observe: true)
        puts Onewrite.status[:clients].values
        Onewrite.configure(observe: nil)
        Onewrite.disable!
        puts Onewrite.status[:clients].values
        Onewrite.enable!
        puts Onewrite.status[:clients].values, Onewrite.enabled?
      RUBY
      assert_equal %w[on false off off on true], out.split
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
