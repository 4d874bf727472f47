import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { randomUUID } from 'node:crypto';
import type { Clock } from '@opentill/runtime/clock';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics, type Metrics } from '@opentill/runtime/metrics';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startFakeSources, type FakeSources } from '@opentill/testkit/rate-sources';
import { composeRates } from '../src/compose.ts';
import { readRatesConfig } from '../src/config.ts';
import { createObserve } from '../src/observe.ts';
import { createQuoteBook } from '../src/quote-book.ts';
import { createRateRefresh } from '../src/refresh-rates.ts';
import { createRateStore, type PairRate } from '../src/store/rates.ts';

const { testDatabase, admin, open } = await openTestDatabase();
const database = open('rates');
let fake: FakeSources;
let now: Date;
let metrics: Metrics;

beforeEach(async () => {
  fake = await startFakeSources();
  for (const [pair, price] of [
    ['USDT/USD', '1.0002'],
    ['USDC/USD', '0.9999'],
    ['USDT/EUR', '0.9205'],
    ['USDC/EUR', '0.9203'],
  ] as const)
    fake.prices.set(pair, price);
  setNow('2026-11-24T15:00:00Z');
  metrics = createMetrics('rates', { ofProcess: false });
});
afterEach(async () => {
  await fake.stop();
  await sql`delete from current_rate`.execute(admin.kysely);
  await sql`delete from rate`.execute(admin.kysely);
});

function setNow(time: string | number): void {
  now = new Date(time);
  fake.timestamp = now.getTime() / 1_000;
}

/** One round of the service per call. */
function rounds(
  env: Record<string, string> = {},
  storeClock: Clock = { now: () => now },
): () => Promise<void> {
  const settings = readRatesConfig({
    DATABASE_URL: 'postgres://db/opentill',
    PRICE_CURRENCIES: 'USD,EUR,CHF',
    RATE_SOURCES_URL: fake.url,
    ...env,
  }).rates;
  const clock = { now: () => now };
  const logger = createLogger({ service: 'rates', level: 'silent' });
  const observe = createObserve({ logger, metrics, clock, settings });
  const book = createQuoteBook({ settings, clock, observe });
  const store = createRateStore(database.kysely, storeClock);
  const refresh = createRateRefresh({ settings, book, store, clock, newId: randomUUID, observe });
  return () => refresh(new AbortController().signal);
}

async function current(): Promise<Record<string, string>> {
  const { rows } = await sql<{ pair: string; shown: string }>`
    select c.symbol || '/' || c.currency as pair, coalesce(r.kind || ' ' || r.rate, c.refusal) as shown
    from current_rate c left join rate r using (rate_id) order by 1`.execute(admin.kysely);
  return Object.fromEntries(rows.map(({ pair, shown }) => [pair, shown]));
}

async function sourcesOf(pair: string): Promise<string[]> {
  const { rows } = await sql<{ sources: { source: string; pair: string; value: string }[] }>`
    select r.sources from current_rate c join rate r using (rate_id)
    where c.symbol || '/' || c.currency = ${pair}`.execute(admin.kysely);
  return (rows[0]?.sources ?? []).map(({ source, pair: asked }) => `${source} ${asked}`).toSorted();
}

test('offers each coin in each currency, and keeps the sources of each rate', async () => {
  await rounds()();
  expect(await current()).toEqual({
    // 0.9999 and 1.0002 of the mean of 0.9381 / 1.0863 (ecb) and 3.9412 / 4.5637 (nbp)
    'USDC/CHF': 'MARKET 0.863499200449',
    'USDC/EUR': 'MARKET 0.920300000000',
    'USDC/USD': 'PEG 1.000000000000',
    'USDT/CHF': 'MARKET 0.863758276116',
    'USDT/EUR': 'MARKET 0.920500000000',
    'USDT/USD': 'PEG 1.000000000000',
  });
  expect(await sourcesOf('USDT/EUR')).toEqual(
    ['binance', 'bitstamp', 'coinbase', 'kraken'].map((source) => `${source} USDT/EUR`),
  );
  expect(await sourcesOf('USDC/CHF')).toEqual([
    'bank-of-canada USD/CHF',
    'bitfinex USDC/USD',
    'bitstamp USDC/USD',
    'cnb USD/CHF',
    'ecb USD/CHF',
    'gemini USDC/USD',
    'kraken USDC/USD',
    'nbp USD/CHF',
  ]);
});

