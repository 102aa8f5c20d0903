/* The clock that timeouts are measured with. */
#pragma once

/* Seconds since some moment in the past; never set back. */
double sbn__seconds(void);
