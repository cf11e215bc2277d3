# frozen_string_literal: true

require "net/http"
require "onewrite/base_version"
require "onewrite/clients"
require "onewrite/config"
require "onewrite/net_http/connection"
require "onewrite/net_http/patch"
require "onewrite/net_http/request"
require "onewrite/net_http/response"
require "onewrite/net_http/session"
require "onewrite/net_http/timed_session"
require "onewrite/timing/hooks"
require "onewrite/timing/kernel"
require "onewrite/version"
require "onewrite/wire/nodelay"

module Onewrite
  # Switches the adapter on, and says what is patched.
  #
  # No patch touches `request` or `connect`, because tracers patch those in ways that do not work together.
  #
  # What only timing or QUICKACK needs is patched when one of them is first asked for, so a program without hooks runs
  # without those methods. A patch is not taken out again; switched off, each method is one test and a call.
  module Install
    SESSION = NetHTTP::Patch.session
    PATCHES = [
      NetHTTP::Patch.new(SESSION, NetHTTP::Session, :stock, on_connect: 0, begin_transport: 1, transport_request: 1),
      NetHTTP::Patch.new(Net::HTTPGenericRequest, NetHTTP::Request, :stock, exec: 3)
    ].freeze
    OBSERVERS = [
      NetHTTP::Patch.new(SESSION, NetHTTP::TimedSession, :untimed,
                         do_start: 0, do_finish: 0, ssl_socket_connect: 2, transport_request: 1),
      NetHTTP::Patch.new(Net::HTTPResponse.singleton_class, NetHTTP::ResponseHead, :untimed, read_status_line: 1),
      NetHTTP::Patch.new(Net::HTTPResponse, NetHTTP::ResponseBody, :untimed, read_body_0: 1)
    ].freeze
    private_constant :SESSION, :PATCHES, :OBSERVERS

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
          PATCHES.each(&:apply) unless @why_not
          @installed = @why_not.nil?
          OBSERVERS.each(&:apply) if @installed && (@observe || Config.current.quickack)
          @installed
        end
      end

      # Installs the patches that only timing and QUICKACK need.
      def observe
        return if @observe

        @lock.synchronize do
          OBSERVERS.each(&:apply) if @installed && !@observe
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
          clients: Clients.states,
          options: config.to_h,
          kernel_evidence: TcpInfo::AVAILABLE,
          hooks: Hooks.size,
          hook_errors: Hooks.errors,
          nodelay_failures: Wire::Nodelay.failures
        }
      end

      private

      # @return [String, nil]
      def unknown
        why = BaseVersion.unknown(PATCHES + OBSERVERS) { |socket| NetHTTP::Connection.unread?(socket) }
        return nil unless why

        warn "onewrite: stays off: #{why} (net-http #{BaseVersion}); Net::HTTP works as without it"
        why
      end

      # Each method that is patched, and whether it is on.
      # @return [Hash{String => String}]
      def patches
        waiting = @installed ? "waits for a hook or quickack" : "off"
        (PATCHES + OBSERVERS).each_with_object({}) { |patch, found| found.merge!(patch.states(waiting)) }
      end
    end

    Hooks.when_wanted { observe }
  end
end
