# frozen_string_literal: true

module Onewrite
  # The forms of a record, an event and the kernel's evidence beside `to_h`: each shows what that has, and no variables.
  module Plain
    # @return [Hash] without what is nil
    # @api private
    def self.known(fields)
      fields.reject { |_, value| value.nil? }
    end

    # For ActiveSupport.
    # @return [Hash]
    def as_json(*options)
      hash = to_h
      hash.respond_to?(:as_json) ? hash.as_json(*options) : hash
    end

    # For the library json.
    # @return [String]
    def to_json(*state)
      to_h.to_json(*state)
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{to_h}>"
    end
  end

  # One event of a call. Names and fields are those of the shared timing model.
  class Event
    include Plain

    # Events in the order in which they may occur.
    NAMES = %i[
      call_start attempt_start queue_start queue_end dns_start dns_end connect_start connect_end tls_start tls_end
      connection_acquired request_start request_end informational response_start headers_end response_end
      connection_released attempt_end call_end
    ].freeze

    # The field of an event, or its fields.
    FIELDS = {
      call_start: %i[method url started_at_unix_ns], connect_start: :peer, connect_end: :error, tls_end: :error,
      connection_acquired: %i[conn_id reused conn_requests idle_ns], request_end: %i[bytes writes], informational: :status,
      headers_end: :status, response_end: :bytes, connection_released: :reusable, attempt_end: :outcome,
      call_end: %i[outcome error_kind error_phase]
    }.freeze
    NO_FIELDS = {}.freeze
    private_constant :FIELDS, :NO_FIELDS

    # @return [Symbol] one of {NAMES}
    attr_reader :name
    # @return [Integer] CLOCK_MONOTONIC, nanoseconds
    attr_reader :t_ns

    # @param detail [Array, Object, nil] the values of an event with several fields, or its only value
    def initialize(name, t_ns, attempt, detail = nil)
      @name = name
      @t_ns = t_ns
      @detail = detail
      @attempt = attempt unless attempt == 0 # an object of MRI before 3.2 has room for three variables
      freeze
    end

    # @return [Integer, nil] 0, 1, …; nil for call_start and call_end
    def attempt
      defined?(@attempt) ? @attempt : 0
    end

    # @return [Hash{Symbol => Object}] what else is known, such as :conn_id or :status
    def fields
      case @detail
      when nil then NO_FIELDS
      when Array then Plain.known(FIELDS[@name].zip(@detail).to_h)
      else { FIELDS[@name] => @detail }
      end
    end

    # @return [Object, nil] one of {fields}
    def [](field)
      fields[field]
    end

    # @return [Hash{Symbol => Object}]
    def to_h
      head = { name: @name, t_ns: @t_ns }
      head[:attempt] = attempt if attempt
      head.merge(fields)
    end
  end

  # A listener with a method that does nothing for each event, and {#on_event} that gets them all. Override what you
  # need. Events of one call come one at a time, in order, in the thread of the call. What a method raises is swallowed.
  #
  # Net::HTTP shows no queue and does not split the look-up of a name from connecting: on_queue_* and on_dns_* are
  # never called.
  class TimingListener
    # Every event; calls the method of its name.
    # @param event [Event]
    def on_event(event)
      __send__(METHODS[event.name], event)
    end

    # @!method on_call_start(event)
    # @!method on_response_start(event)
    # @!method on_call_end(event)
    #   and so on, for each of {Event::NAMES}
    Event::NAMES.each { |name| class_eval("def on_#{name}(_event); end", __FILE__, __LINE__) } # def on_call_start(_event); end

    METHODS = Event::NAMES.map { |name| [name, :"on_#{name}"] }.to_h.freeze
    private_constant :METHODS
  end
end
