<?php
// Prints the vectors that PHP's json_encode makes, as a merchant's client would sign and send them. With the argument
// `again`: the texts it makes of the JSON text on standard input.
$source = json_decode(file_get_contents(__DIR__ . '/payloads.json'));
$token = $source->token;
$version = 'php ' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION . '.' . PHP_RELEASE_VERSION;
$vectors = [];

function add(string $name, string $call, mixed $data, string $text, int $bodyFlags): void
{
    global $vectors, $token, $version;
    $sign = hash_hmac('sha256', $text, $token);
    $body = ['sign' => $sign, 'timestamp' => 1790000000, 'nonce' => $name, 'data' => $data];
    $vectors[] = [
        'name' => $name,
        'serialiser' => "$version: $call",
        'sign' => $sign,
        'body' => json_encode($body, $bodyFlags),
    ];
}

function sorted(mixed $value): mixed
{
    if (!is_array($value)) {
        return $value;
    }
    ksort($value);
    return array_map('sorted', $value);
}

if (($argv[1] ?? '') === 'again') {
    $text = stream_get_contents(STDIN);
    $object = json_decode($text);
    $array = json_decode($text, true);
    echo json_encode([
        'json_encode' => json_encode($object),
        'json_encode of arrays' => json_encode($array),
        'json_encode of arrays after ksort' => json_encode(sorted($array)),
        'json_encode JSON_UNESCAPED_SLASHES|JSON_UNESCAPED_UNICODE' => json_encode(
            $object,
            JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE,
        ),
    ]), "\n";
    exit(0);
}

const BOTH = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE;
$flags = [
    'default' => [0, 'json_encode'],
    'slashes' => [JSON_UNESCAPED_SLASHES, 'json_encode JSON_UNESCAPED_SLASHES'],
    'unicode' => [JSON_UNESCAPED_UNICODE, 'json_encode JSON_UNESCAPED_UNICODE'],
    'both' => [BOTH, 'json_encode JSON_UNESCAPED_SLASHES|JSON_UNESCAPED_UNICODE'],
    'lines' => [BOTH | JSON_UNESCAPED_LINE_TERMINATORS, 'json_encode, also JSON_UNESCAPED_LINE_TERMINATORS'],
];
foreach (['usual', 'hostile'] as $payload) {
    $data = $source->payloads->$payload;
    foreach ($flags as $suffix => [$flag, $call]) {
        add("php/$payload/$suffix", $call, $data, json_encode($data, $flag), $flag);
        if ($flag !== 0) {
            add("php/$payload/$suffix-signed", "$call; body json_encode", $data, json_encode($data, $flag), 0);
        }
    }
    add("php/$payload/pretty-body", 'json_encode; body JSON_PRETTY_PRINT', $data, json_encode($data), JSON_PRETTY_PRINT);
}
$arrays = json_decode(file_get_contents(__DIR__ . '/payloads.json'), true)['payloads'];
foreach ($arrays as $payload => $data) {
    add("php/$payload/array-ksort", 'json_encode of arrays after ksort; body not sorted', $data, json_encode(sorted($data)), 0);
    add(
        "php/$payload/array-ksort-both",
        'json_encode JSON_UNESCAPED_SLASHES|JSON_UNESCAPED_UNICODE of arrays after ksort; body json_encode, not sorted',
        $data,
        json_encode(sorted($data), BOTH),
        0,
    );
}
echo json_encode($vectors), "\n";
