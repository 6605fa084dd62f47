// SPDX-License-Identifier: GPL-2.0-or-later
// A dump's messages: whatever they are, they give one form or "could not tell".
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "policy/kernel/kdiff.h"
#include "policy/kernel/kform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* 0 if there is a form. The messages are a copy: the decoder takes them. */
static int decode(const uint8_t *data, size_t size, unsigned int options,
		  struct kform *form)
{
	struct bytes messages = {malloc(size + 1), size};
	struct diag diag = {0};
	int error;

	assert(messages.data);
	memcpy(messages.data, data, size);
	error = kform_decode(&messages, options, form, &diag);
	assert(!messages.data);
	assert(!error || diag.kind == DIAG_UNDECIDED);
	return error;
}

static void check_lines(const struct kform *form)
{
	size_t at = 0;

	for (size_t i = 0; i < form->line_count; i++) {
		const char *line = form->text.data + at;

		assert(form->lines[i].offset == at);
		at += form->lines[i].size + 1;
		assert(at <= form->text.size && form->text.data[at - 1] == '\n');
		/* Nothing in a name or value can end a line. */
		assert(!memchr(line, '\n', form->lines[i].size));
	}
	assert(at == form->text.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(kform_release) struct kform form = {0};
	OWN(kform_release) struct kform again = {0};
	OWN(kform_release) struct kform less = {0};
	OWN(own_buffer) struct buffer report = {0};
	struct diag diag = {0};
	size_t count = 0;

	if (decode(data, size, KFORM_USES, &form) != 0)
		return 0;
	check_lines(&form);
	assert(decode(data, size, 0, &again) == 0);
	assert(form.text.size == again.text.size &&
	       memcmp(form.text.data, again.text.data, form.text.size) == 0);
	assert(decode(data, size, KFORM_WITHOUT_INERT | KFORM_FOREIGN, &less) == 0);
	check_lines(&less);
	assert(kdiff_report(&(struct kdiff_side){&form, NULL},
			    &(struct kdiff_side){&again, NULL}, &report, &count,
			    &diag) == 0);
	assert(!count && !report.bytes.size);
	assert(kdiff_report(&(struct kdiff_side){&form, NULL},
			    &(struct kdiff_side){&less, NULL}, &report, &count,
			    &diag) == 0);
	assert(!count == (form.text.size == less.text.size &&
			  memcmp(form.text.data, less.text.data, form.text.size) == 0));
	return 0;
}
