import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { EventData, EventEnvelope } from '@opentill/contracts/event-catalog';
import { queueName } from '@opentill/contracts/topology';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { Anvil } from '@opentill/devnets/evm/anvil';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  DEV_TOKEN_ADDRESSES,
  headHeight,
  mine,
  payToken,
  setBlockTime,
} from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';
import { evmDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { readEvmTransfers } from '@opentill/testkit/evm-transfers';
import { aCollection, anEvmAddress } from '@opentill/testkit/scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startTokenChain } from './scanner-harness.ts';

const CHAINS: readonly { readonly chain: Chain; readonly chainId: number }[] = [
  { chain: 'ETH_SEPOLIA', chainId: 11155111 },
  { chain: 'BSC_TEST', chainId: 97 },
  { chain: 'POLYGON_AMOY', chainId: 80002 },
];
const WAIT_MAX_MS = 90_000;

export type Replica = Awaited<ReturnType<typeof startProcess>>;

export interface ChainCursor {
  readonly chain: string;
  readonly seen: number;
  readonly verified: number;
  readonly token: number;
}

export type HandOverWorld = Awaited<ReturnType<typeof createHandOverWorld>>;

/** Three devnets with a block per second and constant payments. */
export async function createHandOverWorld() {
  const dir = await mkdtemp(join(tmpdir(), 'hand-over-'));
  const database = await createTestDatabase();
  const admin = database.open('admin');
  const broker = await createTestBroker();
  const anvils = await Promise.all(CHAINS.map(({ chain, chainId }) => startChain(join(dir, chain), chainId)));
  const networksFile = join(dir, 'networks.json');
  const networks = CHAINS.map(({ chain, chainId }, place) =>
    evmDevnetNetwork(anvils[place]!, { chain, chainId, pollIntervalMs: 200 }),
  );
  await writeFile(networksFile, JSON.stringify({ networks }));
  const addresses = Array.from({ length: 5 }, anEvmAddress);
  for (const address of addresses) await aCollection(admin.kysely, { chain: CHAINS[0]!.chain, address });
  const running = new Set<Replica>();
  let payments: ReturnType<typeof payAllTheTime> | undefined;

  const cursors = async (): Promise<readonly ChainCursor[]> =>
    (
      await sql<ChainCursor>`
        select chain, seen_height as seen, verified_height as verified, fencing_token as token
        from chain_cursor order by chain`.execute(admin.kysely)
    ).rows;

  return {
    chains: CHAINS.length,
    cursors,
    async startReplica(name: string): Promise<Replica> {
      const replica = await startProcess(name, {
        DATABASE_URL: database.url('scanner_evm'),
        AMQP_URL: await broker.urlFor('scanner-evm'),
        NETWORKS_FILE: networksFile,
      });
      running.add(replica);
      void replica.ended.then(() => running.delete(replica));
      return replica;
    },
    /** Waits until this replica scans all chains. Payments start when the first one does. */
    async leads(replica: Replica): Promise<void> {
      await waitUntil(
        `${replica.name} scans all chains`,
        async () => {
          const details = await replica.details();
          return details.length === CHAINS.length && details.every((detail) => detail.startsWith('verified'));
        },
        WAIT_MAX_MS,
      );
      payments ??= payAllTheTime(anvils, addresses);
    },
    /** Remaining time of the longest lease. */
    async leaseSecondsLeft(): Promise<number> {
      const { rows } = await sql<{ seconds: number }>`
        select max(extract(epoch from expires_at - now()))::float8 as seconds from scanner_evm.lease
        where name like 'chain:%'`.execute(admin.kysely);
      return rows[0]!.seconds;
    },
    /** Waits until another replica holds every chain and has seen the current head. */
    async continued(leader: Replica): Promise<void> {
      const heads = await Promise.all(anvils.map(({ rpcUrl }) => headHeight(rpcUrl)));
      const target = new Map(CHAINS.map(({ chain }, place) => [chain as string, heads[place]!]));
      await waitUntil(
        'every chain goes on',
        async () => {
          const { rows: leases } = await sql<{ name: string; token: number; holder: string }>`
            select name, fencing_token as token, holder from scanner_evm.lease where name like 'chain:%'`.execute(
            admin.kysely,
          );
          return (await cursors()).every(({ chain, token, seen }) => {
            const lease = leases.find(({ name }) => name === `chain:${chain}`);
            const isTaken = !lease?.holder.startsWith(`${leader.name}#`) && lease?.token === token;
            return isTaken && seen >= (target.get(chain) ?? 0);
          });
        },
        WAIT_MAX_MS,
      );
    },
    /** Blocks every round between reading and commit. Resolves when all chains wait. */
    holdLookups: () =>
      holdBack(admin.kysely, 'deposit_address', sql`lock table deposit_address in access exclusive mode`),
    /** Blocks every commit after its first write. Resolves when all chains wait. */
    holdCommits: () => holdBack(admin.kysely, 'chain_cursor', sql`select from chain_cursor for update`),
    /** Stops the payments and waits until the last one is verified. */
    async settle(): Promise<void> {
      await payments?.stop();
      const heads = await Promise.all(anvils.map(({ rpcUrl }) => headHeight(rpcUrl)));
      const last = new Map(CHAINS.map(({ chain }, place) => [chain as string, heads[place]! + 1]));
      await waitUntil(
        'the last payment is verified',
        async () => (await cursors()).every(({ chain, verified }) => verified >= (last.get(chain) ?? 0)),
        WAIT_MAX_MS,
      );
    },
    /** `recorded` must return the same. */
    truth: () => paymentsOnChains(anvils, addresses),
    async recorded(): Promise<readonly string[]> {
      const { rows } = await sql<{ line: string }>`
        select concat_ws(' ', chain, block_height, block_hash, tx_hash, to_address, amount, state) as line
        from transfer`.execute(admin.kysely);
      return rows.map((row) => row.line).toSorted();
    },
    /** Events per verified transfer; a duplicate of the same event counts once. */
    eventCounts: () => eventCounts(admin.kysely, broker),
    async close(): Promise<void> {
      await payments?.stop();
      for (const replica of running) replica.signal('SIGKILL');
      await Promise.all([...running].map((replica) => replica.ended));
      await admin.close();
      await broker.drop();
      await database.drop();
      await Promise.all(anvils.map((anvil) => anvil.stop('kill')));
      await rm(dir, { recursive: true });
    },
  };
}

async function startChain(dir: string, chainId: number): Promise<Anvil> {
  const anvil = await startTokenChain(dir, { chainId });
  await mine({ rpcUrl: anvil.rpcUrl, blocks: 10 });
  await setBlockTime(anvil.rpcUrl, 1);
  return anvil;
}

function payAllTheTime(anvils: readonly Anvil[], addresses: readonly string[]): { stop(): Promise<void> } {
  let isStopped = false;
  let amount = 0n;
  const payers = anvils.map(async ({ rpcUrl }) => {
    while (!isStopped) {
      amount += 1n;
      await payToken({
        rpcUrl,
        token: DEV_TOKEN_ADDRESSES.USDT,
        fromKey: devAccount(1).privateKey,
        to: addresses[Number(amount) % addresses.length]!,
        amountBaseUnits: amount,
      });
      await new Promise((resolve) => setTimeout(resolve, 330));
    }
  });
  return {
    async stop() {
      isStopped = true;
      await Promise.all(payers);
    },
  };
}

async function paymentsOnChains(
  anvils: readonly Anvil[],
  addresses: readonly string[],
): Promise<readonly string[]> {
  const perChain = await Promise.all(
    CHAINS.map(async ({ chain }, place) => {
      const logs = await readEvmTransfers(anvils[place]!.rpcUrl, [DEV_TOKEN_ADDRESSES.USDT]);
      return logs
        .filter(({ to }) => addresses.includes(to))
        .map(({ height, block, tx, to, amount }) =>
          [chain, height, block, tx, to, amount, 'VERIFIED'].join(' '),
        );
    }),
  );
  return perChain.flat().toSorted();
}

async function eventCounts(db: Db, broker: TestBroker): Promise<readonly number[]> {
  const { rows } = await sql<{ id: string }>`select transfer_id::text as id from transfer`.execute(db);
  const counts = new Map(rows.map((row) => [row.id, 0]));
  await waitUntil('the outbox is empty', async () => {
    const waiting = await sql<{ n: number }>`select count(*)::int as n from scanner_evm.outbox`.execute(db);
    return waiting.rows[0]?.n === 0;
  });
  const messages = await broker.take(queueName('confirmation-tracker', 'block.verified'));
  const events = new Map(
    messages.map((message) => {
      const event = JSON.parse(message.content.toString()) as EventEnvelope<'block.verified'>;
      return [event.id, event.data as EventData['block.verified']] as const;
    }),
  );
  for (const { transferIds } of events.values())
    for (const id of transferIds) counts.set(id, (counts.get(id) ?? 0) + 1);
  return [...counts.values()];
}

/** Resolves when a statement of every chain waits for the lock. */
async function holdBack(
  db: Db,
  table: string,
  lock: ReturnType<typeof sql>,
): Promise<{ release(): Promise<void> }> {
  const tx = await db.startTransaction().execute();
  await lock.execute(tx);
  await waitUntil(`the rounds wait for ${table}`, async () => {
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${table}%`}
        and application_name like 'scanner-evm%'`.execute(db);
    return (rows[0]?.n ?? 0) >= CHAINS.length;
  });
  return { release: () => tx.rollback().execute() };
}

async function startProcess(name: string, env: Readonly<Record<string, string>>) {
  const healthPort = await findFreePort();
  const child: ChildProcess = spawn(
    process.execPath,
    [
      '--conditions=source',
      '--disable-warning=ExperimentalWarning',
      join(import.meta.dirname, '../src/main.ts'),
    ],
    {
      env: { ...NODE_ENVIRONMENT, HEALTH_PORT: `${healthPort}`, INSTANCE_ID: name, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const get = async (path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${healthPort}${path}`, { signal: AbortSignal.timeout(10_000) });
  return {
    name,
    signal: (signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') => void child.kill(signal),
    /** Commits it tried after losing its lease, from its own metrics. */
    async refusedCommits(): Promise<number> {
      const text = await (await get('/metrics')).text();
      const counts = [...text.matchAll(/^opentill_scanner_refused_commits_total\{.*\} (\d+)$/gm)];
      return counts.reduce((sum, found) => sum + Number(found[1]), 0);
    },
    async details(): Promise<readonly string[]> {
      const body = (await (await get('/readyz')).json()) as { checks: Record<string, { detail?: string }> };
      return CHAINS.flatMap(({ chain }) => body.checks[chain]?.detail ?? []);
    },
    ended: new Promise<unknown>((resolve) => child.once('close', resolve)),
  };
}
