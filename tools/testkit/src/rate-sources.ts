import { createServer } from 'node:http';
import { listenLocally } from './local-http-server.ts';
import { inverse, ONE, parseRatio, toDecimal } from '@opentill/domain/ratio';

/** A price; or DOWN, REDIRECTS or ENDLESS, which the source does instead of giving one. */
type FakePrice = string;

export interface FakeSources {
  /** For `sourcesUrl`. */
  readonly url: string;
  /** Price of each pair at each exchange, by `<source> <pair>`; `<source>` sets it for all pairs. */
  readonly prices: Map<string, FakePrice>;
  /** Date of the central banks' tables. */
  bankDate: string;
  /** Seconds, of the answers that contain one; and the Age header of all answers. */
  timestamp: number;
  age: string;
  readonly requests: string[];
  stop(): Promise<void>;
}

const PAIRS: Readonly<Record<string, string>> = {
  'USDT-USD': 'USDT/USD',
  'USDT-EUR': 'USDT/EUR',
  'USDC-EUR': 'USDC/EUR',
  USDTZUSD: 'USDT/USD',
  USDTEUR: 'USDT/EUR',
  USDCUSD: 'USDC/USD',
  USDCEUR: 'USDC/EUR',
  usdtusd: 'USDT/USD',
  usdteur: 'USDT/EUR',
  usdcusd: 'USDC/USD',
  usdceur: 'USDC/EUR',
  EURUSDT: 'USDT/EUR',
  EURUSDC: 'USDC/EUR',
  tUSTUSD: 'USDT/USD',
  tUDCUSD: 'USDC/USD',
};

/** Answers in the formats of services/rates/test/fixtures, with bid and ask equal to the price. */
export async function startFakeSources(): Promise<FakeSources> {
  const fake = {
    prices: new Map<string, FakePrice>(),
    bankDate: '2026-11-24',
    timestamp: 0,
    age: '',
    requests: [] as string[],
  };
  const priceOf = (source: string, pair: string): FakePrice =>
    fake.prices.get(`${source} ${pair}`) ?? fake.prices.get(source) ?? fake.prices.get(pair) ?? '1';

  const server = createServer((request, response) => {
    const path = request.url ?? '';
    fake.requests.push(path);
    const source = path.split('/')[1] ?? '';
    const pair = PAIRS[/([A-Za-z-]+)(?:\/ticker|\/)?$/.exec(path)?.[1] ?? ''] ?? '';
    const price = priceOf(source, pair);
    if (price === 'DOWN') return void response.writeHead(503).end('maintenance');
    if (price === 'REDIRECTS') return void response.writeHead(302, { location: '/kraken' }).end();
    if (price === 'ENDLESS') return void response.end(`"${'9'.repeat(300_000)}"`);
    if (fake.age !== '') response.setHeader('age', fake.age);
    response.end(answerOf(source, price));
  });

  function answerOf(source: string, price: string): string {
    const date = new Date(`${fake.bankDate}T00:00:00Z`);
    switch (source) {
      case 'coinbase':
        return `{"bid":"${price}","ask":"${price}","time":"2020-01-01T00:00:00Z"}`;
      case 'kraken':
        return `{"error":[],"result":{"X":{"a":["${price}","1","1.0"],"b":["${price}","1","1.0"]}}}`;
      case 'bitstamp':
        return `{"timestamp":"${fake.timestamp}","bid":"${price}","ask":"${price}"}`;
      case 'binance': {
        const coins = toDecimal(inverse(parseRatio(price) ?? ONE), 20);
        return `{"symbol":"X","bidPrice":"${coins}","askPrice":"${coins}"}`;
      }
      case 'gemini':
        return `{"bid":"${price}","ask":"${price}","volume":{"timestamp":1}}`;
      case 'bitfinex':
        return `[${price},1,${price},1]`;
      case 'ecb':
        return `<Cube><Cube time='${fake.bankDate}'><Cube currency='USD' rate='1.0863'/><Cube currency='CHF' rate='0.9381'/></Cube></Cube>`;
      case 'nbp':
        return `[{"effectiveDate":"${fake.bankDate}","rates":[{"code":"USD","mid":3.9412},{"code":"CHF","mid":4.5637}]}]`;
      case 'cnb': {
        const month = date.toLocaleString('en', { month: 'short', timeZone: 'UTC' });
        const day = `${date.getUTCDate()}`.padStart(2, '0');
        return `${day} ${month} ${date.getUTCFullYear()} #1\nCountry|Currency|Amount|Code|Rate\nUSA|dollar|1|USD|23.134\nSwitzerland|franc|1|CHF|26.785\n`;
      }
      default:
        return `{"observations":[{"d":"${fake.bankDate}","FXUSDCAD":{"v":"1.3912"},"FXCHFCAD":{"v":"1.6110"}}]}`;
    }
  }

  const url = await listenLocally(server);
  return Object.assign(fake, {
    url,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}
