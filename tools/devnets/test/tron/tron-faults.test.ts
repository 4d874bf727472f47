import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { waitUntil } from '@opentill/test-servers/poll-until';
import { newAccount, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterEach(() => world.devnet.control.clearFaults());
afterAll(async () => world.devnet.close());

async function status(path: string): Promise<number> {
  return (await fetch(`${world.devnet.url}/${path}`, { method: 'POST', body: '{}' })).status;
}

test('returns a status for chosen endpoints, a limited number of times', async () => {
  world.devnet.control.fault({ kind: 'status', status: 503, path: 'getnowblock', times: 2 });
  expect(await status('wallet/getchainparameters')).toBe(200);
  expect(await status('wallet/getnowblock')).toBe(503);
  expect(await status('walletsolidity/getnowblock')).toBe(503);
  expect(await status('wallet/getnowblock')).toBe(200);
});

test('returns 429 above a rate', async () => {
  world.devnet.control.fault({ kind: 'rate-limit', perSecond: 2 });
  expect(await status('wallet/getnowblock')).toBe(200);
  let statuses: readonly number[] = [];
  const isRefused = async (): Promise<boolean> => {
    const asked = Array.from({ length: 6 }, async () => status('wallet/getnowblock'));
    statuses = await Promise.all(asked);
    // A new second may begin in between. A machine that takes seconds for six requests stays within the rate.
    return statuses.filter((code) => code === 429).length >= 2;
  };
  expect(await waitUntil(isRefused, { deadlineMs: 60_000, pollIntervalMs: 10 })).toBe(true);
  expect(new Set([...statuses, 200])).toEqual(new Set([200, 429]));
});

test('delays a response', async () => {
  world.devnet.control.fault({ kind: 'latency', delayMs: 80, times: 1 });
  const startedAt = performance.now();
  await status('wallet/getnowblock');
  expect(performance.now() - startedAt).toBeGreaterThan(75);
});

test('returns {} instead of objects and [] instead of lists', async () => {
  world.devnet.control.fault({ kind: 'empty' });
  expect(await world.ask('wallet/getnowblock')).toEqual({});
  expect(await world.ask('wallet/gettransactioninfobyblocknum', { num: 5 })).toEqual([]);
});

test('closes a connection in the middle of a response', async () => {
  world.devnet.control.fault({ kind: 'cut', times: 1 });
  await expect(world.ask('wallet/getnowblock')).rejects.toThrow();
  expect(await world.ask('wallet/getnowblock')).toHaveProperty('blockID');
});

test('a lagging node knows neither the newest blocks nor their state', async () => {
  const { devnet, ask } = world;
  const someone = newAccount();
  const { txids } = await devnet.control.fund(someone.address, { trxSun: 5n });
  const { head } = devnet.control.summary();
  devnet.control.fault({ kind: 'lag', blocks: 2 });
  expect((await ask('wallet/getnowblock'))['block_header'].raw_data.number).toBe(head - 2);
  expect(await ask('wallet/getblockbynum', { num: head })).toEqual({});
  expect(await ask('wallet/gettransactioninfobyblocknum', { num: head })).toEqual([]);
  expect(await ask('wallet/gettransactioninfobyid', { value: txids[0] })).toEqual({});
  expect(await ask('wallet/getaccount', { address: someone.hex })).toEqual({});
  devnet.control.clearFaults();
  expect((await ask('wallet/getaccount', { address: someone.hex }))['balance']).toBe(5);
});

test('keeps a broadcast whose response is lost; a swallowed one is discarded', async () => {
  const { devnet, ask, tronWeb } = world;
  const sign = async () =>
    tronWeb.trx.sign(await tronWeb.transactionBuilder.sendTrx(newAccount().address, 5));
  devnet.control.fault({ kind: 'lose-broadcast-answer', times: 1 });
  const lost = await sign();
  await expect(ask('wallet/broadcasttransaction', lost)).rejects.toThrow();
  expect((await ask('wallet/broadcasttransaction', lost))['code']).toBe('DUP_TRANSACTION_ERROR');

  devnet.control.fault({ kind: 'swallow-broadcast', times: 1 });
  const swallowed = await sign();
  expect(await ask('wallet/broadcasttransaction', swallowed)).toEqual({ result: true, txid: swallowed.txID });
  expect(await ask('wallet/gettransactionbyid', { value: swallowed.txID })).toEqual({});
  expect(await ask('wallet/broadcasttransaction', swallowed)).toMatchObject({ result: true });
});
