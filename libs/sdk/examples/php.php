<?php
// Orders and callbacks with only PHP 8.
//
// php php.php create URL TOKEN ORDER_ID         makes an order and prints the answer
// php php.php price URL TOKEN ORDER_ID PRICE CURRENCY   the same with a price; the answer has the options
// php php.php choose URL TOKEN ORDER_ID CHAIN SYMBOL    chooses one of them; the answer has its address
// php php.php verify SECRET ID TIME SIGNATURE   reads a callback's body from standard input

function createCollection(string $url, string $token, array $fields): array
{
    $data = json_encode($fields, JSON_THROW_ON_ERROR);
    $sign = hash_hmac('sha256', $data, $token);
    $nonce = bin2hex(random_bytes(16));
    // The body contains the exact text that was signed.
    $body = '{"sign":"' . $sign . '","timestamp":' . time() . ',"nonce":"' . $nonce . '","data":' . $data . '}';
    return post($url . '/v1/order/createCollection', $body);
}

/** The coin in which your customer pays: one of the order's options. Your page needs it only in place of the checkout. */
function choose(string $url, string $token, string $orderId, string $chain, string $symbol): array
{
    $query = http_build_query(['orderId' => $orderId, 'sign' => hash_hmac('sha256', $orderId, $token)]);
    $body = json_encode(['chain' => $chain, 'symbol' => $symbol], JSON_THROW_ON_ERROR);
    return post($url . '/v1/order/choose?' . $query, $body);
}

function post(string $url, string $body): array
{
    $http = ['method' => 'POST', 'header' => 'content-type: application/json', 'content' => $body,
        'ignore_errors' => true, 'timeout' => 15];
    $answer = file_get_contents($url, false, stream_context_create(['http' => $http]));
    $envelope = json_decode((string) $answer, true, 512, JSON_THROW_ON_ERROR);
    if ($envelope['code'] !== 200) {
        throw new RuntimeException($envelope['msg'] . ' ' . ($envelope['detail'] ?? ''));
    }
    return $envelope['data'];
}

/** The part after `whsec_` is base64 of the key; any other secret is the key itself. */
function keyOf(string $secret): string
{
    $isEncoded = preg_match('~^whsec_([A-Za-z0-9+/]+={0,2})$~D', $secret, $found) === 1;
    return $isEncoded ? base64_decode($found[1]) : $secret;
}

/** Returns the verified callback. $body is the raw body of the request: file_get_contents('php://input'). */
function verifyCallback(string $body, array $headers, string $secret): array
{
    $signed = $headers['webhook-id'] . '.' . $headers['webhook-timestamp'] . '.' . $body;
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, keyOf($secret), true));
    $given = array_filter(
        explode(' ', $headers['webhook-signature']),
        fn (string $signature): bool => hash_equals($expected, $signature),
    );
    if ($given === []) {
        throw new UnexpectedValueException('not signed by this gateway');
    }
    if (abs(time() - (int) $headers['webhook-timestamp']) > 300) {
        throw new UnexpectedValueException('signed too long ago');
    }
    return json_decode($body, true, 512, JSON_THROW_ON_ERROR);
}

if ($argv[1] === 'create') {
    [, , $url, $token, $orderId] = $argv;
    $fields = ['orderId' => $orderId, 'amount' => '12.50', 'symbol' => 'USDT', 'chain' => 'ETH_SEPOLIA'];
    echo json_encode(createCollection($url, $token, $fields)), "\n";
} elseif ($argv[1] === 'price') {
    [, , $url, $token, $orderId, $price, $currency] = $argv;
    // Without 'accept' the customer chooses from all coins that are enabled.
    $accept = [['chain' => 'ETH_SEPOLIA', 'symbol' => 'USDT'], ['chain' => 'BSC_TEST', 'symbol' => 'USDT']];
    $fields = ['orderId' => $orderId, 'price' => $price, 'currency' => $currency, 'accept' => $accept];
    echo json_encode(createCollection($url, $token, $fields)), "\n";
} elseif ($argv[1] === 'choose') {
    echo json_encode(choose(...array_slice($argv, 2))), "\n";
} else {
    [, , $secret, $id, $timestamp, $signature] = $argv;
    $headers = ['webhook-id' => $id, 'webhook-timestamp' => $timestamp, 'webhook-signature' => $signature];
    try {
        $callback = verifyCallback(stream_get_contents(STDIN), $headers, $secret);
        echo $callback['notifyType'], ' ', $callback['data']['orderId'], "\n";
    } catch (UnexpectedValueException $error) {
        echo 'refused: ', $error->getMessage(), "\n";
    }
}
