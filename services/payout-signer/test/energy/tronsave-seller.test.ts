import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { startEnergySeller, type EnergySeller as Shop } from '@opentill/devnets/tron/start-energy-seller';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { EnergySeller } from '../../src/energy/energy-seller.ts';
import { createTronsaveSeller } from '../../src/energy/tronsave-seller.ts';

const TRX = 1_000_000n;
const ENERGY = 65_000n;
const { signal } = new AbortController();
let devnet: TronDevnet;
let shop: Shop;
let seller: EnergySeller;
let receiver: Address;
beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: 3, seed: 'seller' });
  const account = devnet.accounts[9]!;
  receiver = devnet.accounts[8]!.address as Address;
  await devnet.control.stake(account.address, 1_000_000n * TRX);
  shop = await startEnergySeller({ nodeUrl: devnet.url, account, apiKey: 'devnet' });
  seller = createTronsaveSeller({ url: shop.url, apiKey: 'devnet', timeoutMs: 60_000 });
});
afterAll(async () => {
  await shop.close();
  await devnet.close();
});
beforeEach(() => shop.clearFaults());

async function energy(): Promise<number> {
  await devnet.control.mine();
  const answer = await fetch(`${devnet.url}/wallet/getaccountresource`, {
    method: 'POST',
    body: JSON.stringify({ address: receiver, visible: true }),
  });
  return ((await answer.json()) as { EnergyLimit?: number }).EnergyLimit ?? 0;
}

describe('energy quote', () => {
  test('quotes, orders and pays energy that the seller then delivers', async () => {
    const quote = await seller.quote(ENERGY, receiver, signal);
    expect(quote).toEqual({ energy: ENERGY, priceSun: 2_860_000n, unitPriceSun: 44n });
    const before = [await energy(), shop.balanceSun()] as const;
    const outcome = await seller.order({ receiver, quote: quote! }, signal);
    if (outcome.kind !== 'ORDERED') throw new Error(JSON.stringify(outcome));
    expect((await energy()) - before[0]).toBeGreaterThanOrEqual(65_000);
    expect(before[1] - shop.balanceSun()).toBe(2_860_000);
    expect(shop.orders().at(-1)).toMatchObject({ orderId: outcome.ref, payoutAmount: 2_860_000 });
  });

  test('refuses an order without a charge when the price rose after the quote', async () => {
    const quote = await seller.quote(ENERGY, receiver, signal);
    shop.setUnitPriceSun(60);
    const before = shop.balanceSun();
    expect(await seller.order({ receiver, quote: quote! }, signal)).toEqual({
      kind: 'REFUSED',
      why: '400 CANNOT_FULFILLED',
    });
    expect(shop.balanceSun()).toBe(before);
    shop.setUnitPriceSun(44);
  });

  test('returns no quote from an unreachable seller or for an unavailable amount', async () => {
    const unreachable = createTronsaveSeller({ url: 'http://127.0.0.1:1', apiKey: 'devnet' });
    expect(await unreachable.quote(ENERGY, receiver, signal)).toBeUndefined();
    expect(await seller.quote(10n ** 9n, receiver, signal)).toBeUndefined();
    const stranger = createTronsaveSeller({ url: shop.url, apiKey: 'wrong' });
    const quote = await stranger.quote(ENERGY, receiver, signal);
    expect(await stranger.order({ receiver, quote: quote! }, signal)).toMatchObject({ kind: 'REFUSED' });
  });
});

