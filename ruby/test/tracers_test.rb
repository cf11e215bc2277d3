# frozen_string_literal: true

require_relative "support/helper"
require_relative "fixtures/chains"
require "fileutils"
require "tmpdir"

# Other gems that wrap or replace methods of Net::HTTP, and a Net::HTTP that the gem does not know.
class TracersTest < OnewriteTest
  LIMIT = 600
  SAMPLE = 24
  METHODS = (Chain::METHODS.keys.map { |name| [name] } << Chain::METHODS.keys).freeze
  STYLES = Chain::STYLES.keys.freeze
  ORDERS = ([nil] + STYLES).product([nil] + STYLES).drop(1).freeze # styles before and after the gem is loaded
  PATCHED = Chain::PATCHED.keys.map { |name| [name] }.freeze
  REQUESTS = 6

  # @return [Array<Array>] method names, styles, state of the gem: with WHOLE=1 all, else a sample by SEED
  def configurations
    all = METHODS.product(ORDERS, Chain::STATES.keys) +
          PATCHED.product(ORDERS.select { |_, after| [nil, "prepend"].include?(after) }, Chain::STATES.keys)
    ENV["WHOLE"] ? all : all.sample(SAMPLE, random: Random.new(Integer(ENV.fetch("SEED", "1"))))
  end

  # @return [Hash{Array => Hash}] what each configuration has seen, and the TLS records of each request
  def run_chains(configurations)
    tap = tap_server(tls: true)
    lines = configurations.each_with_index.map do |(methods, (before, after), state), id|
      JSON.generate(id: id, methods: methods, before: before, after: after, state: state)
    end
    out, status = Open3.capture2e({ "RUBYOPT" => nil }, RbConfig.ruby, "-W0", "-I", File.join(ROOT, "lib"),
                                  File.join(__dir__, "fixtures/chains.rb"), tap.port.to_s, "2", stdin_data: lines.join("\n"))
    assert status.success?, out
    found = out.lines.map { |line| JSON.parse(line) }.to_h { |one| [configurations[one["id"]], one] }
    assert_equal configurations.size, found.size, out[/^(?!\{).*/m]
    records = tap.seen.group_by { |one| one.line[%r{/(\d+)}, 1].to_i }
    found.each_value { |one| one["records"] = records.fetch(one["id"], []).map { |seen| seen.pieces.size } }
  end

  # Each wrapper is called as often as without the gem; those of the writing methods once per request.
  def test_wrappers_in_each_order
    ours = configurations
    stock = run_chains(ours.map { |methods, order, _| [methods, order, nil] }.uniq)
    found = run_chains(ours)
    wrong = found.map do |(methods, order, state), seen|
      expected = stock.fetch([methods, order, nil])
      next if expected["answers"] == ["recursion"] # without the gem, too

      unless state == "off"
        counts = expected["counts"].to_h { |name, count| [name, name.include?(" write") ? REQUESTS : count] }
        timed = state.start_with?("hook") ? ["ok 1"] * REQUESTS : []
        expected = expected.merge("counts" => counts, "timed" => timed, "records" => [1] * REQUESTS)
      end
      names = %w[answers counts timed records].reject { |name| seen[name] == expected[name] }
      "#{[methods, order, state].inspect}: #{seen.slice(*names)}, not #{expected.slice(*names)}" if names.any?
    end.compact
    assert_empty wrong, "#{wrong.size} of #{found.size} configurations"
    assert_operator stock.count { |_, seen| seen["answers"] == [%w[200 ok]] * REQUESTS }, :>, stock.size / 2
  end

  # Like ssrf_filter: a request written to another socket.
  def test_exec_on_a_foreign_socket_is_passed_on
    text = StringIO.new
    Net::HTTP::Get.new("/x").exec(text, "1.1", "/x")
    assert_match(%r{\AGET /x HTTP/1\.1\r\n}, text.string)
  end

  { "with another method" => ["Net::HTTPGenericRequest.class_eval { def exec(sock, ver, path, more); end }",
                              /net-http or net-protocol has no Net::HTTPGenericRequest#exec as expected/],
    "of another version" => ["Net::HTTP.const_set(:VERSION, '7.0.0')", /unknown version of net-http/] }
    .each do |what, (change, why)|
    define_method("test_a net-http #{what} is not patched and warned of once") do
      out = ruby(<<~RUBY)
        require "net/http"
        #{change}
        require "onewrite"
        Onewrite.install if Onewrite.status[:hooks] > 0
        p Onewrite.status[:installed], Onewrite.status[:patches]
        p Onewrite.status[:off_because]
      RUBY
      assert_match(/^onewrite: stays off: #{why} \(net-http/, out)
      assert_match(/^false\n\[\]\n"#{why}"$/, out)
    end
  end

  # net-protocol is a gem of its own. Each of these renames one private name that the adapter uses.
  %w[rbuf_fill @debug_output @rbuf @io].each do |name|
    define_method("test_a net-protocol without #{name} is not patched") do
      source = $LOADED_FEATURES.grep(%r{/net/protocol\.rb\z}).first
      Dir.mktmpdir do |folder|
        Dir.mkdir(File.join(folder, "net"))
        text = File.read(source).gsub(/#{Regexp.escape(name)}\b/, "#{name}_renamed")
        File.write(File.join(folder, "net", "protocol.rb"), text)
        out = ruby(<<~RUBY, load_path: [folder, File.join(ROOT, "lib")], options: ["-W1"])
          require "onewrite"
          p Onewrite.status[:installed], Onewrite.status[:off_because]
        RUBY
        assert_equal 1, out.scan(/^onewrite: stays off: net-http or net-protocol has no /).size, out
        assert_match(/^false\n"net-http or net-protocol has no .*as expected"$/, out)
      end
    end
  end

  # A vendored copy beside the installed one: two would call one another without end.
  def test_a_second_copy_of_the_gem_warns_and_stays_off
    Dir.mktmpdir do |folder|
      FileUtils.cp_r(File.join(ROOT, "lib", "."), folder)
      out = ruby(<<~'RUBY', env: { "PORT" => tap_server.port.to_s, "SECOND" => folder })
        require "onewrite"
        records = 0
        Onewrite.on_timing { records += 1 }
        $LOAD_PATH.unshift(ENV["SECOND"])
        2.times { require "#{ENV["SECOND"]}/onewrite.rb" }
        puts Net::HTTP.get(URI("http://127.0.0.1:#{ENV["PORT"]}/")), records
      RUBY
      assert_equal "ok\n1\n", out.lines.last(2).join
      assert_equal 1, out.scan(/^onewrite: loaded already; the copy at #{folder}.* stays off$/).size
    end
  end
end
