import { afterAll, beforeAll, expect, it } from 'vitest';
import { getAddress, hexlify, randomBytes } from 'ethers';
import { sql } from 'kysely';
import { utils } from 'tronweb';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import { runOpentill } from '../src/run-opentill.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';

// Every kind of unmatched deposit: an operator lists it, accepts it for its order or refunds it, never twice and never
// more than is left. All of it is swept, and the ledger agrees with the chains.

const COLD = '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720';
const TRON_COLD = 'TQe8oR3LibG2EHCMUe6WgvHXhAVpRLizBz';

let under: GatewayUnderTest;
let eth: ChainUnderTest;
let bsc: ChainUnderTest;
beforeAll(async () => {
  under = await startGatewayUnderTest();
  eth = under.chains.ETH_SEPOLIA;
  bsc = under.chains.BSC_TEST;
});
afterAll(async () => {
  await under.stop();
});

const receiver = () => getAddress(hexlify(randomBytes(20)));

async function order(expiresIn?: number, chain = eth.chain): Promise<OrderAnswer> {
  const { data, msg } = await under.merchant.createCollection({
    orderId: under.newOrderId(),
    amount: '100',
    symbol: 'USDT',
    chain,
    ...(expiresIn === undefined ? {} : { expiresIn }),
  });
  if (!data) throw new Error(`no order: ${msg}`);
  return data;
}

const opentill = (...args: readonly string[]) => runOpentill(under.gateway, args);
async function done(...args: readonly string[]): Promise<string> {
  const { code, out, errors } = await opentill(...args);
  expect({ args, code, errors }).toEqual({ args, code: 0, errors: '' });
  return out;
}
async function refused(...args: readonly string[]): Promise<string> {
  const { code, errors } = await opentill(...args);
  expect([args, code === 0]).toEqual([args, false]);
  return errors;
}

async function listed(
  collection: OrderAnswer,
): Promise<readonly { id: string; reason: string; line: string }[]> {
  const out = await done('unmatched', 'list');
  return out
    .split('\n')
    .filter((line) => line.includes(collection.orderId))
    .map((line) => {
      const [id = '', reason = ''] = line.split('\t');
      return { id, reason, line };
    });
}
async function theOne(collection: OrderAnswer, reason: string): Promise<string> {
  await waitUntil(`${collection.orderId} has ${reason}`, async () =>
    (await listed(collection)).some((one) => one.reason === reason),
  );
  return (await listed(collection)).find((one) => one.reason === reason)!.id;
}

const statusOf = async ({ orderId }: OrderAnswer) => (await under.merchant.status(orderId)).data;
const untilStatus = (collection: OrderAnswer, status: string) =>
  waitUntil(`it is ${status}`, async () => (await statusOf(collection))?.status === status);

type Devnet = Pick<ChainUnderTest, 'balance'>;

async function refund(devnet: Devnet, id: string, to: string, ...amount: readonly string[]): Promise<void> {
  const out = await done('unmatched', 'refund', id, '--to', to, '--reason', 'asked for', ...amount);
  const [orderPk = ''] = out.match(/[0-9a-f]{8}-[0-9a-f-]{27}/) ?? [];
  const { approverKeyFile, approverPassphraseFile } = under.gateway.policy;
  await waitUntil('the refund waits for approval', async () =>
    (await done('payout', 'list', '--waiting')).includes(orderPk),
  );
  expect(await devnet.balance('USDT', to)).toBe(0n);
  const keys = ['--key-file', approverKeyFile, '--passphrase-file', approverPassphraseFile];
  await done('payout', 'approve', orderPk, '--yes', ...keys);
}

