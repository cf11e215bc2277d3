# frozen_string_literal: true

require_relative "support/helper"
require "tmpdir"

# Other gems that patch Net::HTTP, loaded before and after onewrite: both work, and neither recurses.
class TracersTest < OnewriteTest
  FIXTURES = File.join(__dir__, "fixtures", "tracers")

  # style => the calls that it sees of a start and two requests
  STYLES = {
    "alias_chain" => "connect request request",
    "httplog" => "connect request 2 request 2",
    "opentelemetry" => "connect request request",
    "semian" => "new connect transport transport",
    "exec_chain" => "exec exec",
    "writer_chain" => "write write"
  }.freeze

  SCRIPT = <<~'RUBY'
    $traced = []
    require "net/http"
    ARGV.each { |file| require file }
    timings = []
    Onewrite.on_timing { |t| timings << t.writes }
    Net::HTTP.start("127.0.0.1", ENV["PORT"].to_i, nil) do |http|
      2.times { http.post("/", "hello", "Content-Type" => "text/plain") }
      puts $traced.join(" "), timings.join(" ")
      20.times { http.post("/", "hello", "Content-Type" => "text/plain") }
    end
  RUBY

  def run_with(*files)
    @tap = tap_server
    command = [RbConfig.ruby, "-I", File.join(ROOT, "lib"), "-e", SCRIPT, *files]
    out, status = Open3.capture2e({ "PORT" => @tap.port.to_s }, *command)
    assert status.success?, out
    out.lines.map(&:chomp)
  end

  STYLES.each do |style, noted|
    fixture = File.join(FIXTURES, "#{style}.rb")
    { "before" => [fixture, "onewrite"], "after" => ["onewrite", fixture] }.each do |order, files|
      define_method("test_#{style} loaded #{order} onewrite") do
        assert_equal [noted, "1 1"], run_with(*files)
        assert_equal 1, @tap.segments
      end
    end
  end

  def test_two_styles_that_work_together_also_work_with_onewrite
    chain = File.join(FIXTURES, "alias_chain.rb")
    prepend = File.join(FIXTURES, "opentelemetry.rb")
    [[chain, prepend, "onewrite"], [chain, "onewrite", prepend], ["onewrite", chain, prepend]].each do |files|
      assert_equal "1 1", run_with(*files).last
    end
  end

  # Ways to wrap a method, each of which counts its calls.
  WRAPPERS = {
    "an alias chain" => <<~'RUBY',
      alias_method :"#{name}_unwrapped", name
      define_method(name) { |*args, &block| ($calls[name] += 1) && send(:"#{name}_unwrapped", *args, &block) }
    RUBY
    "an instance_method that define_method calls" => <<~'RUBY',
      unwrapped = instance_method(name)
      define_method(name) { |*args, &block| ($calls[name] += 1) && unwrapped.bind(self).call(*args, &block) }
    RUBY
    "a prepended module" => <<~'RUBY'
      prepend(Module.new { define_method(name) { |*args, &block| ($calls[name] += 1) && super(*args, &block) } })
    RUBY
  }.freeze

  # Wraps each patched method, and those that write a request.
  WRAP = <<~'RUBY'
    require "net/http"
    $calls = Hash.new(0)
    def wrap
      {
        Net::HTTP => %i[do_start do_finish ssl_socket_connect on_connect begin_transport transport_request],
        Net::HTTPGenericRequest => %i[send_request_with_body send_request_with_body_stream send_request_with_body_data
                                      each_capitalized exec],
        Net::HTTPResponse.singleton_class => %i[read_status_line], Net::HTTPResponse => %i[read_body_0]
      }.each do |where, names|
        names.each do |name|
          where.class_eval do
            %s
          end
        end
      end
    end
  RUBY

  EXCHANGES = <<~'RUBY'
    def exchanges
      $calls.clear
      make = ->(&more) { Net::HTTP::Post.new("/", "Content-Type" => "text/plain").tap(&more) }
      stream = make.call { |one| one.body_stream = StringIO.new("hello") }
      stream["Content-Length"] = "5"
      form = Net::HTTP::Post.new("/").tap { |one| one.set_form([%w[a b]], "multipart/form-data") }
      http = Net::HTTP.new("127.0.0.1", ENV["PORT"].to_i, nil)
      http.use_ssl = true
      http.verify_mode = OpenSSL::SSL::VERIFY_NONE
      http.start do
        [make.call { |one| one.body = "hello" }, stream, form, Net::HTTP::Get.new("/")].each { |one| http.request(one) }
        repeated = make.call { |one| one.body = "x" }
        http.request(repeated) { |response| response.read_body && http.request(repeated) }
      end
      puts $calls.sort.join(" ")
    end
  RUBY

  ORDERS = {
    "before us" => "wrap; require 'onewrite'; Onewrite.on_timing { |t| $told << t }",
    "after us" => "require 'onewrite'; wrap; Onewrite.on_timing { |t| $told << t }",
    "after the first hook" => "require 'onewrite'; Onewrite.on_timing { |t| $told << t }; wrap",
    "after us, without a hook" => "require 'onewrite'; wrap",
    "before and after us" => "wrap; require 'onewrite'; wrap; Onewrite.on_timing { |t| $told << t }"
  }.freeze

  def wrapped(wrapper, setup, rest)
    tap = tap_server(tls: true)
    ruby(<<~RUBY, env: { "PORT" => tap.port.to_s }, options: ["-W0"]).lines.map(&:chomp)
      $told = []
      require "stringio"
      #{WRAP.sub("%s") { wrapper }}
      #{EXCHANGES}
      #{setup}
      exchanges
      #{rest}
    RUBY
  end

  WRAPPERS.each do |what, wrapper|
    ORDERS.each do |order, setup|
      next if order.include?("and") && what != "an instance_method that define_method calls" # one alias takes one name

      define_method("test_#{what} around each patched method, #{order}, is called as often as without onewrite") do
        stock = wrapped(wrapper, order.include?("and") ? "wrap; wrap" : "wrap", "").first
        assert_match(/transport_request (6|12)/, stock)
        again = "Onewrite.disable!; exchanges; puts $told.map { |t| [t.outcome, t.writes].join } .join(' ')"
        on, off, told = wrapped(wrapper, setup, again)
        assert_equal [stock, stock], [on, off]
        assert_equal order.end_with?("without a hook") ? "" : (["ok1"] * 6).join(" "), told.to_s
      end
    end
  end

  # An alias chain in a subclass never calls the patched method by the alias, so nothing has to be bypassed.
  def test_an_alias_chain_in_a_subclass_leaves_the_adapter_on
    tap = tap_server(tls: true)
    out = ruby(<<~'RUBY', env: { "PORT" => tap.port.to_s }, options: ["-W0"])
      require "onewrite"
      require "stringio"
      records = []
      hook = Onewrite.on_timing { |t| records << [t.writes, t.wait_ns, t.outcome].compact.size }
      chained = lambda do |where, *names|
        Class.new(where) do
          names.each do |name|
            alias_method :"#{name}_unchained", name
            define_method(name) { |*args, &block| send(:"#{name}_unchained", *args, &block) }
          end
        end
      end
      methods = Hash.new { |known, where| known[where] = [] }
      Onewrite.status[:patches].each_key do |label|
        where, name = label[/\S+/].split("#")
        methods[Object.const_get(where)] |= [name.to_sym] if name
      end
      Session = chained.call(Net::HTTP, *methods[Net::HTTP])
      Request = chained.call(Net::HTTP::Post, *methods[Net::HTTPGenericRequest])
      Head = chained.call(Net::HTTP::Get, *methods[Net::HTTPGenericRequest])
      2.times do
        http = Session.new("127.0.0.1", ENV["PORT"].to_i, nil)
        http.use_ssl = true
        http.verify_mode = OpenSSL::SSL::VERIFY_NONE
        http.start
        whole = Request.new("/", "Content-Type" => "text/plain").tap { |one| one.body = "hello" }
        stream = Request.new("/", "Content-Type" => "text/plain", "Content-Length" => "5")
        stream.body_stream = StringIO.new("hello")
        form = Request.new("/").tap { |one| one.set_form([%w[a b]], "multipart/form-data") }
        [whole, stream, form, Head.new("/")].each { |one| http.request(one) }
        http.request(Head.new("/")) { break }
        print http.instance_variable_get(:@socket).closed? ? "closed " : "open "
        hook.remove
      end
      p records
    RUBY
    assert_equal "closed closed [3, 3, 3, 3, 3]\n", out
    assert_equal [1], tap.seen.map { |one| one.pieces.size }.uniq
  end

  # Like a circuit breaker or a stub. Defined before the gem is loaded, it runs after the adapter's method.
  def test_a_wrapper_that_answers_instead_of_the_library
    out = ruby(<<~'RUBY', env: { "PORT" => tap_server.port.to_s }, options: ["-W1"])
      require "net/http"
      $answers = [nil, :stubbed, Struct.new(:code).new("299")]
      Net::HTTP.class_eval do
        unwrapped = instance_method(:transport_request)
        define_method(:transport_request) { |req| $answers.empty? ? unwrapped.bind(self).call(req) : $answers.shift }
      end
      require "onewrite"
      http = Net::HTTP.new("127.0.0.1", ENV["PORT"].to_i, nil)
      http.onewrite_timing = ->(t) { print t.outcome, t.status, t.attempts.size, " " }
      http.start
      send = -> { http.__send__(:transport_request, Net::HTTP::Get.new("/")) }
      p [send.call, send.call, send.call.code, send.call.code]
      $answers = [nil, :stubbed, Struct.new(:code).new("299")]
      http.onewrite_listener = Onewrite::TimingListener.new
      p [send.call, send.call, send.call.code, send.call.code]
    RUBY
    assert_equal "ok0 ok0 ok2990 ok2001 [nil, :stubbed, \"299\", \"200\"]\n" * 2, out
  end

  # Like ssrf_filter: a request written to another socket.
  def test_exec_on_a_foreign_socket_is_passed_on
    text = StringIO.new
    Net::HTTP::Get.new("/x").exec(text, "1.1", "/x")
    assert_match(%r{\AGET /x HTTP/1\.1\r\n}, text.string)
  end

  # Like WebMock: Net::HTTP is replaced by a subclass for a while.
  def test_the_patch_survives_a_replaced_constant
    out = ruby(<<~'RUBY', env: { "PORT" => tap_server.port.to_s })
      require "net/http"
      original = Net::HTTP
      Net.send(:remove_const, :HTTP)
      Net.const_set(:HTTP, Class.new(original))
      require "onewrite"
      Net.send(:remove_const, :HTTP)
      Net.const_set(:HTTP, original)
      writes = nil
      Onewrite.on_timing { |t| writes = t.writes }
      Net::HTTP.start("127.0.0.1", ENV["PORT"].to_i) { |http| http.post("/", "hello", "Content-Type" => "text/plain") }
      p writes
    RUBY
    assert_equal "1\n", out
  end

  def test_an_unknown_net_http_is_not_patched_and_warned_of_once
    out = ruby(<<~'RUBY')
      require "net/http"
      Net::HTTPGenericRequest.class_eval { def exec(sock, ver, path, more); end }
      require "onewrite"
      Onewrite.enable!
      p Onewrite.enabled?, Net::HTTP.instance_method(:on_connect).source_location.first.include?("onewrite")
      p Onewrite.status[:off_because]
    RUBY
    assert_match(/^onewrite: stays off: .*exec/, out)
    assert_match(/^false\nfalse\n"net-http has no .*exec as expected"$/, out)
  end

  # net-protocol is a gem of its own. Each of these renames one private name that the adapter uses.
  %w[write0 writing rbuf_fill debug_output @rbuf].each do |name|
    define_method("test_a net-protocol without #{name} is not patched") do
      source = $LOADED_FEATURES.grep(%r{/net/protocol\.rb\z}).first
      Dir.mktmpdir do |folder|
        Dir.mkdir(File.join(folder, "net"))
        text = File.read(source).gsub(/#{Regexp.escape(name)}\b/, "#{name}_renamed")
        text = text.gsub("@debug_output_renamed", "@debug_output") if name == "debug_output"
        File.write(File.join(folder, "net", "protocol.rb"), text)
        out = ruby(<<~RUBY, load_path: [folder, File.join(ROOT, "lib")], options: ["-W1"])
          require "onewrite"
          p Onewrite.enabled?, Onewrite.status[:off_because]
        RUBY
        assert_equal 1, out.scan(/^onewrite: stays off: net-http or net-protocol has no /).size, out
        assert_match(/^false\n"net-http or net-protocol has no .*as expected"$/, out)
      end
    end
  end

  def test_an_unknown_version_is_not_patched
    out = ruby("require 'net/http'; Net::HTTP.const_set(:VERSION, '7.0.0'); require 'onewrite'; p Onewrite.enabled?")
    assert_match(/stays off: unknown version of net-http \(net-http 7\.0\.0\)/, out)
    assert_match(/^false$/, out)
  end

  # Compared with the library's classes before and after.
  def test_status_lists_every_patched_method
    out = ruby(<<~'RUBY')
      require "net/http"
      CLASSES = { "Net::HTTP#" => Net::HTTP, "Net::HTTPGenericRequest#" => Net::HTTPGenericRequest,
                  "Net::HTTPResponse." => Net::HTTPResponse.singleton_class, "Net::HTTPResponse#" => Net::HTTPResponse,
                  "Net::BufferedIO#" => Net::BufferedIO, "Net::HTTPHeader#" => Net::HTTPHeader }
      def methods_of(where)
        (where.instance_methods(false) + where.private_instance_methods(false)).to_h { |name| [name, where.instance_method(name)] }
      end
      before = CLASSES.transform_values { |where| methods_of(where) }
      require "onewrite"
      changed = CLASSES.flat_map do |label, where|
        methods_of(where).reject { |name, method| method == before[label][name] || name.to_s.start_with?("onewrite_") }
                         .map { |name, _| "#{label}#{name}" }
      end
      patches = Onewrite.status[:patches]
      puts changed.sort.join(" "), patches.keys.map { |key| key[/\S+/] }.uniq.sort.join(" "), patches.size, patches.values.uniq
    RUBY
    changed, listed, count, states = out.lines.map(&:chomp)
    assert_equal changed, listed
    assert_operator count.to_i, :<=, 9
    assert_equal "on", states
  end

  def test_the_readme_counts_what_is_patched
    word = %w[eight nine ten][Onewrite.status[:patches].size - 8]
    assert_includes File.read(File.join(ROOT, "README.md")), "The gem replaces #{word} private or undocumented methods"
  end

  def test_status_names_the_module_that_comes_first
    out = ruby(<<~'RUBY')
      require "onewrite"
      other = Module.new { def exec(*); super; end }
      Net::HTTPGenericRequest.prepend(other)
      Object.const_set(:Other, other)
      Net::HTTP.send(:define_method, :on_connect) { nil }
      p(*Onewrite.status[:patches].values_at("Net::HTTPGenericRequest#exec", "Net::HTTP#on_connect"))
    RUBY
    assert_equal ["\"on, but Other comes first\"\n", "\"on, but -e:5 comes first\"\n"], out.lines.last(2)
  end
end
