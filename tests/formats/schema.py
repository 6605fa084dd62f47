# SPDX-License-Identifier: GPL-2.0-or-later
"""As much of JSON Schema 2020-12 as docs/formats uses. An unknown keyword is an error."""
import re

IGNORED = {"$schema", "title", "description", "$defs"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def same(left, right):
    return type(left) is type(right) and left == right


def check_object(rules, value, root):
    known = rules.get("properties", {})
    if rules.get("additionalProperties") is False and set(value) - set(known):
        return False
    return (all(key in value for key in rules.get("required", ()))
            and all(valid(known[key], value[key], root) for key in value if key in known))


def check_array(rules, value, root):
    if not rules.get("minItems", 0) <= len(value) <= rules.get("maxItems", len(value)):
        return False
    if rules.get("uniqueItems") and len({repr(item) for item in value}) != len(value):
        return False
    if "contains" in rules and not any(valid(rules["contains"], i, root) for i in value):
        return False
    return all(valid(rules["items"], item, root) for item in value)


def check_string(rules, value):
    return (rules.get("minLength", 0) <= len(value) <= rules.get("maxLength", len(value))
            and re.search(rules.get("pattern", ""), value) is not None)


KNOWN = IGNORED | {"type", "properties", "additionalProperties", "required", "items",
                   "minItems", "maxItems", "uniqueItems", "contains", "minLength",
                   "maxLength", "pattern", "minimum", "maximum", "enum", "const", "$ref"}


def valid(rules, value, root=None):
    root = root or rules
    unknown = set(rules) - KNOWN
    if unknown:
        raise ValueError(f"keyword not supported here: {unknown}")
    if "$ref" in rules:
        return valid(root["$defs"][rules["$ref"].removeprefix("#/$defs/")], value, root)
    if "const" in rules and not same(rules["const"], value):
        return False
    if "enum" in rules and not any(same(item, value) for item in rules["enum"]):
        return False
    if "type" in rules and not is_type(value, rules["type"]):
        return False
    if isinstance(value, dict):
        return check_object(rules, value, root)
    if isinstance(value, list):
        return check_array(rules, value, root)
    if isinstance(value, str):
        return check_string(rules, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return rules.get("minimum", value) <= value <= rules.get("maximum", value)
    return True
