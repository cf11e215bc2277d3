# frozen_string_literal: true

require "openssl"
require "rbconfig"
require "socket"

# An origin that answers at once: keep-alive, NODELAY, one write per answer. Its own process, so that its work is not
# counted as the client's.
module Origin
  ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".b.freeze

  # @param pause [Float] seconds to wait before each answer
  # @param tls [Boolean] with a certificate of its own
  # @param before [Array<String>] prefix of its command, such as `taskset -c 1`
  # @return [Array(Integer, Integer)] port and pid
  def self.start(pause = 0.0, tls: false, before: [])
    server = TCPServer.new("127.0.0.1", 0)
    pid = spawn(*before, RbConfig.ruby, "-W0", __FILE__, server.fileno.to_s, pause.to_s, tls.to_s, server => server)
    [server.addr[1], pid]
  ensure
    server.close
  end

  def self.run(server, pause, tls)
    server = OpenSSL::SSL::SSLServer.new(server, tls_context) if tls
    loop do
      socket = server.accept
      Thread.new { serve(socket, pause) }
    end
  end

  def self.tls_context
    key = OpenSSL::PKey::RSA.new(2048)
    certificate = OpenSSL::X509::Certificate.new
    certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=127.0.0.1")
    certificate.public_key = key.public_key
    certificate.not_before = Time.now - 3600
    certificate.not_after = Time.now + 86_400
    certificate.sign(key, OpenSSL::Digest.new("SHA256"))
    OpenSSL::SSL::SSLContext.new.tap { |context| context.add_certificate(certificate, key) }
  end

  def self.serve(socket, pause)
    socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    buffer = +"".b
    piece = +"".b
    loop do
      buffer << socket.readpartial(65_536, piece) until (head = buffer.index("\r\n\r\n"))
      rest = body(buffer, head, socket, piece)
      buffer = rest
      sleep pause if pause.positive?
      socket.write(ANSWER)
    end
  rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
    socket.close
  end

  # Reads and drops the body.
  # @return [String] the bytes after it
  def self.body(buffer, head, socket, piece)
    if (length = buffer[/content-length: (\d+)/i, 1])
      total = head + 4 + length.to_i
      have = buffer.bytesize
      if have > 65_536 || total > 65_536
        have += socket.readpartial(65_536, piece).bytesize while have < total
        return +"".b
      end
      buffer << socket.readpartial(65_536, piece) while buffer.bytesize < total
      buffer.byteslice(total..-1)
    elsif /transfer-encoding: chunked/i.match?(buffer)
      buffer << socket.readpartial(65_536, piece) until buffer.end_with?("\r\n0\r\n\r\n")
      +"".b
    else
      buffer.byteslice((head + 4)..-1)
    end
  end
end

Origin.run(TCPServer.for_fd(ARGV[0].to_i), ARGV[1].to_f, ARGV[2] == "true") if $PROGRAM_NAME == __FILE__
