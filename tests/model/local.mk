# Models and their files, which PyTorch wrote (tests/model/data/make_files.py): what lies is
# refused; half and bfloat; checkpoints of whole networks.
asan_programs += tests/model/checkpoint tests/model/checkpoint_files tests/model/draft tests/model/hostile \
	tests/model/model tests/model/safetensors
tests_model_draft_SOURCES = tests/model/draft.c tests/support/system_calls.c tests/support/system_calls.h \
	tests/support/wraps_files.c
tests_model_draft_LDFLAGS = $(system_wraps) $(file_wraps)
tests_model_model_SOURCES = tests/model/model.c tests/support/wraps_queries.c
tests_model_model_LDFLAGS = $(wraps) $(query_wraps)
tests_model_safetensors_SOURCES = tests/model/safetensors.c tests/support/wraps_files.c
tests_model_safetensors_LDFLAGS = $(file_wraps)

EXTRA_DIST += tests/model/data

# The command's view of files; the reference implementation reads what tests/model/checkpoint_files wrote.
test_scripts += tests/model/inspect.sh tests/model/reference.sh
