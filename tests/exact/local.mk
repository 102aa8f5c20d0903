# The arithmetic on the host.
asan_programs += tests/exact/accumulator tests/exact/int192