test('leaves out a source that is 5 % off', async () => {
  fake.prices.set('coinbase USDT/EUR', '0.9665');
  await rounds({ PRICE_CURRENCIES: 'EUR' })();
  expect(await current()).toMatchObject({ 'USDT/EUR': 'MARKET 0.920500000000' });
  expect(await sourcesOf('USDT/EUR')).toEqual(['binance USDT/EUR', 'bitstamp USDT/EUR', 'kraken USDT/EUR']);
});

test.each(['DOWN', 'REDIRECTS', 'ENDLESS'] as const)(
  'refuses a pair while two of its four sources are %s',
  async (state) => {
    fake.prices.set('coinbase', state);
    fake.prices.set('binance', state);
    const round = rounds({ PRICE_CURRENCIES: 'USD,EUR' });
    await round();
    expect(await current()).toMatchObject({
      'USDT/EUR': 'TOO_FEW_SOURCES',
      'USDT/USD': 'PEG 1.000000000000',
    });
    fake.prices.delete('binance');
    await round();
    expect(await current()).toMatchObject({ 'USDT/EUR': 'MARKET 0.920500000000' });
  },
);

describe('age', () => {
  test('counts the last answer of a failing source until it is stale, then refuses', async () => {
    const round = rounds({ PRICE_CURRENCIES: 'EUR' });
    await round();
    const started = now.getTime();
    for (const source of ['coinbase', 'kraken', 'bitstamp', 'binance', 'gemini', 'bitfinex'])
      fake.prices.set(source, 'DOWN');
    setNow(started + 120_000);
    await round();
    expect(await current()).toMatchObject({ 'USDT/EUR': 'MARKET 0.920500000000' });
    setNow(started + 120_001);
    await round();
    expect(await current()).toEqual({ 'USDC/EUR': 'RATES_STALE', 'USDT/EUR': 'RATES_STALE' });
  });

  test('a rate is valid by the database until its quotes are stale, however late', async () => {
    setNow('2020-01-01T00:00:00Z'); // another clock than the database's
    fake.age = '20';
    await rounds({ PRICE_CURRENCIES: 'EUR' }, { now: () => new Date(now.getTime() + 30_000) })();
    const { rows } = await sql<{ left: number; age: number; shifted: boolean }>`
      select distinct extract(epoch from valid_until - c.decided_at)::int as left,
        extract(epoch from r.taken_at - c.decided_at)::int as age,
        now() - r.taken_at between interval '29 s' and interval '5 min' as shifted
      from rate r join current_rate c using (rate_id)`.execute(admin.kysely);
    expect(rows).toEqual([{ left: 100, age: 0, shifted: true }]);
  });

  test('an older decision does not replace a newer one, but replaces one of the future', async () => {
    const store = createRateStore(database.kysely, { now: () => now });
    const refused = (refusal: PairRate['refusal'], agoMs: number) =>
      store.saveRates(
        [{ symbol: 'USDT', currency: 'EUR', rate: null, refusal }],
        new Date(now.getTime() - agoMs),
      );
    await refused('DEPEGGED', 0);
    await refused('RATES_STALE', 60_000);
    expect(await current()).toEqual({ 'USDT/EUR': 'DEPEGGED' });
    await refused('SOURCES_DISAGREE', -3_600_000);
    await refused('RATES_STALE', 60_000);
    expect(await current()).toEqual({ 'USDT/EUR': 'RATES_STALE' });
  });

  test('an answer that a cache kept, or an old time in it, is not fresh', async () => {
    fake.age = '121';
    await rounds({ PRICE_CURRENCIES: 'EUR' })();
    expect(await current()).toMatchObject({ 'USDT/EUR': 'RATES_STALE' });
    fake.age = '';
    fake.timestamp -= 121;
    fake.prices.set('coinbase', 'DOWN');
    await rounds({ PRICE_CURRENCIES: 'EUR' })();
    expect(await current()).toMatchObject({ 'USDT/EUR': 'RATES_STALE' });
  });

  test('refuses currencies whose reference rates are old', async () => {
    fake.bankDate = '2026-11-18';
    await rounds()();
    expect(await current()).toMatchObject({ 'USDT/CHF': 'RATES_STALE', 'USDT/EUR': 'MARKET 0.920500000000' });
  });
});

