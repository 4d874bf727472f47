import { expect } from 'vitest';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Database } from '@opentill/db/database';
import { seededRandom } from './seeded-random.ts';
import {
  auditTransfers,
  compareTransfers,
  untoldTransfers,
  type Deposit,
  type TransferFindings,
} from './transfer-audit.ts';
import { waitUntil } from './wait-until.ts';
import type { WatchedScan } from './watched-scan.ts';

/** A run of a chain with a scanner and a naive one, each between sources that lie. */
export interface TruthPlan {
  readonly name: string;
  readonly seed: number;
  readonly blocks: number;
  /** Reorganisations, evenly spread. @default 0 */
  readonly reorgs?: number;
  /** How often the scanner is stopped and started again, instead of reorganisations. @default 0 */
  readonly restarts?: number;
  /** How many lying sources the scanner has. */
  readonly sources: 1 | 2;
  /**
   * The second source is dead during the second third of the blocks; then for as long as it takes until the verified cursor is where it
   * may be ('until-verified') or an alarm says that nothing is verified ('until-alarm').
   */
  readonly outage?: 'brief' | 'until-verified' | 'until-alarm';
  readonly network?: Partial<NetworkConfig>;
}

/** What the database says against what the node says. */
export interface TruthFindings extends TransferFindings {
  readonly deposits: number;
  /** Whether the verified cursor passed the last deposit in time. */
  readonly settled: boolean;
  /** Verified rows that no event told of, or events of rows that are not verified; empty where events are not checked. */
  readonly untold: readonly string[];
  readonly naive: { readonly missed: number; readonly invented: number };
  /** How the outage was when it ended. Only of a plan with one. */
  readonly outage: OutageFindings | undefined;
  /** Failures of the scanner that only the operator can mend. */
  readonly failures: readonly unknown[];
  readonly seconds: number;
}

export interface OutageFindings {
  /** How far the verified cursor came meanwhile. */
  readonly verifiedBlocks: number;
  /** Whether it came where it may be. */
  readonly isVerified: boolean;
  /** The alarms that there were. */
  readonly alarms: readonly string[];
}

/** The scanner that everybody writes first. */
export interface NaiveScanner {
  /** Reads up to the head that the node names. */
  step(): Promise<void>;
  /** What it would have credited, as `transaction amount` unless `keyOf` says otherwise. */
  readonly credited: ReadonlySet<string>;
}

export interface RunningScanner {
  readonly failures: readonly unknown[];
  alarms?(): Promise<readonly string[]>;
  stop(): Promise<unknown>;
}

/** What a family brings to a run. */
export interface TruthScene<Chain extends TruthChain, Extra> {
  readonly world: WatchedScan & { readonly admin: Database };
  readonly chain: Chain;
  /** Addresses that are given out at first. Every tenth block brings one more. */
  readonly addresses: number;
  newDepositAddress(): Promise<string>;
  head(): number | Promise<number>;
  /** The chain waits for the scanner when it is so many blocks behind, or fewer; by chance. */
  readonly lagBlocksMax: number;
  /** How long the chain waits for the scanner. It never waits longer, as no chain waits at all. */
  readonly pauseMaxMs: number;
  startScanner(): Promise<RunningScanner>;
  /** The cursor that shows that the scanner has begun. */
  readonly begun: readonly ['seen' | 'verified', number];
  openNaive(height: number, isOurs: (address: string) => boolean): NaiveScanner | Promise<NaiveScanner>;
  keyOf?(deposit: Deposit): string;
  beforeBlock?(issued: readonly string[]): void;
  reorganise?(place: number): Promise<void>;
  readonly outage: {
    /** Kills the second source. The first one has from now on no fault that it takes two to reveal. */
    begin(): void | Promise<void>;
    /** Brings the second source back. */
    revive(): void;
    /** Both have all their faults again. */
    restore(): void;
    verifiable(): number | Promise<number>;
  };
  /** Makes the blocks that verify all deposits. Gives the height to be verified, where it is not that of the last deposit. */
  finish(): Promise<number | undefined>;
  /** How long events are waited for; undefined where they are not checked. */
  readonly toldMaxMs: number | undefined;
  extra(): Extra | Promise<Extra>;
}

export interface TruthChain {
  /** Deposits may go to this address from now on. */
  addAddress(address: string): void;
  /** One block of payments to us and to others, and of what only looks like such. */
  produceBlock(): Promise<void>;
  /** All deposits of the chain as it is now, read without the scanner's code. */
  truth(): readonly Deposit[] | Promise<readonly Deposit[]>;
}

const SETTLE_MAX_MS = 180_000;
const OUTAGE_MAX_MS = 90_000;
const BLOCKS_WHILE_STOPPED = 3;

