// Orders and callbacks with only Go's standard library.
//
//	go run go.go create URL TOKEN ORDER_ID         makes an order and prints the answer
//	go run go.go price URL TOKEN ORDER_ID PRICE CURRENCY   the same with a price; the answer has the options
//	go run go.go choose URL TOKEN ORDER_ID CHAIN SYMBOL    chooses one of them; the answer has its address
//	go run go.go verify SECRET ID TIME SIGNATURE   reads a callback's body from standard input
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type answer struct {
	Code   int             `json:"code"`
	Msg    string          `json:"msg"`
	Data   json.RawMessage `json:"data"`
	Detail string          `json:"detail"`
}

type coin struct {
	Chain  string `json:"chain"`
	Symbol string `json:"symbol"`
}

func createCollection(base, token string, fields any) (json.RawMessage, error) {
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, 16)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	// The body contains the exact text that was signed.
	body := fmt.Sprintf(`{"sign":"%s","timestamp":%d,"nonce":"%s","data":%s}`,
		sign(token, data), time.Now().Unix(), hex.EncodeToString(nonce), data)
	return post(base+"/v1/order/createCollection", body)
}

// choose names the coin in which your customer pays: one of the order's options. Your page needs it only in place of the
// checkout.
func choose(base, token, orderID, chain, symbol string) (json.RawMessage, error) {
	query := url.Values{"orderId": {orderID}, "sign": {sign(token, []byte(orderID))}}
	body, err := json.Marshal(coin{chain, symbol})
	if err != nil {
		return nil, err
	}
	return post(base+"/v1/order/choose?"+query.Encode(), string(body))
}

func sign(token string, text []byte) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil))
}

func post(address, body string) (json.RawMessage, error) {
	client := http.Client{Timeout: 15 * time.Second}
	response, err := client.Post(address, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var got answer
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		return nil, err
	}
	if got.Code != 200 {
		return nil, errors.New(got.Msg + " " + got.Detail)
	}
	return got.Data, nil
}

type callback struct {
	NotifyType string `json:"notifyType"`
	Nonce      string `json:"nonce"`
	Data       struct {
		OrderID string `json:"orderId"`
		Status  string `json:"status"`
	} `json:"data"`
}

var encodedSecret = regexp.MustCompile(`^whsec_([A-Za-z0-9+/]+)={0,2}$`)

// keyOf decodes the part after whsec_ as base64; any other secret is the key itself.
func keyOf(secret string) ([]byte, error) {
	encoded := encodedSecret.FindStringSubmatch(secret)
	if encoded == nil {
		return []byte(secret), nil
	}
	return base64.RawStdEncoding.DecodeString(encoded[1])
}

// verifyCallback returns the verified callback. body is the raw request body.
func verifyCallback(body []byte, headers http.Header, secret string) (callback, error) {
	var event callback
	key, err := keyOf(secret)
	if err != nil {
		return event, err
	}
	timestamp := headers.Get("webhook-timestamp")
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", headers.Get("webhook-id"), timestamp, body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	signed := false
	for _, given := range strings.Split(headers.Get("webhook-signature"), " ") {
		signed = signed || hmac.Equal(expected, []byte(given))
	}
	if !signed {
		return event, errors.New("not signed by this gateway")
	}
	at, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > 5*time.Minute {
		return event, errors.New("signed too long ago")
	}
	return event, json.NewDecoder(bytes.NewReader(body)).Decode(&event)
}

func main() {
	switch os.Args[1] {
	case "create":
		fields := map[string]string{"orderId": os.Args[4], "amount": "12.50", "symbol": "USDT", "chain": "ETH_SEPOLIA"}
		show(createCollection(os.Args[2], os.Args[3], fields))
	case "price":
		// Without "accept" the customer chooses from all coins that are enabled.
		accept := []coin{{"ETH_SEPOLIA", "USDT"}, {"BSC_TEST", "USDT"}}
		fields := map[string]any{"orderId": os.Args[4], "price": os.Args[5], "currency": os.Args[6], "accept": accept}
		show(createCollection(os.Args[2], os.Args[3], fields))
	case "choose":
		show(choose(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]))
	default:
		verify()
	}
}

func show(order json.RawMessage, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(order))
}

func verify() {
	body, _ := io.ReadAll(os.Stdin)
	headers := http.Header{}
	headers.Set("webhook-id", os.Args[3])
	headers.Set("webhook-timestamp", os.Args[4])
	headers.Set("webhook-signature", os.Args[5])
	event, err := verifyCallback(body, headers, os.Args[2])
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println(event.NotifyType, event.Data.OrderID)
}
