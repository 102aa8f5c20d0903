/*
 * Long lists of problems: a test takes a sample of them, and all of them where CHECK=full is set, as
 * make release-check does.
 */
#pragma once

int sample_only(void);

/*
 * Whether a sample has a problem in the GPU form of the kernels too, which a CPU compiles for minutes:
 * those of floats, of halves, and of floats with one fusion.
 */
int sample_has_gpu_form(const char *line);
