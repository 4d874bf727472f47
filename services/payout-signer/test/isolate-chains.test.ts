import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import { readerError } from '@opentill/chain/reader-error';
import { evmFamily } from '@opentill/chain-evm/family';
import { tronFamily } from '@opentill/chain-tron/family';
import { payoutTermsOf } from '@opentill/contracts/payout-terms';
import type { Database } from '@opentill/db/database';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { presetOf, type Chain } from '@opentill/domain/chains';
import { connectBroker, type Broker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger, type LogFields, type Logger } from '@opentill/runtime/logger';
import { createMetrics, type Metrics } from '@opentill/runtime/metrics';
import { aCollection, type OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createApp, type SignerApp, type SignerDeps } from '../src/app.ts';
import { judgeByPolicy } from '../src/policy/judge-by-policy.ts';
import type { ExpiringPaying, NoncePaying, PayingNetwork } from '../src/payouts/paying-network.ts';
import { aTronAddress } from './expiring/tron-world.ts';
import { byFastClock, fastClockMs, TIMEOUT_MS, QUICK } from './world/quick-timing.ts';
import { CHAIN, createSignerWorld, USDT, type SignerWorld } from './nonce/signer-world.ts';

const OTHER = 'BSC_TEST';
const TRON = 'TRON_TEST';
const TRON_WALLET = aTronAddress() as Address;
const SLOTS = 3;

let world: SignerWorld;
let broker: Broker;
let signer: Database;
let app: SignerApp | undefined;
let metrics: Metrics;
let failures: unknown[];
let log: { readonly message: string; readonly fields: LogFields }[];
let mismatches: Map<Chain, string>;

beforeAll(async () => {
  world = await createSignerWorld();
  await sql`select book_top_up('BSC_TEST:0x1:USDT', ${OTHER}, 'USDT', 1000000000)`.execute(world.admin);
  signer = world.database.open('signer');
  const silent = createLogger({ service: 'test', level: 'silent' });
  broker = connectBroker({ url: await world.amqpUrl(), logger: silent, name: 'test' });
  await world.scannerAtHead();
});
beforeEach(() => {
  [failures, log, mismatches] = [[], [], new Map()];
});
afterEach(async () => app?.stop());
afterAll(async () => {
  await broker.close();
  await signer.close();
  await world.close();
});

/** With the chain id of the database, or none. */
function networkOf(chain: Chain): NetworkConfig {
  const { chainId: _, ...network } = world.network;
  const chainId = presetOf(chain)?.chainId;
  return { ...network, chain, ...(chainId !== undefined && { chainId }) };
}

function payingOn(chain: Chain): NoncePaying {
  const network = networkOf(chain);
  const terms = payoutTermsOf(world.network);
  if (terms === undefined) throw new Error('no terms');
  const sender = world.newSender();
  return {
    kind: 'NONCES',
    network,
    terms: { ...terms, maxOpenNonces: SLOTS },
    codec: evmFamily.addressCodec,
    sender: {
      ...sender,
      chain,
      checkNetwork: (options) => {
        const mismatch = mismatches.get(chain);
        return mismatch === undefined
          ? sender.checkNetwork(options)
          : Promise.reject(readerError('TOKEN_MISMATCH', mismatch));
      },
    },
    reader: evmFamily.createReader(world.network, {}),
  };
}

function payingOnTron(): ExpiringPaying {
  const checkNetwork = () => Promise.reject(readerError('TOKEN_MISMATCH', mismatches.get(TRON) ?? ''));
  return {
    kind: 'EXPIRING',
    network: { ...networkOf(TRON), family: 'TRON', nativeSymbol: 'TRX' },
    terms: { maxOpenPayouts: SLOTS, lowGasBaseUnits: undefined, lowBalance: new Map(), float: new Map() },
    codec: tronFamily.addressCodec,
    sender: { chain: TRON, checkNetwork } as unknown as ExpiringPaying['sender'],
  };
}

