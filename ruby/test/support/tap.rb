# frozen_string_literal: true

require "openssl"
require "socket"

# A small HTTP/1.1 server that counts, per request, the TCP segments with data the kernel received, and keeps the bytes.
class Tap
  # One request as it arrived. `pieces` are the reads (over TLS: records) it came in.
  Seen = Struct.new(:connection, :head, :body, :segments, :pieces) do
    def line
      head.lines.first.chomp
    end

    def bytes
      head + body
    end

    def fields
      head.lines.drop(1).map { |line| line.chomp.split(": ", 2) }.reject { |name, _| name.nil? }
    end
  end

  OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
  DATA_SEGS_IN = "@152L" # of struct tcp_info, Linux 4.6

  attr_reader :port, :seen
  # @return [Array<String>] requests that ended in the middle
  attr_reader :partial

  # @param tls [Boolean]
  # @yieldparam seen [Seen] the request
  # @yieldparam socket [IO] answer on it, or return the answer as a String; :close closes the connection
  def initialize(tls: false, expect: nil, listen: nil, &answer)
    @tls = tls
    @expect = expect
    @answer = answer || proc { OK }
    @seen = []
    @partial = []
    @serving = []
    @connections = 0
    @server = listen || TCPServer.new("127.0.0.1", 0)
    @port = @server.addr[1] unless listen
    @sockets = []
    @accepting = Thread.new { accept }
  end

  def url(path = "/")
    "http#{"s" if @tls}://127.0.0.1:#{@port}#{path}"
  end

  # The mode of the segments, without the first request, whose count includes the handshake.
  def segments
    @seen.drop(1).map(&:segments).tally.max_by(&:last).first
  end

  def pieces
    @seen.drop(1).map { |one| one.pieces.size }.tally.max_by(&:last).first
  end

  def connections
    @seen.map(&:connection).uniq.size
  end

  # Waits until the client has closed all connections and everything is read.
  def settle
    count = @connections
    TCPSocket.new("127.0.0.1", @port).close # accepted after those before it
    sleep 0.005 until @connections > count
    @serving.each(&:join)
  end

  def close
    @accepting.kill
    @server.close
    @sockets.each do |socket|
      socket.close
    rescue IOError
      nil
    end
  end

  private

  def accept
    loop do
      socket = @server.accept
      @sockets << socket
      number = @connections += 1
      @serving << Thread.new { serve(socket, number) }
    end
  end

  def serve(raw, number)
    raw.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) if raw.is_a?(TCPSocket)
    io = @tls ? secured(raw) : raw
    before = @tls ? segments_of(raw) : 0 # what came before accept returned counts, a handshake does not
    rest = +"".b
    while (seen = receive(io, number, rest))
      now = segments_of(raw) # when the request is complete, before anything is answered
      seen.segments = now - before
      before = now
      @seen << seen
      answer = @answer.arity > 1 ? @answer.call(seen, io) : @answer.call(seen)
      break if answer == :close

      io.write(answer) if answer.is_a?(String)
    end
    io.close
  rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
    nil
  end

  # @param buffer [String] bytes behind the request before; keeps those behind this one
  def receive(io, number, buffer)
    pieces = buffer.empty? ? [] : [buffer.dup]
    more = lambda do
      piece = io.readpartial(65_536)
      pieces << piece
      buffer << piece
    end
    more.call until (head = buffer.index("\r\n\r\n"))
    text = buffer.byteslice(0, head + 4)
    io.write(@expect) if @expect && text =~ /^expect: 100-continue\r$/i
    total = head + 4
    case text
    when /^transfer-encoding: chunked\r$/i
      more.call until (last = buffer.index(/\r\n0\r\n\r\n/n, head + 2))
      total = last + 7
    when /^content-length: (\d+)\r$/i
      total += Regexp.last_match(1).to_i
      more.call while buffer.bytesize < total
    end
    body = buffer.slice!(0, total).byteslice((head + 4)..-1)
    Seen.new(number, text, body, nil, pieces)
  rescue EOFError, SystemCallError
    @partial << buffer unless buffer.empty?
    nil
  end

  def segments_of(raw)
    return 0 unless raw.is_a?(TCPSocket)

    raw.getsockopt(Socket::IPPROTO_TCP, Socket::TCP_INFO).data.unpack1(DATA_SEGS_IN)
  end

  def secured(raw)
    context = OpenSSL::SSL::SSLContext.new
    context.cert = Certificate::CERT
    context.key = Certificate::KEY
    OpenSSL::SSL::SSLSocket.new(raw, context).tap do |socket|
      socket.sync_close = true
      socket.accept
    end
  end

  # A self-signed certificate for 127.0.0.1, made for this run.
  module Certificate
    KEY = OpenSSL::PKey::RSA.new(2048)
    CERT = OpenSSL::X509::Certificate.new.tap do |cert|
      cert.version = 2
      cert.serial = 1
      cert.subject = cert.issuer = OpenSSL::X509::Name.parse("/CN=onewrite test")
      cert.public_key = KEY.public_key
      cert.not_before = Time.now - 60
      cert.not_after = Time.now + 86_400
      factory = OpenSSL::X509::ExtensionFactory.new(cert, cert)
      cert.add_extension(factory.create_extension("basicConstraints", "CA:TRUE", true))
      cert.add_extension(factory.create_extension("subjectAltName", "IP:127.0.0.1,DNS:localhost"))
      cert.sign(KEY, OpenSSL::Digest.new("SHA256"))
    end
    STORE = OpenSSL::X509::Store.new.tap { |store| store.add_cert(CERT) }
  end
end
