# frozen_string_literal: true

require_relative "support/helper"

# Names of header fields are written as the library writes them, also where a program changes how.
class HeaderTest < OnewriteTest
  # The usual trick to keep the case of a name.
  class Kept < String
    def downcase
      self
    end

    def capitalize
      self
    end

    def split(*)
      [self]
    end

    def to_s
      self
    end
  end

  # Collects what is written.
  class Sink
    def write(*strs)
      (@written ||= []).concat(strs)
      strs.sum(&:bytesize)
    end

    # @return [Array<(String, Encoding)>]
    def writes
      @written.map { |str| [str.b, str.encoding] }
    end
  end

  STOCK = Net::HTTPHeader.instance_method(:each_capitalized)

  def head(request)
    sink = Sink.new
    request.__send__(:write_header, sink, "1.1", request.path)
    sink.writes
  rescue StandardError => e
    [e.class, e.message]
  end

  # Runs the block with the library's method instead of the adapter's.
  def stock_head(request)
    Onewrite.disable!
    head(request)
  ensure
    Onewrite.enable!
  end

  def assert_as_stock(request, expected = nil)
    3.times do # names are known from the second time on
      stock = stock_head(request)
      assert_equal stock, head(request)
      assert_includes stock[0][0], expected if expected
    end
  end

  NAMES = %w[
    accept host content-type x a--b -a a- - -- etag te www-authenticate x-REQUEST-id SOAPAction dnt 1a-2b a_b a.b x-é ÉTÉ ß
    ǆ-x
  ].freeze
  VALUES = ["", "a", "a,b", " padded ", "é", "\xFF".b, "x" * 300, "two  spaces", "q=\"1\"", 17, :sym].freeze

  def random_request(random)
    request = Net::HTTP::Post.new("/p#{random.rand(9)}")
    random.rand(12).times do
      name = random.rand < 0.3 ? Array.new(random.rand(1..9)) { [*"a".."z", "-", "_", "."].sample(random: random) }.join : nil
      name ||= NAMES.sample(random: random)
      name = name.send(%i[upcase downcase capitalize itself].sample(random: random))
      value = VALUES.sample(random: random)
      random.rand < 0.3 ? request.add_field(name, value) : request[name] = value
    end
    request
  end

  def test_random_heads_equal_those_of_the_library
    random = Random.new(20_131_125)
    1000.times { assert_as_stock(random_request(random)) }
  end

  def test_fields_put_into_the_hash_directly_equal_those_of_the_library
    request = Net::HTTP::Get.new("/")
    header = request.instance_variable_get(:@header)
    header["UPPER-case"] = ["x", nil, ["y", 1]]
    header[Kept.new("soap-action")] = ["z"]
    header["empty"] = []
    assert_as_stock(request, "Upper-Case: x, , y, 1\r\nsoap-action: z\r\nEmpty: \r\n")
  end

  def test_a_string_that_keeps_its_case_keeps_it
    request = Net::HTTP::Get.new("/", Kept.new("SOAPAction") => "x")
    assert_as_stock(request, "\r\nSOAPAction: x\r\n")
    request = Net::HTTP::Get.new("/", Kept.new("host") => "x")
    assert_as_stock(request, "\r\nhost: x\r\n")
  end

  def test_a_class_or_an_object_with_its_own_capitalize_keeps_it
    own = Module.new do
      private

      def capitalize(name)
        "own-#{name}"
      end
    end
    assert_as_stock(Class.new(Net::HTTP::Get) { include(own) }.new("/"), "\r\nown-accept: ")
    assert_as_stock(Net::HTTP::Get.new("/").extend(own), "\r\nown-accept: ")
    request = Net::HTTP::Get.new("/")
    def request.capitalize(name)
      "single-#{name}"
    end
    assert_as_stock(request, "\r\nsingle-accept: ")
    def request.each_capitalized
      yield "Only", "one"
    end
    assert_as_stock(request, "\r\nOnly: one\r\n\r\n")
  end

  # name => what a program does to the library
  CHANGES = {
    "capitalize of Net::HTTPHeader" => "module Net::HTTPHeader; private def capitalize(name) name end; end",
    "capitalize of the request" => "class Net::HTTPGenericRequest; private def capitalize(name) name end; end",
    "each_capitalized" => "module Net::HTTPHeader; def each_capitalized; @header.each { |k, v| yield k, v[0] }; end; end",
    "write_header" => <<~RUBY,
      class Net::HTTPGenericRequest
        private def write_header(sock, ver, path)
          sock.write("\#{@method} \#{path} HTTP/\#{ver}\\r\\n" + @header.map { |k, v| "\#{k}: \#{v[0]}\\r\\n" }.join + "\\r\\n")
        end
      end
    RUBY
    "a chain over each_capitalized" => <<~RUBY,
      class Net::HTTPGenericRequest
        alias_method :capitalized_before, :each_capitalized
        def each_capitalized
          capitalized_before { |k, v| yield k.downcase, v }
        end
      end
    RUBY
    "a chain over capitalize" => <<~RUBY
      module Net::HTTPHeader
        alias_method :capitalize_before, :capitalize
        private def capitalize(name) capitalize_before(name).downcase end
      end
    RUBY
  }.freeze

  CHANGES.each do |name, change|
    { before: [change, "require 'onewrite'"], after: ["require 'onewrite'", "once.call\n#{change}"] }.each do |order, steps|
      define_method("test_#{name} changed #{order} the gem stays changed") do
        out = ruby(<<~RUBY, env: { "PORT" => tap_server.port.to_s }, options: ["-W0"])
          require "net/http"
          http = Net::HTTP.new("127.0.0.1", ENV["PORT"].to_i, nil)
          once = -> { http.post("/", "x", "x-Name" => "v", "Content-Type" => "text/plain") }
          http.start
          #{steps.join("\n")}
          3.times { once.call }
          http.get("/", "x-Name" => "v")
          puts Onewrite.enabled?
        RUBY
        assert_equal "true", out.lines.last.strip
        seen = @taps.first.seen.last(4)
        assert(seen.all? { |one| one.bytes.include?("\r\nx-name: v\r\n") }, seen.map(&:bytes).inspect)
      end
    end
  end

  def tap_server(**)
    super.tap { |tap| (@taps ||= []) << tap }
  end

  def test_the_caller_may_change_the_strings_it_gets
    request = post("/", nil, "x-name" => "value")
    2.times do
      request.each_capitalized do |name, value|
        name << "-changed"
        value << " changed"
      end
    end
    assert_as_stock(request, "\r\nX-Name: value\r\n")
    assert_equal STOCK.bind(request).call.to_a, request.each_capitalized.to_a
  end

  def test_the_number_of_kept_names_is_limited
    400.times { |number| assert_as_stock(post("/", nil, "x-made-up-#{number}" => "v"), "\r\nX-Made-Up-#{number}: v\r\n") }
    assert_operator Onewrite::NetHTTP::Header.names.size, :<=, 256
  end

  def test_a_known_name_costs_fewer_objects
    request = post("/", nil, "X-A-Rather-Long-Name" => "v")
    count = lambda do
      before = GC.stat(:total_allocated_objects)
      head(request)
      GC.stat(:total_allocated_objects) - before
    end
    2.times { head(request) } # the name is kept now
    Onewrite.disable!
    stock = Array.new(5) { count.call }.min
    Onewrite.enable!
    skip "this Ruby does not intern the keys of a Hash" if Onewrite::NetHTTP::Header.names.empty?
    assert_operator Array.new(5) { count.call }.min, :<, stock
  end
end
