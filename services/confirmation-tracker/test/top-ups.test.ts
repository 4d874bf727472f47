import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { aHotWalletAddress } from '@opentill/testkit/payout-scenario';
import { anEvmAddress, aTransfer, type TransferRow } from '@opentill/testkit/scenario';
import { createTransferSweep } from '../src/sweep-transfers.ts';
import { payoutsOn } from './payout-scenario.ts';
import { createTrackerScenario, envelope, handle, named, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
const hot = { family: 'EVM' as const, address: anEvmAddress() };
beforeAll(async () => {
  s = await createTrackerScenario();
  await aHotWalletAddress(s.admin, hot);
  await s.chainAt(110, 200);
});
afterAll(async () => {
  await payoutsOn(s).checkBooks();
  await s.close();
});

const arrives = (symbol: string, overrides: Parameters<typeof aTransfer>[2] = {}) =>
  aTransfer(
    s.admin,
    { chain: 'ETH_SEPOLIA', symbol, contract_address: anEvmAddress(), amount: 50n, ...hot },
    { state: 'VERIFIED', ...overrides },
  );
async function sweep(): Promise<void> {
  const next = createTransferSweep(s.deps, {
    pageSize: 100,
    graceMs: 0,
    lookBackMs: 300_000,
    from: 'beginning',
  });
  while ((await next(new AbortController().signal)) === 'again');
}
const swept = () => s.observe.calls.filter(({ what }) => what === 'transfersSwept').at(-1)?.detail;
async function available(symbol: string): Promise<bigint | undefined> {
  const { rows } = await sql<{ balance: bigint }>`
    select balance from ledger_account where kind = 'HOT_AVAILABLE' and symbol = ${symbol}`.execute(s.admin);
  return rows[0]?.balance;
}
const settlement = (transfer: TransferRow) => s.settlement(transfer);

test('books a deposit to a hot wallet when verified, without order or lost-event count', async () => {
  const transfer = await arrives('USDT', { state: 'DETECTED' });
  await handle(envelope('transfer.detected', named([transfer])), s.deps);
  await sweep();
  expect(await available('USDT')).toBeUndefined();
  expect(await settlement(transfer)).toMatchObject({ version: 1, booked: false });
  await s.verify(transfer);
  await sweep();
  expect(await available('USDT')).toBe(50n);
  expect(swept()).toBe(0);
  await sweep();
  expect(await available('USDT')).toBe(50n);
  expect(s.observe.calls.filter(({ what }) => what === 'topUpBooked')).toHaveLength(1);
});

test('settles hot wallet deposits and payments to orders in one sweep', async () => {
  const merchant = await s.merchant();
  const order = await s.order({ merchant_id: merchant.merchantId, symbol: 'USDC' });
  const paid = await s.verify(await s.transfer(order, 100n));
  const brought = await arrives('USDC', { contract_address: order.contract_address });
  await sweep();
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS' });
  expect(await available('USDC')).toBe(50n);
  expect(await s.balances(merchant.merchantId, order.chain, 'USDC')).toMatchObject({
    DEPOSIT: 100n,
    MERCHANT: -100n,
  });
  expect(await settlement(paid)).toMatchObject({ credited: true });
  expect(await settlement(brought)).toMatchObject({ booked: true, credited: false });
});

test('reverses an orphaned hot wallet deposit with an incident and a hold', async () => {
  const transfer = await arrives('DAI');
  await sweep();
  await s.orphan(transfer);
  await sweep();
  expect(await available('DAI')).toBe(0n);
  const incidents = await s.admin.selectFrom('incident').selectAll().where('symbol', '=', 'DAI').execute();
  expect(incidents).toMatchObject([
    {
      kind: 'TOP_UP_ORPHANED',
      order_pk: null,
      transfer_id: transfer.transfer_id,
      details: { takenBackBaseUnits: '50' },
    },
  ]);
  const holds = await s.admin.selectFrom('asset_hold').selectAll().where('symbol', '=', 'DAI').execute();
  expect(holds).toMatchObject([{ incident_id: incidents[0]?.incident_id, released_at: null }]);
  await s.mineAgain(transfer, 120, 90, { state: 'VERIFIED' });
  await sweep();
  expect(await available('DAI')).toBe(50n);
});

test('moves a transfer between hot wallet and order when mined again, one at a time', async () => {
  const merchant = await s.merchant();
  const order = await s.order({
    merchant_id: merchant.merchantId,
    symbol: 'EURC',
    amount: 50n,
    accepted_amount: 50n,
  });
  const transfer = await arrives('EURC', { contract_address: order.contract_address });
  await sweep();
  const toOrder = await s.mineAgain(transfer, 105, 100, { to_address: order.address, state: 'VERIFIED' });
  await handle(envelope('transfer.detected', named([toOrder])), s.deps);
  expect(await s.state(order)).toMatchObject({ status: 'INIT' }); // still booked to the hot wallet
  await sweep();
  await sweep();
  expect(await available('EURC')).toBe(0n);
  expect(await s.state(order)).toMatchObject({ status: 'SUCCESS', actual: 50n });

  const other = await s.order({ merchant_id: merchant.merchantId, symbol: 'EURC' });
  const partly = await s.verify(await s.transfer(other, 30n));
  await handle(envelope('transfer.detected', named([partly])), s.deps);
  const toHot = await s.mineAgain(partly, 106, 100, { to_address: hot.address, state: 'VERIFIED' });
  await handle(envelope('transfer.detected', named([toHot])), s.deps);
  await sweep();
  await sweep();
  expect(await available('EURC')).toBe(30n);
  expect(await s.state(other)).toMatchObject({ status: 'INIT', detected: 0n });
  expect(await s.balances(merchant.merchantId, order.chain, 'EURC')).toMatchObject({
    DEPOSIT: 50n,
    MERCHANT: -50n,
    SUSPENSE: 0n,
  });
});
