import { sql } from 'kysely';
import { expect } from 'vitest';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Database } from '@opentill/db/database';
import { seededRandom } from './seeded-random.ts';
import {
  auditTransfers,
  compareTransfers,
  undetectedTransfers,
  type Deposit,
  type TransferFindings,
} from './transfer-audit.ts';
import { waitUntil } from './wait-until.ts';
import type { WatchedScan } from './watched-scan.ts';

/** Simulated chain with a scanner and a naive scanner, each reading from Byzantine sources. */
export interface TruthPlan {
  readonly name: string;
  readonly seed: number;
  readonly blocks: number;
  /** Evenly spread. @default 0 */
  readonly reorgs?: number;
  /** Number of scanner restarts, used instead of reorganisations. @default 0 */
  readonly restarts?: number;
  readonly sources: 1 | 2;
  /** The second source is down for a third of the blocks; then until the cursor is up to date, or until an alarm. */
  readonly outage?: 'brief' | 'until-verified' | 'until-alarm';
  /** With `restIntervalMs`, all orders are closed, so that the scanner rests between any two blocks. */
  readonly network?: Partial<NetworkConfig>;
}

export interface TruthFindings extends TransferFindings {
  readonly deposits: number;
  readonly settled: boolean;
  /** Verified rows without an event, and events without a verified row. Empty if events are not checked. */
  readonly undetected: readonly string[];
  readonly naive: { readonly missed: number; readonly invented: number };
  readonly outage: OutageFindings | undefined;
  readonly failures: readonly unknown[];
  readonly seconds: number;
}

export interface OutageFindings {
  readonly verifiedBlocks: number;
  readonly isVerified: boolean;
  readonly alarms: readonly string[];
}

/** Simple scanner without any protection, for comparison. */
export interface NaiveScanner {
  step(): Promise<void>;
  /** Payments that it would credit, as `transaction amount` or by `keyOf`. */
  readonly credited: ReadonlySet<string>;
}

export interface RunningScanner {
  readonly failures: readonly unknown[];
  alarms?(): Promise<readonly string[]>;
  stop(): Promise<unknown>;
}

export interface TruthScene<Chain extends TruthChain, Extra> {
  readonly world: WatchedScan & { readonly admin: Database };
  readonly chain: Chain;
  /** Number of initial addresses. Every tenth block adds one. */
  readonly addresses: number;
  newDepositAddress(): Promise<string>;
  head(): number | Promise<number>;
  /** Upper bound of the random number of blocks by which the scanner may trail before the chain waits for it. */
  readonly lagBlocksMax: number;
  /** Maximum wait for the scanner. Real chains never wait. */
  readonly pauseMaxMs: number;
  startScanner(): Promise<RunningScanner>;
  /** Cursor position that shows that the scanner has started. */
  readonly begun: readonly ['seen' | 'verified', number];
  openNaive(height: number, isOurs: (address: string) => boolean): NaiveScanner | Promise<NaiveScanner>;
  keyOf?(deposit: Deposit): string;
  beforeBlock?(issued: readonly string[]): void;
  reorganise?(place: number): Promise<void>;
  readonly outage: {
    /** Stops the second source. From then on the first one has no fault that only two sources reveal. */
    begin(): void | Promise<void>;
    revive(): void;
    /** Restores all faults of both sources. */
    restore(): void;
    verifiable(): number | Promise<number>;
  };
  /** Mines the blocks that verify all deposits. Returns the height to verify, if it is not the last deposit's. */
  finish(): Promise<number | undefined>;
  /** Maximum wait for events; undefined if they are not checked. */
  readonly detectedMaxMs: number | undefined;
  extra(): Extra | Promise<Extra>;
}

export interface TruthChain {
  addAddress(address: string): void;
  /** Mines a block with payments to our addresses, to others, and with false payments. */
  produceBlock(): Promise<void>;
  /** All current deposits of the chain, read without the scanner's code. */
  truth(): readonly Deposit[] | Promise<readonly Deposit[]>;
}

const SETTLE_MAX_MS = 180_000;
const OUTAGE_MAX_MS = 90_000;
const BLOCKS_WHILE_STOPPED = 3;

/** Plays the plan while both scanners read, compares the results at the end and prints one line. */
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
      if (plan.network?.restIntervalMs !== undefined)
        await sql`update orders set status = 'EXPIRED' where status = 'INIT'`.execute(world.admin.kysely);
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
    const { detectedMaxMs } = scene;
    const findings: TruthFindings & Extra = {
      deposits: truth.length,
      settled,
      ...(await compareTransfers(world.admin.kysely, truth)),
      undetected:
        detectedMaxMs === undefined
          ? []
          : await undetectedTransfers(world.admin.kysely, world, detectedMaxMs),
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

/** One line with the seed, so that a failed run can be repeated. */
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

/** Requires every deposit to be found, verified once and reported, and no other. */
export function expectTruth(findings: TruthFindings, depositsMin: number): void {
  expect(findings).toMatchObject({ settled: true, missed: [], invented: [], unverified: 0, undetected: [] });
  expect(findings.deposits).toBeGreaterThanOrEqual(depositsMin);
}

interface Play {
  readonly running: { scanner: RunningScanner };
  readonly naive: NaiveScanner;
  readonly issued: readonly string[];
  issue(): Promise<void>;
}

/** Produces the plan's blocks and disturbances, at a pace that keeps the scanner near the head. */
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
        // In two of three cases the scanner is at the head, so that it must revert what it saw.
        if (random() < 0.67) await world.passed('seen', await scene.head(), pauseMaxMs);
        await scene.reorganise(place);
        await naive.step();
      }
    const lagBlocks = Math.floor(random() * (lagBlocksMax + 1));
    await world.passed('seen', (await scene.head()) - lagBlocks, pauseMaxMs);
  }
  return outage;
}

/** Stops the second source. Returns a function that waits as planned and restarts it. */
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
        'an alarm reports that nothing is verified',
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
    // While a single source is still accepted, it must not have faults that only two sources reveal.
    if (plan.outage !== 'brief')
      await waitUntil(
        'no single source is accepted',
        async () => !(await alarms()).includes('single-source'),
        OUTAGE_MAX_MS,
      );
    outage.restore();
    return findings;
  };
}
