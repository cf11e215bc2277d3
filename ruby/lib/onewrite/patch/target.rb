# frozen_string_literal: true

require "onewrite/patch/stock"

module Onewrite
  module Patch
    # Where the patches go, and whether this Net::HTTP has those places.
    module Target
      # One method that is patched.
      Point = Struct.new(:where, :name, :arity, :patch) do
        # @return [Module, nil] who answers to the method first
        def owner
          method&.owner
        end

        # Whether it takes the arguments it will be given. Another gem may have wrapped it, with a splat.
        def known?
          found = method&.arity
          found == arity || (!found.nil? && found.negative? && -found - 1 <= arity)
        end

        def method
          where.instance_method(name)
        rescue NameError
          nil
        end

        def to_s
          return "Net::HTTPResponse.#{name}" if where.singleton_class?

          "#{where}##{name}#{" (timing)" if patch == TimedSession}"
        end
      end

      # Not there before Ruby 2.3: ssl_socket_connect, which is not needed.
      POINTS = [
        [Stock.session, :on_connect, 0, Session], [Stock.session, :begin_transport, 1, Session],
        [Stock.session, :transport_request, 1, Session],
        [Net::HTTPGenericRequest, :send_request_with_body, 4, Request],
        [Net::HTTPGenericRequest, :send_request_with_body_stream, 4, Request],
        [Net::HTTPGenericRequest, :send_request_with_body_data, 4, Request],
        [Net::HTTPGenericRequest, :each_capitalized, 0, Header],
        [Stock.session, :do_start, 0, TimedSession], [Stock.session, :ssl_socket_connect, 2, TimedSession],
        [Stock.session, :transport_request, 1, TimedSession], [Net::HTTPGenericRequest, :exec, 3, RequestHead],
        [Net::HTTPResponse.singleton_class, :read_status_line, 1, ResponseHead],
        [Net::HTTPResponse, :read_body_0, 1, ResponseBody]
      ].map { |point| Point.new(*point) }.select { |point| point.method || point.name != :ssl_socket_connect }.freeze

      # Net::HTTP is versioned since 0.1; majors below 2 that have all the methods are taken for what we know.
      # @return [String, nil] what is not as expected
      def self.unknown
        return "unknown version of net-http" if defined?(Net::HTTP::VERSION) && Net::HTTP::VERSION !~ /\A[01]\./

        missing = POINTS.reject(&:known?)
        missing.empty? ? nil : "net-http has no #{missing.map(&:to_s).join(", ")} as expected"
      end
    end
  end
end
