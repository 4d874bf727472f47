import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Orders and callbacks with only Java 17. Use any JSON library for the fields and the callback.
 *
 * <pre>
 * java Java.java create URL TOKEN ORDER_ID         makes an order and prints the answer
 * java Java.java verify SECRET ID TIME SIGNATURE   reads a callback's body from standard input
 * </pre>
 */
public class Java {
  static byte[] hmac(byte[] key, byte[]... parts) throws GeneralSecurityException {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(key, "HmacSHA256"));
    for (byte[] part : parts) mac.update(part);
    return mac.doFinal();
  }

  /** @param data the order's fields as compact JSON; the body contains the exact text that was signed */
  static String createCollection(String url, String token, String data) throws Exception {
    String sign = HexFormat.of().formatHex(hmac(token.getBytes(StandardCharsets.UTF_8), data.getBytes(StandardCharsets.UTF_8)));
    String body =
        "{\"sign\":\"%s\",\"timestamp\":%d,\"nonce\":\"%s\",\"data\":%s}"
            .formatted(sign, Instant.now().getEpochSecond(), UUID.randomUUID(), data);
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + "/v1/order/createCollection"))
            .timeout(Duration.ofSeconds(15))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    HttpResponse<String> response =
        HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() != 200) throw new IllegalStateException(response.body());
    return response.body();
  }

  private static final Pattern ENCODED_SECRET = Pattern.compile("whsec_([A-Za-z0-9+/]+)={0,2}");

  /** The part after {@code whsec_} is base64 of the key; any other secret is the key itself. */
  static byte[] keyOf(String secret) {
    Matcher encoded = ENCODED_SECRET.matcher(secret);
    return encoded.matches()
        ? Base64.getDecoder().decode(encoded.group(1))
        : secret.getBytes(StandardCharsets.UTF_8);
  }

  /** True when the gateway sent the callback recently. {@code body} is the raw request body. */
  static boolean isCallback(byte[] body, String id, String timestamp, String signatures, String secret)
      throws GeneralSecurityException {
    byte[] head = (id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8);
    String expected = "v1," + Base64.getEncoder().encodeToString(hmac(keyOf(secret), head, body));
    boolean signed = false;
    for (String given : signatures.split(" "))
      signed |= MessageDigest.isEqual(expected.getBytes(StandardCharsets.UTF_8), given.getBytes(StandardCharsets.UTF_8));
    long age = Instant.now().getEpochSecond() - Long.parseLong(timestamp);
    return signed && Math.abs(age) <= 300;
  }

  public static void main(String[] args) throws Exception {
    if (args[0].equals("create")) {
      // Or "price":"49.90","currency":"EUR" instead of the amount.
      String data =
          "{\"orderId\":\"%s\",\"amount\":\"12.50\",\"symbol\":\"USDT\",\"chain\":\"ETH_SEPOLIA\"}".formatted(args[3]);
      System.out.println(createCollection(args[1], args[2], data));
      return;
    }
    byte[] body = System.in.readAllBytes();
    if (isCallback(body, args[2], args[3], args[4], args[1]))
      System.out.println(new String(body, StandardCharsets.UTF_8).replaceAll(".*\"notifyType\":\"(\\w+)\".*\"orderId\":\"([^\"]+)\".*", "$1 $2"));
    else System.out.println("refused: not signed by this gateway, or too long ago");
  }
}
