import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParser;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Prints the vectors that Jackson and Gson make of the payloads file, as a merchant's client would sign and send them.
 * With the argument `again`: the texts they make of the JSON text on standard input.
 */
public class Vectors {
  interface Writer {
    String write(Object value) throws Exception;
  }

  static final List<Object> vectors = new ArrayList<>();
  static String token;

  static void add(String name, String call, Object data, Writer sign, Writer send) throws Exception {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(token.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
    StringBuilder hex = new StringBuilder();
    for (byte digit : mac.doFinal(sign.write(data).getBytes(StandardCharsets.UTF_8))) {
      hex.append(String.format("%02x", digit));
    }
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("sign", hex.toString());
    body.put("timestamp", 1790000000L);
    body.put("nonce", name);
    body.put("data", data);
    Map<String, Object> vector = new LinkedHashMap<>();
    vector.put("name", name);
    vector.put("serialiser", "java " + Runtime.version().feature() + ", Jackson 2.17.2, Gson 2.11.0: " + call);
    vector.put("sign", hex.toString());
    vector.put("body", send.write(body));
    vectors.add(vector);
  }

  static Object sorted(Object value) {
    if (value instanceof List<?> list) {
      List<Object> copy = new ArrayList<>();
      for (Object element : list) copy.add(sorted(element));
      return copy;
    }
    if (!(value instanceof Map<?, ?> map)) return value;
    Map<String, Object> copy = new TreeMap<>();
    map.forEach((key, element) -> copy.put((String) key, sorted(element)));
    return copy;
  }

  @SuppressWarnings("unchecked")
  public static void main(String[] arguments) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    ObjectMapper jackson = new ObjectMapper();
    ObjectMapper ascii = JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();
    ObjectMapper ordered = JsonMapper.builder().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS).build();
    ObjectMapper pretty = JsonMapper.builder().enable(SerializationFeature.INDENT_OUTPUT).build();
    Gson gson = new GsonBuilder().serializeNulls().create();
    Gson plainGson = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

    if (arguments[0].equals("again")) {
      String received = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
      Object data = jackson.readValue(received, LinkedHashMap.class);
      Map<String, String> texts = new LinkedHashMap<>();
      texts.put("ObjectMapper", jackson.writeValueAsString(data));
      texts.put("ObjectMapper of a tree", jackson.writeValueAsString(jackson.readTree(received)));
      texts.put("ObjectMapper ORDER_MAP_ENTRIES_BY_KEYS", ordered.writeValueAsString(data));
      texts.put("Gson of a tree", gson.toJson(JsonParser.parseString(received)));
      texts.put("Gson disableHtmlEscaping of a map", plainGson.toJson(data));
      out.println(ascii.writeValueAsString(texts));
      return;
    }

    Map<String, Object> source = jackson.readValue(Files.readString(Path.of(arguments[0])), LinkedHashMap.class);
    token = (String) source.get("token");
    for (Map.Entry<String, Object> payload : ((Map<String, Object>) source.get("payloads")).entrySet()) {
      String name = payload.getKey();
      Object data = payload.getValue();
      add("java/" + name + "/jackson", "ObjectMapper", data, jackson::writeValueAsString, jackson::writeValueAsString);
      add("java/" + name + "/jackson-ordered", "ObjectMapper ORDER_MAP_ENTRIES_BY_KEYS; body not ordered", data, ordered::writeValueAsString, jackson::writeValueAsString);
      add("java/" + name + "/gson", "Gson", data, gson::toJson, gson::toJson);
      add("java/" + name + "/gson-treemap", "Gson of TreeMaps; body Jackson, not sorted", data, value -> gson.toJson(sorted(value)), jackson::writeValueAsString);
      if (!name.equals("usual") && !name.equals("hostile")) continue;
      add("java/" + name + "/jackson-ascii", "ObjectMapper ESCAPE_NON_ASCII", data, ascii::writeValueAsString, ascii::writeValueAsString);
      add("java/" + name + "/jackson-ascii-signed", "ObjectMapper ESCAPE_NON_ASCII; body plain ObjectMapper", data, ascii::writeValueAsString, jackson::writeValueAsString);
      add("java/" + name + "/jackson-pretty-body", "ObjectMapper; body INDENT_OUTPUT", data, jackson::writeValueAsString, pretty::writeValueAsString);
      add("java/" + name + "/gson-no-html", "Gson disableHtmlEscaping", data, plainGson::toJson, plainGson::toJson);
      add("java/" + name + "/gson-signed", "Gson; body Jackson", data, gson::toJson, jackson::writeValueAsString);
      add("java/" + name + "/gson-no-html-signed", "Gson disableHtmlEscaping; body Gson", data, plainGson::toJson, gson::toJson);
      add("java/" + name + "/jackson-signed", "Jackson; body Gson", data, jackson::writeValueAsString, gson::toJson);
    }
    out.println(ascii.writeValueAsString(vectors));
  }
}
