# frozen_string_literal: true

require "net/http"
require "onewrite/base_version"
require "onewrite/config"
require "onewrite/net_http/header"
require "onewrite/net_http/request"
require "onewrite/net_http/response"
require "onewrite/net_http/session"
require "onewrite/net_http/stock"
require "onewrite/net_http/timed_session"
require "onewrite/timing/hooks"
require "onewrite/timing/kernel"
require "onewrite/version"
require "onewrite/wire/nodelay"

module Onewrite
  # Switches the adapter on, and says what is patched.
  #
  # All patches are prepended modules whose methods call `super` (one is included, see {NetHTTP::Header}). None patches
  # `request` or `connect`: tracers patch those, and prepending does not mix with alias chains (see {NetHTTP::Stock}).
  #
  # What only timing or QUICKACK needs is prepended when one of them is first asked for, so a program without hooks runs
  # without those methods. A prepended module cannot be removed; switched off, each method is one test and a `super`.
  module Install
    SESSION = NetHTTP::Stock.session
    REQUEST = Net::HTTPGenericRequest
    RESPONSE = Net::HTTPResponse
    private_constant :SESSION, :REQUEST, :RESPONSE

    # Net::HTTP has no ssl_socket_connect before Ruby 2.3; timing works without it.
    POINTS = [
      [SESSION, :on_connect, 0, NetHTTP::Session], [SESSION, :begin_transport, 1, NetHTTP::Session],
      [SESSION, :transport_request, 1, NetHTTP::Session],
      [REQUEST, :send_request_with_body, 4, NetHTTP::Request], [REQUEST, :send_request_with_body_stream, 4, NetHTTP::Request],
      [REQUEST, :send_request_with_body_data, 4, NetHTTP::Request], [REQUEST, :each_capitalized, 0, NetHTTP::Header],
      [SESSION, :do_start, 0, NetHTTP::TimedSession], [SESSION, :do_finish, 0, NetHTTP::TimedSession],
      [SESSION, :ssl_socket_connect, 2, NetHTTP::TimedSession],
      [SESSION, :transport_request, 1, NetHTTP::TimedSession], [REQUEST, :exec, 3, NetHTTP::RequestHead],
      [RESPONSE.singleton_class, :read_status_line, 1, NetHTTP::ResponseHead],
      [RESPONSE, :read_body_0, 1, NetHTTP::ResponseBody]
    ].map { |point| BaseVersion::Point.new(*point) }
             .select { |point| point.method || point.name != :ssl_socket_connect }.freeze

    OURS = POINTS.map(&:patch).uniq.freeze
    private_constant :OURS

    @lock = Mutex.new
    @installed = @observe = false
    @why_not = "not loaded: require \"onewrite\" or call Onewrite.enable!"

    class << self
      def installed?
        @installed
      end

      # @return [Boolean] whether calls made now go through the adapter
      def enabled?
        Config.current.enabled && @installed
      end

      # Patches once, unless the environment says not to or this net/http is unknown.
      # @return [Boolean] whether the patches are in
      def install
        @lock.synchronize do
          return true if @installed

          SESSION.include(NetHTTP::SessionOptions)
          @why_not = Config.current.disabled_by || unknown
          prepend_all unless @why_not
          @installed = @why_not.nil?
          prepend_observers if @installed && (@observe || Config.current.quickack)
          @installed
        end
      end

      # Installs the patches that only timing and QUICKACK need.
      def observe
        return if @observe

        @lock.synchronize do
          prepend_observers if @installed && !@observe
          @observe = true # last: another thread reads it without the lock
        end
      end

      # What {Onewrite.status} returns.
      # @return [Hash{Symbol => Object}]
      def status
        config = Config.current
        {
          version: VERSION,
          enabled: enabled?,
          off_because: config.disabled_by || @why_not,
          base: { name: "net-http", version: BaseVersion.to_s },
          patches: patches,
          options: config.to_h,
          kernel_evidence: TcpInfo::AVAILABLE,
          hooks: Hooks.current ? Hooks.current.to_a.sum(&:size) : 0,
          hook_errors: Hooks.errors,
          nodelay_failures: Nodelay.failures
        }
      end

      private

      def prepend_all
        SESSION.prepend(NetHTTP::Session)
        REQUEST.prepend(NetHTTP::Request)
        REQUEST.include(NetHTTP::Header)
      end

      def prepend_observers
        SESSION.prepend(NetHTTP::TimedSession)
        REQUEST.prepend(NetHTTP::RequestHead)
        RESPONSE.singleton_class.prepend(NetHTTP::ResponseHead)
        RESPONSE.prepend(NetHTTP::ResponseBody)
      end

      # @return [String, nil]
      def unknown
        why = BaseVersion.unknown(POINTS)
        return nil unless why

        warn "onewrite: stays off: #{why} (net-http #{BaseVersion}); Net::HTTP works as without it"
        why
      end

      # Each method that is patched, and whether it is on.
      # @return [Hash{String => String}]
      def patches
        POINTS.map { |point| ["#{point}#{" (timing)" if point.patch == NetHTTP::TimedSession}", state(point)] }.to_h
      end

      def state(point)
        return "off" unless @installed
        return "waits for a hook or quickack" unless point.where.ancestors.include?(point.patch)

        owner = point.owner
        OURS.include?(owner) ? "on" : "on, but #{owner} comes first"
      end
    end

    Hooks.when_wanted { observe }
  end
end
