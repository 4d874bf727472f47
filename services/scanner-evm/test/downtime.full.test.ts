import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { FinalityConfig, NetworkConfig } from '@opentill/contracts/network-config';
import type { Database } from '@opentill/db/database';
import { startAnvil, type Anvil } from '@opentill/devnets/evm/anvil';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  DEV_TOKEN_ADDRESSES,
  deployDevTokens,
  headHeight,
  payToken,
  setBlockTime,
} from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc, callRpcBatch } from '@opentill/devnets/evm/json-rpc';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';

const CHAIN = 'BSC_TEST';
const BLOCK_SECONDS = 0.45;
const DOWNTIME_SECONDS = 600;
const CONFIRMATIONS = 15;
const AMOUNT = 10n ** 18n;

interface Variant {
  readonly name: string;
  readonly sources: 1 | 2;
  readonly finality?: FinalityConfig;
  /** Length in blocks. `finalized` is two epochs behind the head and does not move during the first two. */
  readonly epochBlocks?: number;
}

const VARIANTS: readonly Variant[] = [
  { name: 'with one source and counted confirmations', sources: 1 },
  {
    name: 'with two sources, by finality at a least depth',
    sources: 2,
    finality: { minDepth: CONFIRMATIONS, staleSeconds: 60, fallbackDepth: 3 * CONFIRMATIONS },
    epochBlocks: 3,
  },
  {
    name: 'with two sources, by a depth in the place of finality that stalls',
    sources: 2,
    finality: { minDepth: 2, staleSeconds: 1, fallbackDepth: CONFIRMATIONS },
    epochBlocks: 1_000_000,
  },
];

interface Deal {
  readonly name: string;
  readonly orderPk: string;
  readonly address: string;
  /** Chain time in seconds after the start of the downtime. */
  readonly expiresAfter: number;
  readonly paidAfter: number | undefined;
}

let dir: string;
let anvil: Anvil;
let database: TestDatabase;
let admin: Database;
let broker: TestBroker;
const running = new Set<ChildProcess>();

async function openWorld(variant: Variant): Promise<void> {
  const { epochBlocks: slotsInAnEpoch } = variant;
  dir = await mkdtemp(join(tmpdir(), 'downtime-'));
  anvil = await startAnvil({
    dir,
    port: await findFreePort(),
    chainId: 97,
    ...(slotsInAnEpoch === undefined ? {} : { slotsInAnEpoch }),
  });
  await setBlockTime(anvil.rpcUrl, 0);
  await deployDevTokens({ rpcUrl: anvil.rpcUrl, usdtDecimals: 18, usdcDecimals: 18 });
  database = await createTestDatabase();
  admin = database.open('admin');
  broker = await createTestBroker();
  await writeFile(join(dir, 'networks.json'), JSON.stringify({ networks: [network(variant)] }));
  await sql`create table moved (place bigserial, order_pk uuid, status text)`.execute(admin.kysely);
  await sql`
    create function note_move() returns trigger language plpgsql security definer as $$
    begin insert into public.moved (order_pk, status) values (new.order_pk, new.status); return new; end $$`.execute(
    admin.kysely,
  );
  await sql`
    create trigger note_move after update of status on orders for each row execute function note_move()`.execute(
    admin.kysely,
  );
}

async function closeWorld(): Promise<void> {
  for (const child of running) await end(child);
  await admin.close();
  await broker.drop();
  await database.drop();
  await anvil.stop('kill');
  await rm(dir, { recursive: true });
}

