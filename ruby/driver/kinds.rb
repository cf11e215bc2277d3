# frozen_string_literal: true

require "net/http"
require "socket"

# The driver does not support the command; the message says why.
class Skipped < StandardError; end

# The client kinds. Only onewrite loads the adapter.
module Kinds
  VERSION_FILE = File.expand_path("../../VERSION", __dir__)

  # Capabilities of every kind; onewrite adds its own.
  COMMON = %w[
    shared_clock proxy_forward proxy_connect custom_connector expect_continue concurrency retries cancel load serve
    body:bytes body:text body:memory_file body:file body:form body:multipart body:stream
  ].freeze

  # One client kind: its name, the class that is instantiated for a session, and what it can do.
  Kind = Struct.new(:name, :version, :session_class, :capabilities, :adapter, :observe, :quickack) do
    def adapter?
      adapter
    end
  end

  # Net::HTTP as it was before Ruby 2.1 set TCP_NODELAY: head and body in two writes, Nagle on. Set in on_connect, so
  # that reconnects have it too.
  class NagleHTTP < Net::HTTP
    private

    def on_connect
      super
      @socket.io.to_io.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 0)
    end
  end

  module_function

  def load(name)
    version = File.read(VERSION_FILE).strip
    case name
    when "stock" then Kind.new(name, version, Net::HTTP, COMMON, false)
    when "control" then Kind.new(name, version, NagleHTTP, COMMON, false)
    when "onewrite" then onewrite(name)
    when "patched" then raise Skipped, "same as onewrite: the gem patches Net::HTTP"
    else raise Skipped, "no client kind #{name.inspect}"
    end
  end

  def onewrite(name)
    $LOAD_PATH.unshift File.expand_path("../lib", __dir__)
    require "onewrite"
    status = Onewrite.status
    own = %w[timing writes informational resend cancel_connect install]
    own += %w[tcp_info rwnd_limited] if status[:kernel_evidence]
    Kind.new(name, Onewrite::VERSION, Net::HTTP, COMMON + own, true, status[:observe], status[:quickack])
  end

  def base_version
    defined?(Net::HTTP::VERSION) ? Net::HTTP::VERSION : "of Ruby #{RUBY_VERSION}"
  end
end
