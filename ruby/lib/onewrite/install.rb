# frozen_string_literal: true

require "net/http"
require "onewrite/base_version"
require "onewrite/clients"
require "onewrite/config"
require "onewrite/net_http/patch"
require "onewrite/net_http/request"
require "onewrite/net_http/response"
require "onewrite/net_http/session"
require "onewrite/timing/hooks"
require "onewrite/timing/kernel"
require "onewrite/version"

module Onewrite
  # Switches the adapter on, and says what is patched.
  #
  # No patch touches `request` or `connect`, because tracers patch those in ways that do not work together.
  #
  # Nothing here takes a lock: a patch that is applied twice, by two threads or in a signal handler, is applied once.
  module Install
    SESSION = NetHTTP::Patch.session
    PATCHES = [
      NetHTTP::Patch.new(Net::HTTPResponse.singleton_class, NetHTTP::ResponseHead, read_status_line: 1),
      NetHTTP::Patch.new(Net::HTTPResponse, NetHTTP::ResponseBody, read_body_0: 1),
      NetHTTP::Patch.new(Net::HTTPGenericRequest, NetHTTP::Request, exec: 3),
      NetHTTP::Patch.new(SESSION, NetHTTP::Session,
                         on_connect: 0, ssl_socket_connect: 2, do_start: 0, begin_transport: 1, transport_request: 1)
    ].freeze
    private_constant :SESSION, :PATCHES

    @installed = false
    @why_not = "not loaded: require \"onewrite\" or call Onewrite.enable!"

    class << self
      def enabled?
        Config.current.enabled && @installed
      end

      # Patches once, unless the environment says not to or this net/http is unknown.
      # @return [Boolean] whether the patches are in
      def install
        return true if @installed

        SESSION.include(NetHTTP::SessionOptions)
        @why_not = Config.current.disabled_by || unknown
        return false if @why_not

        PATCHES.each(&:apply)
        @installed = true
      end

      # Puts the library's methods back.
      # @return [nil]
      def uninstall
        PATCHES.each(&:remove) if @installed
        @installed = false
        nil
      end

      # As {Onewrite.status}.
      def status
        config = Config.current
        {
          version: VERSION,
          enabled: enabled?,
          observe: config.to_h[:observe],
          off_because: config.disabled_by || @why_not,
          base: { name: "net-http", version: BaseVersion.to_s },
          patches: PATCHES.map(&:states).reduce(:merge),
          clients: Clients.states,
          options: config.to_h,
          kernel_evidence: TcpInfo::AVAILABLE,
          hooks: config.hooks ? Hooks.size : 0,
          hook_errors: Hooks.errors
        }
      end

      private

      def unknown
        why = BaseVersion.unknown(PATCHES, SESSION)
        return nil unless why

        warn "onewrite: stays off: #{why} (net-http #{BaseVersion}); Net::HTTP works as without it"
        why
      end
    end
  end
end
