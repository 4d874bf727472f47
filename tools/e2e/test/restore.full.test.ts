import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { getAddress, hexlify, randomBytes } from 'ethers';
import { openDatabase, type Database, type Db } from '@opentill/db/database';
import { SERVICE_NAMES } from '@opentill/local/gateway-options';
import { waitUntil } from '@opentill/testkit/wait-until';
import { sql } from 'kysely';
import { dropDatabase } from '../src/drop-database.ts';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import { prepareAnotherMachine, type AnotherMachine } from '../src/restored-gateway.ts';
import { runOpentill } from '../src/run-opentill.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';

// A gateway is backed up under load, continues, and loses its database. After a restore on another server it must not
// reuse an address or pay twice, and must find the payments made after the backup.

let under: GatewayUnderTest;
let machine: AnotherMachine | undefined;
let restored: Database | undefined;
const addressesEver: string[] = [];
/** Receiver to the USDT that it must get once, in display units. */
const promised = new Map<string, { readonly chain: ChainUnderTest; readonly amount: string }>();

beforeAll(async () => {
  under = await startGatewayUnderTest();
});
afterAll(async () => {
  await restored?.close();
  await under.stop();
  await machine?.stop();
});

const COLD = '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720';

const chains = () => Object.values(under.chains);
const backupDirectory = () => join(under.gateway.directory.root, 'backup');
const receiver = () => getAddress(hexlify(randomBytes(20)));

async function collect(chain: ChainUnderTest, orderId = under.newOrderId()) {
  const fields = {
    orderId,
    amount: '10',
    symbol: 'USDT',
    chain: chain.chain,
    uid: 'u',
    returnUrl: under.gateway.shopUrl,
  };
  const { data, msg } = await under.merchant.createCollection(fields);
  if (!data) throw new Error(`no order: ${msg}`);
  addressesEver.push(data.address.toLowerCase());
  return data;
}

async function payOut(
  chain: ChainUnderTest,
  fields: { orderId?: string; to?: string; amount?: string } = {},
) {
  const { orderId = under.newOrderId(), to = receiver(), amount = '12.34' } = fields;
  const { data, msg } = await under.merchant.createPayout({
    orderId,
    amount,
    symbol: 'USDT',
    chain: chain.chain,
    receiveAddress: to,
  });
  if (!data) throw new Error(`no payout: ${msg}`);
  return { orderId, to, amount, chain };
}

const statusOf = async (orderId: string) => (await under.merchant.status(orderId)).data?.status;

async function untilAll(status: string, orderIds: readonly string[]): Promise<void> {
  await waitUntil(
    `${orderIds.length} orders are ${status}`,
    async () => (await Promise.all(orderIds.map(statusOf))).every((one) => one === status),
    90_000,
  );
}

/** Sweeps all deposits of a chain, and waits until `times` sweeps in total are done. */
async function sweepAll(db: Db, chain: ChainUnderTest, times: number): Promise<void> {
  const asked = ['sweep', 'run', '--chain', chain.chain, '--reason', 'everything'];
  expect(await runOpentill(under.gateway, asked)).toMatchObject({ code: 0 });
  await waitUntil(
    `${times} sweeps of ${chain.chain} are done`,
    async () => {
      const { rows } = await sql<{ n: number }>`
        select count(*)::int as n from sweep where chain = ${chain.chain} and state = 'DONE'`.execute(db);
      return rows[0]?.n === times;
    },
    90_000,
  );
}

async function opentill(args: readonly string[]) {
  const { code, out, errors } = await machine!.opentill(args);
  expect({ args, code, errors }).toEqual({ args, code: 0, errors: '' });
  return out;
}

