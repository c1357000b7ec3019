# frozen_string_literal: true

# Checks host names with GitHub's gem `github-pages-health-check`, with our platform in place of
# GitHub Pages. Reads JSON from standard input: {resolver: {address, port}, target, addresses, names}.
# Prints one JSON object per name: {name, right, reason}. `right`: the gem accepts the records, and
# would order a certificate (`https_eligible?`). Pages' own HTTP check is skipped: there is no website.
require 'json'
require 'github-pages-health-check'

asked = JSON.parse($stdin.read, symbolize_names: true)
PublicSuffix::List.default.add(PublicSuffix::Rule.factory('test'))

module GitHubPages
  module HealthCheck
    class Resolver
      class << self
        attr_accessor :place

        def default_resolver
          Dnsruby::Resolver.new(DEFAULT_RESOLVER_OPTIONS.merge(place))
        end
      end
    end

    class Domain
      class << self
        attr_accessor :platform_target
      end

      def pages_domain?
        host.casecmp?(self.class.platform_target)
      end

      def pages_io_domain?
        false
      end

      def served_by_pages?
        false
      end
    end
  end
end

checks = GitHubPages::HealthCheck
checks::Resolver.place = { nameserver: [asked[:resolver][:address]], port: asked[:resolver][:port] }
checks::Domain.platform_target = asked[:target]
six, four = asked[:addresses].partition { |address| address.include?(':') }
GitHubPages::HealthCheck.without_warnings do
  checks::Domain.const_set(:CURRENT_IP_ADDRESSES, four.freeze)
  checks::Domain.const_set(:CURRENT_IPV6_ADDRESSES, six.freeze)
  checks::Domain.const_set(:CURRENT_IP_ADDRESSES_ALL, (four + six).freeze)
end

def result_of(name)
  domain = GitHubPages::HealthCheck::Domain.new(name)
  reason = domain.reason
  # The last check: everything before it was accepted.
  accepted = reason.nil? || reason.is_a?(GitHubPages::HealthCheck::Errors::NotServedByPagesError)
  eligible = accepted && domain.https_eligible?
  said = accepted ? (eligible ? nil : 'https_eligible? is false') : reason.class.name.split('::').last
  { name: name, right: accepted && eligible ? true : false, reason: said }
rescue StandardError => e
  { name: name, right: false, reason: e.class.name }
end

queue = Queue.new
asked[:names].each { |name| queue << name }
results = Queue.new
workers = Array.new(8) do
  Thread.new do
    loop { results << result_of(queue.pop(true)) }
  rescue ThreadError
    nil
  end
end
workers.each(&:join)
puts JSON.generate(results.pop) until results.empty?
