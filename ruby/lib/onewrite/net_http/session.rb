# frozen_string_literal: true

require "onewrite/config"
require "onewrite/net_http/connection"
require "onewrite/timing/hooks"
require "onewrite/timing/record"
require "onewrite/wire/nodelay"

module Onewrite
  module NetHTTP
    CALL = Hooks::CALL

    # Options of one session, in one variable that is there only where an option is set. Included also when ONEWRITE_DISABLED
    # is set, so that a program that sets them still runs.
    module SessionOptions
      NONE = {}.freeze
      private_constant :NONE

      # @return [#call, nil] gets the {Timing} of each call of this session, beside the blocks of {Onewrite.on_timing}
      def onewrite_timing
        (hook = onewrite_options[:timing]) && hook.block
      end

      # @return [TimingListener, #on_event, nil] gets each {Event} of this session
      def onewrite_listener
        onewrite_options[:listener]
      end

      # @return [Boolean, nil] TCP_NODELAY for the connections this session opens: true, false, or nil for on. true and
      #   false win over the option nodelay_disabled.
      def onewrite_nodelay
        onewrite_options[:nodelay]
      end

      def onewrite_timing=(hook)
        raise ArgumentError, "onewrite_timing answers call, or is nil" unless hook.nil? || hook.respond_to?(:call)

        Hooks.wanted if hook
        onewrite_set(timing: (Hooks::OnTiming.new(hook) if hook))
      end

      def onewrite_listener=(hook)
        raise ArgumentError, "onewrite_listener answers on_event, or is nil" unless hook.nil? || hook.respond_to?(:on_event)

        Hooks.wanted if hook
        onewrite_set(listener: hook)
      end

      def onewrite_nodelay=(choice)
        onewrite_set(nodelay: choice)
      end

      private

      def onewrite_options
        defined?(@onewrite_options) ? @onewrite_options : NONE
      end

      def onewrite_set(values)
        options = onewrite_options.merge(values).reject { |_, value| value.nil? }.freeze
        return @onewrite_options = options unless options.empty?

        remove_instance_variable(:@onewrite_options) if defined?(@onewrite_options)
      end
    end

    # For Net::HTTP: connections and exchanges.
    #
    # `request` and `connect` are not patched: tracers patch them, some by alias chains and some by prepending. The methods here
    # are private, and no known gem patches them, except Semian, which prepends `transport_request`.
    module Session
      private

      # The last step of `connect` since Ruby 1.8, empty in the standard library.
      # Why this method: a subclass that overrides it and calls super runs after this one, so the subclass's TCP_NODELAY wins.
      # Not reached: a subclass whose `connect` does not call it; begin_transport finds those connections.
      def on_connect
        onewrite_stock_on_connect
        onewrite_adopt if Config.current.enabled
      end

      # `finish`, and the end of the block of `start`.
      # Why this method: only here a session is over. Nothing of the gem stays on its socket.
      def do_finish
        connection = Connection.of(@socket)
        onewrite_stock_do_finish
      ensure
        connection.release if connection
      end

      # Runs before each attempt, and may reconnect.
      # Why this method: only here is decided which connection carries the request. It runs again for each repetition.
      # A connection on which a request was left in part, by a Fiber that is never resumed, is closed (SAME-7).
      def begin_transport(req) # rubocop:disable Metrics -- each method call costs
        frame = Thread.current[CALL]
        call = frame.call if frame && frame.owner.equal?(self)
        settings = Config.current
        # A call that has begun is recorded to its end.
        return onewrite_stock_begin_transport(req) unless call || settings.enabled

        call.attempt if call
        before = @socket.instance_variable_get(Connection::IVAR) if Net::BufferedIO === @socket
        @socket.close if before && before.unsent && settings.wire
        begin
          onewrite_stock_begin_transport(req)
          connection = before && before.socket.equal?(@socket) ? before : Connection.of(@socket) || onewrite_adopt
          ready = true
        ensure
          call.connected(nil) if call && !ready && @socket.closed?
        end
        before.release if before && !before.equal?(connection)
        return unless connection

        connection.requests += 1
        connection.call = call
        connection.opening = nil
        call.acquired(connection) if call
      end

      # One request with its repetitions. Net::HTTP closes the socket only after a StandardError; after Timeout.timeout,
      # Thread#kill or a `break` the next caller would read the rest of the answer. This is the only place where the gem does
      # other than the library (SAME-7).
      def onewrite_request(req, &block)
        return onewrite_stock_transport_request(req, &block) unless Config.current.wire

        begin
          response = socket = nil
          result =
            if block
              onewrite_stock_transport_request(req) do |res|
                socket = @socket
                yield response = res
              end
            else
              # Without a block of ours: the library does not repeat a request whose block was called.
              onewrite_stock_transport_request(req)
            end
          finished = true
          result
        ensure
          onewrite_give_up(response, socket) unless finished
        end
      end

      # Closes the connection of a request that was given up, unless nothing of its response is left there.
      # @param response [Net::HTTPResponse, nil] that the caller got, from *socket*
      def onewrite_give_up(response, socket)
        return if !@socket || @socket.closed?
        return if response && socket.equal?(@socket) &&
                  (response.instance_variable_get(:@read) || !response.instance_variable_get(:@body_exist))

        D "Conn close because the response was given up" if @debug_output
        @socket.close
      end

      # @return [Connection, nil] of a new socket, which gets TCP_NODELAY
      def onewrite_adopt
        return unless Net::BufferedIO === @socket # an object that stands in for one

        settings = Config.current
        connection = Connection.new(@socket, [use_ssl?, address, port])
        choice = onewrite_nodelay
        Wire::Nodelay.set(connection.tcp, choice != false) if settings.wire && (!choice.nil? || settings.nodelay)
        frame = Thread.current[CALL]
        frame.call.connected(Clock.now) if frame && frame.owner.equal?(self)
        connection
      end
    end
  end
end