it('restores a gateway lost under load without reusing addresses or paying twice', async () => {
  const { gateway } = under;
  const [eth, bsc] = [under.chains.ETH_SEPOLIA, under.chains.BSC_TEST];

  // Before the backup: paid and unpaid collections, completed payouts.
  const settled: string[] = [];
  const openBefore = [];
  for (const chain of chains()) {
    for (let i = 0; i < 3; i += 1) {
      const order = await collect(chain);
      await chain.pay({ to: order.address, amount: '10' });
      settled.push(order.orderId);
    }
    openBefore.push({ chain, order: await collect(chain) });
    for (let i = 0; i < 2; i += 1) {
      const payout = await payOut(chain);
      promised.set(payout.to, payout);
      settled.push(payout.orderId);
    }
  }
  await untilAll('SUCCESS', settled);
  await sweepAll(under.database.kysely, eth, 3);
  // Payouts that are unsigned in the backup and paid shortly after it, and one that waits for an approver.
  const halts = [];
  for (const { chain } of chains()) {
    const { out } = await runOpentill(gateway, [
      'halt',
      'set',
      '--chain',
      chain,
      '--reason',
      'backup is coming',
    ]);
    halts.push(/Halt (\S+?)\.?$/m.exec(out)![1]!);
  }
  const unsigned = [await payOut(eth), await payOut(bsc), await payOut(bsc, { amount: '77.7' })];
  for (const payout of unsigned) promised.set(payout.to, payout);
  const needsApproval = await payOut(bsc, { amount: '5000.01' });

  let isDone = false;
  const traffic = (async () => {
    while (!isDone) {
      for (const chain of chains()) await collect(chain);
      await pause(250); // below the rate limit of a merchant
    }
  })();
  const backup = await runOpentill(
    {
      operatorEnvironment: { ...gateway.operatorEnvironment, DATABASE_ADMIN_URL: gateway.database.url },
    },
    [
      'backup',
      '--out',
      backupDirectory(),
      '--keystore',
      gateway.wallet.keystoreFile,
      '--policy',
      gateway.policy.policyFile,
      '--public-keys',
      gateway.wallet.publicKeysFile,
    ],
  );
  isDone = true;
  await traffic;
  expect(backup).toMatchObject({ code: 0, errors: '' });

  // After the backup: orders, payments and payouts that it does not contain.
  for (const halt of halts)
    await runOpentill(gateway, ['halt', 'release', halt, '--reason', 'backup is done']);
  for (const { chain, order } of openBefore) await chain.pay({ to: order.address, amount: '10' });
  await untilAll(
    'SUCCESS',
    openBefore.map(({ order }) => order.orderId),
  );
  // The backup contains a sweep to cold storage on ETH, but none on BSC.
  await sweepAll(under.database.kysely, eth, 4);
  await sweepAll(under.database.kysely, bsc, 4);
  const forgottenCollections = [];
  const forgottenPayouts = [];
  for (const chain of chains()) {
    for (let i = 0; i < 2; i += 1) {
      const order = await collect(chain);
      await chain.pay({ to: order.address, amount: '10' });
      forgottenCollections.push(order);
      const payout = await payOut(chain);
      promised.set(payout.to, payout);
      forgottenPayouts.push(payout);
    }
    await collect(chain);
  }
  const afterBackup = [...unsigned, ...forgottenPayouts].map(({ orderId }) => orderId);
  await untilAll('SUCCESS', [
    ...afterBackup,
    ...openBefore.map(({ order }) => order.orderId),
    ...forgottenCollections.map(({ orderId }) => orderId),
  ]);

  await Promise.all(SERVICE_NAMES.map(async (service) => gateway.stopService(service, 'SIGKILL')));
  await dropDatabase(gateway.database.url);
  machine = await prepareAnotherMachine(gateway);
  const files = ['keystore', 'policy', 'public-keys'].flatMap((name) => [
    `--${name}`,
    join(machine!.directory, `${name}.json`),
  ]);
  await opentill(['restore', '--from', backupDirectory(), ...files]);
  restored = openDatabase({ url: machine.adminUrl, applicationName: 'e2e', poolMax: 2 });
  const db = restored.kysely;
  await machine.startServices();

  // New orders work at once, with unused addresses.
  for (const chain of chains()) {
    const order = await collect(chain);
    await chain.pay({ to: order.address, amount: '10' });
    await untilAll('SUCCESS', [order.orderId]);
  }
  // Payments to orders of the backup are found on the chain.
  await untilAll(
    'SUCCESS',
    openBefore.map(({ order }) => order.orderId),
  );

  // A merchant requests two lost payouts again; they wait.
  const again = forgottenPayouts.slice(0, 2);
  for (const payout of again) await payOut(payout.chain, payout);

  // The report asks to wait until the scanner has verified the time after the backup. Then it recognises proven payments.
  let report = '';
  await waitUntil(
    'only decisions are left',
    async () => {
      report = '';
      for (const { chain } of chains())
        report += (await machine!.opentill(['restore', 'reconcile', '--chain', chain, '--cold', COLD])).out;
      return !report.includes('waits for');
    },
    60_000,
  );
  const toDecide = [...report.matchAll(/decide payment (0x\S+) \(nonce .* to (0x\w+);/g)].map(
    ([, txid, to]) => ({ txid: txid!, to: getAddress(to!) }),
  );
  expect(toDecide.map(({ to }) => to).toSorted()).toEqual(forgottenPayouts.map(({ to }) => to).toSorted());
  // Sweeps after the backup are known again, each with its fee transfer.
  const { rows: movements } = await sql<{ chain: string; kind: string; n: number }>`
    select o.chain, m.kind, count(*)::int as n from movement m join orders o using (order_pk)
    where m.planned_by = 'opentill restore' group by 1, 2 order by 1, 2`.execute(db);
  expect(movements).toEqual([
    { chain: 'BSC_TEST', kind: 'GAS_TOP_UP', n: 4 },
    { chain: 'BSC_TEST', kind: 'SWEEP', n: 4 },
    { chain: 'ETH_SEPOLIA', kind: 'GAS_TOP_UP', n: 1 },
    { chain: 'ETH_SEPOLIA', kind: 'SWEEP', n: 1 },
  ]);
  const doubtful = [...report.matchAll(/decide payout (\S+) \((\S+) of/g)].map(([, , orderId]) => orderId);
  expect(doubtful).toEqual([needsApproval.orderId]);
  await untilAll(
    'SUCCESS',
    unsigned.map(({ orderId }) => orderId),
  ); // recognised on the chain, not signed again

  const early = await machine.opentill(['restore', 'release', '--reason', 'hurry']);
  expect(early).toMatchObject({ code: 75, errors: expect.stringContaining('No wallet was released') });
  const txidOf = ({ to }: { to: string }) => toDecide.find((one) => one.to === to)!.txid;
  for (const payout of again)
    await opentill([
      'restore',
      'decide-payment',
      txidOf(payout),
      '--order',
      payout.orderId,
      '--reason',
      'asked for again',
    ]);
  for (const payout of forgottenPayouts.slice(2))
    await opentill([
      'restore',
      'decide-payment',
      txidOf(payout),
      '--order-lost',
      '--reason',
      'the merchant is silent',
    ]);
  await opentill([
    'restore',
    'decide-payout',
    needsApproval.orderId,
    '--refuse',
    '--reason',
    'to be asked for again',
  ]);
  const released = await opentill(['restore', 'release', '--reason', 'reconciled']);
  expect(released).toMatch(/released by \S+\./);
  await untilAll(
    'SUCCESS',
    again.map(({ orderId }) => orderId),
  );
  await untilAll('FAILED', [needsApproval.orderId]);

  // Halts that an operator set before the backup are still set.
  for (const halt of halts) await opentill(['halt', 'release', halt, '--reason', 'backup is done']);

  // Signing continues. A lost payout that is requested later waits until an operator links it to its payment.
  const fresh = [await payOut(eth), await payOut(bsc)];
  const late = forgottenPayouts[2]!;
  await payOut(late.chain, late);
  for (const payout of fresh) promised.set(payout.to, payout);
  await untilAll(
    'SUCCESS',
    fresh.map(({ orderId }) => orderId),
  );
  const { rows } =
    await sql`select p.obstacle, p.state, p.waiting_since is not null as waits from payout p join orders o using (order_pk)
    where o.order_id = ${late.orderId}`.execute(db);
  expect(rows).toEqual([{ obstacle: 'MAYBE_PAID', state: 'REQUESTED', waits: true }]);
  await opentill([
    'restore',
    'decide-payment',
    txidOf(late),
    '--order',
    late.orderId,
    '--reason',
    'there it is',
  ]);
  await untilAll('SUCCESS', [late.orderId]);

  // `restore money` finds deposits of orders that are not in the backup.
  const money = await opentill([
    'restore',
    'money',
    '--public-keys',
    join(machine.directory, 'public-keys.json'),
    '--gap',
    '40000',
  ]);
  for (const { address } of forgottenCollections)
    expect(money.toLowerCase()).toContain(address.toLowerCase());
  for (const { order } of openBefore) expect(money.toLowerCase()).not.toContain(order.address.toLowerCase());

  // Cold storage has each sweep of before the loss once.
  for (const chain of chains())
    expect([chain.chain, await chain.balance('USDT', COLD)]).toEqual([
      chain.chain,
      chain.baseUnits('USDT', '40'),
    ]);
  expect(new Set(addressesEver).size).toBe(addressesEver.length);
  for (const [to, { chain, amount }] of promised)
    expect([to, await chain.balance('USDT', to)]).toEqual([to, chain.baseUnits('USDT', amount)]);
  expect(await bsc.balance('USDT', needsApproval.to)).toBe(0n);
  // The only differences: the wallets of TRON and SUI are held until no lost transaction can land.
  let differences: readonly string[] = [];
  await waitUntil(
    'the ledger equals the chain',
    async () => {
      const { out } = await machine!.opentill(['reconcile']);
      differences = out.match(/ DIFF .*/g) ?? [];
      return differences.length <= 2;
    },
    30_000,
  ).catch(
    () => undefined, // the next assertion shows the differences
  );
  expect(differences).toEqual([
    expect.stringMatching(/^ DIFF {2}WALLET_IN_DOUBT T[1-9A-HJ-NP-Za-km-z]{33}$/),
    expect.stringMatching(/^ DIFF {2}WALLET_IN_DOUBT 0x[0-9a-f]{64}$/),
  ]);
  console.info(
    `${addressesEver.length} addresses, ${promised.size} payouts; ${report.split('\n').length} lines of report`,
  );
}, 1_800_000);
