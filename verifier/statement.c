// SPDX-License-Identifier: GPL-2.0-or-later
// The unsigned in-toto statement about a verified record.
#include "verifier/statement.h"

#include "common/canonical.h"
#include "verifier/review.h"

#define STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define PREDICATE_TYPE "urn:netproof:review:v1"
#define REVIEW_LIMIT (1024 * 1024)

int statement_write(const struct verify_case *case_, const struct verdict *verdict,
		    struct bytes *ret_bytes, struct diag *diag)
{
	OWN(own_bytes) struct bytes review = {0};
	OWN(own_json) json_t *predicate = NULL;
	OWN(own_json) json_t *statement = NULL;
	int error;

	if (verdict->judgement != JUDGEMENT_VERIFIED)
		return diag_refuse(diag, case_->record_sha256,
				   "%s: a statement is made of verified records alone",
				   judgement_names[verdict->judgement]);
	error = review_write(case_, verdict, &review, diag);
	if (!error)
		error = json_parse(review.data, review.size, REVIEW_LIMIT, "review",
				   &predicate, diag);
	if (error)
		return error;
	statement = json_pack("{s:s, s:[{s:s, s:{s:s}}], s:s, s:O}", "_type",
			      STATEMENT_TYPE, "subject", "name", "netproof.record.v1",
			      "digest", "sha256", case_->record_sha256, "predicateType",
			      PREDICATE_TYPE, "predicate", predicate);
	return statement ? canonical_write(statement, ret_bytes, diag)
			 : diag_no_memory(diag);
}
