# frozen_string_literal: true

require "net/http"
require "onewrite/config"
require "onewrite/net_http/socket"
require "onewrite/version"
require "onewrite/wire/body"
require "onewrite/wire/nodelay"

# The adapter for Ruby 1.9.3 and 2.0, and JRuby 1.7: TCP_NODELAY, which these versions of Net::HTTP never set, and one write.
# There are no hooks. The file is kept to the syntax of Ruby 1.9.
module Onewrite
  # Patches Net::HTTP.
  module Legacy
    # The replaced methods.
    STOCK = {} # rubocop:disable Style/MutableConstant -- filled by install
    private_constant :STOCK

    class << self
      # @return [String, nil] why nothing is patched
      attr_reader :why_not

      def install
        @why_not = unknown
        return warn("onewrite: stays off: #{@why_not}; Net::HTTP works as without it") if @why_not

        replace(Net::HTTP, :on_connect, SessionPatch)
        replace(Net::HTTPGenericRequest, :exec, RequestPatch)
      end

      private

      def unknown
        { Net::HTTP => [:on_connect, 0], Net::HTTPGenericRequest => [:exec, 3] }.each do |where, (name, arity)|
          method = where.instance_method(name)
          return "#{where}##{name} is not as expected" unless method.owner == where && [arity, -1].include?(method.arity)
        end
        nil
      rescue NameError => e
        e.message
      end

      # The library's method is kept as an object: on Ruby 2.0.0 a class with a prepended module loses a private method that
      # gets a second name or another visibility.
      def replace(where, name, patch)
        private_there = where.private_method_defined?(name)
        STOCK[name] = where.instance_method(name)
        where.__send__(:include, patch)
        where.class_eval(<<-RUBY, __FILE__, __LINE__ + 1)
          #{"private" if private_there}
          def #{name}(*args)
            onewrite_#{name}(*args)
          end
        RUBY
      end
    end

    # For Net::HTTP.
    module SessionPatch
      # The last step of `connect`, empty in the standard library. TLS begins before it in these versions.
      def onewrite_on_connect
        STOCK[:on_connect].bind(self).call
        return unless Config.current.wire

        @socket = NetHTTP::Socket.take_over(@socket) if NetHTTP::Socket.takes?(@socket)
        Wire::Nodelay.set(Wire::Nodelay.tcp(@socket.io), true) if Config.current.nodelay
      end
      private :onewrite_on_connect
    end

    # For Net::HTTPGenericRequest.
    module RequestPatch
      include Wire::Waits

      def onewrite_exec(sock, ver, path)
        limit = Config.current.join_max
        unless limit > 0 && NetHTTP::Socket === sock && (@body || @body_stream || @body_data)
          return STOCK[:exec].bind(self).call(sock, ver, path)
        end

        begin
          waits = onewrite_waits unless @body
          sock.onewrite_send(waits ? 0 : limit, waits != :piece) { STOCK[:exec].bind(self).call(sock, ver, path) }
        rescue Exception # rubocop:disable Lint/RescueException -- raised again
          sock.close unless sock.closed? # the next request must not follow half a body; Timeout.timeout passes the library by
          raise
        end
      end
    end

    install
  end

  private_constant :Legacy, :NetHTTP, :Reference, :Wire

  class << self
    # Switches the adapter off: from the next request on everything is as in the standard library.
    # @return [nil]
    def disable!
      Config.disable!
      nil
    end

    # @return [nil]
    def enable!
      Config.enable!
      nil
    end

    # @return [Boolean] whether requests made now go through the adapter
    def enabled?
      Config.current.enabled && Legacy.why_not.nil?
    end

    # @return [Hash{Symbol => Object}] what is on, and that this is the adapter for old Rubies
    def status
      {
        :version => VERSION,
        :enabled => enabled?,
        :legacy => "Ruby #{RUBY_VERSION} is older than 2.1: TCP_NODELAY and one write, no hooks",
        :off_because => Legacy.why_not || Config.current.disabled_by,
        :base => { :name => "net-http", :version => "of Ruby #{RUBY_VERSION}" },
        :options => Config.current.to_h
      }
    end
  end
end
