# frozen_string_literal: true

require_relative "support/helper"
require "tempfile"

# Gems that sit on Net::HTTP, as Debian packages them: loaded before onewrite and after it.
class GemsTest < OnewriteTest
  LIMIT = 240
  # What to require, and with it: name => a POST of a small body.
  POSTS = {
    "faraday" => {
      "json" => 'Faraday.new(URL) { |f| f.adapter :net_http }.post("/", "{}", "Content-Type" => "application/json")',
      "form" => 'Faraday.new(URL).post("/", a: 1)',
      "multipart" => <<~'RUBY',
        Faraday.new(URL) { |f| f.request :multipart; f.adapter :net_http }
               .post("/", file: Faraday::UploadIO.new(StringIO.new("x" * 300), "text/plain", "f.txt"))
      RUBY
      "multipart with a file" => <<~'RUBY',
        Faraday.new(URL) { |f| f.request :multipart; f.adapter :net_http }
               .post("/", a: 1, file: Faraday::UploadIO.new(FILE, "text/plain"))
      RUBY
      "over net-http-persistent" =>
        '($c ||= Faraday.new(URL) { |f| f.adapter :net_http_persistent }).post("/", "x", "Content-Type" => "text/plain")'
    },
    "httparty" => {
      "string" => 'HTTParty.post(URL, body: "hello", headers: { "Content-Type" => "text/plain" })',
      "multipart" => 'HTTParty.post(URL, multipart: true, body: { a: "b" })'
    },
    "rest-client" => {
      "string" => 'RestClient.post(URL, "hello", content_type: "text/plain")',
      "form" => 'RestClient.post(URL, a: "b")',
      "multipart" => 'RestClient.post(URL, a: "b", multipart: true)',
      "file in a form" => "RestClient.post(URL, a: File.open(FILE))",
      "file" => 'RestClient.post(URL, File.open(FILE), content_type: "text/plain")'
    },
    "net/http/post/multipart" => { "file in a form" => <<~'RUBY' },
      request = Net::HTTP::Post::Multipart.new("/", "a" => "b", "file" => UploadIO.new(FILE, "text/plain"))
      Net::HTTP.start("127.0.0.1", URI(URL).port, nil) { |http| http.request(request) }
    RUBY
    "net/http/persistent" => { "string" => <<~'RUBY' },
      $http ||= Net::HTTP::Persistent.new(name: "test")
      request = Net::HTTP::Post.new("/", "Content-Type" => "text/plain")
      request.body = "hello"
      $http.request(URI(URL), request)
    RUBY
    "aws-sdk-core" => {
      "stream" => <<~'RUBY',
        pool = ($pool ||= Seahorse::Client::NetHttp::ConnectionPool.for({}))
        request = Net::HTTP::Put.new("/", "Content-Type" => "text/plain", "Content-Length" => "300")
        request.body_stream = StringIO.new("x" * 300)
        pool.session_for(URI(URL)) { |http| http.request(request) }
      RUBY
      "checksum behind the body" => <<~'RUBY'
        checksum = Aws::Plugins::ChecksumAlgorithm
        stream = checksum::AwsChunkedTrailerDigestIO.new(File.open(FILE), "SHA256", "x-amz-checksum-sha256")
        request = Net::HTTP::Put.new("/", "Content-Type" => "text/plain", "Content-Length" => stream.size.to_s)
        request.body_stream = stream
        Net::HTTP.start("127.0.0.1", URI(URL).port, nil) { |http| http.request(request) }
      RUBY
    },
    "elasticsearch/transport" => { "bulk" => <<~'RUBY' },
      $es ||= Elasticsearch::Transport::Client.new(url: URL, adapter: :net_http)
      $es.transport.perform_request("POST", "/_bulk", {}, "{}\n{}\n", "Content-Type" => "application/x-ndjson")
    RUBY
    "influxdb" => {
      "write" => 'InfluxDB::Client.new("db", host: "127.0.0.1", port: URI(URL).port, retry: 0).write("m v=1", nil)'
    },
    "mechanize" => { "form" => '($agent ||= Mechanize.new).post(URL, "a" => "b")' },
    "octokit" => { "issue" => <<~'RUBY' },
      Octokit::Client.new(api_endpoint: URL, access_token: "x").create_issue("a/b", "title", "body")
    RUBY
    "webmock" => { "real net allowed" => <<~'RUBY' },
      WebMock.enable!
      WebMock.allow_net_connect!
      Net::HTTP.post(URI(URL), "hello", "Content-Type" => "text/plain")
    RUBY
    "vcr" => { "passing through" => <<~'RUBY' }
      VCR.configure { |c| c.hook_into :webmock; c.allow_http_connections_when_no_cassette = true }
      Net::HTTP.post(URI(URL), "hello", "Content-Type" => "text/plain")
    RUBY
  }.freeze
  TIMES = 21
  # Writes of bodies that a gem composes: the library's, because a part of them may block. Each other one is one.
  COMPOSED = { "faraday multipart" => 2, "faraday multipart with a file" => 2, "rest-client multipart" => 2,
               "rest-client file in a form" => 2, "net/http/post/multipart file in a form" => 2,
               "aws-sdk-core checksum behind the body" => 3 }.freeze

  SCRIPT = <<~'RUBY'
    URL = ENV["URL"]
    FILE = ENV["FILE"]
    writes = []
    ENV["ORDER"].split(",").each { |name| require name }
    Onewrite.on_timing { |record| writes << [record.writes, record.outcome] }
    %s
    puts writes.map { |one| one.join(":") }.join(" ")
  RUBY

  FILE = Tempfile.new("onewrite-gems").tap do |file|
    file.write("x" * 300)
    file.flush
  end

  ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-Elastic-Product: Elasticsearch\r\n\r\n{}"

  # SEED chooses an order for each gem; WHOLE=1 and a run without SEED have both.
  RANDOM = (Random.new(Integer(ENV["SEED"])) if ENV["SEED"] && !ENV["WHOLE"])

  POSTS.each do |library, posts|
    orders = [[library, "onewrite"], ["onewrite", library]]
    orders = [orders.sample(random: RANDOM)] if RANDOM
    orders.each do |order|
      define_method("test_#{order.join(", then ")}: #{posts.keys.join(", ")}") do
        # InfluxDB answers 204.
        tap = tap_server { |seen| seen.line.include?("/write") ? "HTTP/1.1 204 No Content\r\n\r\n" : ANSWER }
        script = format(SCRIPT, posts.values.map { |code| "#{TIMES}.times { #{code} }" }.join("\n"))
        out = ruby(script, env: { "URL" => tap.url, "FILE" => FILE.path, "ORDER" => order.join(",") }, options: ["-W0"])
        expected = posts.keys.to_h { |name| [name, COMPOSED.fetch("#{library} #{name}", 1)] }
        assert_equal expected, posts.keys.zip(out.lines.last.split.each_slice(TIMES).map { |all| mode(all).to_i }).to_h
        assert_equal %w[ok], out.lines.last.split.map { |one| one.split(":")[1] }.uniq
        segments = tap.seen.map(&:segments).each_slice(TIMES).map { |counts| mode(counts) }
        assert_equal expected, posts.keys.zip(segments).to_h
      end
    end
  end

  # WebMock replaces Net::HTTP by a subclass. Stubbed requests are no calls; after disable! requests go through onewrite.
  def test_webmock_on_and_off_in_both_orders
    tap = tap_server
    [%w[webmock onewrite], %w[onewrite webmock]].each do |order|
      out = ruby(<<~'RUBY', env: { "URL" => tap.url, "ORDER" => order.join(",") }, options: ["-W0"])
        first, second = ENV["ORDER"].split(",")
        require first
        WebMock.enable! if first == "webmock"
        require second
        WebMock.enable!
        writes = []
        Onewrite.on_timing { |record| writes << record.writes }
        send = -> { Net::HTTP.post(URI(ENV["URL"]), "hello", "Content-Type" => "text/plain").body }
        WebMock::API.stub_request(:post, ENV["URL"]).to_return(body: "stubbed")
        stubbed = send.call
        WebMock.disable!
        puts [stubbed, send.call, writes.inspect].join(" ")
      RUBY
      assert_equal "stubbed ok [1]", out.lines.last.chomp
    end
  end
end
