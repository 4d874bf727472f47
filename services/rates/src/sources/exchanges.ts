import { asNumberLexeme, asObject } from '@opentill/contracts/signing/json-value';
import { compare, distanceBps, inverse, mean, type Ratio } from '@opentill/domain/ratio';
import { at, priceAt, readJson } from './read-json.ts';
import { unreadable, type TickerSource } from './source.ts';

/** A wider order book has no price. */
const BOOK_WIDTH_MAX_BPS = 100;

/** The middle of the best bid and the best ask: a thin pair's last trade may be hours old. */
function middle(bid: Ratio, ask: Ratio): Ratio {
  if (compare(bid, ask) > 0) throw unreadable('bid below its ask');
  if (distanceBps(ask, bid) > BOOK_WIDTH_MAX_BPS) throw unreadable('narrow order book');
  return mean(bid, ask);
}

/** https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-product-ticker. `time` is of the last trade. */
const COINBASE: TickerSource = {
  name: 'coinbase',
  baseUrl: 'https://api.exchange.coinbase.com',
  pairs: { 'USDT/USD': 'USDT-USD', 'USDT/EUR': 'USDT-EUR', 'USDC/EUR': 'USDC-EUR' },
  path: (pair) => `/products/${pair}/ticker`,
  read(body) {
    const answer = readJson(body);
    return { value: middle(priceAt(answer, 'bid'), priceAt(answer, 'ask')) };
  },
};

/** https://docs.kraken.com/api/docs/rest-api/get-ticker-information: `a` and `b` begin with the price. */
const KRAKEN: TickerSource = {
  name: 'kraken',
  baseUrl: 'https://api.kraken.com',
  pairs: { 'USDT/USD': 'USDTZUSD', 'USDT/EUR': 'USDTEUR', 'USDC/USD': 'USDCUSD', 'USDC/EUR': 'USDCEUR' },
  path: (pair) => `/0/public/Ticker?pair=${pair}`,
  read(body) {
    const result = asObject(at(readJson(body), 'result'));
    if (result?.size !== 1) throw unreadable('result with one pair');
    const [ticker] = result.values();
    return { value: middle(priceAt(ticker, 'b', 0), priceAt(ticker, 'a', 0)) };
  },
};

/** https://www.bitstamp.net/api/#tag/Tickers. `timestamp` is in seconds. */
const BITSTAMP: TickerSource = {
  name: 'bitstamp',
  baseUrl: 'https://www.bitstamp.net',
  pairs: { 'USDT/USD': 'usdtusd', 'USDT/EUR': 'usdteur', 'USDC/USD': 'usdcusd', 'USDC/EUR': 'usdceur' },
  path: (pair) => `/api/v2/ticker/${pair}/`,
  read(body) {
    const answer = readJson(body);
    const timestamp = at(answer, 'timestamp');
    if (typeof timestamp !== 'string' || !/^\d{1,10}$/.test(timestamp)) throw unreadable('timestamp');
    const value = middle(priceAt(answer, 'bid'), priceAt(answer, 'ask'));
    return { value, atMs: Number(timestamp) * 1_000 };
  },
};

/** https://developers.binance.com/docs/binance-spot-api-docs/rest-api: the pairs count coins for one euro. */
const BINANCE: TickerSource = {
  name: 'binance',
  baseUrl: 'https://api.binance.com',
  pairs: { 'USDT/EUR': 'EURUSDT', 'USDC/EUR': 'EURUSDC' },
  path: (pair) => `/api/v3/ticker/bookTicker?symbol=${pair}`,
  read(body) {
    const answer = readJson(body);
    return { value: inverse(middle(priceAt(answer, 'bidPrice'), priceAt(answer, 'askPrice'))) };
  },
};

/** https://developer.gemini.com/trading/rest-api/market-data/get-ticker. */
const GEMINI: TickerSource = {
  name: 'gemini',
  baseUrl: 'https://api.gemini.com',
  pairs: { 'USDT/USD': 'usdtusd', 'USDC/USD': 'usdcusd' },
  path: (pair) => `/v1/pubticker/${pair}`,
  read(body) {
    const answer = readJson(body);
    return { value: middle(priceAt(answer, 'bid'), priceAt(answer, 'ask')) };
  },
};

/** https://docs.bitfinex.com/reference/rest-public-ticker: an array that begins with bid, bid size, ask. */
const BITFINEX: TickerSource = {
  name: 'bitfinex',
  baseUrl: 'https://api-pub.bitfinex.com',
  pairs: { 'USDT/USD': 'tUSTUSD', 'USDC/USD': 'tUDCUSD' },
  path: (pair) => `/v2/ticker/${pair}`,
  read(body) {
    const answer = readJson(body);
    if (asNumberLexeme(at(answer, 0)) === undefined) throw unreadable('bid');
    return { value: middle(priceAt(answer, 0), priceAt(answer, 2)) };
  },
};

export const EXCHANGES: readonly TickerSource[] = [COINBASE, KRAKEN, BITSTAMP, BINANCE, GEMINI, BITFINEX];
