import { sql } from 'kysely';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { evmFamily } from '@opentill/chain-evm/family';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import { DEV_TOKEN_ADDRESSES } from '@opentill/devnet/evm-devnet';
import { callRpc } from '@opentill/devnet/json-rpc';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { createScanObserver } from '@opentill/scanner/observe';
import { startChainScan } from '@opentill/scanner/scan-chain';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import { createScanStore } from '@opentill/scanner/store';
import {
  createLyingRpcProxy,
  type LyingRpcOptions,
  type LyingRpcProxy,
  type RpcFault,
} from '@opentill/testkit/lying-rpc-proxy';
import { aCollection, aMerchant, anEvmAddress } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { createScannerWorld, CHAIN, type ScannerWorld } from './scanner-harness.ts';
import {
  createTruthChain,
  type Deposit,
  type Fates,
  type ReorgKind,
  type TruthChain,
} from './truth-chain.ts';
import { createNaiveScanner } from './truth-naive.ts';

export interface TruthPlan {
  readonly name: string;
  readonly seed: number;
  readonly blocks: number;
  /** So many, of depths 1 to 6, every kind among them. */
  readonly reorgs: number;
  /** How many lying sources the scanner has. */
  readonly sources: 1 | 2;
  /** The second source is dead during the second third of the blocks. @default false */
  readonly hasOutage?: boolean;
  readonly network?: Partial<NetworkConfig>;
  /** On top of FAULTS. */
  readonly faults?: Partial<Record<RpcFault, number>>;
  /** For controls: a scanner with a part of it taken away. Default: the service as it is. */
  readonly crippled?: (reader: ChainReader) => ChainReader;
}

/** What the database says against what the node says. */
export interface TruthFindings {
  readonly deposits: number;
  /** Deposits that are not live, verified and told as the node tells them. */
  readonly missed: readonly string[];
  /** Whether the verified cursor passed the last deposit in time. */
  readonly settled: boolean;
  /** Live rows of no deposit. */
  readonly invented: readonly string[];
  /** Deposits verified at one time and something else later. */
  readonly unverified: number;
  /** Verified rows that no event told of, or events of rows that are not verified; empty for crippled scanners. */
  readonly untold: readonly string[];
  /** Rows that a reorganisation or the verified pass took back at some time. */
  readonly orphanings: number;
  readonly fates: Fates;
  readonly naive: { readonly missed: number; readonly invented: number };
  /** What only the operator could mend, as the scanner said. */
  readonly failures: readonly unknown[];
  /** Lies told by each source. */
  readonly lies: readonly LyingRpcProxy['injected'][];
  readonly seconds: number;
}

/** Chances of a fault; per request, per call or per answer. The rarest are not in every run. */
export const FAULTS: Readonly<Record<RpcFault, number>> = {
  rateLimited: 0.005,
  connectionReset: 0.02,
  truncatedJson: 0.02,
  unavailable: 0.01,
  delayed: 0.03,
  laggingNode: 0.06,
  laggingLogs: 0.1,
  answerMissing: 0.01,
  internalError: 0.001,
  wrongChainId: 0.05,
  falseEmpty: 0.1,
  droppedBlockOfLogs: 0.1,
  droppedLog: 0.2,
  duplicatedLog: 0.1,
  orphanedLog: 0.02,
  inventedLog: 0.03,
  receiptMissing: 0.003,
  blockReceiptsShort: 0.05,
};
const CONFIRMATIONS = 8;
const ADDRESSES = 60;
const KINDS: readonly ReorgKind[] = ['mixed', 'renumbered', 'failed', 'vanished'];
const REORG_DEPTH_MAX = 6;
const TOKENS = Object.values(DEV_TOKEN_ADDRESSES).map((address) => address.toLowerCase());
const PAUSE_MAX_MS = 5_000;
const SETTLE_MAX_MS = 60_000;

/** Runs a chain by the plan's seed, with the scanner and the naive one reading along, and compares at the end. */
export async function runTruth(plan: TruthPlan): Promise<TruthFindings> {
  const startedAt = performance.now();
  const world = await createScannerWorld({
    slotsInAnEpoch: CONFIRMATIONS / 2,
    network: { confirmations: CONFIRMATIONS, ...plan.network },
  });
  const closers: (() => Promise<unknown>)[] = [() => world.close()];
  try {
    await auditTransfers(world.admin.kysely);
    const chain = await createTruthChain(world.anvil.rpcUrl, plan.seed);
    const addresses = await addressIssuer(world, chain);
    for (let i = 0; i < ADDRESSES; i += 1) await addresses.issue();
    const proxies = await openProxies(plan, world.anvil.rpcUrl);
    closers.unshift(...proxies.map((proxy) => () => proxy.close()));
    const scanner = await startScanner(plan, world, proxies);
    closers.unshift(() => scanner.stop());
    await passed(world, 'seen', 0, SETTLE_MAX_MS);
    const naive = createNaiveScanner({
      rpcUrl: proxies[0]!.url,
      tokens: TOKENS,
      height: (await world.cursor()).verified,
      isOurs: (address) => addresses.issued.has(address),
    });
    await playChain(plan, world, chain, { proxies, addresses, step: () => naive.step() });
    const truth = await chain.truth();
    await world.mine(CONFIRMATIONS + 2);
    const settled = await passed(
      world,
      'verified',
      Math.max(...truth.map((deposit) => deposit.height)),
      SETTLE_MAX_MS,
    );
    const credited = new Set(truth.map(({ tx, amount }) => `${tx} ${amount}`));
    return {
      deposits: truth.length,
      settled,
      ...(await compare(world.admin.kysely, truth)),
      untold: plan.crippled === undefined ? await untold(world) : [],
      fates: await chain.fates(),
      naive: {
        missed: [...credited].filter((key) => !naive.credited.has(key)).length,
        invented: [...naive.credited].filter((key) => !credited.has(key)).length,
      },
      failures: scanner.failures,
      lies: proxies.map((proxy) => proxy.injected),
      seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    };
  } finally {
    for (const close of closers) await close();
  }
}

