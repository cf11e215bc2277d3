# frozen_string_literal: true

require "net/http"
require "onewrite/config"
require "onewrite/version"
require "onewrite/wire/coalesce"
require "onewrite/wire/nodelay"

# The adapter for Ruby 1.9.3 and 2.0, and JRuby 1.7.
module Onewrite
  # TCP_NODELAY, which these versions of Net::HTTP never set, and a String body in the head's write. There are no records. Methods
  # are replaced: Ruby 1.9 has no `prepend`.
  module Legacy
    def self.install
      replace(Net::HTTP, :on_connect) do |session, connect|
        connect.call # the last step of `connect`, empty in the library
        socket = session.instance_variable_get(:@socket)
        Wire::Nodelay.set(Wire::Nodelay.tcp(socket.io)) unless Config.observe
      end
      replace(Net::HTTPGenericRequest, :exec) do |request, exec, sock, ver, path|
        body = request.instance_variable_get(:@body)
        joins = Wire::BUFFERED_IO === sock && body.instance_of?(String) && body.bytesize < Wire::LIMIT && !sock.debug_output &&
                !request.key?("expect") && !Config.observe
        writer = joins ? Wire::HeldHead.new(sock, true) : sock
        exec.call(writer, ver, path)
        writer.flush if joins
      end
    end

    # @yieldparam object [Object] that the method is called of; then the library's method, and the parameters
    def self.replace(where, name, &new_method)
      stock = where.instance_method(name)
      hidden = where.private_method_defined?(name)
      where.__send__(:define_method, name) { |*args| new_method.call(self, stock.bind(self), *args) }
      where.__send__(:private, name) if hidden
    end
    private_class_method :replace

    install unless Config.disabled
  end

  # @return [Hash{Symbol => Object}] that this is the adapter for old Rubies
  def self.status
    { :version => VERSION, :installed => !Config.disabled, :observe => Config.observe,
      :legacy => "Ruby #{RUBY_VERSION} is older than 2.1: no hooks" }
  end
end
