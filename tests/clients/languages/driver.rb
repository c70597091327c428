# Makes the calls of a file with analytics-ruby: driver.rb SOURCES URL CALLS
require "json"
require "time"
require "uri"

sources, url, file = ARGV
$LOAD_PATH.unshift(File.join(sources, "analytics-ruby", "lib"))
require "segment/analytics"

address = URI(url)
errors = []
client = Segment::Analytics.new(
  write_key: "WK", host: address.host, port: address.port, batch_size: 5,
  on_error: ->(status, error) { errors << "#{status} #{error}" }
)
names = { "userId" => :user_id, "anonymousId" => :anonymous_id, "groupId" => :group_id, "previousId" => :previous_id }
JSON.parse(File.read(file, encoding: "utf-8")).each do |call|
  type = call.delete("type")
  call["timestamp"] = Time.parse(call["timestamp"]) if call["timestamp"]
  client.public_send(type, call.to_h { |name, value| [names.fetch(name, name.to_sym), value] })
end
client.flush
abort "The client reported errors: #{errors.join(', ')}" unless errors.empty?
