/* Members meet in the library's in-memory hub. */
#include "support/ranks.h"

struct meeting_place {
    sbn_hub *hub;
};

struct meeting_place *place_open(int count)
{
    static struct meeting_place places[4];
    struct meeting_place *place = places;
    if (count == 1)
        return NULL;
    while (place->hub)
        ++place;
    must(sbn_hub_create(count, &place->hub), "sbn_hub_create");
    return place;
}

void place_transport(struct meeting_place *place, int rank, sbn_transport *transport)
{
    must(sbn_hub_transport(place->hub, rank, transport), "sbn_hub_transport");
}

void place_close(struct meeting_place *place)
{
    if (!place)
        return;
    sbn_hub_destroy(place->hub);
    place->hub = NULL;
}
