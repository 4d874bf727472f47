"""Prints the vectors that Python's json module makes, as a merchant's client would sign and send them.

With the argument `again`: the texts it makes of the JSON text on standard input.
"""

import hashlib
import hmac
import json
import pathlib
import platform
import sys

SOURCE = json.loads(pathlib.Path(__file__).with_name("payloads.json").read_text("utf-8"))
TOKEN, PAYLOADS = SOURCE["token"], SOURCE["payloads"]
VERSION = f"python {platform.python_version()}"
COMPACT = {"separators": (",", ":")}
vectors = []


def add(name, call, data, sign_options, body_options):
    text = json.dumps(data, **sign_options)
    sign = hmac.new(TOKEN.encode(), text.encode("utf-8"), hashlib.sha256).hexdigest()
    body = {"sign": sign, "timestamp": 1790000000, "nonce": name, "data": data}
    vectors.append(
        {
            "name": name,
            "serialiser": f"{VERSION}: {call}",
            "sign": sign,
            "body": json.dumps(body, **body_options),
        }
    )


for payload, data in PAYLOADS.items():
    add(f"python/{payload}", "json.dumps compact", data, COMPACT, COMPACT)
    add(
        f"python/{payload}/sorted",
        "json.dumps compact sort_keys; body json.dumps as requests sends it",
        data,
        {**COMPACT, "sort_keys": True},
        {"allow_nan": False},
    )
    add(
        f"python/{payload}/unicode-sorted",
        "json.dumps compact ensure_ascii=False sort_keys; body json.dumps as requests sends it",
        data,
        {**COMPACT, "sort_keys": True, "ensure_ascii": False},
        {"allow_nan": False},
    )
hostile = PAYLOADS["hostile"]
add(
    "python/hostile/unicode",
    "json.dumps compact ensure_ascii=False",
    hostile,
    {**COMPACT, "ensure_ascii": False},
    {**COMPACT, "ensure_ascii": False},
)
add(
    "python/hostile/unicode-signed",
    "json.dumps compact ensure_ascii=False; body in ASCII, indented",
    hostile,
    {**COMPACT, "ensure_ascii": False},
    {"indent": 2},
)
add(
    "python/hostile/ascii-signed",
    "json.dumps compact; body ensure_ascii=False compact (httpx)",
    hostile,
    COMPACT,
    {**COMPACT, "ensure_ascii": False},
)
add("python/hostile/spaced", "json.dumps, signed and sent with its default spaces", hostile, {}, {})
add("python/hostile/spaced-signed", "json.dumps signed with its default spaces, sent compact", hostile, {}, COMPACT)
if sys.argv[1:] == ["again"]:
    received = json.loads(sys.stdin.buffer.read())
    options = {
        "json.dumps compact": COMPACT,
        "json.dumps compact sort_keys": {**COMPACT, "sort_keys": True},
        "json.dumps compact ensure_ascii=False": {**COMPACT, "ensure_ascii": False},
    }
    print(json.dumps({call: json.dumps(received, **given) for call, given in options.items()}))
else:
    print(json.dumps(vectors))
