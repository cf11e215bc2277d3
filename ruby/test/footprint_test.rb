# frozen_string_literal: true

require_relative "support/helper"
require "json"
require "yaml"

# Pictures of a process before and after each step, compared by difference: nothing is touched that is not on the list
# (spec/testdata/footprint/ruby.yaml), and taken out, everything is back.
class FootprintTest < OnewriteTest
  LIST = YAML.safe_load(File.read(File.expand_path("../spec/testdata/footprint/ruby.yaml", ROOT))).fetch("mechanisms")
  LAID_OVER = LIST.select { |one| one["kind"] == "replaced method" }
  ALWAYS, TIMING = %w[install hook].map { |at| LAID_OVER.select { |one| one["when"] == at }.map { |one| one["name"] }.sort }

  # The picture: what a Ruby can list of its modules, methods, constants, globals, threads and singletons.
  PICTURE = <<~'RUBY'
    require "net/http"
    require "openssl"
    require "stringio"
    require "tempfile"
    require "json"
    require "objspace"
    ROOTS = [Object, Kernel, BasicObject, Module, Class, Thread, Fiber, Process, Signal, GC, ObjectSpace, Timeout, Timeout::Error, IO,
             BasicSocket, Socket, TCPSocket, OpenSSL, String, URI].freeze

    def own?(mod)
      mod.inspect.match?(/Onewrite/)
    end

    def picture
      seen = {}
      ObjectSpace.each_object(Module) do |mod|
        next if own?(mod) || !(ROOTS.include?(mod) || mod.inspect.match?(/Net::|Timeout|Socket|Thread|Kernel|OpenSSL::SSL/))

        label = mod.inspect.gsub(/0x\h+/, "")
        (mod.instance_methods(false) + mod.private_instance_methods(false)).each do |name|
          place = mod.instance_method(name).source_location
          seen["#{label}##{name}"] = place ? place.join(":") : "C"
        end
        next if mod.singleton_class?

        seen["#{label} ancestors"] = mod.ancestors.map(&:inspect)
        seen["#{label} constants"] = mod.constants(false).sort
        seen["#{label} variables"] = mod.instance_variables.sort + mod.class_variables(false).sort
      end
      seen["globals"] = global_variables.sort
      seen["thread"] = [Thread.current.keys.sort, Thread.current.thread_variables.sort, Thread.list.size]
      seen["trace"] = ObjectSpace.each_object(TracePoint).count(&:enabled?)
      seen["singletons"] = ObjectSpace.each_object(Class).count { |one| one.singleton_class? && one.inspect.match?(/#<Class:#<Net::/) }
      seen
    end

    def changed(before, after)
      (before.keys | after.keys).reject { |key| before[key] == after[key] || key.match?(/^Object constants|\$LOADED/) }.sort
    end

    def leak(name)
      return unless ENV["LEAK"].to_s.include?(name)

      { "method" => -> { Net::BufferedIO.send(:define_method, :left) { nil } }, "thread" => -> { Thread.current[:left] = 1 },
        "global" => -> { eval("$left = 1") }, "singleton" => -> { SESSION.define_singleton_method(:left) { nil } },
        "variable" => -> { SESSION.instance_variable_set(:@left, 1) } }.fetch(name).call
    end

    STEPS = {}
    Timeout.timeout(9) { nil } # its thread stays, from Ruby 3.2 on
    before = picture
    before = picture # the first has loaded what it needs
    STEP = ->(name) { STEPS[name] = changed(before, picture) }
  RUBY

  STORY = <<~'RUBY'
    LAYERED = lambda do
      [Net::HTTP, Net::HTTPGenericRequest, Net::HTTPResponse].flat_map do |mod|
        layers = mod.ancestors.take_while { |one| one != mod }
        layers.flat_map { |one| one.instance_methods(false) + one.private_instance_methods(false) }
              .reject { |name| name.to_s.start_with?("onewrite_") }.map { |name| "#{mod}##{name}" }
      end.uniq.sort
    end
    NOTE = lambda do |name|
      STEP.call(name)
      STEPS["#{name} layers"] = LAYERED.call
    end
    require "onewrite"
    NOTE.call("install")
    hook = Onewrite.on_timing { |record| $count = record.status }
    NOTE.call("hook")
    url = URI("http://127.0.0.1:#{ENV["PORT"]}/")
    stock = [Net::HTTP.new("127.0.0.1"), Net::HTTP::Post.new("/", "Content-Type" => "a/b")].map(&:instance_variables)
    SESSION = Net::HTTP.new("127.0.0.1", url.port, nil)
    REQUEST = Net::HTTP::Post.new("/", "Content-Type" => "a/b")
    REQUEST.body = "hello"
    SESSION.start
    Mark = Class.new(String)
    Thread.new { 3.times { SESSION.request(REQUEST.dup.tap { |one| one.body = Mark.new("x") }) } }.join
    response = SESSION.request(REQUEST)
    %w[singleton variable].each { |name| leak(name) }
    STEPS["objects"] = SESSION.instance_variables - stock[0] + (REQUEST.instance_variables - stock[1]) +
                       SESSION.singleton_methods + REQUEST.singleton_methods + response.singleton_methods
    Thread.new { (deep = ->(at) { at.zero? || deep.call(at - 1) }).call(500) }.join
    4.times { GC.start }
    STEPS["kept"] = [ObjectSpace.each_object(Mark).count, ObjectSpace.each_object(Onewrite::Record).count]
    size = lambda do |io|
      ([io] + io.instance_variables.map { |name| io.instance_variable_get(name) }.grep(String))
        .sum { |one| ObjectSpace.memsize_of(one) } + io.instance_variables.map { |name| io.instance_variable_get(name) }.grep(Array)
        .flatten.sum { |one| ObjectSpace.memsize_of(one) + 40 }
    end
    socket = SESSION.instance_variable_get(:@socket)
    STEPS["idle"] = size.call(socket) - size.call(Net::BufferedIO.new(socket.io))
    SESSION.finish
    %w[method thread global].each { |name| leak(name) }
    NOTE.call("calls")
    hook.remove
    NOTE.call("no hook")
    Onewrite.uninstall
    NOTE.call("out")
    puts JSON.generate(STEPS)
  RUBY

  def steps(env = {}, story = STORY)
    JSON.parse(ruby(PICTURE + story, env: { "PORT" => tap_server.port.to_s }.merge(env), options: ["-W0"]).lines.last)
  end

  # @return [Array<String>] what changed beside the list: classes show their layers, and inherit the method of a session
  def beside(changes)
    changes.reject { |one| one.match?(/onewrite_|^Net::HTTP\S* ancestors|^#<Class:Net::HTTP/) } - ["globals"]
  end

  def test_what_is_touched_is_on_the_list_and_taken_out_again
    seen = steps
    all = (ALWAYS + TIMING).uniq.sort
    { "install" => ALWAYS, "hook" => all, "calls" => all, "no hook" => ALWAYS, "out" => [] }.each do |step, layers|
      assert_equal layers, seen["#{step} layers"], step
      assert_empty beside(seen[step]) - layers, step
    end
    assert_operator all.size, :<=, 8
    assert_empty seen["objects"] - LIST.flat_map { |one| one["name"].scan(/@onewrite_\w+(?= of a session)/) }
    assert_operator seen["kept"].max, :<=, 1 # the collector may take a stale word for a reference
    assert_operator seen["idle"], :<=, 1024
  end

  def test_with_the_kill_switch_nothing_is_touched
    seen = steps({ "ONEWRITE_DISABLED" => "1" }, "require 'onewrite'; STEP.call('require'); puts JSON.generate(STEPS)")
    assert_empty beside(seen["require"])
  end

  # A mutant: what is left behind on purpose shows.
  def test_what_is_left_behind_shows
    seen = steps("LEAK" => "method thread global singleton variable")
    assert_empty ["Net::BufferedIO#left", "thread", "globals"] - seen["calls"]
    assert_empty %w[@left left] - seen["objects"]
  end

  def test_the_readme_names_each_patched_method
    readme = File.read(File.join(ROOT, "README.md"))
    (ALWAYS + TIMING).each { |name| assert_includes readme, "`#{name[/\w+\z/]}`" }
  end
end
