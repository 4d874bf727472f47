"""Orders and callbacks with only the standard library of Python 3.

python3 python.py create URL TOKEN ORDER_ID      makes an order and prints the answer
python3 python.py verify SECRET ID TIME SIGNATURE   reads a callback's body from standard input
"""

import base64
import hashlib
import hmac
import json
import re
import sys
import time
import urllib.request
import uuid


def create_collection(url, token, fields):
    data = json.dumps(fields, separators=(",", ":"))
    sign = hmac.new(token.encode(), data.encode(), hashlib.sha256).hexdigest()
    # The very text that was signed goes into the body.
    body = '{"sign":"%s","timestamp":%d,"nonce":"%s","data":%s}' % (sign, time.time(), uuid.uuid4(), data)
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url + "/v1/order/createCollection", body.encode(), headers)
    with urllib.request.urlopen(request, timeout=15) as response:
        return json.load(response)["data"]


def key_of(secret):
    """The part after `whsec_` is base64 of the key; any other secret is the key itself."""
    encoded = re.fullmatch(r"whsec_([A-Za-z0-9+/]+)={0,2}", secret)
    if encoded is None:
        return secret.encode()
    return base64.b64decode(encoded[1] + "=" * (-len(encoded[1]) % 4))


def verify_callback(body, headers, secret, now=None):
    """Returns the verified callback, else raises ValueError. `body` is the raw request body."""
    signed = ("%s.%s." % (headers["webhook-id"], headers["webhook-timestamp"])).encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key_of(secret), signed, hashlib.sha256).digest()).decode()
    if not any(hmac.compare_digest(expected, given) for given in headers["webhook-signature"].split(" ")):
        raise ValueError("not signed by this gateway")
    if abs((now or time.time()) - int(headers["webhook-timestamp"])) > 300:
        raise ValueError("signed too long ago")
    return json.loads(body)


if __name__ == "__main__":
    if sys.argv[1] == "create":
        url, token, order_id = sys.argv[2:5]
        # Or "price": "49.90", "currency": "EUR" instead of the amount.
        fields = {"orderId": order_id, "amount": "12.50", "symbol": "USDT", "chain": "ETH_SEPOLIA"}
        print(json.dumps(create_collection(url, token, fields)))
    else:
        secret, webhook_id, timestamp, signature = sys.argv[2:6]
        headers = {"webhook-id": webhook_id, "webhook-timestamp": timestamp, "webhook-signature": signature}
        try:
            callback = verify_callback(sys.stdin.buffer.read(), headers, secret)
            print(callback["notifyType"], callback["data"]["orderId"])
        except ValueError as error:
            print("refused:", error)