describe('depeg', () => {
  beforeEach(() => {
    fake.prices.set('USDT/USD', '0.9701');
    fake.prices.set('USDT/EUR', '0.8929');
  });

  test('does not offer the coin, and raises an alarm', async () => {
    await rounds()();
    expect(await current()).toMatchObject({
      'USDT/USD': 'DEPEGGED',
      'USDT/EUR': 'DEPEGGED',
      'USDT/CHF': 'DEPEGGED',
      'USDC/EUR': 'MARKET 0.920300000000',
    });
    const text = await metrics.render();
    expect(text).toMatch(/opentill_rates_depegged_bool\{symbol="USDT",service="rates"\} 1/);
    expect(text).toMatch(/opentill_rates_depegged_bool\{symbol="USDC",service="rates"\} 0/);
  });

  test('prices it at its own market rate where the operator chose that', async () => {
    await rounds({ DEPEG_ACTION: 'market' })();
    expect(await current()).toMatchObject({
      'USDT/USD': 'MARKET 0.970100000000',
      'USDT/EUR': 'MARKET 0.892900000000',
    });
    expect(await metrics.render()).toMatch(/opentill_rates_depegged_bool\{symbol="USDT",service="rates"\} 1/);
  });
});

describe('settings', () => {
  test('a manual rate needs no source, and is kept like others', async () => {
    await rounds({ PRICE_CURRENCIES: '', MANUAL_RATES: 'USDT/EUR=0.92,DAI/CHF=0.8' })();
    expect(await current()).toEqual({
      'DAI/CHF': 'MANUAL 0.800000000000',
      'USDT/EUR': 'MANUAL 0.920000000000',
    });
    expect(fake.requests).toEqual([]);
  });

  test('withdraws pairs that are no longer configured', async () => {
    await rounds({ PRICE_CURRENCIES: 'USD,EUR' })();
    await rounds({ PRICE_CURRENCIES: 'EUR', PRICE_COINS: 'USDC:USD' })();
    expect(Object.keys(await current())).toEqual(['USDC/EUR']);
  });

  test('asks central banks once an hour, and only for currencies that need them', async () => {
    await rounds({ PRICE_CURRENCIES: 'USD,EUR' })();
    expect(fake.requests.filter((path) => path.startsWith('/ecb'))).toEqual([]);
    const round = rounds();
    await round();
    await round();
    setNow(now.getTime() + 3_600_000);
    await round();
    expect(fake.requests.filter((path) => path.startsWith('/ecb'))).toHaveLength(2);
  });
});

test('keeps current rates and those of orders, and deletes others after a day', async () => {
  const round = rounds({ PRICE_CURRENCIES: 'EUR' });
  await round();
  await sql`update rate set taken_at = now() - interval '25 hours'`.execute(admin.kysely);
  const store = createRateStore(database.kysely, { now: () => now });
  expect(await store.deleteUnused()).toBe(0);
  const { rows } = await sql<{ rate_id: string; currency: string; rate: string }>`
    select rate_id, currency, rate from rate where symbol = 'USDT'`.execute(admin.kysely);
  await aMerchant(admin.kysely);
  await aCollection(admin.kysely, { ...rows[0], price: '49.90', markup_bps: 0 });
  await round();
  // The third one gave the amount of an order.
  expect(await store.deleteUnused()).toBe(1);
  await sql`delete from deposit_address`.execute(admin.kysely);
  await sql`delete from orders`.execute(admin.kysely);
  expect(await store.deleteUnused()).toBe(1);
  expect(Object.keys(await current())).toHaveLength(2);
});

test('runs as a service, serves its checks, and stops', async () => {
  const service = await composeRates(
    {
      DATABASE_URL: testDatabase.url('rates'),
      MANUAL_RATES: 'USDT/EUR=0.92',
      LOG_LEVEL: 'error',
      HEALTH_PORT: '0',
    },
    { fail: () => undefined, sharesProcess: true },
  );
  await waitUntil('a rate', async () => Object.keys(await current()).length === 1);
  const { checks } = service;
  expect(await (typeof checks === 'function' ? checks() : checks)['database']?.()).toEqual({ ok: true });
  await service.stop();
});
