# frozen_string_literal: true

require "digest/sha2" # "digest" loads it at first use: who gives up meanwhile would leave the loader's lock taken
require "net/http"
require "timeout"
require_relative "bodies"
require_relative "failures"

# One request of the protocol, from message to reply.
module Exchange
  module_function

  def now_ns
    Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  end

  def run(client, message)
    collected = client.hooks.on? ? client.hooks.collect : nil
    started = now_ns
    reply = begin
      giving_up(message["cancel_after_ms"]) { answered(send(client, message)) }
    rescue Skipped
      raise
    rescue GivenUp
      { outcome: "cancelled" }
    rescue StandardError => e
      failed(e)
    end
    reply[:elapsed_us] = (now_ns - started) / 1000
    collected ? recorded(reply, collected) : reply
  end

  # The caller's time limit expired, set with Timeout.timeout as applications do.
  class GivenUp < StandardError; end

  def giving_up(after_ms, &block)
    return yield unless after_ms

    begin
      Timeout.timeout(after_ms / 1000.0, &block)
    rescue Timeout::Error => e
      # Net::HTTP's own timeouts are subclasses of it.
      raise unless e.instance_of?(Timeout::Error)

      raise GivenUp
    end
  end

  def send(client, message)
    fields = message["headers"] || []
    timeout = message["timeout_ms"] && (message["timeout_ms"] / 1000.0)
    expect = fields.any? { |name, _| name.casecmp?("expect") }
    Stage.at(:queue)
    client.session(message["url"], timeout, expect_continue: expect) do |http, path|
      request = build(message["method"] || "GET", path, fields)
      close = Bodies.give(request, message["body"], fields)
      begin
        message["read"] == "none" ? read_none(http, request) : http.request(request) { Stage.at(:receive) }
      ensure
        close&.call
      end
    end
  end

  def build(method, path, fields)
    method = bytes(method)
    path = bytes(path)
    name = method.capitalize
    known = /\A[A-Z]+\z/.match?(method) && Net::HTTP.const_defined?(name) && Net::HTTP.const_get(name)
    request =
      if known.is_a?(Class) && known < Net::HTTPRequest
        known.new(path)
      else
        Net::HTTPGenericRequest.new(method, true, method != "HEAD", path)
      end
    seen = {}
    fields.each do |field, value|
      value = bytes(value)
      seen[field.downcase] ? request.add_field(bytes(field), value) : request[bytes(field)] = value
      seen[field.downcase] = true
    end
    request
  end

  # Net::HTTP writes the bytes of a String. A code point up to U+00FF stands for one byte.
  def bytes(text)
    text.ascii_only? || text.each_codepoint.any? { |point| point > 0xFF } ? text : text.encode(Encoding::ISO_8859_1).b
  end

  # The code points that stand for bytes.
  def text(bytes)
    bytes.encoding == Encoding::BINARY ? bytes.dup.force_encoding(Encoding::ISO_8859_1).encode(Encoding::UTF_8) : bytes
  end

  # Leaves the block of `request` with the body unread.
  def read_none(http, request)
    http.request(request) { |response| return UnreadAnswer.new(response.code, response.to_hash) }
  end

  # Status and headers of a response with an unread body.
  UnreadAnswer = Struct.new(:code, :to_hash) do
    def body
      nil
    end
  end

  def answered(response)
    body = response.body
    body ||= "" unless response.is_a?(UnreadAnswer)
    {
      outcome: "response", status: response.code.to_i,
      headers: response.to_hash.flat_map { |name, values| values.map { |value| [name, value] } },
      body_bytes: body&.bytesize, body_sha256: body && Digest::SHA256.hexdigest(body)
    }
  end

  def failed(error)
    kind, phase = Failures.classify(error, Stage.now)
    {
      outcome: "error",
      error: {
        kind: kind, phase: phase, type: error.class.name,
        also: error.class.ancestors.take_while { |parent| parent != Object }.drop(1).map(&:to_s),
        message: error.message
      }
    }
  end

  def recorded(reply, collected)
    # The driver's pool had no free session in time; Net::HTTP was not called.
    return reply.merge(called: false) if Stage.now == :queue

    reply[:records] = collected.map { |record| record.merge(url: text(record[:url])) }
    if reply[:outcome] == "error" && (last = collected.last)
      reply[:error][:kind] = last[:error_kind] || reply[:error][:kind]
      reply[:error][:phase] = last[:error_phase] || reply[:error][:phase]
    end
    reply
  end

  # JSON takes UTF-8 alone.
  def printable(value)
    case value
    when Hash then value.transform_values { |part| printable(part) }
    when Array then value.map { |part| printable(part) }
    when String, Symbol then value.to_s.dup.force_encoding(Encoding::UTF_8).scrub
    else value
    end
  end
end
