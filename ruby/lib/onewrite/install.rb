# frozen_string_literal: true

require "net/http"
require "onewrite/base_version"
require "onewrite/config"
require "onewrite/net_http/patch"
require "onewrite/net_http/request"
require "onewrite/net_http/response"
require "onewrite/net_http/session"
require "onewrite/net_http/socket"
require "onewrite/timing/hooks"
require "onewrite/timing/kernel"
require "onewrite/timing/record"
require "onewrite/version"

# One HTTP request, one write, and where its time went, for Net::HTTP.
#
# @example
#   require "onewrite"
#   Onewrite.on_timing { |record| puts "#{record.http_method} #{record.url} waited #{record.wait_ns} ns (#{record.cause})" }
module Onewrite
  # The public method of a session. Included also when nothing is patched, so that a program that uses it still runs.
  module SessionHook
    # @return [#call, nil] gets the {Record} of each request of this session, after the blocks of {Onewrite.on_timing}
    def onewrite_timing
      @onewrite_timing if defined?(@onewrite_timing)
    end

    # @param hook [#call, nil]
    # @raise [ArgumentError] if it does not answer `call`
    def onewrite_timing=(hook)
      raise ArgumentError, "onewrite_timing answers call, or is nil" unless hook.nil? || hook.respond_to?(:call)

      Onewrite.__send__(:time_sessions) if hook
      @onewrite_timing = hook
    end
  end

  SESSION = NetHTTP::Patch.session
  # Always on.
  WIRE = [
    NetHTTP::Patch.new(Net::HTTPGenericRequest, NetHTTP::Request, exec: 3),
    NetHTTP::Patch.new(Net::HTTPResponse, NetHTTP::Response, reading_body: 2),
    NetHTTP::Patch.new(SESSION, NetHTTP::Session, on_connect: 0, begin_transport: 1)
  ].freeze
  # On while there is a hook; that of a session keeps it on until {uninstall}.
  TIMING = NetHTTP::Patch.new(SESSION, NetHTTP::TimedSession,
                              do_start: 0, begin_transport: 1, end_transport: 2, ssl_socket_connect: 2)
  SESSION.__send__(:include, SessionHook) # rubocop:disable Lint/SendWithMixinArgument -- YARD cannot read the other form
  private_constant :BaseVersion, :Clock, :Config, :ErrorKind, :Hooks, :NetHTTP, :SESSION, :SessionHook, :TIMING, :TcpInfo, :WIRE,
                   :Wire

  @installed = @session_hooks = false
  @why_not = nil

  class << self
    # Calls the block once with the record of each request, after the request, when its connection is free or closed. It runs in
    # the thread of the request. A StandardError, ScriptError or SystemStackError that it raises is swallowed, counted ({status})
    # and warned of once. Requests that it sends have no record. Hooks add: none replaces another.
    # @yieldparam record [Record]
    # @return [Hook] its `remove` takes the block away
    # @raise [ArgumentError] without a block
    def on_timing(&block)
      raise ArgumentError, "Onewrite.on_timing needs a block" unless block

      hook = Hook.new(block)
      Hooks.add(hook)
      TIMING.apply if @installed
      hook
    end

    # Patches Net::HTTP; `require "onewrite"` does so. Nothing is patched with ONEWRITE_DISABLED, and where net-http is unknown.
    # @param observe [Boolean] only hooks work; writes, sockets and connections are Net::HTTP's
    # @param quickack [Boolean] TCP_QUICKACK after each request (Linux)
    # @return [Boolean] whether it is patched
    def install(observe: Config.observe, quickack: Config.quickack)
      Config.observe = observe
      Config.quickack = quickack
      @why_not = Config.disabled ? "ONEWRITE_DISABLED" : unknown
      return false if @why_not

      WIRE.each(&:apply)
      @installed = true
      TIMING.apply if @session_hooks || !Hooks.all.empty?
      true
    end

    # Takes the patches off. From the next request on everything is Net::HTTP's, and no hook is
    # called. Hooks stay set for the next {install}.
    # @return [nil]
    def uninstall
      @installed = false
      [TIMING, *WIRE].each(&:remove)
      nil
    end

    # What is patched, with which switches, and what is off for which reason.
    # @return [Hash{Symbol => Object}]
    def status
      {
        version: VERSION, installed: @installed, off_because: @why_not, observe: Config.observe, quickack: Config.quickack,
        base: { name: "net-http", version: BaseVersion.to_s },
        patches: [*WIRE, TIMING].select(&:on).flat_map(&:labels).uniq,
        kernel_evidence: TcpInfo::AVAILABLE, hooks: Hooks.all.size, hook_errors: Hooks.errors
      }
    end

    private

    # A session has a hook.
    def time_sessions
      @session_hooks = true
      TIMING.apply if @installed
    end

    def remove_hook(hook)
      Hooks.remove(hook)
      TIMING.remove if Hooks.all.empty? && !@session_hooks
    end

    def unknown
      return nil if @installed

      why = BaseVersion.unknown([*WIRE, TIMING])
      warn "onewrite: stays off: #{why} (net-http #{BaseVersion}); Net::HTTP works as without it" if why
      why
    end
  end
end