function network({ sources, finality }: Variant): NetworkConfig {
  return {
    chain: CHAIN,
    family: 'EVM',
    enabled: true,
    chainId: 97,
    name: 'a chain of 0.45 s',
    // Two host names count as two sources.
    rpcUrls: [anvil.rpcUrl, anvil.rpcUrl.replace('127.0.0.1', 'localhost')].slice(0, sources),
    nativeSymbol: 'BNB',
    nativeDecimals: 18,
    ...(finality === undefined ? { confirmations: CONFIRMATIONS } : { confirmations: 'finalized', finality }),
    blockTimeMs: BLOCK_SECONDS * 1_000,
    pollIntervalMs: 200,
    restIntervalMs: 200,
    reorgWindow: 64,
    maxBlockRange: 100,
    bloom: true,
    tokens: [
      {
        symbol: 'USDT',
        contract: DEV_TOKEN_ADDRESSES.USDT,
        decimals: 18,
        displayDecimals: 2,
        minAmount: null,
        maxAmount: null,
      },
    ],
  };
}

async function start(service: 'scanner-evm' | 'confirmation-tracker'): Promise<ChildProcess> {
  const port = await findFreePort();
  const main = join(import.meta.dirname, '../..', service, 'src/main.ts');
  const child = spawn(
    process.execPath,
    ['--conditions=source', '--disable-warning=ExperimentalWarning', main],
    {
      env: {
        ...NODE_ENVIRONMENT,
        DATABASE_URL: database.url(service === 'scanner-evm' ? 'scanner_evm' : 'tracker'),
        AMQP_URL: await broker.urlFor(service),
        NETWORKS_FILE: join(dir, 'networks.json'),
        HEALTH_PORT: `${port}`,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  running.add(child);
  await waitUntil(
    `${service} answers`,
    async () => (await fetch(`http://127.0.0.1:${port}/livez`)).status === 200,
  );
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  running.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await ended;
}

async function cursor(): Promise<{ seen: number; verified: number }> {
  const { rows } = await sql<{ seen: number; verified: number }>`
    select seen_height as seen, verified_height as verified from chain_cursor`.execute(admin.kysely);
  if (rows[0] === undefined) throw new Error('no cursor yet');
  return rows[0];
}

/**
 * Blocks of a 0.45 s chain with times in whole seconds, so that two or three share a second. Anvil repeats a time if
 * evm_setNextBlockTimestamp sets the first block's and the interval is 0.
 */
async function mineSecond(time: number, blocks: number): Promise<void> {
  await callRpcBatch(anvil.rpcUrl, [
    { method: 'evm_setNextBlockTimestamp', params: [time] },
    { method: 'anvil_mine', params: [`0x${blocks.toString(16)}`, '0x0'] },
  ]);
}

function blocksIn(second: number): number {
  return Math.floor((second + 1) / BLOCK_SECONDS) - Math.floor(second / BLOCK_SECONDS);
}

async function makeDeals(beginning: number): Promise<readonly Deal[]> {
  const { merchantId } = await aMerchant(admin.kysely);
  const deal = async (name: string, expiresAfter: number, paidAfter?: number): Promise<Deal> => {
    const order = await aCollection(admin.kysely, {
      merchant_id: merchantId,
      chain: CHAIN,
      contract_address: DEV_TOKEN_ADDRESSES.USDT.toLowerCase(),
      decimals: 18,
      amount: AMOUNT,
      accepted_amount: AMOUNT,
      confirmations_required: CONFIRMATIONS,
      created_at: new Date((beginning - 60) * 1_000),
      expires_at: new Date((beginning + expiresAfter) * 1_000),
    });
    return { name, orderPk: order.order_pk, address: order.address, expiresAfter, paidAfter };
  };
  const range = (count: number): readonly number[] => Array.from({ length: count }, (_, place) => place);
  return Promise.all([
    ...range(10).map((i) => deal('in time, at the last moment', 40 + i * 55, 40 + i * 55)),
    ...range(10).map((i) => deal('in time', 70 + i * 53, 20 + i * 53)),
    ...range(10).map((i) => deal('in time, expiring after the downtime', 3_000, 595 - i * 60)),
    ...range(10).map((i) => deal('late by a second', 30 + i * 55, 31 + i * 55)),
    ...range(5).map((i) => deal('never paid', 10 + i * 140)),
    ...range(5).map(() => deal('never paid, not expired', 3_000)),
  ]);
}

async function liveThroughDowntime(beginning: number, deals: readonly Deal[]): Promise<void> {
  const payer = { rpcUrl: anvil.rpcUrl, token: DEV_TOKEN_ADDRESSES.USDT, fromKey: devAccount(1).privateKey };
  for (let second = 1; second <= DOWNTIME_SECONDS; second += 1) {
    for (const deal of deals.filter(({ paidAfter }) => paidAfter === second))
      await payToken({ ...payer, to: deal.address, amountBaseUnits: AMOUNT });
    await mineSecond(beginning + second, blocksIn(second));
  }
  for (let second = 1; second <= 10; second += 1)
    await mineSecond(beginning + DOWNTIME_SECONDS + second, blocksIn(second));
}

describe.each(VARIANTS)('ten minutes without a scanner on a 0.45 s chain, $name', (variant) => {
  beforeAll(() => openWorld(variant));
  afterAll(closeWorld);

  it('verifies payments in chain order and credits all in time without expiring any', async () => {
    const first = await start('scanner-evm');
    await start('confirmation-tracker');
    await waitUntil('the first cursor', async () => (await cursor()).seen > 0);
    await end(first);
    const before = await cursor();
    const head = await callRpc<{ timestamp: string }>(anvil.rpcUrl, 'eth_getBlockByNumber', [
      'latest',
      false,
    ]);
    const beginning = Number(head.timestamp) + 5;
    const deals = await makeDeals(beginning);
    await liveThroughDowntime(beginning, deals);
    const target = await headHeight(anvil.rpcUrl);
    expect(target - before.seen).toBeGreaterThan(1_333);

    await start('scanner-evm');
    await waitUntil('all is verified', async () => (await cursor()).verified === target - CONFIRMATIONS + 1);

    const expected = new Map(deals.map((deal) => [deal.orderPk, fateOf(deal)]));
    await waitUntil(
      'the tracker has made of it what is due',
      async () => {
        const { rows } = await sql<{ order_pk: string; status: string }>`
          select order_pk, status from orders`.execute(admin.kysely);
        return rows.every((row) => row.status === expected.get(row.order_pk));
      },
      20_000,
    );
    const moved = (
      await sql<{
        order_pk: string;
        status: string;
      }>`select order_pk, status from moved order by place`.execute(admin.kysely)
    ).rows;
    const dealOf = (orderPk: string): Deal => deals.find((deal) => deal.orderPk === orderPk)!;
    const paidInTime = deals.filter((deal) => fateOf(deal) === 'SUCCESS');
    expect(paidInTime).toHaveLength(30);
    const expired = moved
      .filter((move) => move.status === 'EXPIRED')
      .map((move) => dealOf(move.order_pk).name);
    expect(new Set(expired)).toEqual(new Set(['late by a second', 'never paid']));
    // The tracker settles several events concurrently; the scanner verified their transfers in chain order.
    expect(moved.filter((move) => move.status === 'SUCCESS')).toHaveLength(30);
    const { rows: verified } = await sql<{ seconds: number }>`
      select extract(epoch from block_time)::int8 - ${beginning} as seconds from transfer where state = 'VERIFIED'
      order by verified_at, transfer_id`.execute(admin.kysely);
    const paidAfter = deals.flatMap((deal) => deal.paidAfter ?? []).toSorted((a, b) => a - b);
    expect(verified.map((transfer) => Number(transfer.seconds))).toEqual(paidAfter);
    const late = await sql<{ reason: string; n: number }>`
      select reason, count(*)::int as n from unmatched_deposit where not withdrawn group by reason`.execute(
      admin.kysely,
    );
    expect(late.rows).toEqual([{ reason: 'LATE', n: 10 }]);
  });
});

function fateOf({ name }: Deal): string {
  if (name.startsWith('in time')) return 'SUCCESS';
  return name === 'never paid, not expired' ? 'INIT' : 'EXPIRED';
}
