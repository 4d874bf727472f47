import java.net.URI;
import java.net.URLEncoder;
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
 * java Java.java price URL TOKEN ORDER_ID PRICE CURRENCY   the same with a price; the answer has the options
 * java Java.java choose URL TOKEN ORDER_ID CHAIN SYMBOL    chooses one of them; the answer has its address
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
    String body =
        "{\"sign\":\"%s\",\"timestamp\":%d,\"nonce\":\"%s\",\"data\":%s}"
            .formatted(sign(token, data), Instant.now().getEpochSecond(), UUID.randomUUID(), data);
    return post(url + "/v1/order/createCollection", body);
  }

  /** The coin in which your customer pays: one of the order's options. Your page needs it only in place of the checkout. */
  static String choose(String url, String token, String orderId, String chain, String symbol) throws Exception {
    String query = "orderId=" + URLEncoder.encode(orderId, StandardCharsets.UTF_8) + "&sign=" + sign(token, orderId);
    String body = "{\"chain\":\"%s\",\"symbol\":\"%s\"}".formatted(chain, symbol);
    return post(url + "/v1/order/choose?" + query, body);
  }

  static String sign(String token, String text) throws GeneralSecurityException {
    byte[] key = token.getBytes(StandardCharsets.UTF_8);
    return HexFormat.of().formatHex(hmac(key, text.getBytes(StandardCharsets.UTF_8)));
  }

  static String post(String url, String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
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
      String data =
          "{\"orderId\":\"%s\",\"amount\":\"12.50\",\"symbol\":\"USDT\",\"chain\":\"ETH_SEPOLIA\"}".formatted(args[3]);
      System.out.println(createCollection(args[1], args[2], data));
      return;
    }
    if (args[0].equals("price")) {
      // Without "accept" the customer chooses from all coins that are enabled.
      String accept = "[{\"chain\":\"ETH_SEPOLIA\",\"symbol\":\"USDT\"},{\"chain\":\"BSC_TEST\",\"symbol\":\"USDT\"}]";
      String data =
          "{\"orderId\":\"%s\",\"price\":\"%s\",\"currency\":\"%s\",\"accept\":%s}"
              .formatted(args[3], args[4], args[5], accept);
      System.out.println(createCollection(args[1], args[2], data));
      return;
    }
    if (args[0].equals("choose")) {
      System.out.println(choose(args[1], args[2], args[3], args[4], args[5]));
      return;
    }
    byte[] body = System.in.readAllBytes();
    if (isCallback(body, args[2], args[3], args[4], args[1]))
      System.out.println(new String(body, StandardCharsets.UTF_8).replaceAll(".*\"notifyType\":\"(\\w+)\".*\"orderId\":\"([^\"]+)\".*", "$1 $2"));
    else System.out.println("refused: not signed by this gateway, or too long ago");
  }
}