/** One line for a run, so that one that fails can be run again. */
export function reportOf(plan: TruthPlan, findings: TruthFindings): string {
  const { missed, invented, untold: silent, failures, lies, ...rest } = findings;
  const told = lies.map((injected) => Object.values(injected).reduce((a, b) => a + b, 0));
  const figures = {
    missed: missed.length,
    invented: invented.length,
    untold: silent.length,
    failures: failures.length,
  };
  const { name, seed, blocks, reorgs } = plan;
  return `truth: ${JSON.stringify({ name, seed, blocks, reorgs, ...figures, ...rest, lies: told })}`;
}

const lastByte = (hash: string): number => Number.parseInt(hash.slice(-2), 16);

/** What the source at this place may leave out, so that the other does not leave out the same. */
function liesOfItsOwn(place: number): Pick<LyingRpcOptions, 'mayDrop'> {
  return {
    mayDrop: ({ transactionHash, logIndex }) => (lastByte(transactionHash) + Number(logIndex)) % 2 === place,
  };
}

async function openProxies(plan: TruthPlan, upstreamUrl: string): Promise<readonly LyingRpcProxy[]> {
  const faults = { ...FAULTS, ...plan.faults };
  const caps = [
    { rangeCapBlocks: 7, resultCapLogs: 60 },
    { rangeCapBlocks: 12, lagBlocks: 3 },
  ];
  return Promise.all(
    caps.slice(0, plan.sources).map((cap, place) =>
      createLyingRpcProxy({
        upstreamUrl,
        seed: plan.seed * 1_000 + place,
        faults,
        delayMs: 150,
        ...cap,
        // No two sources can reveal what both leave out of a block of which both answer other logs.
        ...(plan.sources === 1 ? {} : liesOfItsOwn(place)),
      }),
    ),
  );
}

interface RunningScanner {
  readonly failures: readonly unknown[];
  stop(): Promise<unknown>;
}

async function startScanner(
  plan: TruthPlan,
  world: ScannerWorld,
  proxies: readonly LyingRpcProxy[],
): Promise<RunningScanner> {
  const rpcUrls = proxies.map((proxy) => proxy.url);
  if (plan.crippled === undefined) return world.startReplica({ network: { rpcUrls } });
  const db = world.database.open('scanner_evm');
  const logger = createLogger({ service: 'scanner-evm', level: 'silent' });
  const network = { ...world.network, rpcUrls };
  const failures: unknown[] = [];
  const clock = systemClock;
  const scan = startChainScan({
    network: scanNetworkOf(network, evmFamily.addressCodec.parse),
    reader: plan.crippled(evmFamily.createReader(network, {})),
    store: createScanStore({ db: db.kysely, schema: 'scanner_evm', clock, newId }),
    observe: createScanObserver({ logger, metrics: createMetrics('scanner-evm'), clock }),
    clock,
    lease: keepLease({
      db: db.kysely,
      schema: 'scanner_evm',
      name: `chain:${CHAIN}`,
      holder: 'crippled',
      ttlMs: 1_500,
      logger,
    }),
    leaseIntervalMs: 500,
    onCommitted: () => undefined,
    onMisconfigured: (error) => failures.push(error),
  });
  return {
    failures,
    async stop() {
      await scan.stop();
      await db.close();
    },
  };
}

interface AddressIssuer {
  readonly issued: ReadonlySet<string>;
  issue(): Promise<void>;
}

/** Addresses are known to the database before the chain may pay to them, as the api does it. */
async function addressIssuer(world: ScannerWorld, chain: TruthChain): Promise<AddressIssuer> {
  const { merchantId } = await aMerchant(world.admin.kysely);
  const issued = new Set<string>();
  return {
    issued,
    async issue() {
      const address = anEvmAddress();
      await aCollection(world.admin.kysely, { chain: CHAIN, address, merchant_id: merchantId });
      issued.add(address);
      chain.addAddress(address);
    },
  };
}

