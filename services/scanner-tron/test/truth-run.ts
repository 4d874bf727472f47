import {
  createByzantineTronProxy,
  type ByzantineTronProxy,
  type TronNodeFault,
} from '@opentill/testkit/byzantine-tron-proxy';
import {
  runTruthOf,
  type TruthFindings as Findings,
  type TruthPlan as Plan,
} from '@opentill/testkit/truth-run';
import { createScannerWorld } from './scanner-world.ts';
import { createTruthChain, type TruthChain } from './truth-chain.ts';
import { createNaiveScanner } from './truth-naive.ts';

/**
 * Reorganisations alternately drop or re-mine transactions. In an outage the first source is the only one, so it has
 * only faults that a single source can reveal.
 */
export interface TruthPlan extends Plan {
  readonly faults?: Partial<Record<TronNodeFault, number>>;
}

export interface TruthFindings extends Findings {
  readonly sent: TruthChain['sent'];
  readonly injectedFaults: readonly ByzantineTronProxy['injected'][];
}

/**
 * Probability per request or answer. A block takes two requests. Rate limits are rare: the reader slows down for
 * minutes after each, and these blocks come ten times as fast as on TRON.
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
/** Wrong receipts of a single source cannot be detected; two sources reveal them. */
const WITHOUT_UNDETECTABLE: Partial<Record<TronNodeFault, number>> = {
  droppedLog: 0,
  inventedLog: 0,
  inventedSuccess: 0,
};
/** Blocks that are seen but not solid. */
export const SOLID_LAG = 6;
const REORG_DEPTH_MAX = 4;
const SETTLE_MAX_MS = 180_000;

export function runTruth(plan: TruthPlan): Promise<TruthFindings> {
  return runTruthOf(plan, async (_, onClose) => {
    const world = await createScannerWorld({
      solidLagBlocks: SOLID_LAG,
      // As in mainnet.json, because a node may report its head as solid.
      network: { finality: { staleSeconds: 600, minDepth: SOLID_LAG + 1 }, ...plan.network },
    });
    onClose(() => world.close());
    const { url, control, tokens } = world.devnet;
    const chain = await createTruthChain(world.devnet, plan.seed);
    const faults = { ...FAULTS, ...(plan.sources === 1 ? WITHOUT_UNDETECTABLE : {}), ...plan.faults };
    const proxies: ByzantineTronProxy[] = [];
    for (let place = 0; place < plan.sources; place += 1) {
      const proxy = await createByzantineTronProxy({
        upstreamUrl: url,
        seed: plan.seed * 1_000 + place,
        faults,
        lagBlocks: 2 + place,
        delayMs: 100,
        // Identical wrong answers of two sources cannot be detected.
        canReplaceIn: (txHash) =>
          plan.sources === 1 || Number.parseInt(txHash.at(-1) ?? '0', 16) % 2 === place,
      });
      onClose(() => proxy.close());
      proxies.push(proxy);
    }
    const [living, dead] = proxies;
    return {
      world,
      chain,
      addresses: 20,
      newDepositAddress: () => world.newDepositAddress(),
      head: () => control.summary().head,
      lagBlocksMax: 2,
      pauseMaxMs: 20_000,
      startScanner: () => world.startReplica({ rpcUrls: proxies.map((proxy) => proxy.url) }),
      begun: ['seen', 0],
      openNaive: (height, isOurs) =>
        createNaiveScanner({ url: living!.url, tokens: Object.values(tokens), height, isOurs }),
      reorganise: (place) => chain.reorganise(1 + ((place - 1) % REORG_DEPTH_MAX), place % 2 === 0),
      outage: {
        async begin() {
          // Blocks that both sources returned already may be verified later.
          await world.passed('verified', control.summary().solid, SETTLE_MAX_MS);
          dead!.setFaults({ connectionReset: 1 });
          living!.setFaults({ ...faults, ...WITHOUT_UNDETECTABLE });
        },
        revive: () => dead!.setFaults(faults),
        restore: () => living!.setFaults(faults),
        verifiable: () => control.summary().solid,
      },
      async finish() {
        await control.mine(SOLID_LAG + 2);
        return undefined;
      },
      detectedMaxMs: 60_000,
      extra: () => ({ sent: chain.sent, injectedFaults: proxies.map(({ injected }) => injected) }),
    };
  });
}