it('lists, accepts, refunds and sweeps every kind of unmatched deposit', async () => {
  const expiresIn = (await eth.secondsAhead()) + 60;
  const again = await order();
  const [late, dust, token, chain] = [
    await order(expiresIn),
    await order(expiresIn),
    await order(expiresIn),
    await order(expiresIn),
  ];
  await eth.pay({ to: again.address, amount: '100' });
  await untilStatus(again, 'SUCCESS');
  await eth.pay({ to: again.address, amount: '30' });
  await eth.pay({ to: dust.address, amount: '0.000001' });
  await eth.pay({ to: token.address, amount: '100', symbol: 'USDC' });
  await bsc.pay({ to: chain.address, amount: '90' });
  const ids = {
    again: await theOne(again, 'AFTER_SUCCESS'),
    token: await theOne(token, 'WRONG_TOKEN'),
    chain: await theOne(chain, 'WRONG_CHAIN'),
  };
  // Not while the order is open: its customer may still pay it.
  expect(await refused('unmatched', 'accept', ids.token, '--as', '100', '--reason', 'as good')).toContain(
    'accept the deposit when the order has expired',
  );
  await eth.jump(61);
  for (const one of [late, dust, token, chain]) await untilStatus(one, 'EXPIRED');
  await eth.pay({ to: late.address, amount: '100' });
  const lateId = await theOne(late, 'LATE');
  const dustId = await theOne(dust, 'UNDERPAID');

  // A late deposit, once accepted, cannot be refunded.
  await done('unmatched', 'accept', lateId, '--reason', 'he wrote to us');
  await untilStatus(late, 'SUCCESS');
  expect(await refused('unmatched', 'refund', lateId, '--to', receiver(), '--reason', 'and again')).toMatch(
    /no refundable unmatched deposit/i,
  );

  // Another token is accepted at the operator's value, and callbacks show the token.
  expect(await refused('unmatched', 'accept', ids.token, '--reason', 'as good')).toContain(
    'its worth in USDT',
  );
  await done('unmatched', 'accept', ids.token, '--as', '99.5', '--reason', 'as good, less our trouble');
  await untilStatus(token, 'SUCCESS');
  expect(await statusOf(token)).toMatchObject({ actualAmount: '99.50' });
  await waitUntil('the shop receives ORDER_SUCCESS', () =>
    Promise.resolve(
      under.receiver
        .of(token.orderId)
        .some(
          ({ notifyType, data }) =>
            notifyType === 'ORDER_SUCCESS' &&
            data.transaction?.symbol === 'USDC' &&
            data.transaction.amount === '100.00',
        ),
    ),
  );

  // A second payment cannot be accepted. It is refunded in parts, up to its amount.
  expect(await refused('unmatched', 'accept', ids.again, '--reason', 'thanks')).toContain('is already paid');
  const payer = receiver();
  await refund(eth, ids.again, payer, '--amount', '12.5');
  expect((await listed(again))[0]!.line).toContain('17.50 left');
  expect(
    await refused(
      'unmatched',
      'refund',
      ids.again,
      '--to',
      payer,
      '--amount',
      '17.500001',
      '--reason',
      'more',
    ),
  ).toContain('are left');
  const other = receiver();
  await refund(eth, ids.again, other);
  await waitUntil(
    'both refunds arrive',
    async () => (await eth.balance('USDT', payer)) > 0n && (await eth.balance('USDT', other)) > 0n,
  );
  expect([await eth.balance('USDT', payer), await eth.balance('USDT', other)]).toEqual([
    eth.baseUnits('USDT', '12.5'),
    eth.baseUnits('USDT', '17.5'),
  ]);
  expect(await refused('unmatched', 'refund', ids.again, '--to', payer, '--reason', 'once more')).toContain(
    'are left',
  );

  const onBsc = receiver();
  const out = await done('unmatched', 'refund', ids.chain, '--to', onBsc, '--reason', 'wrong chain');
  const [refundPk = ''] = out.match(/[0-9a-f]{8}-[0-9a-f-]{27}/) ?? [];
  expect(await refused('unmatched', 'accept', ids.chain, '--as', '90', '--reason', 'or so')).toContain(
    'were refunded',
  );
  const { approverKeyFile, approverPassphraseFile } = under.gateway.policy;
  await waitUntil('the refund waits for approval', async () =>
    (await done('payout', 'list', '--waiting')).includes(refundPk),
  );
  const keys = ['--key-file', approverKeyFile, '--passphrase-file', approverPassphraseFile];
  await done('payout', 'approve', refundPk, '--yes', ...keys);
  await waitUntil('the refund arrives', async () => (await bsc.balance('USDT', onBsc)) > 0n);
  expect(await bsc.balance('USDT', onBsc)).toBe(bsc.baseUnits('USDT', '90'));

  // Dust stays in the list until an operator accepts or refunds it.
  expect((await listed(dust)).map(({ id }) => id)).toEqual([dustId]);

  // All deposits are swept to cold storage, except those below their fee.
  for (const { chain: name } of [eth, bsc])
    await done('sweep', 'run', '--chain', name, '--reason', 'the test');
  const cold = async () => [
    await eth.balance('USDT', COLD),
    await eth.balance('USDC', COLD),
    await bsc.balance('USDT', COLD),
  ];
  const all = [eth.baseUnits('USDT', '230'), eth.baseUnits('USDC', '100'), bsc.baseUnits('USDT', '90')];
  await waitUntil(
    'all is swept',
    async () => (await cold()).every((amount, place) => amount === all[place]),
    120_000,
  );
  await waitUntil(
    'dust waits',
    async () => {
      // A requested run ignores the minimum age, so that the plan shows the next obstacle.
      await done('sweep', 'run', '--chain', eth.chain, '--reason', 'dust, too');
      return /1 wait: (COST_SHARE|TOO_SMALL)/.test(await done('sweep', 'plan', '--chain', eth.chain));
    },
    60_000,
  );
  await expectAllExplained();
}, 600_000);

async function expectAllExplained(): Promise<void> {
  await waitUntil(
    'no sweep is open',
    async () => {
      const { rows } = await sql`select from sweep where state = 'OPEN'`.execute(under.database.kysely);
      return rows.length === 0;
    },
    60_000,
  );
  await waitUntil('reconcile succeeds', async () => (await opentill('reconcile')).code === 0);
  expect(await under.findProblems()).toEqual([]);
}

