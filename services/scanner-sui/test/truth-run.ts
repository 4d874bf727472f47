import type { NetworkConfig } from '@opentill/contracts/network-config';
import { seededRandom } from '@opentill/testkit/seeded-random';
import {
  auditTransfers,
  compareTransfers,
  untoldTransfers,
  type Deposit,
  type TransferFindings,
} from '@opentill/testkit/transfer-audit';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createLyingNode, type LyingNode } from './lying-nodes.ts';
import { createScannerWorld, type Replica, type ScannerWorld } from './scanner-world.ts';
import { createTruthChain, type TruthChain } from './truth-chain.ts';
import { createNaiveScanner } from './truth-naive.ts';

export interface TruthPlan {
  readonly name: string;
  readonly seed: number;
  readonly checkpoints: number;
  /** How many lying nodes the scanner has. */
  readonly sources: 1 | 2;
  /** How often the scanner is stopped and started anew. */
  readonly restarts?: number;
  /**
   * The second node is dead during the second third, and for as long as it takes until the verified cursor is at the head
   * ('until-verified') or an alarm says that nothing is verified ('until-alarm'). Meanwhile the first one tells the truth.
   */
  readonly outage?: 'until-verified' | 'until-alarm';
  readonly network?: Partial<NetworkConfig>;
  /** An address is paid that the scanner does not know: a comparison that is one finds its deposits missing. */
  readonly isControl?: boolean;
}

/** What the database says against what the chain says. */
export interface TruthFindings extends TransferFindings {
  readonly deposits: number;
  /** Whether the verified cursor came to the head in time. */
  readonly settled: boolean;
  /** Verified rows that no event told of, or events of rows that are not verified. */
  readonly untold: readonly string[];
  readonly sent: TruthChain['sent'];
  readonly naive: { readonly missed: number; readonly invented: number };
  /** Only of a plan with an outage: the alarms there were, and whether all was verified. */
  readonly outage: { readonly isVerified: boolean; readonly alarms: readonly string[] } | undefined;
  readonly failures: readonly unknown[];
  readonly lies: readonly LyingNode['told'][];
  readonly seconds: number;
}

const ADDRESSES = 20;
const PAUSE_MAX_MS = 1_500;
const SETTLE_MAX_MS = 90_000;

/** Runs a chain by the plan's seed, with the scanner and the naive one reading along, and compares at the end. */
export async function runTruth(plan: TruthPlan): Promise<TruthFindings> {
  const startedAt = performance.now();
  const world = await createScannerWorld(plan.network && { network: plan.network });
  const closers: (() => Promise<unknown>)[] = [() => world.close()];
  try {
    await auditTransfers(world.admin.kysely);
    const chain = createTruthChain(world.devnet, plan.seed);
    const issued: string[] = [];
    const issue = async (): Promise<void> => {
      const address = await world.newDepositAddress();
      issued.push(address);
      chain.addAddress(address);
    };
    for (let count = 0; count < ADDRESSES; count += 1) await issue();
    if (plan.isControl === true) chain.addAddress(`0x${'5e'.repeat(32)}`);
    const nodes = await openNodes(plan, world);
    const rpcUrls = nodes.map(({ url }) => url);
    const scanner: { replica: Replica } = { replica: await world.startReplica({ rpcUrls }) };
    closers.unshift(() => scanner.replica.stop());
    await world.passed('verified', 1, SETTLE_MAX_MS);
    const start = (await world.cursor()).verified;
    const naive = createNaiveScanner({
      url: rpcUrls[0]!,
      height: start,
      isOurs: (address) => issued.includes(address),
    });
    const restart = async (): Promise<void> => {
      await scanner.replica.stop();
      for (let count = 0; count < 3; count += 1) await chain.produceBlock();
      scanner.replica = await world.startReplica({ rpcUrls });
    };
    const step = (): Promise<void> => naive.step();
    const outage = await playChain(plan, world, chain, { nodes, scanner, issued, issue, step, restart });
    for (const node of nodes) node.clear();
    world.devnet.control.checkpoint();
    const head = world.devnet.control.summary().checkpoint;
    const settled = await world.passed('verified', head, SETTLE_MAX_MS);
    const truth = chain.truth().filter(({ height }) => height > start);
    const credited = new Set(truth.map(keyOf));
    return {
      deposits: truth.length,
      settled,
      ...(await compareTransfers(world.admin.kysely, truth)),
      untold: await untoldTransfers(world.admin.kysely, world, PAUSE_MAX_MS),
      sent: chain.sent,
      naive: {
        missed: [...credited].filter((key) => !naive.credited.has(key)).length,
        invented: [...naive.credited].filter((key) => !credited.has(key)).length,
      },
      outage,
      failures: scanner.replica.failures,
      lies: nodes.map(({ told }) => told),
      seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    };
  } finally {
    for (const close of closers) await close();
  }
}