describe('energy order', () => {
  const quoted = async () => (await seller.quote(ENERGY, receiver, signal))!;

  /** The short timeout fires only after the seller has accepted the order. */
  function impatient(): EnergySeller {
    const taken = shop.orders().length;
    return createTronsaveSeller({
      url: shop.url,
      apiKey: 'devnet',
      timeoutMs: 100,
      async fetch(url, { signal: callerSignal, ...request } = {}) {
        const ending = new AbortController();
        const answer = fetch(url, { ...request, signal: ending.signal });
        await waitUntil('the order is taken', () => shop.orders().length > taken);
        if (callerSignal?.aborted === true) ending.abort(callerSignal.reason);
        else callerSignal?.addEventListener('abort', () => ending.abort(callerSignal.reason));
        return answer;
      },
    });
  }

  test.each([
    ['charges-and-fails', () => seller],
    ['hangs', impatient],
  ] as const)('reports UNKNOWN when the seller accepts an order and %s', async (kind, customer) => {
    const [before, orders] = [shop.balanceSun(), shop.orders().length];
    shop.fault({ kind, times: 1 });
    expect(await customer().order({ receiver, quote: await quoted() }, signal)).toMatchObject({
      kind: 'UNKNOWN',
    });
    expect(before - shop.balanceSun()).toBe(2_860_000);
    expect(shop.orders()).toHaveLength(orders + 1);
  });

  test('charges no money for an order that the seller refuses', async () => {
    const before = shop.balanceSun();
    shop.fault({ kind: 'refuses', times: 1 });
    expect(await seller.order({ receiver, quote: await quoted() }, signal)).toMatchObject({
      kind: 'REFUSED',
    });
    expect(shop.balanceSun()).toBe(before);
  });

  test('simulates energy that arrives late, in part or never', async () => {
    shop.fault({ kind: 'late', delayMs: 50, times: 1 });
    shop.fault({ kind: 'too-little', percent: 50, times: 1 });
    shop.fault({ kind: 'never-delivers', times: 1 });
    const refs: string[] = [];
    for (let place = 0; place < 3; place += 1) {
      const outcome = await seller.order({ receiver, quote: await quoted() }, signal);
      if (outcome.kind === 'ORDERED') refs.push(outcome.ref);
    }
    const delivered = (place: number) =>
      shop.orders().find(({ orderId }) => orderId === refs[place])?.delivered ?? Number.NaN;
    await waitUntil('the late one is there', () => Promise.resolve(delivered(0) >= Number(ENERGY)));
    expect(delivered(1)).toBeLessThan(Number(ENERGY));
    expect(delivered(1)).toBeGreaterThan(0);
    expect(delivered(2)).toBe(0);
  });

  test('aborts an order with the process', async () => {
    const ending = new AbortController();
    shop.fault({ kind: 'hangs', times: 1 });
    const quote = await quoted();
    const outcome = seller.order({ receiver, quote }, ending.signal);
    ending.abort();
    expect(await outcome).toMatchObject({ kind: 'UNKNOWN' });
  });
});

test.each<[number, string, string]>([
  [400, '{"error":true,"message":"NOT_ENOUGH_BALANCE"}', 'REFUSED'],
  [400, '{"error":true,"message":"DUPLICATE_INCOMPLETE_ORDER"}', 'UNKNOWN'],
  [403, '<html>a proxy error</html>', 'UNKNOWN'],
  [408, '{"error":true,"message":"Request Timeout"}', 'UNKNOWN'],
  [429, '{"error":true,"message":"Too many"}', 'UNKNOWN'],
  [502, '{"error":true,"message":"Bad gateway"}', 'UNKNOWN'],
])('reads the answer %i %s as %s', async (status, text, kind) => {
  const odd = createTronsaveSeller({
    url: 'http://seller',
    apiKey: 'k',
    fetch: () => Promise.resolve(new Response(text, { status })),
  });
  const quote = { energy: ENERGY, priceSun: 1n, unitPriceSun: 1n };
  expect(await odd.order({ receiver, quote }, signal)).toMatchObject({ kind });
});

test.each<[string, string]>([
  ['nonsense', 'not json'],
  ['an answer without an order id', '{"error":false,"data":{}}'],
  ['an order id that is a path', '{"error":false,"data":{"orderId":"../x"}}'],
  ['an answer above the size limit', `{"error":false,"data":{"orderId":"${'x'.repeat(70_000)}"}}`],
])('leaves an order unknown after %s', async (_, text) => {
  const odd = createTronsaveSeller({
    url: 'http://seller',
    apiKey: 'k',
    fetch: () => Promise.resolve(new Response(text)),
  });
  const quote = { energy: ENERGY, priceSun: 1n, unitPriceSun: 1n };
  expect(await odd.order({ receiver, quote }, signal)).toMatchObject({ kind: 'UNKNOWN' });
  expect(await odd.quote(ENERGY, receiver, signal)).toBeUndefined();
});
