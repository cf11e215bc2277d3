# frozen_string_literal: true

require "onewrite/config"
require "onewrite/net_http/response"
require "onewrite/net_http/socket"
require "onewrite/timing/hooks"
require "onewrite/timing/record"
require "onewrite/wire/coalesce"
require "onewrite/wire/nodelay"

module Onewrite
  module NetHTTP
    # For Net::HTTP: which connection carries a request.
    module Session
      private

      # Why this method: it is the last step of the library's `connect`. A connection without this mark was made by the program.
      def on_connect
        @socket.instance_variable_set(:@onewrite_by_library, true) if Wire::BUFFERED_IO === @socket
        super
      end

      # Why this method: only here the library decides which connection carries the request. It runs again for each repetition.
      #
      # A connection whose last request was given up is closed: the next caller would read the rest of its answer (SAME-7). The
      # library closes it after a StandardError alone, so Timeout.timeout, Thread#kill and `break` leave it. This is the only
      # place where the adapter does other than the library. The gem net-http-pipeline sends requests before it reads answers.
      def begin_transport(req)
        answer = @socket.instance_variable_get(:@onewrite_answer) if Wire::BUFFERED_IO === @socket
        if answer && answer != :read && !Config.observe && !@socket.closed? && !respond_to?(:pipeline) &&
           (answer == :due || !Response.complete?(answer))
          @socket.close
        end
        super
        socket = @socket
        return unless Wire::BUFFERED_IO === socket

        if socket.instance_variable_get(:@onewrite_answer).nil? && !Config.observe &&
           !socket.instance_variable_get(:@onewrite_by_library)
          # The program's own `connect` has set no option, as far as can be seen.
          Wire::Nodelay.set(Wire::Nodelay.tcp(socket.io))
        end
        socket.instance_variable_set(:@onewrite_answer, :due)
      end
    end

    # For Net::HTTP, while there is a hook: a record begins in `begin_transport` and ends in `end_transport`, or where the request
    # is given up ({TimedIO#onewrite_end}). These methods are private, and no known gem patches them.
    module TimedSession
      private

      # Why this method: `start` connects by it, before there is a request. The first request's record has the time of connecting.
      # Not known here: the request. The record of a `start` that fails has no method and no path.
      def do_start
        hooks = Hooks.of(onewrite_timing)
        return super unless hooks

        @onewrite_record = record = Record.new(onewrite_origin, hooks)
        super
        record.connected_at = Clock.now
        timed = onewrite_timed_io(@socket, 0)
        timed.onewrite_opened = record if timed
        done = true
      rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
        error = e
        raise
      ensure
        @onewrite_record = nil if record
        onewrite_not_connected(record, error, nil) if record && !done
      end

      # Why this method: it runs once for each request that is sent, and may connect. It is long because each method call costs.
      def begin_transport(req) # rubocop:disable Metrics
        before = @socket
        timed = TimedIO === before
        opened = before.onewrite_begin if timed
        hooks = Hooks.of(defined?(@onewrite_timing) ? @onewrite_timing : nil)
        return super unless hooks

        @onewrite_record = record = opened || Record.new(timed ? before.onewrite_origin : onewrite_origin, hooks)
        record.request = req
        if opened
          record.begin_request
          record.hooks = hooks
        elsif timed && before.onewrite_failed
          record.resend = before.onewrite_resend_of(req)
        end
        idle_since = @last_communicated
        super
        @onewrite_record = nil
        if timed && before.equal?(@socket)
          before.onewrite_carry(record, idle_since, opened)
        else
          onewrite_carry(record, before, idle_since)
        end
        done = true
      rescue Exception => e # rubocop:disable Lint/RescueException -- raised again
        error = e
        raise
      ensure
        onewrite_not_connected(record, error, before) if record && !done
      end

      # Why this method: the answer was read, and the connection is free or closed when it returns.
      def end_transport(req, res)
        record = @socket.onewrite_record if TimedIO === @socket
        return super unless record

        @socket.onewrite_record = nil
        hooks = record.hooks
        super
        record.finish
        Hooks.call(hooks, record)
      end

      # Why this method: the TLS handshake, within `connect`.
      def ssl_socket_connect(socket, timeout)
        record = @onewrite_record if defined?(@onewrite_record)
        return super unless record

        record.tls_start = Clock.now
        result = super
        record.tls_end = Clock.now
        result
      end

      # The record's connection is there, and is not timed yet.
      def onewrite_carry(record, before, idle_since)
        if (new = !@socket.equal?(before))
          record.connected_at = Clock.now
          timed = onewrite_timed_io(@socket, 1)
        else
          timed = onewrite_timed_io(before, idle_since ? 2 : 1)
        end
        timed.onewrite_carry(record, idle_since, new) if timed
      end

      # The record of a request that gets no connection ends here.
      # @param before [Object, nil] the connection that there was
      def onewrite_not_connected(record, error, before)
        @onewrite_record = nil
        hooks = record.hooks
        before.onewrite_note_failure(record) if TimedIO === before
        record.proxy = onewrite_proxy
        record.fail_to_connect(error, before.nil? || before.closed?)
        Hooks.call(hooks, record)
      end

      # @param requests [Integer] on the connection, the one that begins included; at least
      # @return [TimedIO, nil] the connection, timed from now on; nil where it is no object of the library's own class
      def onewrite_timed_io(socket, requests)
        return socket if TimedIO === socket
        return unless TimedIO.plain?(socket)

        proxy = onewrite_proxy if socket.instance_variable_get(:@onewrite_by_library)
        @socket = TimedIO.replace(socket, onewrite_origin, proxy, requests)
      end

      def onewrite_origin
        tls = use_ssl?
        host = address.include?(":") ? "[#{address}]" : address
        "#{tls ? "https" : "http"}://#{host}#{":#{port}" unless port == (tls ? 443 : 80)}"
      end

      # @return [String, nil] host and port
      def onewrite_proxy
        return unless proxy?

        proxy_address.include?(":") ? "[#{proxy_address}]:#{proxy_port}" : "#{proxy_address}:#{proxy_port}"
      rescue StandardError # of a URL in the environment
        nil
      end
    end
  end
end
