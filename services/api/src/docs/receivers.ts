/** A complete program that receives and verifies callbacks with only the standard library of its language. */
export interface Receiver {
  readonly language: string;
  readonly file: string;
  /** Runs the file on port 4000. WEBHOOK_SECRET is in the environment. */
  readonly command: string;
  readonly code: string;
}

const NODE = `import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

const secret = process.env.WEBHOOK_SECRET;
if (!secret) throw new Error('WEBHOOK_SECRET is not set');
// The base64 after whsec_ is the key. Any other secret is the key itself.
const encoded = /^whsec_([A-Za-z0-9+/]+)={0,2}$/.exec(secret)?.[1];
const key = encoded ? Buffer.from(encoded, 'base64') : secret;

// Returns the callback. Throws unless the gateway signed these bytes in the last five minutes.
function verifyCallback(headers, body) {
  const time = headers['webhook-timestamp'];
  const hmac = createHmac('sha256', key).update(headers['webhook-id'] + '.' + time + '.').update(body);
  const expected = Buffer.from('v1,' + hmac.digest('base64'));
  const isSigned = String(headers['webhook-signature']).split(' ').some((text) => {
    const given = Buffer.from(text);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isSigned) throw new Error('wrong signature');
  if (!(Math.abs(Date.now() / 1000 - time) <= 300)) throw new Error('too old');
  return JSON.parse(body);
}

createServer(async (request, response) => {
  try {
    const { nonce, notifyType, data } = verifyCallback(request.headers, await buffer(request));
    // Store it, once per nonce, before you answer. Only ORDER_SUCCESS means paid.
    console.log(notifyType, data.orderId);
    response.end('ok');
  } catch (error) {
    console.log('refused:', error.message);
    response.writeHead(401).end();
  }
}).listen(process.env.PORT ?? 4000, '127.0.0.1');
`;

const PYTHON = `import base64, hashlib, hmac, json, os, re, time
from http.server import BaseHTTPRequestHandler, HTTPServer

secret = os.environ.get("WEBHOOK_SECRET") or exit("WEBHOOK_SECRET is not set")
# The base64 after whsec_ is the key. Any other secret is the key itself.
encoded = re.fullmatch(r"whsec_([A-Za-z0-9+/]+)={0,2}", secret)
key = base64.b64decode(encoded[1] + "=" * (-len(encoded[1]) % 4)) if encoded else secret.encode()


def verify_callback(headers, body):
    """Returns the callback. Raises ValueError unless the gateway signed these bytes in the last five minutes."""
    sent_at = headers["webhook-timestamp"] or ""
    signed = f'{headers["webhook-id"]}.{sent_at}.'.encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    given = (headers["webhook-signature"] or "").encode().split(b" ")
    if not any(hmac.compare_digest(expected, one) for one in given):
        raise ValueError("wrong signature")
    if abs(time.time() - int(sent_at)) > 300:
        raise ValueError("too old")
    return json.loads(body)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            callback = verify_callback(self.headers, body)
            # Store it, once per nonce, before you answer. Only ORDER_SUCCESS means paid.
            print(callback["notifyType"], callback["data"].get("orderId"), flush=True)
            self.send_response(200)
        except ValueError as error:
            print("refused:", error, flush=True)
            self.send_response(401)
        self.end_headers()


HTTPServer(("127.0.0.1", int(os.environ.get("PORT", 4000))), Receiver).serve_forever()
`;

const PHP = `<?php
declare(strict_types=1);

$secret = getenv('WEBHOOK_SECRET');
if (!$secret) {
    http_response_code(500);
    exit('WEBHOOK_SECRET is not set');
}
// The base64 after whsec_ is the key. Any other secret is the key itself.
$encoded = preg_match('~^whsec_([A-Za-z0-9+/]+)={0,2}$~D', $secret, $match) ? $match[1] : '';
$key = $encoded === '' ? $secret : base64_decode($encoded);

/** Returns the callback. Throws unless the gateway signed these bytes in the last five minutes. */
function verifyCallback(array $server, string $body, string $key): array
{
    $time = $server['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    $signed = ($server['HTTP_WEBHOOK_ID'] ?? '') . '.' . $time . '.' . $body;
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    $isSigned = false;
    foreach (explode(' ', $server['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
        $isSigned = hash_equals($expected, $given) || $isSigned;
    }
    if (!$isSigned) {
        throw new UnexpectedValueException('wrong signature');
    }
    if (abs(time() - (int) $time) > 300) {
        throw new UnexpectedValueException('too old');
    }
    return json_decode($body, true, 512, JSON_THROW_ON_ERROR);
}

try {
    $callback = verifyCallback($_SERVER, file_get_contents('php://input'), $key);
    // Store it, once per nonce, before you answer. Only ORDER_SUCCESS means paid.
    error_log($callback['notifyType'] . ' ' . ($callback['data']['orderId'] ?? ''));
} catch (UnexpectedValueException $error) {
    error_log('refused: ' . $error->getMessage());
    http_response_code(401);
}
`;

