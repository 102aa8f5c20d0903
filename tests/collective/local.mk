# Ranks that meet in the hub, that come late or not at all, that disagree, and in what; those whose words are
# not to be trusted; and transports that fail.
asan_programs += tests/collective/agreement tests/collective/foreign_words tests/collective/group_split \
	tests/collective/hub tests/collective/hub_timeout tests/collective/request tests/collective/transport_fails
tests_collective_group_split_LDFLAGS = $(program_wraps)
tests_collective_hub_LDFLAGS = $(wraps)
tests_collective_request_LDFLAGS = $(wraps)
