# frozen_string_literal: true

# Driver for the judge and the bench: JSON lines on stdin and stdout (driver protocol, version 2).

require "json"

OUT = $stdout.dup
$stdout.reopen($stderr) # a stray print goes to stderr: stdout is protocol only
$stdout.sync = true
Thread.report_on_exception = false

require_relative "kinds"
require_relative "client"
require_relative "exchange"
require_relative "load"
require_relative "serve"

# Reads commands and answers them. Each request runs in its own thread.
class Driver
  def initialize
    @clients = {}
    @write_lock = Mutex.new
    @kind = nil
  end

  def run(input)
    input.each_line do |line|
      next if line.strip.empty?

      message = JSON.parse(line)
      case message["cmd"]
      when "bye" then return reply(message["seq"], ok: true)
      # Commands that later ones depend on are finished before the next is read.
      when "hello", "open", "close" then handle(message)
      else Thread.new { handle(message) }
      end
    end
  end

  private

  COMMANDS = %w[hello open close request batch load serve].freeze
  private_constant :COMMANDS

  def handle(message)
    name = message["cmd"].to_s
    raise Skipped, "no such command: #{name}" unless COMMANDS.include?(name)

    reply(message["seq"], **send("do_#{name}", message))
  rescue Skipped => e
    reply(message["seq"], skipped: e.message)
  rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it was, the judge must hear of it
    reply(message["seq"], crashed: e.full_message(highlight: false))
  end

  def reply(seq, **fields)
    line = JSON.generate(Exchange.printable({ seq: seq }.merge(fields)))
    @write_lock.synchronize do
      OUT.write(line, "\n")
      OUT.flush
    end
  end

  def do_hello(message)
    @kind = Kinds.load(message["client"])
    {
      protocol: 2, client: @kind.name, adapter: "ruby", version: @kind.version,
      base: { name: "net-http", version: Kinds.base_version }, runtime: "#{RUBY_ENGINE} #{RUBY_VERSION}",
      pid: Process.pid, apis: ["net-http"], capabilities: @kind.capabilities
    }
  end

  def do_open(message)
    raise Skipped, "say hello first" unless @kind

    begin
      client = Client.new(@kind, message["options"] || {})
    rescue ArgumentError => e
      return { outcome: "error", error: { kind: "other", phase: nil, type: e.class.name, message: e.message } }
    end
    id = @clients.size + 1
    @clients[id] = client
    { client_id: id }
  end

  def do_close(message)
    @clients.fetch(message["client_id"]).close
    { ok: true }
  end

  def do_request(message)
    Exchange.run(@clients.fetch(message["client_id"]), message)
  end

  def do_batch(message)
    gate = Queue.new
    threads = message["requests"].map do |request|
      client = @clients.fetch(request["client_id"] || message["client_id"])
      Thread.new do
        gate.pop
        result = begin
          Exchange.run(client, request)
        rescue Skipped => e
          { skipped: e.message }
        rescue Exception => e # rubocop:disable Lint/RescueException -- as in handle
          { crashed: e.full_message(highlight: false) }
        end
        request.key?("seq") ? { seq: request["seq"] }.merge(result) : result
      end
    end
    threads.size.times { gate << true }
    { results: threads.map(&:value) }
  end

  def do_load(message)
    Load.run(@clients.fetch(message["client_id"]), message)
  end

  def do_serve(message)
    { port: Serve.start(@clients.fetch(message["client_id"]), message) }
  end
end

Driver.new.run($stdin)
OUT.flush
exit!(0) # a request under way must not keep the process
