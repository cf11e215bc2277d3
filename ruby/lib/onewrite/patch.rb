# frozen_string_literal: true

require "net/http"
require "onewrite/patch/stock"
require "onewrite/patch/session"
require "onewrite/patch/timed_session"
require "onewrite/patch/header"
require "onewrite/patch/request"
require "onewrite/patch/response"
require "onewrite/patch/target"

module Onewrite
  # Puts the patches in. All are prepended modules whose methods call `super`; all sit below `request` and `connect`,
  # which tracers patch in ways that do not mix (see {Stock}).
  #
  # What only timing or QUICKACK needs is prepended when one of them is first asked for: a program without hooks runs
  # without those methods. A prepended module cannot be taken out again; switched off, each method is one test and a
  # `super`.
  module Patch
    OURS = Target::POINTS.map(&:patch).uniq.freeze
    private_constant :OURS

    @lock = Mutex.new
    @installed = @observe = false
    @why_not = "not loaded: require \"onewrite\" or call Onewrite.enable!"

    class << self
      # @return [String, nil] why nothing is patched
      attr_reader :why_not

      def installed?
        @installed
      end

      # Patches once, unless the environment says not to or this Net::HTTP is not one we know.
      # @return [Boolean] whether the patches are in
      def install
        @lock.synchronize do
          return true if @installed

          Stock.session.include(SessionOptions)
          @why_not = Settings.current.disabled_by || unknown
          prepend_all unless @why_not
          @installed = @why_not.nil?
          prepend_observers if @installed && (@observe || Settings.current.quickack)
          @installed
        end
      end

      # Timing or QUICKACK is wanted from now on.
      def observe
        return if @observe

        @lock.synchronize do
          prepend_observers if @installed && !@observe
          @observe = true # last: another thread goes by without the lock
        end
      end

      # @return [String]
      def base_version
        defined?(Net::HTTP::VERSION) ? Net::HTTP::VERSION : "of Ruby #{RUBY_VERSION}"
      end

      # Each patch point and who answers to it.
      # @return [Hash{String => String}]
      def report
        Target::POINTS.map { |point| [point.to_s, state(point)] }.to_h
      end

      private

      def prepend_all
        Stock.session.prepend(Session)
        Net::HTTPGenericRequest.prepend(Request)
        Net::HTTPGenericRequest.include(Header)
      end

      def prepend_observers
        Stock.session.prepend(TimedSession)
        Net::HTTPGenericRequest.prepend(RequestHead)
        Net::HTTPResponse.singleton_class.prepend(ResponseHead)
        Net::HTTPResponse.prepend(ResponseBody)
      end

      # @return [String, nil]
      def unknown
        why = Target.unknown
        return nil unless why

        warn "onewrite: stays off: #{why} (net-http #{base_version}); Net::HTTP works as without it"
        why
      end

      def state(point)
        return "off" unless @installed
        return "waits for a hook or quickack" unless point.where.ancestors.include?(point.patch)

        owner = point.owner
        OURS.include?(owner) ? "on" : "on, but #{owner} comes first"
      end
    end
  end
end
