# frozen_string_literal: true

$LOAD_PATH.unshift File.expand_path("../../lib", __dir__)

require "minitest/autorun"
require "net/http"
require "onewrite"
require "open3"
require "rbconfig"
require "timeout"
require_relative "junit"
require_relative "tap"

# Writes the JUnit file that ONEWRITE_REPORT names.
module Minitest
  def self.plugin_onewrite_init(_options)
    report = ENV["ONEWRITE_REPORT"].to_s
    reporter << JUnit.new(report) unless report.empty?
  end
  extensions << "onewrite"
end

Thread.report_on_exception = false

# What the tests share: a tap, sessions on it, and a limit for each test.
class OnewriteTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  LIMIT = 20

  # The limit leaves Minitest's own rescue by a throw, and would end the whole suite.
  def run
    Timeout.timeout(self.class::LIMIT) { super }
  rescue Timeout::Error => e
    failures << Minitest::UnexpectedError.new(e)
    teardown
    Minitest::Result.from(self)
  end

  def setup
    @closing = []
  end

  def teardown
    @closing.reverse_each(&:call)
    Onewrite.const_get(:Hooks).all.each(&:remove)
    Onewrite.install(observe: false, quickack: false)
  end

  def tap_server(**options, &answer)
    Tap.new(**options, &answer).tap { |tap| @closing << -> { tap.close } }
  end

  # @return [Integer] a port that refuses connections as long as the test runs: it is bound, and nobody listens
  def refusing_port
    socket = Socket.new(:INET, :STREAM)
    @closing << -> { socket.close }
    socket.bind(Addrinfo.tcp("127.0.0.1", 0))
    socket.local_address.ip_port
  end

  # A session to *tap*; started, so that its connection is kept.
  def session(tap, session_class = Net::HTTP, start: true)
    http = session_class.new("127.0.0.1", tap.port, nil)
    if tap.url.start_with?("https")
      http.use_ssl = true
      http.cert_store = Tap::Certificate::STORE
    end
    # Net::HTTP's 2 s may pass between two requests on a busy machine; then it connects again.
    http.keep_alive_timeout = 60 if http.respond_to?(:keep_alive_timeout=)
    yield http if block_given?
    http.start if start
    @closing << -> { http.finish if http.started? }
    http
  end

  # @return [Array<Onewrite::Record>] gets the record of each request of *http*
  def records_of(http)
    [].tap { |records| http.onewrite_timing = records.method(:<<) }
  end

  # @return [Array] what the block gives without the gem and with it
  def stock_and_ours
    [false, true].map do |with|
      with ? Onewrite.install : Onewrite.uninstall
      yield with
    end
  end

  def post(path = "/", body = nil, fields = { "Content-Type" => "text/plain" })
    Net::HTTP::Post.new(path, fields).tap { |request| request.body = body if body }
  end

  # The most frequent of *values*: single counts may be off, as by a retransmission.
  def mode(values)
    values.tally.max_by(&:last).first
  end

  # Waits until the block is true. @raise [Timeout::Error] after the limit of the test
  def wait_until
    sleep 0.005 until yield
  end

  def socket_of(http)
    http.instance_variable_get(:@socket)
  end

  def nodelay?(http)
    socket_of(http).io.to_io.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY).bool
  end

  # Runs Ruby in a process of its own, with warnings on. @return [String] what it printed
  def ruby(script, env: {}, options: [], load_path: [File.join(ROOT, "lib")])
    command = [RbConfig.ruby, "-w", *options, *load_path.flat_map { |dir| ["-I", dir] }, "-e", script]
    out, status = Open3.capture2e({ "RUBYOPT" => nil }.merge(env), *command)
    assert status.success?, "ended with #{status.exitstatus}:\n#{out}"
    out
  end
end