function start(
  networks: readonly PayingNetwork[] = [payingOn(CHAIN), payingOn(OTHER)],
  wallets = world.keys.addresses,
  unpayable: SignerDeps['unpayable'] = [],
): SignerApp {
  metrics = createMetrics('payout-signer');
  const write = (message: string, fields: LogFields = {}): unknown => log.push({ message, fields });
  const silent = createLogger({ service: 'test', level: 'silent' });
  const logger: Logger = { ...silent, error: write, warn: write, info: write };
  app = createApp({
    db: signer.kysely,
    broker,
    logger,
    metrics,
    clock: systemClock,
    newId,
    networks,
    unpayable,
    wallets,
    keys: world.keys,
    policy: judgeByPolicy(undefined, 'test', { isLocal: true }),
    instanceId: newId(),
    stateDirectory: world.stateDirectory,
    fail: (error) => failures.push(error),
    monotonicMs: fastClockMs,
    timing: { ...byFastClock(QUICK), leaseTtlMs: 60_000 },
  });
  app.start();
  return app;
}

const obstacleIs = (order: OrderRow, obstacle: string) =>
  waitUntil(
    `obstacle ${obstacle}`,
    async () => (await world.payoutOf(order)).obstacle === obstacle,
    TIMEOUT_MS,
  );
const edges = (kind: string) =>
  log
    .filter(({ message, fields }) => message.startsWith('alarm') && fields['kind'] === kind)
    .map(({ message, fields }) => `${message} ${String(fields['chain'])}`);
const scannerReports = (state: string, reason: string | null) =>
  sql`insert into chain_status (chain, service, state, reason) values (${CHAIN}, 'SCANNER', ${state}, ${reason})
    on conflict (chain, service) do update set state = excluded.state, reason = excluded.reason`.execute(
    world.admin,
  );

test('stops only the payouts of the chain whose token has no code', async () => {
  mismatches.set(OTHER, 'there is no contract at 0x1');
  const [order, other] = [await world.payout(), await world.payout({ chain: OTHER })];
  const { checks } = start();
  await world.land([order]);
  await obstacleIs(other, 'CHAIN_HALTED');
  expect(failures).toEqual([]);
  const why = 'left out: TOKEN_MISMATCH: there is no contract at 0x1';
  expect(await checks[OTHER]!()).toEqual({ ok: false, detail: why });
  expect(await checks[CHAIN]!()).toMatchObject({ ok: true });
  expect(await metrics.render()).toMatch(
    /opentill_signer_payout_alarm_bool\{chain="BSC_TEST",kind="chain-halted".*\} 1/,
  );
  const stored = async () => {
    const { rows } = await sql<{ text: string }>`
      select concat_ws(': ', state, reason) as text from chain_status where chain = ${OTHER}`.execute(
      world.admin,
    );
    return rows.map(({ text }) => text);
  };
  expect(await stored()).toEqual(['LEFT_OUT: TOKEN_MISMATCH']);

  mismatches.clear();
  await obstacleIs(other, 'CHAIN_BEHIND');
  expect(await stored()).toEqual(['RUNNING']);
  expect(edges('chain-halted')).toEqual(['alarm raised BSC_TEST', 'alarm cleared BSC_TEST']);
});

test('ends the process when no chain passes its start-up checks', async () => {
  for (const chain of [CHAIN, OTHER] as const) mismatches.set(chain, 'the token at 0x1 has 18 decimals');
  start();
  await waitUntil('it ends', () => failures.length > 0, TIMEOUT_MS);
  expect(failures[0]).toMatchObject({ code: 'TOKEN_MISMATCH' });
});

test('marks each waiting payout CHAIN_HALTED until the chain continues', async () => {
  await scannerReports('HALTED', 'REORG_TOO_DEEP');
  const orders = await Promise.all(Array.from({ length: SLOTS + 4 }, () => world.payout()));
  const { checks } = start();
  await Promise.all(orders.map((order) => obstacleIs(order, 'CHAIN_HALTED')));
  const halted = { ok: false, detail: 'halted: REORG_TOO_DEEP' };
  expect(await checks[CHAIN]!()).toEqual(halted);
  expect(await Promise.all(orders.map((order) => world.transactionsOf(order)))).toEqual(orders.map(() => []));
  await scannerReports('RUNNING', null);
  await world.land(orders);
  expect(edges('chain-halted')).toEqual([`alarm raised ${CHAIN}`, `alarm cleared ${CHAIN}`]);
  expect(await world.received(orders[0]!)).toBe(orders[0]!.amount);
  expect(orders.every(({ contract_address }) => contract_address === USDT)).toBe(true);
});