const keyOf = ({ tx, position, amount }: Deposit): string => `${tx} ${position.replace(':', ' ')} ${amount}`;

/** One line for a run, so that one that fails can be run again. */
export function reportOf(plan: TruthPlan, findings: TruthFindings): string {
  const { missed, invented, untold: silent, failures, ...rest } = findings;
  const figures = {
    missed: missed.length,
    invented: invented.length,
    untold: silent.length,
    failures: failures.length,
  };
  const { name, seed, checkpoints } = plan;
  return `truth: ${JSON.stringify({ name, seed, checkpoints, ...figures, ...rest })}`;
}

async function openNodes(plan: TruthPlan, world: ScannerWorld): Promise<readonly LyingNode[]> {
  const coinTypes = Object.values(world.devnet.tokens);
  const isAlone = plan.sources === 1;
  return Promise.all(
    Array.from({ length: plan.sources }, async (_, place) =>
      createLyingNode(await world.devnet.control.openNode(), { seed: plan.seed, place, isAlone, coinTypes }),
    ),
  );
}

/** The checkpoints of the plan, at the pace at which the scanner keeps near the head; but it is waited for only so long. */
async function playChain(
  plan: TruthPlan,
  world: ScannerWorld,
  chain: TruthChain,
  on: {
    readonly nodes: readonly LyingNode[];
    readonly scanner: { readonly replica: Replica };
    readonly issued: readonly string[];
    issue(): Promise<void>;
    step(): Promise<void>;
    restart(): Promise<void>;
  },
): Promise<TruthFindings['outage']> {
  const random = seededRandom(plan.seed + 7);
  const head = (): number => world.devnet.control.summary().checkpoint;
  const everyCheckpoints = Math.floor(plan.checkpoints / ((plan.restarts ?? 0) + 1));
  const [living, dying] = on.nodes;
  let outage: TruthFindings['outage'];
  for (let count = 1; count <= plan.checkpoints; count += 1) {
    const isOut = plan.outage !== undefined && count >= plan.checkpoints / 3 && outage === undefined;
    if (isOut && count < plan.checkpoints / 3 + 1) dying!.kill();
    if (isOut) living!.clear();
    if (isOut && count >= (2 * plan.checkpoints) / 3) {
      outage = await endOutage(plan, world, on.scanner.replica);
      dying!.revive();
    }
    if (count % 10 === 0) await on.issue();
    for (const node of on.nodes) if (!isOut) node.next(head() + 1, on.issued);
    await chain.produceBlock();
    await on.step();
    if (count % everyCheckpoints === 0 && count < plan.checkpoints) await on.restart();
    await world.passed('seen', head() - Math.floor(random() * 3), PAUSE_MAX_MS);
  }
  return outage;
}

async function endOutage(
  plan: TruthPlan,
  world: ScannerWorld,
  scanner: Replica,
): Promise<NonNullable<TruthFindings['outage']>> {
  const { checkpoint } = world.devnet.control.summary();
  if (plan.outage === 'until-alarm')
    await waitUntil(
      'an alarm says that nothing is verified',
      async () => (await scanner.alarms()).includes('verification-failing'),
      SETTLE_MAX_MS,
    );
  const limitMs = plan.outage === 'until-verified' ? SETTLE_MAX_MS : 0;
  const isVerified = await world.passed('verified', checkpoint, limitMs);
  return { isVerified, alarms: await scanner.alarms() };
}
