# frozen_string_literal: true

require_relative "support/helper"

# Switches: where a value comes from, and what is loaded. (That off means stock: the judge.)
class ConfigTest < OnewriteTest
  def switches(env)
    config = Onewrite.const_get(:Config)
    before = [config.disabled, config.observe, config.quickack]
    config.load(env)
    [config.disabled, config.observe, config.quickack]
  ensure
    config.load({})
    config.observe = before[1]
    config.quickack = before[2]
  end

  NAMES = %w[ONEWRITE_DISABLED ONEWRITE_OBSERVE ONEWRITE_QUICKACK].freeze

  def test_switches_take_the_usual_words_for_true_and_false_in_any_case
    words = { true => %w[1 true True YES on], false => ["0", "false", "No", "oFF", "", " "] }
    words.each do |expected, these|
      these.each { |word| assert_equal [expected] * 3, switches(NAMES.to_h { |name| [name, word] }), word.inspect }
    end
    assert_equal [false] * 3, switches({})
  end

  def test_a_bad_value_is_ignored_with_a_warning
    ["1\xFF ", "maybe"].each do |bad|
      _, warnings = capture_io { assert_equal [false] * 3, switches(NAMES.to_h { |name| [name, bad] }) }
      assert_equal NAMES, warnings.scan(/ONEWRITE_\w+(?==)/)
    end
  end

  def test_code_wins_over_the_environment
    out = ruby(<<~'RUBY', env: { "ONEWRITE_OBSERVE" => "1", "ONEWRITE_QUICKACK" => "1" })
      require "onewrite"
      state = -> { Onewrite.status.values_at(:installed, :observe, :quickack) }
      p state.call, Onewrite.install(observe: false), state.call, Onewrite.install, state.call
    RUBY
    assert_equal "[true, true, true]\ntrue\n[true, false, true]\ntrue\n[true, false, true]\n", out
  end

  def test_the_kill_switch_patches_nothing_and_breaks_no_program
    out = ruby(<<~RUBY, env: { "ONEWRITE_DISABLED" => "true" })
      require "onewrite"
      Onewrite.on_timing { abort "called" }.remove
      Onewrite.on_timing { abort "called" }
      Net::HTTP.new("localhost").onewrite_timing = -> {}
      p Onewrite.status.values_at(:installed, :off_because, :patches), Onewrite.install, Net::HTTP.ancestors.first
    RUBY
    assert_equal "[false, \"ONEWRITE_DISABLED\", []]\nfalse\nNet::HTTP\n", out
  end

  def test_the_version_is_that_of_the_repository
    house = File.join(ROOT, "..", "VERSION")
    assert_equal File.read(house).strip, Onewrite::VERSION if File.exist?(house)
  end
end
