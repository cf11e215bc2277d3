# frozen_string_literal: true

require_relative "support/helper"
require "json"

# Other people's wrappers around Net::HTTP's methods, by style, load order, method, state of the gem and kind of body, each
# configuration in a separate process. WHOLE=1 runs all of them, else SEED chooses a sample.
class ChainsTest < OnewriteTest
  LIMIT = 600
  SAMPLE = 60
  REQUESTS = 20
  STYLES = %w[prepend alias define].freeze
  NAMES = %w[request connect on_connect begin_transport transport_request exec write].freeze
  METHODS = (NAMES.map { |name| [name] } << NAMES).freeze
  ORDERS = ([nil] + STYLES).product([nil] + STYLES).drop(1).freeze # styles before and after the gem is loaded
  STATES = ["enabled", "hook at load", "hook at last", "off and on"].freeze
  BODIES = %w[string stream].freeze
  PER_CONNECTION = %w[connect on_connect].freeze

  def configurations
    all = METHODS.product(ORDERS, STATES, BODIES)
    all = all.sample(SAMPLE, random: Random.new(Integer(ENV.fetch("SEED", "1")))) unless ENV["WHOLE"]
    all.map { |methods, order, state, body| [methods, order, body, state] }
  end

  # @return [Hash{Array => Hash}] what each configuration has seen
  def run_chains(tap, configurations)
    lines = configurations.each_with_index.map do |(methods, (before, after), body, state), id|
      JSON.generate(id: id, methods: methods, before: before, after: after, body: body, state: state)
    end
    out, status = Open3.capture2e({ "RUBYOPT" => nil }, RbConfig.ruby, "-W0", "-I", File.join(ROOT, "lib"),
                                  File.join(__dir__, "fixtures/chains.rb"), tap.port.to_s, "2", REQUESTS.to_s,
                                  stdin_data: lines.join("\n"))
    assert status.success?, out
    found = out.lines.map { |line| JSON.parse(line) }.to_h { |one| [configurations[one["id"]], one] }
    assert_equal configurations.size, found.size, out[/^(?!\{).*/m]
    found
  end

  # @return [Hash{String => Integer}] calls of each wrapper. Net::HTTP writes head and body, the gem both at once.
  def calls(methods, order)
    %w[before after].zip(order).select(&:last).flat_map do |round, _|
      methods.map { |name| ["#{round} #{name}", PER_CONNECTION.include?(name) ? 1 : REQUESTS] }
    end.to_h
  end

  def test_wrappers_in_each_order
    ours = configurations
    tap = tap_server
    stock = run_chains(tap, ours.map { |methods, order, body, _| [methods, order, body, nil] }.uniq)
    tap.seen.clear
    found = run_chains(tap, ours)
    segments = tap.seen.group_by { |one| one.line[%r{/(\d+)}, 1].to_i }.transform_values { |seen| mode(seen.map(&:segments)) }
    wrong = found.map do |configuration, seen|
      methods, order, body, state = configuration
      expected = stock.fetch([methods, order, body, nil])
      next if expected["answers"] == ["recursion"] # without the gem, too

      timed = state.start_with?("hook") ? { "ok" => REQUESTS } : {}
      wanted = [expected["answers"], calls(methods, order), timed, 1]
      got = [*seen.values_at("answers", "counts", "timed"), segments[seen["id"]]]
      "#{configuration.inspect}: #{got.inspect}, not #{wanted.inspect}" unless got == wanted
    end.compact
    assert_empty wrong, "#{wrong.size} of #{found.size} configurations"
    assert_operator stock.count { |_, seen| seen["answers"] == [%w[200 ok]] }, :>, stock.size / 2
  end
end
