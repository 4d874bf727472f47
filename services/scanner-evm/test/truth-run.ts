import type { ChainReader } from '@opentill/chain/chain-reader';
import { evmFamily } from '@opentill/chain-evm/family';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { keepLease } from '@opentill/db/lease';
import { DEV_TOKEN_ADDRESSES } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { createObserve } from '@opentill/scanner/observe';
import { createChainGates, startChainScan } from '@opentill/scanner/scan-chain';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import { createScanStore } from '@opentill/scanner/store/scan-store';
import {
  createLyingRpcProxy,
  type LyingRpcOptions,
  type LyingRpcProxy,
  type RpcFault,
} from '@opentill/testkit/lying-rpc-proxy';
import { aCollection, aMerchant, anEvmAddress } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import {
  auditTransfers,
  compareTransfers,
  untoldTransfers,
  type TransferFindings,
} from '@opentill/testkit/transfer-audit';
import { createScannerWorld, CHAIN, type ScannerWorld } from './scanner-harness.ts';
import { createTruthChain, type Fates, type ReorgKind, type TruthChain } from './truth-chain.ts';
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
export interface TruthFindings extends TransferFindings {
  readonly deposits: number;
  /** Whether the verified cursor passed the last deposit in time. */
  readonly settled: boolean;
  /** Verified rows that no event told of, or events of rows that are not verified; empty for crippled scanners. */
  readonly untold: readonly string[];
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
const PAUSE_MAX_MS = 20_000;
const TOLD_MAX_MS = 60_000;
const SETTLE_MAX_MS = 180_000;

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
    await world.passed('seen', 0, SETTLE_MAX_MS);
    // A node of its own that lies alike: what it is told must not hang on when the scanner asks.
    const toldToNaive = await openProxy(plan, world.anvil.rpcUrl, 0);
    closers.unshift(() => toldToNaive.close());
    const naive = createNaiveScanner({
      rpcUrl: toldToNaive.url,
      tokens: TOKENS,
      height: (await world.cursor()).verified,
      isOurs: (address) => addresses.issued.has(address),
    });
    await playChain(plan, world, chain, { proxies, addresses, step: () => naive.step() });
    const truth = await chain.truth();
    await world.mine(CONFIRMATIONS + 2);
    const settled = await world.passed(
      'verified',
      Math.max(...truth.map((deposit) => deposit.height)),
      SETTLE_MAX_MS,
    );
    const credited = new Set(truth.map(({ tx, amount }) => `${tx} ${amount}`));
    return {
      deposits: truth.length,
      settled,
      ...(await compareTransfers(world.admin.kysely, truth)),
      untold:
        plan.crippled === undefined ? await untoldTransfers(world.admin.kysely, world, TOLD_MAX_MS) : [],
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

function openProxies(plan: TruthPlan, upstreamUrl: string): Promise<readonly LyingRpcProxy[]> {
  return Promise.all(Array.from({ length: plan.sources }, (_, place) => openProxy(plan, upstreamUrl, place)));
}

function openProxy(plan: TruthPlan, upstreamUrl: string, place: number): Promise<LyingRpcProxy> {
  const caps = [
    { rangeCapBlocks: 7, resultCapLogs: 60 },
    { rangeCapBlocks: 12, lagBlocks: 3 },
  ];
  return createLyingRpcProxy({
    upstreamUrl,
    seed: plan.seed * 1_000 + place,
    faults: { ...FAULTS, ...plan.faults },
    delayMs: 150,
    ...caps[place],
    // No two sources can reveal what both leave out of a block of which both answer other logs.
    ...(plan.sources === 1 ? {} : liesOfItsOwn(place)),
  });
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
    observe: createObserve({ logger, metrics: createMetrics('scanner-evm'), clock }),
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
    gates: createChainGates(clock, (error) => failures.push(error)),
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
      if (random() < 0.67) await world.passed('seen', await headOf(world), PAUSE_MAX_MS);
      const kind = KINDS[place % KINDS.length]!;
      const depth = 1 + ((place - 1) % REORG_DEPTH_MAX);
      await chain.reorganise(kind, kind === 'renumbered' ? Math.max(depth, 2) : depth);
      await on.step();
    }
    const mayLag = Math.floor(random() * 4);
    await world.passed('seen', (await headOf(world)) - mayLag, PAUSE_MAX_MS);
  }
}

async function headOf(world: ScannerWorld): Promise<number> {
  return Number(await callRpc<string>(world.anvil.rpcUrl, 'eth_blockNumber', []));
}