test('keeps the obstacle CHAIN_AHEAD while the chain is halted', async () => {
  await scannerReports('HALTED', 'REORG_TOO_DEEP');
  const [ahead, waiting] = [await world.payout(), await world.payout()];
  const set = (order: OrderRow, obstacle: string, at: string) =>
    sql`update payout set obstacle = ${obstacle}, obstacle_at = ${sql.raw(at)} where order_pk = ${order.order_pk}`.execute(
      world.admin,
    );
  await set(ahead, 'CHAIN_AHEAD', `clock_timestamp() - interval '1 minute'`);
  await set(waiting, 'NEEDS_APPROVAL', 'clock_timestamp()');
  const marked = await world.payout();
  start();
  await obstacleIs(marked, 'CHAIN_HALTED');
  expect(await world.payoutOf(waiting)).toMatchObject({ obstacle: 'NEEDS_APPROVAL' });
  // Refreshed, so that the payout does not expire.
  const { rows } = await sql<{ obstacle: string; fresh: boolean }>`
    select obstacle, obstacle_at > clock_timestamp() - interval '45 seconds' as fresh from payout
    where order_pk = ${ahead.order_pk}`.execute(world.admin);
  expect(rows).toEqual([{ obstacle: 'CHAIN_AHEAD', fresh: true }]);
});

test('detects a restored database while the chain is halted or left out', async () => {
  const mark = (kind: string, chain: Chain, wallet: string, sent: object) =>
    writeFile(join(world.stateDirectory, `${kind}-mark-${chain}-${wallet}.json`), JSON.stringify(sent));
  await sql`insert into hot_wallet (family, address) values ('TRON', ${TRON_WALLET})`.execute(world.admin);
  await sql`select book_top_up('TRON_TEST:1:USDT', ${TRON}, 'USDT', 1000000000)`.execute(world.admin);
  await mark('nonce', CHAIN, world.wallet, { nonce: 1_000 });
  await mark('nonce', OTHER, world.wallet, { nonce: 2_000 });
  await mark('send', TRON, TRON_WALLET, { uniqueMs: 3_000, expiresMs: 4_000 });
  await scannerReports('HALTED', 'REORG_TOO_DEEP');
  for (const chain of [OTHER, TRON] as const) mismatches.set(chain, 'there is no contract at 0x1');
  const places = [
    {},
    { chain: OTHER },
    { chain: TRON, family: 'TRON', source_address: TRON_WALLET },
  ] as const;
  const create = () => Promise.all(places.map((place) => world.payout(place)));
  const orders = await create();
  start([payingOn(CHAIN), payingOn(OTHER), payingOnTron()], [...world.keys.addresses, TRON_WALLET]);
  for (const order of orders) await obstacleIs(order, 'CHAIN_AHEAD');
  const { rows } = await sql<{ chain: string; mark: number }>`
    select chain, mark from wallet_halt where kind = 'RESTORED' and released_at is null order by mark`.execute(
    world.admin,
  );
  expect(rows).toEqual([
    { chain: CHAIN, mark: 1_000 },
    { chain: OTHER, mark: 2_000 },
    { chain: TRON, mark: 3_000 },
  ]);

  // Forgotten transactions can still land after the release, so payouts must not expire.
  await sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'looked'
    where released_at is null`.execute(world.admin);
  for (const order of await create()) await obstacleIs(order, 'CHAIN_AHEAD');
  expect(failures).toEqual([]);
});

test('also compares deposit addresses of a network without payouts with the seed', async () => {
  const { address } = await aCollection(world.admin, { chain: 'TRON_TEST', address: 'T of other keys' });
  start(undefined, undefined, [
    {
      network: { ...world.network, chain: 'TRON_TEST', family: 'TRON' },
      codec: tronFamily.addressCodec,
    },
  ]);
  await waitUntil(
    'the alarm',
    () =>
      log.some(({ fields }) => fields['kind'] === 'foreign-deposit-address' && fields['address'] === address),
    TIMEOUT_MS,
  );
});
