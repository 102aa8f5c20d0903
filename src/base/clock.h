/* The clock that timeouts are measured with. */
#ifndef SBN_BASE_CLOCK_H
#define SBN_BASE_CLOCK_H

/* Seconds since some moment in the past; never set back. */
double sbn__seconds(void);

#endif
