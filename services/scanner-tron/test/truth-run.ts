import type { NetworkConfig } from '@opentill/contracts/network-config';
import {
  createLyingTronProxy,
  type LyingTronProxy,
  type TronNodeFault,
} from '@opentill/testkit/lying-tron-proxy';
import { seededRandom } from '@opentill/testkit/seeded-random';
import {
  auditTransfers,
  compareTransfers,
  untoldTransfers,
  type TransferFindings,
} from '@opentill/testkit/transfer-audit';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createScannerWorld, type Replica, type ScannerWorld } from './scanner-world.ts';
import { createTruthChain, type TruthChain } from './truth-chain.ts';
import { createNaiveScanner } from './truth-naive.ts';

export interface TruthPlan {
  readonly name: string;
  readonly seed: number;
  readonly blocks: number;
  /** So many, of depths 1 to 4, dropped or mined again in turn. */
  readonly reorgs: number;
  /** How many lying sources the scanner has. */
  readonly sources: 1 | 2;
  /**
   * The second source is dead during the second third of the blocks, and for as long as it takes until the verified cursor
   * has come where the chain is solid ('until-verified') or until an alarm says that nothing is verified ('until-alarm').
   * Meanwhile the first one's receipts are all there is: it lies in all ways but those that no one source reveals.
   */
  readonly outage?: 'until-verified' | 'until-alarm';
  readonly network?: Partial<NetworkConfig>;
  /** On top of FAULTS. */
  readonly faults?: Partial<Record<TronNodeFault, number>>;
}

/** What the database says against what the node says. */
export interface TruthFindings extends TransferFindings {
  readonly deposits: number;
  /** Whether the verified cursor passed the last deposit in time. */
  readonly settled: boolean;
  /** Verified rows that no event told of, or events of rows that are not verified. */
  readonly untold: readonly string[];
  readonly sent: TruthChain['sent'];
  readonly naive: { readonly missed: number; readonly invented: number };
  /** Only of a plan with an outage. */
  readonly outage: OutageFindings | undefined;
  /** What only the operator could mend, as the scanner said. */
  readonly failures: readonly unknown[];
  /** Lies told by each source. */
  readonly lies: readonly LyingTronProxy['injected'][];
  readonly seconds: number;
}

/** How the outage was when it ended. */
export interface OutageFindings {
  /** How far the verified cursor came meanwhile. */
  readonly verifiedBlocks: number;
  /** Whether it came where the chain is solid. */
  readonly isVerified: boolean;
  /** The alarms that there were. */
  readonly alarms: readonly string[];
}

/**
 * Chances of a fault; per request or per answer. A block takes two requests, so a few blocks take many. Complaints of too
 * many are rare: the reader slows down for minutes after each, and these blocks come ten times as fast as on TRON.
 */
export const FAULTS: Readonly<Record<TronNodeFault, number>> = {
  rateLimited: 0.0006,
  suspended: 0.0006,
  connectionReset: 0.005,
  truncatedJson: 0.005,
  unavailable: 0.003,
  delayed: 0.01,
  errorObject: 0.004,
  laggingNode: 0.03,
  jumpedHead: 0.015,
  wrongGenesis: 0.01,
  emptyObject: 0.015,
  emptyInfos: 0.05,
  truncatedInfos: 0.05,
  emptyBlock: 0.02,
  leftOut: 0.03,
  leftOutBesideOdd: 0.03,
  solidAhead: 0.05,
  solidJumped: 0.03,
  solidFellBack: 0.05,
  otherInfos: 0.03,
  swappedInfos: 0.05,
  droppedLog: 0.03,
  inventedLog: 0.03,
  inventedSuccess: 0.05,
  inventedFailure: 0.03,
};
/** One source cannot be found out where its receipts say something else: two can. */
export const HONEST_ALONE: Partial<Record<TronNodeFault, number>> = {
  droppedLog: 0,
  inventedLog: 0,
  inventedSuccess: 0,
};
/** So many blocks are seen and not solid. */
export const SOLID_LAG = 6;
const ADDRESSES = 20;
const REORG_DEPTH_MAX = 4;
const PAUSE_MAX_MS = 20_000;
const TOLD_MAX_MS = 60_000;
const SETTLE_MAX_MS = 180_000;
const OUTAGE_MAX_MS = 90_000;

