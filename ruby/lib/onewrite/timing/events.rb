# frozen_string_literal: true

module Onewrite
  # One event of a call. Names and fields are those of the shared timing model.
  class Event
    # Events in the order in which they may occur.
    NAMES = %i[
      call_start attempt_start queue_start queue_end dns_start dns_end connect_start connect_end tls_start tls_end
      connection_acquired request_start request_end informational response_start headers_end response_end
      connection_released attempt_end call_end
    ].freeze

    # @return [Symbol] one of {NAMES}
    attr_reader :name
    # @return [Integer] CLOCK_MONOTONIC, nanoseconds
    attr_reader :t_ns
    # @return [Integer, nil] 0, 1, …; nil for call_start and call_end
    attr_reader :attempt
    # @return [Hash{Symbol => Object}] what else is known, such as :conn_id or :status
    attr_reader :fields

    def initialize(name, t_ns, attempt, fields)
      @name = name
      @t_ns = t_ns
      @attempt = attempt
      @fields = fields
      freeze
    end

    # @return [Object, nil] one of {fields}
    def [](field)
      @fields[field]
    end

    # @return [Hash{Symbol => Object}]
    def to_h
      head = { name: @name, t_ns: @t_ns }
      head[:attempt] = @attempt if @attempt
      head.merge(@fields)
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
      public_send(METHODS.fetch(event.name), event)
    end

    # @!method on_call_start(event)
    # @!method on_response_start(event)
    # @!method on_call_end(event)
    #   and so on, for each of {Event::NAMES}
    Event::NAMES.each { |name| define_method("on_#{name}") { |_event| nil } }

    METHODS = Event::NAMES.map { |name| [name, :"on_#{name}"] }.to_h.freeze
    private_constant :METHODS
  end
end