it('accepts, refunds and sweeps unmatched deposits on TRON, unless sweeps are paused', async () => {
  const tron = under.tron!;
  const { chain } = tron;
  const paid = (amount: string, symbol = 'USDT') => tron.baseUnits(symbol, amount);
  const newReceiver = () => utils.accounts.generateAccount().address.base58;
  const [again, late, token] = [
    await order(undefined, chain),
    await order(90, chain),
    await order(90, chain),
  ];
  await tron.pay({ to: again.address, amount: '100' });
  await untilStatus(again, 'SUCCESS');
  await tron.pay({ to: again.address, amount: '60' });
  await tron.pay({ to: token.address, amount: '100', symbol: 'USDC' });
  const ids = { again: await theOne(again, 'AFTER_SUCCESS'), token: await theOne(token, 'WRONG_TOKEN') };
  expect(await refused('unmatched', 'accept', ids.token, '--as', '100', '--reason', 'as good')).toContain(
    'accept the deposit when the order has expired',
  );
  await tron.control('stepTimeMs', { byMs: 91_000 });
  for (const one of [late, token]) await untilStatus(one, 'EXPIRED');
  await tron.pay({ to: late.address, amount: '100' });
  const lateId = await theOne(late, 'LATE');

  await done('unmatched', 'accept', lateId, '--reason', 'he wrote to us');
  await untilStatus(late, 'SUCCESS');
  expect(
    await refused('unmatched', 'refund', lateId, '--to', newReceiver(), '--reason', 'and again'),
  ).toMatch(/no refundable unmatched deposit/i);
  await done('unmatched', 'accept', ids.token, '--as', '99.5', '--reason', 'as good, less our trouble');
  await untilStatus(token, 'SUCCESS');
  expect(await statusOf(token)).toMatchObject({ actualAmount: '99.50' });
  await waitUntil('the shop receives ORDER_SUCCESS', () =>
    Promise.resolve(
      under.receiver
        .of(token.orderId)
        .some(
          ({ notifyType, data }) =>
            notifyType === 'ORDER_SUCCESS' &&
            data.transaction?.symbol === 'USDC' &&
            data.transaction.amount === '100.00',
        ),
    ),
  );

  // A refund in two parts to other accounts, up to the amount.
  const [payer, other] = [newReceiver(), newReceiver()];
  expect(await refused('unmatched', 'accept', ids.again, '--reason', 'thanks')).toContain('is already paid');
  const mistyped = `${payer.slice(0, -1)}${payer.endsWith('1') ? '2' : '1'}`;
  const misled = ['--to', mistyped, '--reason', 'asked for'];
  expect(await refused('unmatched', 'refund', ids.again, ...misled)).toContain('is not a valid address');
  await refund(tron, ids.again, payer, '--amount', '12.5');
  expect((await listed(again))[0]!.line).toContain('47.50 left');
  const more = ['--to', payer, '--amount', '47.500001', '--reason', 'more'];
  expect(await refused('unmatched', 'refund', ids.again, ...more)).toContain('are left');
  await refund(tron, ids.again, other);
  const given = async () => [await tron.balance('USDT', payer), await tron.balance('USDT', other)];
  await waitUntil('both refunds arrive', async () => (await given()).every((sum) => sum > 0n), 90_000);
  expect(await given()).toEqual([paid('12.5'), paid('47.5')]);
  expect(await refused('unmatched', 'refund', ids.again, '--to', payer, '--reason', 'once more')).toContain(
    'are left',
  );

  // No sweep starts while sweeps are paused, even if a run is requested.
  const plan = () => done('sweep', 'plan', '--chain', chain);
  const sweeps = async () => {
    const { rows } = await sql`select from sweep where chain = ${chain}`.execute(under.database.kysely);
    return rows.length;
  };
  await done('sweep', 'pause', '--chain', chain, '--reason', 'look first');
  await done('sweep', 'run', '--chain', chain, '--reason', 'the test');
  await waitUntil('the plan shows three paused sweeps', async () =>
    /3 to begin .*PAUSED by .*look first/.test(await plan()),
  );
  const shown = await plan();
  await waitUntil('the planner runs again', async () => (await plan()) !== shown);
  expect(await sweeps()).toBe(0);
  await done('sweep', 'resume', '--chain', chain, '--reason', 'looked');
  const cold = async () => [await tron.balance('USDT', TRON_COLD), await tron.balance('USDC', TRON_COLD)];
  const all = [paid('260'), paid('100', 'USDC')];
  await waitUntil(
    'all is swept',
    async () => (await cold()).every((amount, place) => amount === all[place]),
    180_000,
  );
  expect(await sweeps()).toBe(3);
  for (const { address } of [again, late, token])
    expect([await tron.balance('USDT', address), await tron.balance('USDC', address)]).toEqual([0n, 0n]);
  await expectAllExplained();
}, 600_000);
