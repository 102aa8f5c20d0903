# Ranks that meet: in the hub, and over a transport of the tests' own; sixteen threads at once;
# ranks that come late or not at all; ranks that disagree, and in what;
# ranks whose words are not to be trusted.
collective_tests = \
	tests/collective/abort \
	tests/collective/agreement \
	tests/collective/foreign_words \
	tests/collective/group_split \
	tests/collective/hub \
	tests/collective/hub_timeout \
	tests/collective/request \
	tests/collective/sockets
check_PROGRAMS += $(collective_tests)
tests_collective_hub_LDFLAGS = $(wraps)
tests_collective_request_LDFLAGS = $(wraps)
tests_collective_sockets_SOURCES = tests/collective/hub.c tests/support/transport_sockets.c
tests_collective_sockets_LDFLAGS = $(wraps)
TESTS += $(collective_tests)
ASAN_TESTS += $(collective_tests)
