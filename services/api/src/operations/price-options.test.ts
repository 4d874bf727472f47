import { expect, test } from 'vitest';
import type { Asset } from '../asset-book.ts';
import { OPTIONS_MAX } from '../order-fields.ts';
import { pricedOptions } from './price-options.ts';

test('offers at most OPTIONS_MAX coins, also without accept', async () => {
  const all = Array.from({ length: OPTIONS_MAX + 2 }, (_, place) => ({
    chain: 'ETH',
    symbol: `COIN${place}`,
    decimals: 6,
    displayDecimals: 2,
    minAmount: null,
    maxAmount: null,
  })) as unknown as readonly Asset[];
  const bySymbol = new Map(all.map((asset) => [asset.symbol, asset]));
  const deps = {
    assets: { all, find: (_: string, symbol: string) => bySymbol.get(symbol) },
    chains: { isReady: () => Promise.resolve(true) },
    store: { findRates: () => Promise.resolve(() => ({ rate: '1', rateId: 'r' })) },
  };
  const price = { currency: 'EUR', minor: 4_990n };
  const request = { merchant: { markupBps: 0 }, fields: { accept: null, price } };
  const options = await pricedOptions(deps as never, request as never);
  expect(options).toMatchObject(all.slice(0, OPTIONS_MAX).map((asset) => ({ asset })));
  expect(options).toHaveLength(OPTIONS_MAX);
});
