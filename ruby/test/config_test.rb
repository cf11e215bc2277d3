# frozen_string_literal: true

require_relative "support/helper"

# Options: where a value comes from, and what is loaded. (Refused values, and that off means stock: the judge.)
class ConfigTest < OnewriteTest
  def status(env, script = "")
    ruby("require 'onewrite'; #{script}; s = Onewrite.status; print s[:enabled], ' ', s[:off_because].inspect, ' ', s[:options]",
         env: env)
  end

  def test_switches_take_the_usual_words_for_true_and_false_in_any_case
    words = { true => %w[1 true True YES on], false => ["0", "false", "No", "oFF", "", " "] }
    names = Onewrite::Config::OPTIONS.keys.grep(/disabled|quickack/)
    env = (names + ["disabled"]).map { |name| ["ONEWRITE_#{name.to_s.upcase}", nil] }.to_h
    words.each do |expected, these|
      these.each do |word|
        Onewrite::Config.load(env.transform_values { word }) # as at load
        assert_equal [expected], Onewrite.status[:options].values_at(*names).uniq, word.inspect
        assert_equal [expected ? "ONEWRITE_DISABLED" : nil], [Onewrite.status[:off_because]], word.inspect
      end
    end
    assert_match(/\Afalse "ONEWRITE_DISABLED"/, status("ONEWRITE_DISABLED" => "on"))
  ensure
    Onewrite::Config.load({})
  end

  def test_a_value_in_no_encoding_is_ignored_with_a_warning
    names = %w[ONEWRITE_DISABLED ONEWRITE_COALESCE_MAX]
    _, warnings = capture_io { Onewrite::Config.load(names.map { |name| [name, "1\xFF "] }.to_h) }
    assert_equal [nil, 16_384], [Onewrite.status[:off_because], Onewrite.status[:options][:coalesce_max]]
    assert_equal names.sort, warnings.scan(/ONEWRITE_\w+(?=="1\\xFF")/).sort
  ensure
    Onewrite::Config.load({})
  end

  def test_code_wins_over_the_environment_and_nil_unsets
    env = { "ONEWRITE_COALESCE_MAX" => "100" }
    assert_match(/:coalesce_max=>7\b/, status(env, "Onewrite.configure(coalesce_max: 7)"))
    back = "Onewrite.configure(coalesce_max: 7); Onewrite.configure(coalesce_max: nil)"
    assert_match(/:coalesce_max=>100/, status(env, back))
  end

  def test_the_kill_switch_patches_nothing_and_breaks_no_program
    out = ruby(<<~RUBY, env: { "ONEWRITE_DISABLED" => "true" })
      require "onewrite"
      Onewrite.on_timing { abort "called" }
      http = Net::HTTP.new("localhost")
      http.onewrite_timing = -> {}
      http.onewrite_nodelay = true
      p Net::HTTP.ancestors.include?(Onewrite::NetHTTP::Session), Onewrite.enabled?, Onewrite.status[:off_because]
      Onewrite.enable!
      p Net::HTTP.ancestors.include?(Onewrite::NetHTTP::Session), Onewrite.enabled?
    RUBY
    assert_equal "false\nfalse\n\"ONEWRITE_DISABLED\"\ntrue\ntrue\n", out
  end

  def test_the_api_alone_patches_nothing
    script = "p Onewrite.enabled?, Onewrite.status[:off_because]; Onewrite.enable!; p Onewrite.enabled?"
    out = ruby("require %q(onewrite/api); #{script}")
    assert_match(/\Afalse\n"not loaded.*\ntrue\n\z/, out)
  end

  def test_the_version_is_that_of_the_repository
    house = File.join(ROOT, "..", "VERSION")
    assert_equal File.read(house).strip, Onewrite::VERSION if File.exist?(house)
  end
end
