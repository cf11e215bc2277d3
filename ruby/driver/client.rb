# frozen_string_literal: true

require "net/http"
require "openssl"
require_relative "sessions"
require_relative "hooks"
require_relative "connector"

# One client per `open`: sessions of Net::HTTP with the options of the protocol.
class Client
  URL = %r{\A(https?)://(\[[^\]]*\]|[^:/?#]*)(?::(\d+))?(.*)}m.freeze

  attr_reader :kind, :hooks, :size

  def initialize(kind, options)
    @kind = kind
    @options = options
    refuse_what_cannot_be_done
    # The adapter's switches hold for the process, so those of an earlier client are reset.
    Onewrite.install(observe: kind.observe, quickack: kind.quickack, **adapter_options) if kind.adapter?
    @hooks = Hooks.new(hooks_mode)
    @size = (options["pool_size"] || 1).to_i
    @pool_timeout = options["pool_timeout_ms"] && (options["pool_timeout_ms"] / 1000.0)
    @pools = {}
    @lock = Mutex.new
  end

  # Yields a session to the origin of *url* and the request's path as it stands in the URL.
  # @param timeout [Float, nil] limit of each step in seconds
  def session(url, timeout, expect_continue: false)
    match = URL.match(url) or raise ArgumentError, "not an HTTP URL: #{url}"
    path = match[4].start_with?("/") ? match[4] : "/#{match[4]}"
    use = lambda do |http|
      limits(http, timeout, expect_continue)
      yield http, path
    end
    unless @options.fetch("keepalive", true)
      Stage.at(nil)
      return use.call(build(*match[1..3]))
    end

    pool(match[1..3], timeout).with(&use)
  end

  def close
    @lock.synchronize { @pools.each_value(&:close) }
    @hooks.remove
  end

  private

  def hooks_mode
    @options["hooks"] || "none"
  end

  def adapter_options
    (@options["adapter"] || {}).transform_keys(&:to_sym)
  end

  def refuse_what_cannot_be_done
    raise Skipped, "Net::HTTP takes no socket options" if @options["socket_options"]
    raise Skipped, "this connector knows no proxies" if @options["custom_connector"] && @options["proxy"]
    raise Skipped, "Net::HTTP follows no redirects" if @options["redirects"]
    raise Skipped, "#{@kind.name} has no hooks" if hooks_mode != "none" && !@kind.adapter?
    raise Skipped, "#{@kind.name} has no adapter options" if adapter_options.any? && !@kind.adapter?
    raise Skipped, "disabled is set by the environment" if adapter_options.key?(:disabled)
  end

  def pool(origin, timeout)
    @lock.synchronize do
      @pools[origin] ||= Sessions.new(@size, @pool_timeout) do
        build(*origin).tap { |http| limits(http, timeout, false) }
      end
    end
  end

  def build(scheme, host, port)
    http = session_class.new(host.delete("[]"), (port || (scheme == "https" ? 443 : 80)).to_i, *proxy)
    if scheme == "https"
      http.use_ssl = true
      http.ca_file = @options["tls_ca"] if @options["tls_ca"]
    end
    # The pool keeps connections as long as the server does; the default of 2 s would reconnect between slow cases.
    http.keep_alive_timeout = 60
    # Ruby before 2.5 has no such setter and always repeats once.
    http.max_retries = (@options["retries"] || 0).to_i if http.respond_to?(:max_retries=)
    @hooks.attach(http)
    http
  end

  def session_class
    return @kind.session_class unless @options["custom_connector"]

    Connector.over(@kind.session_class)
  end

  def proxy
    return [] unless @options["proxy"]

    match = URL.match(@options["proxy"])
    [match[2], match[3].to_i]
  end

  def limits(http, timeout, expect_continue)
    connect = @options["connect_timeout_ms"] && (@options["connect_timeout_ms"] / 1000.0)
    http.open_timeout = connect || timeout || 60
    # Shorter than the library's 60 s, because stock may leave a session in a state in which it waits for nothing.
    http.read_timeout = timeout || 10
    http.write_timeout = timeout || 10 if http.respond_to?(:write_timeout=)
    http.continue_timeout = expect_continue ? 1 : nil
  end
end
