#!/bin/sh
# SPDX-License-Identifier: MIT
# check_schema.sh SCHEMA FILE: FILE is JSON of that schema, by Python's jsonschema (Debian: python3-jsonschema). Where
# that is not installed, nothing is said.
set -eu
python3 -c 'import jsonschema' 2> /dev/null || exit 0
exec python3 -c '
import json, sys, jsonschema
schema, document = (json.load(open(name)) for name in sys.argv[1:])
jsonschema.Draft202012Validator.check_schema(schema)
faults = list(jsonschema.Draft202012Validator(schema).iter_errors(document))
for fault in faults[:5]:
    print("%s: %s: %s" % (sys.argv[2], "/".join(map(str, fault.absolute_path)), fault.message[:200]))
sys.exit(1 if faults else 0)' "$1" "$2"
