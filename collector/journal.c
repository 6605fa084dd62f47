// SPDX-License-Identifier: GPL-2.0-or-later
// What a collection is about to make, durable before it is made.
#include "collector/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/own.h"
#include "common/protected.h"
#include "collector/lock.h"

#define JOURNAL_FILE_NAME "journal"
#define JOURNAL_PLACE LOCK_FOLDER "/" JOURNAL_FILE_NAME

enum { JOURNAL_LIMIT = 65536, LINE_LIMIT = 1024 };

const char *const journal_kind_names[] = {"site",    "worker", "user_unit", "container",
					  "network", "folder", "file",      NULL};

static const struct json_field entry_fields[] = {
	{JSON_CHOICE(struct journal_entry, kind, journal_kind_names)},
	{JSON_TEXT(struct journal_entry, name, 1, &json_rule_ascii)},
};
static const struct json_table entry_table =
	JSON_TABLE(struct journal_entry, entry_fields);

int journal_exists(int folder_fd, bool *ret_exists, struct diag *diag)
{
	struct stat status;

	if (fstatat(folder_fd, JOURNAL_FILE_NAME, &status, AT_SYMLINK_NOFOLLOW) == 0) {
		*ret_exists = true;
		return 0;
	}
	if (errno != ENOENT)
		return diag_fail(diag, errno, JOURNAL_PLACE, "cannot be seen");
	*ret_exists = false;
	return 0;
}

int journal_note(struct journal *journal, enum journal_kind kind, const char *name,
		 struct diag *diag)
{
	struct journal_entry entry = {.kind = (int)kind};
	OWN(own_bytes) struct bytes line = {0};
	ssize_t put;
	int error;

	if (journal->count == JOURNAL_ENTRIES_MAX || strlen(name) >= sizeof(entry.name))
		return diag_fail(diag, ENOSPC, JOURNAL_PLACE, "no room");
	strcpy(entry.name, name);
	error = json_table_write(&entry_table, &entry, &line, diag);
	if (error)
		return error;
	line.data[line.size++] = '\n'; /* in place of the NUL */
	/* A short write leaves a torn line, which means: not made. */
	put = write(journal->fd, line.data, line.size);
	if (put != (ssize_t)line.size)
		return diag_fail(diag, put < 0 ? errno : ENOSPC, JOURNAL_PLACE,
				 "cannot be written");
	if (fsync(journal->fd) != 0)
		return diag_fail(diag, errno, JOURNAL_PLACE, "cannot be synced");
	journal->entries[journal->count++] = entry;
	return 0;
}

int journal_create(int folder_fd, const char *site_path, struct journal *ret_journal,
		   struct diag *diag)
{
	OWN(journal_close) struct journal journal = JOURNAL_INIT;
	int error;

	journal.folder_fd = folder_fd;
	journal.fd = openat(
		folder_fd, JOURNAL_FILE_NAME,
		O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (journal.fd < 0)
		return errno == EEXIST
			       ? diag_refuse(diag, JOURNAL_PLACE,
					     "an earlier collection was cut short; run "
					     "'net-collector recover' first")
			       : diag_fail(diag, errno, JOURNAL_PLACE, "cannot be made");
	if (fsync(folder_fd) != 0)
		return diag_fail(diag, errno, LOCK_FOLDER, "cannot be synced");
	error = journal_note(&journal, JOURNAL_SITE, site_path, diag);
	if (error) {
		/* Nothing was made yet, so nothing is to be recovered. */
		unlinkat(folder_fd, JOURNAL_FILE_NAME, 0);
		return error;
	}
	*ret_journal = journal;
	journal = (struct journal)JOURNAL_INIT;
	return 0;
}

/* A whole line that is not ours: there is no telling what it would have us remove. */
static int refuse_line(const struct diag *why, struct diag *diag)
{
	if (why->kind != DIAG_REFUSED)
		return diag_fail(diag, 0, JOURNAL_PLACE, "%s", why->text);
	return diag_refuse(diag, JOURNAL_PLACE,
			   "%s: %s; undo by hand what it lists, then remove it",
			   why->place, why->text);
}

/* What follows the last newline is torn: it was never made. */
static int read_lines(struct journal *journal, const struct bytes *text,
		      struct diag *diag)
{
	const char *line = text->data, *past = text->data + text->size, *end;

	for (; (end = memchr(line, '\n', (size_t)(past - line))); line = end + 1) {
		struct diag why = {0};
		size_t count = journal->count;
		char place[32];

		snprintf(place, sizeof(place), "line %zu", count + 1);
		if (count == JOURNAL_ENTRIES_MAX)
			diag_refuse(&why, place, "more than %d; find what wrote them",
				    JOURNAL_ENTRIES_MAX);
		else if (json_table_parse(line, (size_t)(end - line), LINE_LIMIT, place,
					  &entry_table, &journal->entries[count],
					  &why) == 0)
			journal->count++;
		if (why.kind)
			return refuse_line(&why, diag);
	}
	return 0;
}

/* In root's own folder nothing else can be there, but for a mistake of root's. */
static int check_file(int fd, struct diag *diag)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return diag_fail(diag, errno, JOURNAL_PLACE, "cannot be seen");
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    status.st_nlink != 1 || (status.st_mode & 077))
		return diag_refuse(diag, JOURNAL_PLACE,
				   "is not a private file of root's; see what put it "
				   "there, then remove it");
	return 0;
}

int journal_open(int folder_fd, struct journal *ret_journal, bool *ret_found,
		 struct diag *diag)
{
	OWN(journal_close) struct journal journal = JOURNAL_INIT;
	OWN(own_bytes) struct bytes text = {0};
	int error;

	journal.folder_fd = folder_fd;
	journal.fd = openat(folder_fd, JOURNAL_FILE_NAME,
			    O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (journal.fd < 0 && errno == ENOENT) {
		*ret_found = false;
		return 0;
	}
	if (journal.fd < 0)
		return diag_fail(diag, errno, JOURNAL_PLACE, "cannot be opened");
	error = check_file(journal.fd, diag);
	if (!error)
		error = protected_read_fd(journal.fd, JOURNAL_LIMIT, JOURNAL_PLACE, &text,
					  diag);
	if (!error)
		error = read_lines(&journal, &text, diag);
	if (error)
		return error;
	*ret_found = true;
	*ret_journal = journal;
	journal = (struct journal)JOURNAL_INIT;
	return 0;
}

int journal_remove(struct journal *journal, struct diag *diag)
{
	if (unlinkat(journal->folder_fd, JOURNAL_FILE_NAME, 0) != 0 && errno != ENOENT)
		return diag_fail(diag, errno, JOURNAL_PLACE, "cannot be removed");
	if (fsync(journal->folder_fd) != 0)
		return diag_fail(diag, errno, LOCK_FOLDER, "cannot be synced");
	return 0;
}

void journal_close(struct journal *journal)
{
	own_fd(&journal->fd);
	journal->count = 0;
}
