// SPDX-License-Identifier: GPL-2.0-or-later
// Kept connections and listeners, by handle, and their expiry.
#include "agent/handles.h"

#include <assert.h>
#include <errno.h>

#include "common/clock.h"
#include "common/number.h"
#include "common/own.h"

#define ENDED_LISTENER 0x80 /* beside the outcome plus one */

_Static_assert(OUTCOME_COUNT < ENDED_LISTENER, "an outcome and a flag fit a byte");

void handles_init(struct handles *handles)
{
	for (unsigned int i = 0; i < HANDLES_MAX; i++)
		handles->places[i].fd = -1;
}

unsigned int handles_issue(struct handles *handles)
{
	assert(handles->issued < HANDLE_NUMBER_MAX);
	return ++handles->issued;
}

struct handle *handles_open(struct handles *handles, char kind, unsigned int number,
			    int fd, struct expiry expiry)
{
	for (unsigned int i = 0; i < HANDLES_MAX; i++) {
		struct handle *place = &handles->places[i];

		if (place->fd >= 0)
			continue;
		*place = (struct handle){fd, kind, number, false, expiry};
		handles->open_count++;
		return place;
	}
	return NULL;
}

int handles_find(const struct handles *handles, const char *text,
		 struct handle **ret_handle, enum outcome *ret_ended)
{
	uint64_t number;
	uint8_t ended;

	if (number_parse(text + 1, 1, HANDLE_NUMBER_MAX, &number) != 0)
		return -ENOENT;
	for (unsigned int i = 0; i < HANDLES_MAX; i++) {
		const struct handle *place = &handles->places[i];

		if (place->fd < 0 || place->number != number || place->kind != text[0])
			continue;
		*ret_handle = (struct handle *)place;
		return 0;
	}
	ended = handles->ended[number];
	if (!ended || ((ended & ENDED_LISTENER) != 0) != (text[0] == 'l'))
		return -ENOENT;
	*ret_ended = (enum outcome)((ended & ~ENDED_LISTENER) - 1);
	return 1;
}

void handles_end(struct handles *handles, struct handle *handle, enum outcome outcome)
{
	handles->ended[handle->number] =
		(uint8_t)((int)outcome + 1) | (handle->kind == 'l' ? ENDED_LISTENER : 0);
	own_fd(&handle->fd);
	handles->open_count--;
}

void handles_end_expired(struct handles *handles)
{
	for (unsigned int i = 0; i < HANDLES_MAX; i++) {
		struct handle *place = &handles->places[i];

		if (place->fd >= 0 && expiry_is_over(place->expiry))
			handles_end(handles, place, OUTCOME_CLOSED);
	}
}

struct expiry handles_next_expiry(const struct handles *handles)
{
	struct expiry next = EXPIRY_NEVER;

	for (unsigned int i = 0; i < HANDLES_MAX; i++) {
		const struct handle *place = &handles->places[i];

		if (place->fd < 0)
			continue;
		if (place->expiry.wall_ms < next.wall_ms)
			next.wall_ms = place->expiry.wall_ms;
		if (place->expiry.boot_ms < next.boot_ms)
			next.boot_ms = place->expiry.boot_ms;
	}
	return next;
}

void handles_close(struct handles *handles)
{
	for (unsigned int i = 0; i < HANDLES_MAX; i++)
		own_fd(&handles->places[i].fd);
	handles->open_count = 0;
}

struct expiry expiry_from_now(int64_t unix_seconds)
{
	int64_t wall_ms = unix_seconds * 1000;

	return (struct expiry){wall_ms, clock_boot_ms() + wall_ms - clock_wall_ms()};
}

bool expiry_is_over(struct expiry expiry)
{
	if (expiry.wall_ms == INT64_MAX && expiry.boot_ms == INT64_MAX)
		return false;
	return clock_wall_ms() >= expiry.wall_ms || clock_boot_ms() >= expiry.boot_ms;
}
