/* The scenarios of one thread. */
#include "faults/scenario.h"

const scenario *const scenario_lists[] = {group_scenarios,
                                          pass_scenarios,
                                          branch_scenarios,
                                          layer_scenarios,
                                          model_scenarios,
                                          parallel_scenarios,
                                          NULL};