/** Runs a chain by the plan's seed, with the scanner and the naive one reading along, and compares at the end. */
export async function runTruth(plan: TruthPlan): Promise<TruthFindings> {
  const startedAt = performance.now();
  const world = await createScannerWorld({
    solidLagBlocks: SOLID_LAG,
    // As mainnet.json has it: a node may call its head solid.
    network: { finality: { staleSeconds: 600, minDepth: SOLID_LAG + 1 }, ...plan.network },
  });
  const closers: (() => Promise<unknown>)[] = [() => world.close()];
  try {
    await auditTransfers(world.admin.kysely);
    const chain = await createTruthChain(world.devnet, plan.seed);
    const issued = new Set<string>();
    const issue = async (): Promise<void> => {
      const address = await world.newDepositAddress();
      issued.add(address);
      chain.addAddress(address);
    };
    for (let count = 0; count < ADDRESSES; count += 1) await issue();
    const proxies = await openProxies(plan, world.devnet.url);
    closers.unshift(...proxies.map((proxy) => () => proxy.close()));
    const scanner = await world.startReplica({ rpcUrls: proxies.map(({ url }) => url) });
    closers.unshift(() => scanner.stop());
    await world.passed('seen', 0, SETTLE_MAX_MS);
    const naive = createNaiveScanner({
      url: proxies[0]!.url,
      tokens: Object.values(world.devnet.tokens),
      height: (await world.cursor()).verified,
      isOurs: (address) => issued.has(address),
    });
    const start = (await world.cursor()).verified;
    const step = (): Promise<void> => naive.step();
    const outage = await playChain(plan, world, chain, { proxies, scanner, issue, step });
    await world.devnet.control.mine();
    const truth = (await chain.truth()).filter(({ height }) => height > start);
    await world.devnet.control.mine(SOLID_LAG + 1);
    const last = Math.max(...truth.map(({ height }) => height));
    const settled = await world.passed('verified', last, SETTLE_MAX_MS);
    const credited = new Set(truth.map(({ tx, amount }) => `${tx} ${amount}`));
    return {
      deposits: truth.length,
      settled,
      ...(await compareTransfers(world.admin.kysely, truth)),
      untold: await untoldTransfers(world.admin.kysely, world, TOLD_MAX_MS),
      sent: chain.sent,
      naive: {
        missed: [...credited].filter((key) => !naive.credited.has(key)).length,
        invented: [...naive.credited].filter((key) => !credited.has(key)).length,
      },
      outage,
      failures: scanner.failures,
      lies: proxies.map(({ injected }) => injected),
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

async function openProxies(plan: TruthPlan, upstreamUrl: string): Promise<readonly LyingTronProxy[]> {
  const faults = { ...FAULTS, ...(plan.sources === 1 ? HONEST_ALONE : {}), ...plan.faults };
  return Promise.all(
    Array.from({ length: plan.sources }, (_, place) =>
      createLyingTronProxy({
        upstreamUrl,
        seed: plan.seed * 1_000 + place,
        faults,
        lagBlocks: 2 + place,
        delayMs: 100,
        // No two sources can reveal what both say alike.
        mayLieOf: (txHash) => plan.sources === 1 || Number.parseInt(txHash.at(-1) ?? '0', 16) % 2 === place,
      }),
    ),
  );
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
    readonly proxies: readonly LyingTronProxy[];
    readonly scanner: Replica;
    issue(): Promise<void>;
    step(): Promise<void>;
  },
): Promise<OutageFindings | undefined> {
  const random = seededRandom(plan.seed + 7);
  const everyBlocks = Math.floor(plan.blocks / (plan.reorgs + 1));
  const head = (): number => world.devnet.control.summary().head;
  let outage: Outage | undefined;
  let findings: OutageFindings | undefined;
  for (let block = 1; block <= plan.blocks; block += 1) {
    if (plan.outage !== undefined && block === Math.ceil(plan.blocks / 3))
      outage = await startOutage(plan, world, on);
    if (block === Math.ceil((2 * plan.blocks) / 3)) findings = await outage?.end();
    if (block % 10 === 0) await on.issue();
    await chain.produceBlock();
    await on.step();
    const place = block / everyBlocks;
    if (Number.isInteger(place) && place <= plan.reorgs) {
      // Two of three find the scanner at the head, so that it has to take back what it saw.
      if (random() < 0.67) await world.passed('seen', head(), PAUSE_MAX_MS);
      await chain.reorganise(1 + ((place - 1) % REORG_DEPTH_MAX), place % 2 === 0);
      await on.step();
    }
    await world.passed('seen', head() - Math.floor(random() * 3), PAUSE_MAX_MS);
  }
  return findings;
}

interface Outage {
  end(): Promise<OutageFindings>;
}

/** Kills the second source. The end waits for what the plan says; then it is as it was before. */
async function startOutage(
  plan: TruthPlan,
  world: ScannerWorld,
  {
    proxies: [living, dead],
    scanner,
  }: { readonly proxies: readonly LyingTronProxy[]; readonly scanner: Replica },
): Promise<Outage> {
  const faults = { ...FAULTS, ...plan.faults };
  // What both have told already may be verified without them.
  await world.passed('verified', world.devnet.control.summary().solid, SETTLE_MAX_MS);
  dead!.setFaults({ connectionReset: 1 });
  living!.setFaults({ ...faults, ...HONEST_ALONE });
  const from = (await world.cursor()).verified;
  return {
    async end() {
      const { solid } = world.devnet.control.summary();
      const isVerified =
        plan.outage === 'until-verified'
          ? await world.passed('verified', solid, OUTAGE_MAX_MS)
          : await raised(scanner, 'verification-failing').then(
              async () => (await world.cursor()).verified >= solid,
            );
      const findings = {
        verifiedBlocks: (await world.cursor()).verified - from,
        isVerified,
        alarms: await scanner.alarms(),
      };
      for (const proxy of [living!, dead!]) proxy.setFaults(faults);
      return findings;
    },
  };
}

function raised(scanner: Replica, kind: string): Promise<void> {
  return waitUntil(`the alarm ${kind}`, async () => (await scanner.alarms()).includes(kind), OUTAGE_MAX_MS);
}
