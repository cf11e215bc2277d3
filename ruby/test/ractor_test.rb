# frozen_string_literal: true

require_relative "support/helper"

# Net::HTTP runs in a Ractor where its constants are shareable and the session has its own connect, as here. With the gem it
# does so, too, and hooks are called in the main Ractor alone. Where Net::HTTP fails, it fails with the same error.
class RactorTest < OnewriteTest
  SCRIPT = <<~'RUBY'
    require "net/http"
    require "stringio"
    %s
    share = lambda do |where|
      where.constants(false).each do |name|
        value = where.const_get(name)
        Ractor.make_shareable(value) unless value.is_a?(Module)
        share.call(value) if value.is_a?(Class) && value < Net::HTTPRequest
      rescue StandardError
        nil
      end
    end
    [Net, Net::HTTP, Net::HTTPResponse, Net::HTTPGenericRequest, Net::HTTPHeader, URI].each(&share)
    Net::HTTP.singleton_class.class_eval { %%i[address port user pass].each { |name| define_method("proxy_#{name}", Ractor.make_shareable(proc {})) } }
    class Direct < Net::HTTP
      private

      def connect
        @socket = Net::BufferedIO.new(TCPSocket.new(address, port))
        @last_communicated = nil
        on_connect
      end
    end
    shared = Ractor.make_shareable(Net::HTTP::Get.new("/get", "Host" => "x"))
    answers = Ractor.new(ENV["PORT"].to_i, shared) do |port, get|
      http = Direct.new("127.0.0.1", port, nil)
      http.start
      post = Net::HTTP::Post.new("/post", "Content-Type" => "text/plain")
      post.body = "hello"
      stream = Net::HTTP::Post.new("/stream", "Content-Type" => "text/plain", "Content-Length" => "5")
      stream.body_stream = StringIO.new("hello")
      [get, post, stream].map { |request| http.request(request).code }
    rescue Exception => e
      "#{e.class}: #{e.message}"
    end
    p answers.respond_to?(:value) ? answers.value : answers.take
    p Net::HTTP.get_response(URI("http://127.0.0.1:#{ENV["PORT"]}/main")).code, $hooked
  RUBY

  def test_a_ractor_gets_what_it_gets_without_the_gem
    skip "this Ruby has no Ractor" unless defined?(Ractor)

    tap = tap_server
    hook = "Onewrite.on_timing { |timing| $hooked = timing.outcome }"
    without, with, hooked = ["", "require 'onewrite'", "require 'onewrite'; #{hook}"].map do |first|
      ruby(format(SCRIPT, first), env: { "PORT" => tap.port.to_s }, options: ["-W0"]).lines
    end
    assert_equal without, with
    assert_equal [without[0], "\"200\"\n", ":ok\n"], hooked
  end
end