const GO = `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type callback struct {
	Nonce      string \`json:"nonce"\`
	NotifyType string \`json:"notifyType"\`
	Data       struct {
		OrderID string \`json:"orderId"\`
	} \`json:"data"\`
}

// verifyCallback fails unless the gateway signed these bytes in the last five minutes.
func verifyCallback(headers http.Header, body, key []byte) (result callback, err error) {
	sentAt := headers.Get("webhook-timestamp")
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", headers.Get("webhook-id"), sentAt, body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	signed := false
	for _, given := range strings.Split(headers.Get("webhook-signature"), " ") {
		signed = hmac.Equal(expected, []byte(given)) || signed
	}
	if !signed {
		return result, errors.New("wrong signature")
	}
	seconds, err := strconv.ParseInt(sentAt, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return result, errors.New("too old")
	}
	return result, json.Unmarshal(body, &result)
}

func main() {
	secret, port := os.Getenv("WEBHOOK_SECRET"), os.Getenv("PORT")
	if secret == "" {
		log.Fatal("WEBHOOK_SECRET is not set")
	}
	if port == "" {
		port = "4000"
	}
	key := []byte(secret)
	// The base64 after whsec_ is the key. Any other secret is the key itself.
	if found := regexp.MustCompile(\`^whsec_([A-Za-z0-9+/]+)={0,2}$\`).FindStringSubmatch(secret); found != nil {
		key, _ = base64.RawStdEncoding.DecodeString(found[1])
	}
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		received, err := verifyCallback(request.Header, body, key)
		if err != nil {
			fmt.Println("refused:", err)
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		// Store it, once per nonce, before you answer. Only ORDER_SUCCESS means paid.
		fmt.Println(received.NotifyType, received.Data.OrderID)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
`;

const JAVA = `import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
  /** Fails unless the gateway signed these bytes in the last five minutes. */
  static void verifyCallback(Headers headers, byte[] body, byte[] key) throws GeneralSecurityException {
    String time = Objects.requireNonNullElse(headers.getFirst("webhook-timestamp"), "");
    String signatures = Objects.requireNonNullElse(headers.getFirst("webhook-signature"), "");
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(key, "HmacSHA256"));
    mac.update((headers.getFirst("webhook-id") + "." + time + ".").getBytes(StandardCharsets.UTF_8));
    byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes();
    boolean signed = false;
    for (String given : signatures.split(" ")) signed |= MessageDigest.isEqual(expected, given.getBytes());
    if (!signed) throw new GeneralSecurityException("wrong signature");
    if (Math.abs(Instant.now().getEpochSecond() - Long.parseLong(time)) > 300)
      throw new GeneralSecurityException("too old");
  }

  public static void main(String[] arguments) throws Exception {
    String secret = Objects.requireNonNull(System.getenv("WEBHOOK_SECRET"), "WEBHOOK_SECRET is not set");
    if (secret.isEmpty()) throw new IllegalArgumentException("WEBHOOK_SECRET is not set");
    // The base64 after whsec_ is the key. Any other secret is the key itself.
    Matcher encoded = Pattern.compile("whsec_([A-Za-z0-9+/]+)={0,2}").matcher(secret);
    byte[] key =
        encoded.matches()
            ? Base64.getDecoder().decode(encoded.group(1))
            : secret.getBytes(StandardCharsets.UTF_8);
    int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "4000"));
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
    server.createContext("/", exchange -> {
      byte[] body = exchange.getRequestBody().readAllBytes();
      int status = 200;
      try {
        verifyCallback(exchange.getRequestHeaders(), body, key);
        // Parse it with your JSON library and store it, once per nonce, before you answer.
        System.out.println(new String(body, StandardCharsets.UTF_8));
      } catch (GeneralSecurityException error) {
        System.out.println("refused: " + error.getMessage());
        status = 401;
      }
      exchange.sendResponseHeaders(status, -1);
      exchange.close();
    });
    server.start();
  }
}
`;

export const RECEIVERS: readonly Receiver[] = [
  { language: 'Node.js', file: 'receiver.mjs', command: 'node receiver.mjs', code: NODE },
  { language: 'Python', file: 'receiver.py', command: 'python3 receiver.py', code: PYTHON },
  { language: 'PHP', file: 'receiver.php', command: 'php -S 127.0.0.1:4000 receiver.php', code: PHP },
  { language: 'Go', file: 'receiver.go', command: 'go run receiver.go', code: GO },
  { language: 'Java', file: 'Receiver.java', command: 'java Receiver.java', code: JAVA },
];
