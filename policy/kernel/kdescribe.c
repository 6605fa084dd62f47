// SPDX-License-Identifier: GPL-2.0-or-later
// What the form says beside its lines: hooks, expressions in use, timed elements.
#include "policy/kernel/kdescribe.h"

#include <errno.h>
#include <string.h>

#include <linux/netfilter/nf_tables.h>

static struct kform_use read_use(const char *name, struct attributes data)
{
	static const struct {
		const char *name;
		uint16_t dreg, key; /* the attributes' numbers; 0: none */
	} known[] = {
		{"meta", NFTA_META_DREG, NFTA_META_KEY},
		{"ct", NFTA_CT_DREG, NFTA_CT_KEY},
		{"payload", NFTA_PAYLOAD_DREG, 0},
		{"exthdr", NFTA_EXTHDR_DREG, 0},
		{"socket", NFTA_SOCKET_DREG, NFTA_SOCKET_KEY},
		{"rt", NFTA_RT_DREG, NFTA_RT_KEY},
	};
	struct kform_use use = {.name = name};
	struct attribute attribute;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].name, name) != 0)
			continue;
		use.is_write = true; /* what puts nothing into a register */
		while (attribute_next(&data, &attribute)) {
			if (attribute.type == known[i].dreg)
				use.is_write = false;
			else if (known[i].key && attribute.type == known[i].key)
				use.has_key = attribute_u32(&attribute, &use.key);
		}
	}
	return use;
}

int kdescribe_use(struct kform_chain *chain, const char *name, struct attributes data)
{
	struct kform_use use = read_use(name, data), *grown;

	for (size_t i = 0; i < chain->use_count; i++)
		if (strcmp(chain->uses[i].name, name) == 0 &&
		    chain->uses[i].is_write == use.is_write &&
		    chain->uses[i].has_key == use.has_key &&
		    chain->uses[i].key == use.key)
			return 0;
	grown = reallocarray(chain->uses, chain->use_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	chain->uses = grown;
	grown[chain->use_count++] = use;
	return 0;
}

static int describe_hook(struct kform_chain *described, struct attributes hook)
{
	struct attribute attribute, device;
	uint32_t value;

	while (attribute_next(&hook, &attribute)) {
		struct attributes list = attribute_inside(&attribute);

		if (attribute.type == NFTA_HOOK_HOOKNUM &&
		    attribute_u32(&attribute, &value))
			described->hook = value;
		if (attribute.type == NFTA_HOOK_PRIORITY &&
		    attribute_u32(&attribute, &value))
			described->priority = (int32_t)value;
		while (attribute.type == NFTA_HOOK_DEVS &&
		       attribute_next(&list, &device)) {
			const char **grown =
				reallocarray(described->devices,
					     described->device_count + 1, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			described->devices = grown;
			if (attribute_string(&device))
				grown[described->device_count++] =
					attribute_string(&device);
		}
	}
	return 0;
}

int kdescribe_chain(struct kform_chain *described, const struct kparse_chain *chain)
{
	struct attributes row = chain->row;
	struct attribute attribute;
	int error = 0;

	*described = (struct kform_chain){.name = chain->name,
					  .is_base = chain->is_base,
					  .rule_count = chain->count};
	while (!error && attribute_next(&row, &attribute)) {
		if (attribute.type == NFTA_CHAIN_HOOK)
			error = describe_hook(described, attribute_inside(&attribute));
		else if (attribute.type == NFTA_CHAIN_TYPE)
			described->type = attribute_string(&attribute);
		else if (attribute.type == NFTA_CHAIN_POLICY &&
			 !attribute_u32(&attribute, &described->policy))
			described->policy = 0;
	}
	return error;
}

static void describe_element(struct kform_timed *timed, const char *set,
			     struct attributes row)
{
	struct attribute attribute, value;

	*timed = (struct kform_timed){.set = set, .is_permanent = true};
	while (attribute_next(&row, &attribute)) {
		struct attributes inside = attribute_inside(&attribute);

		switch (attribute.type) {
		case NFTA_SET_ELEM_KEY:
			if (!attribute_next(&inside, &value) ||
			    value.type != NFTA_DATA_VALUE || value.size > KFORM_KEY_MAX) {
				timed->has_more = true;
				break;
			}
			memcpy(timed->key, value.data, value.size);
			timed->key_size = value.size;
			break;
		case NFTA_SET_ELEM_TIMEOUT:
			if (!attribute_u64(&attribute, &timed->timeout_ms))
				timed->has_more = true;
			break;
		case NFTA_SET_ELEM_EXPIRATION:
			timed->is_permanent = false;
			if (!attribute_u64(&attribute, &timed->remaining_ms))
				timed->has_more = true;
			break;
		case NFTA_SET_ELEM_USERDATA:
			break;
		default:
			timed->has_more = true;
		}
	}
}

static int compare_timed(const void *left, const void *right)
{
	const struct kform_timed *a = left, *b = right;
	int order = strcmp(a->set, b->set);

	if (!order && a->key_size != b->key_size)
		order = a->key_size < b->key_size ? -1 : 1;
	return order ? order : memcmp(a->key, b->key, sizeof(a->key));
}

int kdescribe_timed(const struct kparse *parse, struct kform *form)
{
	size_t total = 0;

	for (size_t i = 0; i < parse->set_count; i++)
		if (parse->sets[i].flags & NFT_SET_TIMEOUT)
			total += parse->sets[i].count;
	form->timed = calloc(total + 1, sizeof(*form->timed));
	if (!form->timed)
		return -ENOMEM;
	for (size_t i = 0; i < parse->set_count; i++) {
		const struct kparse_set *set = &parse->sets[i];

		if (!(set->flags & NFT_SET_TIMEOUT))
			continue;
		for (size_t e = set->first; e != KPARSE_NONE; e = parse->elements[e].next)
			describe_element(&form->timed[form->timed_count++], set->name,
					 parse->elements[e].row);
	}
	qsort(form->timed, form->timed_count, sizeof(*form->timed), compare_timed);
	return 0;
}

void kdescribe_release(struct kform_chain *chain)
{
	free(chain->devices);
	free(chain->uses);
	*chain = (struct kform_chain){0};
}