/** Runs a chain by the plan's seed, with the scanner and the naive one reading along, compares at the end, and prints one line. */
export async function runTruthOf<Plan extends TruthPlan, Chain extends TruthChain, Extra>(
  plan: Plan,
  open: (plan: Plan, onClose: (close: () => unknown) => void) => Promise<TruthScene<Chain, Extra>>,
): Promise<TruthFindings & Extra> {
  const startedAt = performance.now();
  const closers: (() => unknown)[] = [];
  try {
    const scene = await open(plan, (close) => void closers.unshift(close));
    const { world, chain } = scene;
    await auditTransfers(world.admin.kysely);
    const issued: string[] = [];
    const issue = async (): Promise<void> => {
      const address = await scene.newDepositAddress();
      issued.push(address);
      chain.addAddress(address);
    };
    for (let count = 0; count < scene.addresses; count += 1) await issue();
    const running = { scanner: await scene.startScanner() };
    closers.unshift(() => running.scanner.stop());
    await world.passed(...scene.begun, SETTLE_MAX_MS);
    const start = (await world.cursor()).verified;
    const naive = await scene.openNaive(start, (address) => issued.includes(address));
    const outage = await playChain(plan, scene, { running, naive, issued, issue });
    const target = await scene.finish();
    const truth = (await chain.truth()).filter(({ height }) => height > start);
    const last = target ?? Math.max(...truth.map(({ height }) => height));
    const settled = await world.passed('verified', last, SETTLE_MAX_MS);
    const credited = new Set(truth.map(scene.keyOf ?? (({ tx, amount }) => `${tx} ${amount}`)));
    const { toldMaxMs } = scene;
    const findings: TruthFindings & Extra = {
      deposits: truth.length,
      settled,
      ...(await compareTransfers(world.admin.kysely, truth)),
      untold: toldMaxMs === undefined ? [] : await untoldTransfers(world.admin.kysely, world, toldMaxMs),
      naive: {
        missed: [...credited].filter((key) => !naive.credited.has(key)).length,
        invented: [...naive.credited].filter((key) => !credited.has(key)).length,
      },
      outage,
      failures: running.scanner.failures,
      ...(await scene.extra()),
      seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    };
    process.stdout.write(`${reportOf(plan, findings)}\n`);
    return findings;
  } finally {
    for (const close of closers) await close();
  }
}

/** One line for a run, so that one that fails can be run again. */
function reportOf({ name, seed, blocks, reorgs, restarts }: TruthPlan, findings: TruthFindings): string {
  const counts = Object.fromEntries(
    Object.entries(findings).map(([key, value]) => [
      key,
      ['missed', 'invented', 'untold', 'failures'].includes(key)
        ? (value as unknown[]).length
        : (value as unknown),
    ]),
  );
  return `truth: ${JSON.stringify({ name, seed, blocks, reorgs, restarts, ...counts })}`;
}

/** What must hold of every run: all deposits are there, verified once and reported, and nothing else. */
export function expectTruth(findings: TruthFindings, depositsMin: number): void {
  expect(findings).toMatchObject({ settled: true, missed: [], invented: [], unverified: 0, untold: [] });
  expect(findings.deposits).toBeGreaterThanOrEqual(depositsMin);
}

interface Play {
  readonly running: { scanner: RunningScanner };
  readonly naive: NaiveScanner;
  readonly issued: readonly string[];
  issue(): Promise<void>;
}

/** The blocks and disturbances of the plan, at the pace at which the scanner keeps near the head. */
async function playChain<Chain extends TruthChain>(
  plan: TruthPlan,
  scene: TruthScene<Chain, unknown>,
  { running, naive, issued, issue }: Play,
): Promise<OutageFindings | undefined> {
  const { world, chain, lagBlocksMax, pauseMaxMs } = scene;
  const random = seededRandom(plan.seed + 7);
  const disturbances = plan.reorgs ?? plan.restarts ?? 0;
  const everyBlocks = Math.floor(plan.blocks / (disturbances + 1));
  let endOutage: (() => Promise<OutageFindings>) | undefined;
  let outage: OutageFindings | undefined;
  for (let block = 1; block <= plan.blocks; block += 1) {
    if (plan.outage !== undefined && block === Math.ceil(plan.blocks / 3))
      endOutage = await beginOutage(plan, scene, running);
    if (block === Math.ceil((2 * plan.blocks) / 3)) outage = await endOutage?.();
    if (block % 10 === 0) await issue();
    scene.beforeBlock?.(issued);
    await chain.produceBlock();
    await naive.step();
    const place = block / everyBlocks;
    if (Number.isInteger(place) && place <= disturbances)
      if (scene.reorganise === undefined) {
        await running.scanner.stop();
        for (let count = 0; count < BLOCKS_WHILE_STOPPED; count += 1) await chain.produceBlock();
        running.scanner = await scene.startScanner();
      } else {
        // Two of three find the scanner at the head, so that it has to take back what it saw.
        if (random() < 0.67) await world.passed('seen', await scene.head(), pauseMaxMs);
        await scene.reorganise(place);
        await naive.step();
      }
    const lagBlocks = Math.floor(random() * (lagBlocksMax + 1));
    await world.passed('seen', (await scene.head()) - lagBlocks, pauseMaxMs);
  }
  return outage;
}

/** Kills the second source. Gives the function that waits as the plan says and brings it back. */
async function beginOutage<Chain extends TruthChain>(
  plan: TruthPlan,
  { world, outage }: TruthScene<Chain, unknown>,
  running: Play['running'],
): Promise<() => Promise<OutageFindings>> {
  await outage.begin();
  const from = (await world.cursor()).verified;
  const alarms = async (): Promise<readonly string[]> => (await running.scanner.alarms?.()) ?? [];
  return async () => {
    const height = await outage.verifiable();
    if (plan.outage === 'until-verified') await world.passed('verified', height, OUTAGE_MAX_MS);
    if (plan.outage === 'until-alarm')
      await waitUntil(
        'an alarm says that nothing is verified',
        async () => (await alarms()).includes('verification-failing'),
        OUTAGE_MAX_MS,
      );
    const { verified } = await world.cursor();
    const findings = {
      verifiedBlocks: verified - from,
      isVerified: verified >= height,
      alarms: await alarms(),
    };
    outage.revive();
    // A single source that is still believed alone must not have faults that only two reveal.
    if (plan.outage !== 'brief')
      await waitUntil(
        'no source is believed alone',
        async () => !(await alarms()).includes('single-source'),
        OUTAGE_MAX_MS,
      );
    outage.restore();
    return findings;
  };
}