/**
 * The blocks and reorganisations of the plan, at the pace at which the scanner keeps near the head; but it is waited
 * for only so long, as no chain waits at all.
 */
async function playChain(
  plan: TruthPlan,
  world: ScannerWorld,
  chain: TruthChain,
  on: {
    readonly proxies: readonly LyingRpcProxy[];
    readonly addresses: AddressIssuer;
    step(): Promise<void>;
  },
): Promise<void> {
  const random = seededRandom(plan.seed + 7);
  const everyBlocks = Math.floor(plan.blocks / (plan.reorgs + 1));
  const dead = on.proxies[1];
  for (let block = 1; block <= plan.blocks; block += 1) {
    if (plan.hasOutage === true && block === Math.ceil(plan.blocks / 3))
      dead?.setFaults({ connectionReset: 1 });
    if (plan.hasOutage === true && block === Math.ceil((2 * plan.blocks) / 3))
      dead?.setFaults({ ...FAULTS, ...plan.faults });
    if (block % 10 === 0) await on.addresses.issue();
    await chain.produceBlock();
    await on.step();
    const place = block / everyBlocks;
    if (Number.isInteger(place) && place <= plan.reorgs) {
      // Two of three find the scanner at the head, so that it has to take back what it saw.
      if (random() < 0.67) await passed(world, 'seen', await headOf(world), PAUSE_MAX_MS);
      const kind = KINDS[place % KINDS.length]!;
      const depth = 1 + ((place - 1) % REORG_DEPTH_MAX);
      await chain.reorganise(kind, kind === 'renumbered' ? Math.max(depth, 2) : depth);
      await on.step();
    }
    const mayLag = Math.floor(random() * 4);
    await passed(world, 'seen', (await headOf(world)) - mayLag, PAUSE_MAX_MS);
  }
}

async function headOf(world: ScannerWorld): Promise<number> {
  return Number(await callRpc<string>(world.anvil.rpcUrl, 'eth_blockNumber', []));
}

/** Waits until a cursor is at a height; false when it is not in time. */
async function passed(
  world: ScannerWorld,
  which: 'seen' | 'verified',
  height: number,
  limitMs: number,
): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (performance.now() < deadline) {
    const cursor = await world.cursor().catch(() => undefined);
    if (cursor !== undefined && cursor[which] >= height) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}

/** Keeps every change of a transfer's state, in the database itself. */
async function auditTransfers(db: Db): Promise<void> {
  await sql`create table truth_audit (place bigserial, transfer_id bigint, was text, became text)`.execute(
    db,
  );
  await sql`
    create function truth_note() returns trigger language plpgsql security definer set search_path = public as $$
    begin
      insert into truth_audit (transfer_id, was, became)
      values (new.transfer_id, case when tg_op = 'UPDATE' then old.state::text end, new.state::text);
      return null;
    end $$`.execute(db);
  await sql`create trigger truth_note after insert or update on transfer for each row execute function truth_note()`.execute(
    db,
  );
}

async function compare(
  db: Db,
  truth: readonly Deposit[],
): Promise<Pick<TruthFindings, 'missed' | 'invented' | 'unverified' | 'orphanings'>> {
  const { rows } = await sql<Deposit & { readonly state: string }>`
    select tx_hash as tx, position, contract_address as token, to_address as "to", amount::text as amount,
      block_height as height, block_hash as block, state from transfer where state <> 'ORPHANED'`.execute(db);
  const textOf = (row: Deposit, state: string): string =>
    [row.tx, row.position, row.token, row.to, row.amount, row.height, row.block, state]
      .join(' ')
      .toLowerCase();
  const live = new Set(rows.map((row) => textOf(row, row.state)));
  const expected = new Set(truth.map((deposit) => textOf(deposit, 'VERIFIED')));
  const count = async (condition: ReturnType<typeof sql>): Promise<number> =>
    (await sql<{ n: number }>`select count(*)::int as n from truth_audit where ${condition}`.execute(db))
      .rows[0]!.n;
  return {
    missed: [...expected].filter((text) => !live.has(text)),
    invented: [...live].filter((text) => !expected.has(text)),
    unverified: await count(sql`was = 'VERIFIED' and became <> 'VERIFIED'`),
    orphanings: await count(sql`became = 'ORPHANED'`),
  };
}

/** Every verified transfer was told of in a block.verified, and nothing else was. */
async function untold(world: ScannerWorld): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select transfer_id::text as id from transfer where state = 'VERIFIED'`.execute(world.admin.kysely);
  const verified = new Set(rows.map((row) => row.id));
  const told = new Set<string>();
  const different = (): readonly string[] => [
    ...[...verified].filter((id) => !told.has(id)),
    ...[...told].filter((id) => !verified.has(id)),
  ];
  const deadline = performance.now() + PAUSE_MAX_MS;
  do {
    for (const event of await world.takeEvents('block.verified'))
      for (const id of event.data.transferIds) told.add(id);
  } while (different().length > 0 && performance.now() < deadline);
  return different();
}
