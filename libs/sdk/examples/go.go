// Orders and callbacks with only Go's standard library.
//
//	go run go.go create URL TOKEN ORDER_ID         makes an order and prints the answer
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

func createCollection(url, token string, fields any) (json.RawMessage, error) {
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(data)
	nonce := make([]byte, 16)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	// The body contains the exact text that was signed.
	body := fmt.Sprintf(`{"sign":"%s","timestamp":%d,"nonce":"%s","data":%s}`,
		hex.EncodeToString(mac.Sum(nil)), time.Now().Unix(), hex.EncodeToString(nonce), data)
	client := http.Client{Timeout: 15 * time.Second}
	response, err := client.Post(url+"/v1/order/createCollection", "application/json", strings.NewReader(body))
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
	if os.Args[1] == "create" {
		// Or "price": "49.90", "currency": "EUR" instead of the amount.
		fields := map[string]string{"orderId": os.Args[4], "amount": "12.50", "symbol": "USDT", "chain": "ETH_SEPOLIA"}
		order, err := createCollection(os.Args[2], os.Args[3], fields)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(string(order))
		return
	}
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
