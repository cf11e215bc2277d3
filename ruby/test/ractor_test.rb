# frozen_string_literal: true

require_relative "support/helper"

# Ractors are not supported: Net::HTTP itself does not run in one, from 3.1 to 3.4. With the gem it fails with the same
# error, before anything is sent, and the main Ractor goes on.
class RactorTest < OnewriteTest
  SCRIPT = <<~'RUBY'
    %s
    require "net/http"
    port = ENV["PORT"].to_i
    told = Ractor.new(port) do |number|
      Net::HTTP.start("127.0.0.1", number, nil) { |http| http.get("/ractor").code }
    rescue Exception => e
      "#{e.class}: #{e.message}"
    end
    puts told.respond_to?(:value) ? told.value : told.take, Net::HTTP.get_response(URI("http://127.0.0.1:#{port}/main")).code
  RUBY

  def test_a_ractor_gets_the_same_error_as_without_the_gem
    skip "this Ruby has no Ractor" unless defined?(Ractor)

    tap = tap_server
    without, with = ["", "require %q(onewrite)"].map do |first|
      ruby(format(SCRIPT, first), env: { "PORT" => tap.port.to_s }).lines.grep_v(/warning:/)
    end
    assert_equal without, with
    assert_equal "200\n", with.last
    refute_includes tap.seen.map(&:line).join, "/ractor" unless without.first == "200\n"
  end
end
