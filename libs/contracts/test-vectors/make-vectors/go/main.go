// Prints the vectors that Go's encoding/json makes, as a merchant's client would sign and send them; the argument is
// how their names begin. With the argument `again`: the texts it makes of the JSON text on standard input.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

type usual struct {
	Amount      string `json:"amount"`
	Symbol      string `json:"symbol"`
	Chain       string `json:"chain"`
	OrderID     string `json:"orderId"`
	ReturnURL   string `json:"returnUrl"`
	Description string `json:"description"`
}

type envelope struct {
	Sign      string      `json:"sign"`
	Timestamp int64       `json:"timestamp"`
	Nonce     string      `json:"nonce"`
	Data      interface{} `json:"data"`
}

type vector struct {
	Name       string `json:"name"`
	Serialiser string `json:"serialiser"`
	Sign       string `json:"sign"`
	Body       string `json:"body"`
}

var source struct {
	Token    string                     `json:"token"`
	Payloads map[string]json.RawMessage `json:"payloads"`
}
var vectors []vector

type writer func(value interface{}) string

func marshal(value interface{}) string {
	text, err := json.Marshal(value)
	check(err)
	return string(text)
}

func indented(value interface{}) string {
	text, err := json.MarshalIndent(value, "", "\t")
	check(err)
	return string(text)
}

func encodedLine(value interface{}) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	check(encoder.Encode(value))
	return out.String()
}

func encoded(value interface{}) string { return strings.TrimSuffix(encodedLine(value), "\n") }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func add(name, call string, data interface{}, sign, send writer) {
	mac := hmac.New(sha256.New, []byte(source.Token))
	mac.Write([]byte(sign(data)))
	signature := hex.EncodeToString(mac.Sum(nil))
	body := send(envelope{signature, 1790000000, name, data})
	vectors = append(vectors, vector{name, fmt.Sprintf("go %s: %s", runtime.Version()[2:], call), signature, body})
}

func again() map[string]string {
	text, err := io.ReadAll(os.Stdin)
	check(err)
	var data interface{}
	check(json.Unmarshal(text, &data))
	return map[string]string{
		"json.Marshal":                      marshal(data),
		"Encoder with SetEscapeHTML(false)": encoded(data),
		"json.Marshal of a RawMessage":      marshal(json.RawMessage(text)),
	}
}

func main() {
	out := json.NewEncoder(os.Stdout)
	prefix := os.Args[1]
	if prefix == "again" {
		check(out.Encode(again()))
		return
	}
	text, err := os.ReadFile("../payloads.json")
	check(err)
	check(json.Unmarshal(text, &source))
	var fields usual
	check(json.Unmarshal(source.Payloads["usual"], &fields))
	add(prefix+"/usual/struct", "json.Marshal of a struct", fields, marshal, marshal)
	add(prefix+"/usual/struct-no-html", "Encoder with SetEscapeHTML(false) of a struct", fields, encoded, encoded)
	add(prefix+"/usual/struct-mixed", "Encoder with SetEscapeHTML(false) of a struct; body json.Marshal", fields, encoded, marshal)
	for _, name := range []string{"usual", "hostile", "keys", "numbered"} {
		var data map[string]interface{}
		decoder := json.NewDecoder(bytes.NewReader(source.Payloads[name]))
		decoder.UseNumber()
		check(decoder.Decode(&data))
		raw := source.Payloads[name]
		add(prefix+"/"+name, "json.Marshal of a map", data, marshal, marshal)
		add(prefix+"/"+name+"/no-html", "Encoder with SetEscapeHTML(false) of a map", data, encoded, encodedLine)
		add(prefix+"/"+name+"/no-html-signed", "Encoder with SetEscapeHTML(false) of a map; body json.MarshalIndent", data, encoded, indented)
		add(prefix+"/"+name+"/html-signed", "json.Marshal of a map; body Encoder with SetEscapeHTML(false)", data, marshal, encodedLine)
		add(prefix+"/"+name+"/raw-body", "json.Marshal of a map; body with its own order of keys", raw, func(interface{}) string { return marshal(data) }, encodedLine)
	}
	add(prefix+"/usual/newline-signed", "Encoder, its line feed signed", fields, encodedLine, marshal)
	check(out.Encode(vectors))
}
