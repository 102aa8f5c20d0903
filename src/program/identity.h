/* Which device it is, with which driver: what compiled programs and tuned numbers depend on. */
#pragma once

#include "program/opencl.h"

/* Of a device's name in a sentence. */
enum { SBN_DEVICE_NAME = 128 };

enum { SBN_IDENTITY_PLATFORM = 4, SBN_IDENTITY_NAMES = 7, SBN_IDENTITY_SIZE = 512 };

/* The names and versions of the device and its driver, and, from its name on, of its platform. */
typedef struct sbn_identity {
    char names[SBN_IDENTITY_NAMES][SBN_IDENTITY_SIZE];
} sbn_identity;

/* 0 if the driver does not tell them. */
int sbn__identity_of(cl_device_id device, sbn_identity *identity);

/* For a sentence: "?" if the driver does not tell it. */
void sbn__device_name(cl_device_id device, char name[SBN_DEVICE_NAME]);
