#include "collective/forecast.h"

static uint32_t *kept(sbn_forecast *forecast, size_t call)
{
    return &forecast->kept[call % SBN_CALLS_KEPT];
}

/*
 * The call that followed the longest repetition, of up to four calls, of what came last; the latest, if
 * several are as long. `calls`: there is none.
 */
static size_t likely(sbn_forecast *forecast)
{
    const size_t calls = forecast->calls,
                 first = calls > SBN_CALLS_KEPT ? calls - SBN_CALLS_KEPT : 0;
    size_t best = calls, most = 0;
    for (size_t at = calls - 1; at > first; --at) {
        size_t same = 0;
        while (same < 4 && at - same > first &&
               *kept(forecast, at - same - 1) == *kept(forecast, calls - same - 1))
            ++same;
        if (same > most) {
            most = same;
            best = at;
        }
    }
    return best;
}

static void keep(sbn_forecast *forecast, size_t words)
{
    const int right = forecast->like < forecast->calls && *kept(forecast, forecast->like) == words;
    *kept(forecast, forecast->calls++) = (uint32_t)words;
    forecast->like = right ? forecast->like + 1 : likely(forecast);
    forecast->words = forecast->like < forecast->calls ? *kept(forecast, forecast->like) : 0;
}

void sbn__forecast_learn(sbn_forecast *forecast, uint32_t number, size_t words)
{
    if (number != forecast->number + 1)
        keep(forecast, 0);
    keep(forecast, words);
    forecast->number = number;
}
