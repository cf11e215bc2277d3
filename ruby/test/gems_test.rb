# frozen_string_literal: true

require_relative "support/helper"

# Gems that sit on Net::HTTP, as Debian packages them: each in a process of its own, each POST in one segment.
class GemsTest < OnewriteTest
  # gem => [what to require, a POST of a small body]
  POSTS = {
    "faraday json" => ["faraday",
                       'Faraday.new(URL) { |f| f.adapter :net_http }.post("/", "{}", "Content-Type" => "application/json")'],
    "faraday form" => ["faraday", 'Faraday.new(URL).post("/", a: 1)'],
    "faraday multipart" => ["faraday", <<~'RUBY'],
      Faraday.new(URL) { |f| f.request :multipart; f.adapter :net_http }
             .post("/", file: Faraday::UploadIO.new(StringIO.new("x" * 300), "text/plain", "f.txt"))
    RUBY
    "faraday over net-http-persistent" =>
      ["faraday",
       '($c ||= Faraday.new(URL) { |f| f.adapter :net_http_persistent }).post("/", "x", "Content-Type" => "text/plain")'],
    "httparty string" => ["httparty", 'HTTParty.post(URL, body: "hello", headers: { "Content-Type" => "text/plain" })'],
    "httparty multipart" => ["httparty", 'HTTParty.post(URL, multipart: true, body: { a: "b" })'],
    "rest-client string" => ["rest-client", 'RestClient.post(URL, "hello", content_type: "text/plain")'],
    "rest-client form" => ["rest-client", 'RestClient.post(URL, a: "b")'],
    "rest-client multipart" => ["rest-client", 'RestClient.post(URL, a: "b", multipart: true)'],
    "net-http-persistent" => ["net/http/persistent", <<~'RUBY'],
      $http ||= Net::HTTP::Persistent.new(name: "test")
      request = Net::HTTP::Post.new("/", "Content-Type" => "text/plain")
      request.body = "hello"
      $http.request(URI(URL), request)
    RUBY
    "aws-sdk-core" => ["aws-sdk-core", <<~'RUBY'],
      pool = ($pool ||= Seahorse::Client::NetHttp::ConnectionPool.for({}))
      request = Net::HTTP::Put.new("/", "Content-Type" => "text/plain", "Content-Length" => "300")
      request.body_stream = StringIO.new("x" * 300)
      pool.session_for(URI(URL)) { |http| http.request(request) }
    RUBY
    "elasticsearch" => ["elasticsearch/transport", <<~'RUBY'],
      $es ||= Elasticsearch::Transport::Client.new(url: URL, adapter: :net_http)
      $es.transport.perform_request("POST", "/_bulk", {}, "{}\n{}\n", "Content-Type" => "application/x-ndjson")
    RUBY
    "influxdb" => ["influxdb",
                   'InfluxDB::Client.new("db", host: "127.0.0.1", port: URI(URL).port, retry: 0).write("m v=1", nil)'],
    "mechanize" => ["mechanize", '($agent ||= Mechanize.new).post(URL, "a" => "b")'],
    "octokit" => ["octokit", <<~'RUBY'],
      Octokit::Client.new(api_endpoint: URL, access_token: "x").create_issue("a/b", "title", "body")
    RUBY
    "webmock, real net allowed" => ["webmock", <<~'RUBY'],
      WebMock.enable!
      WebMock.allow_net_connect!
      Net::HTTP.post(URI(URL), "hello", "Content-Type" => "text/plain")
    RUBY
    "vcr, passing through" => ["vcr", <<~'RUBY']
      VCR.configure { |c| c.hook_into :webmock; c.allow_http_connections_when_no_cassette = true }
      Net::HTTP.post(URI(URL), "hello", "Content-Type" => "text/plain")
    RUBY
  }.freeze

  SCRIPT = <<~'RUBY'
    URL = ENV["URL"]
    writes = []
    ENV["ORDER"].split(",").each { |name| require name }
    Onewrite.on_timing { |t| writes << [t.writes, t.outcome] }
    21.times { %s }
    puts writes.map { |one| one.join(":") }.join(" ")
  RUBY

  def run_script(script, env)
    out, status = Open3.capture2e(env, RbConfig.ruby, "-I", File.join(ROOT, "lib"), "-e", script)
    assert status.success?, out
    out
  end

  # Both orders for all in the matrix; in short, the other order for those that patch or subclass.
  BOTH = ENV["ONEWRITE_MATRIX"] ? // : /webmock|vcr|persistent/

  POSTS.each do |name, (library, code)|
    orders = [[library, "onewrite"]]
    orders << ["onewrite", library] if BOTH.match?(name)
    orders.each do |order|
      define_method("test_#{name}: #{order.join(", then ")}") do
        tap = tap_server do |seen|
          next "HTTP/1.1 204 No Content\r\n\r\n" if seen.line.include?("/write") # what InfluxDB answers

          "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-Elastic-Product: Elasticsearch\r\n\r\n{}"
        end
        out = run_script(format(SCRIPT, code), "URL" => tap.url, "ORDER" => order.join(","))
        assert_equal ["1:ok"] * 21, out.lines.last.split
        assert_equal 21, tap.seen.size
        assert_equal 1, mode(tap.seen.map(&:segments))
      end
    end
  end

  # WebMock puts a subclass in the place of Net::HTTP; stubs never reach the wire, and turning it off leaves us in.
  def test_webmock_on_and_off_in_both_orders
    tap = tap_server
    [%w[webmock onewrite], %w[onewrite webmock]].each do |order|
      out = run_script(<<~'RUBY', "URL" => tap.url, "ORDER" => order.join(","))
        first, second = ENV["ORDER"].split(",")
        require first
        WebMock.enable! if first == "webmock"
        require second
        WebMock.enable!
        writes = []
        Onewrite.on_timing { |t| writes << t.writes }
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
