"""Orders and callbacks with only the standard library of Python 3.

python3 python.py create URL TOKEN ORDER_ID      makes an order and prints the answer
python3 python.py price URL TOKEN ORDER_ID PRICE CURRENCY   the same with a price; the answer has the options
python3 python.py choose URL TOKEN ORDER_ID CHAIN SYMBOL    chooses one of them; the answer has its address
python3 python.py verify SECRET ID TIME SIGNATURE   reads a callback's body from standard input
"""

import base64
import hashlib
import hmac
import json
import re
import sys
import time
import urllib.parse
import urllib.request
import uuid


def create_collection(url, token, fields):
    data = json.dumps(fields, separators=(",", ":"))
    sign = hmac.new(token.encode(), data.encode(), hashlib.sha256).hexdigest()
    # The very text that was signed goes into the body.
    body = '{"sign":"%s","timestamp":%d,"nonce":"%s","data":%s}' % (sign, time.time(), uuid.uuid4(), data)
    return post(url + "/v1/order/createCollection", body)


def choose(url, token, order_id, chain, symbol):
    """The coin in which your customer pays: one of the order's options. Your page needs it only in place of the checkout."""
    sign = hmac.new(token.encode(), order_id.encode(), hashlib.sha256).hexdigest()
    query = urllib.parse.urlencode({"orderId": order_id, "sign": sign})
    return post(url + "/v1/order/choose?" + query, json.dumps({"chain": chain, "symbol": symbol}))


def post(url, body):
    request = urllib.request.Request(url, body.encode(), {"content-type": "application/json"})
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
        fields = {"orderId": order_id, "amount": "12.50", "symbol": "USDT", "chain": "ETH_SEPOLIA"}
        print(json.dumps(create_collection(url, token, fields)))
    elif sys.argv[1] == "price":
        url, token, order_id, price, currency = sys.argv[2:7]
        # Without "accept" the customer chooses from all coins that are enabled.
        accept = [{"chain": "ETH_SEPOLIA", "symbol": "USDT"}, {"chain": "BSC_TEST", "symbol": "USDT"}]
        fields = {"orderId": order_id, "price": price, "currency": currency, "accept": accept}
        print(json.dumps(create_collection(url, token, fields)))
    elif sys.argv[1] == "choose":
        print(json.dumps(choose(*sys.argv[2:7])))
    else:
        secret, webhook_id, timestamp, signature = sys.argv[2:6]
        headers = {"webhook-id": webhook_id, "webhook-timestamp": timestamp, "webhook-signature": signature}
        try:
            callback = verify_callback(sys.stdin.buffer.read(), headers, secret)
            print(callback["notifyType"], callback["data"]["orderId"])
        except ValueError as error:
            print("refused:", error)
