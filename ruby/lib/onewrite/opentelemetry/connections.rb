# frozen_string_literal: true

require "onewrite/opentelemetry/instruments"
require "onewrite/opentelemetry/untraced"
require "onewrite/timing/clock"
require "onewrite/timing/mappers"

module Onewrite
  module OpenTelemetry
    # Counts the connections that are opened while it is on, until each is closed or, if its session was dropped without
    # `finish`, collected as garbage.
    class Connections
      # One open connection, in the instruments it was counted with at first.
      class Open
        # @param origin [String] such as http://127.0.0.1:80
        def initialize(instruments, origin)
          @instruments = instruments
          @attributes = Mappers.server(origin)
          @opened = Clock.now
          @state = nil
          became(:idle)
        end

        # @param state [Symbol] :active, :idle or, at last, :closed
        def became(state)
          return if state == @state || closed?

          count(-1) if @state
          @state = state
          return count(1) unless closed?

          @instruments.connection_duration.record((Clock.now - @opened) / 1e9, attributes: @attributes.dup)
        end

        def closed?
          @state == :closed
        end

        private

        def count(change)
          attributes = @attributes.merge("http.connection.state" => @state.to_s) # a new one: the SDK keeps it
          @instruments.open_connections.add(change, attributes: attributes)
        end
      end

      # The finalizer of a connection. It only notes the loss, because its thread may hold a lock of the SDK.
      def self.lost(open, queue)
        ->(_) { queue << open unless open.closed? }
      end

      def initialize
        @lost = Queue.new
      end

      # @param connection [Object] that ends with the connection
      # @param origin [String] such as http://127.0.0.1:80
      # @return [Open, nil] nil for those that are not counted
      def opened(connection, origin)
        return nil if Untraced.now?

        instruments = Instruments.now or return
        forget_lost
        open = Open.new(instruments, origin)
        ObjectSpace.define_finalizer(connection, Connections.lost(open, @lost))
        open
      end

      # Counts out those that were collected as garbage.
      def forget_lost
        @lost.pop(true).became(:closed) until @lost.empty?
      rescue ThreadError
        nil # another thread took the last one
      end
    end
  end
end
