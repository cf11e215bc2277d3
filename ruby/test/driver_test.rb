# frozen_string_literal: true

require_relative "support/helper"
require "json"

# The pool of sessions in the driver.
class DriverTest < OnewriteTest
  def setup
    super
    @driver = IO.popen([File.join(ROOT, "driver/run")], "r+")
    @closing << -> { @driver.close }
    @seq = 0
    ask("hello", protocol: 2, client: "onewrite")
  end

  def ask(command, **fields)
    @driver.puts JSON.generate({ cmd: command, seq: @seq += 1 }.merge(fields))
    JSON.parse(@driver.gets)
  end

  def batch(client, requests)
    ask("batch", client_id: client, requests: requests)["results"]
  end

  def one(tap, path, hurried)
    { method: "POST", url: tap.url(path), headers: [["Content-Type", "text/plain"]], body: { kind: "bytes", size: 20 },
      timeout_ms: 20_000, cancel_after_ms: hurried ? 3 : nil }.compact
  end

  def ends(reply)
    [reply["records"].size, reply["records"].map { |one| one["outcome"] }]
  end

  # A caller that is cancelled while it waits for the driver's pool has not called Net::HTTP; any other has one record.
  def test_cancelled_requests_have_one_record_or_did_not_call_the_library
    tap = tap_server do
      sleep 0.002
      Tap::OK
    end
    client = ask("open", options: { hooks: "timing", pool_size: 8 })["client_id"]
    replies = Array.new(12) do |round|
      requests = Array.new(32) { |index| one(tap, "/#{round}/#{index}", ((index + round) % 5).zero?) }
      batch(client, requests).each_with_index.map { |reply, index| reply.merge("path" => "/#{round}/#{index}") }
    end.flatten
    assert_equal [384, 0], [replies.size, replies.count { |reply| reply["crashed"] }]
    waiting, called = replies.partition { |reply| reply["called"] == false }
    assert_empty waiting.map { |reply| reply.values_at("outcome", "records") }.uniq - [["cancelled", nil]]
    # Timeout interrupts anywhere: also between the driver's last line and the library's first. Then nothing was sent.
    before, inside = called.partition { |reply| reply["outcome"] == "cancelled" && reply["records"].empty? }
    assert_equal [[1, ["cancelled"]], [1, ["ok"]]], inside.map { |reply| ends(reply) }.uniq.sort
    assert_operator called.size, :>, 250
    # No place of the pool was lost.
    last = batch(client, Array.new(8) { |index| one(tap, "/last/#{index}", false) })
    assert_equal Array.new(8, "response"), last.map { |reply| reply["outcome"] }
    assert_empty before.map { |reply| reply["path"] } & tap.seen.map { |seen| seen.line.split[1] }
  end
end
