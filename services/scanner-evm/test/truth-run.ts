import type { ChainReader } from '@opentill/chain/chain-reader';
import { evmFamily } from '@opentill/chain-evm/family';
import { keepLease } from '@opentill/db/lease';
import { DEV_TOKEN_ADDRESSES, headHeight } from '@opentill/devnets/evm/start-evm-devnet';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { createObserve } from '@opentill/scanner/observe';
import { createChainGates, startChainScan } from '@opentill/scanner/scan-chain';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import { createScanStore } from '@opentill/scanner/store/scan-store';
import {
  createByzantineRpcProxy,
  type ByzantineRpcProxy,
  type RpcFault,
} from '@opentill/testkit/byzantine-rpc-proxy';
import {
  runTruthOf,
  type RunningScanner,
  type TruthFindings as Findings,
  type TruthPlan as Plan,
} from '@opentill/testkit/truth-run';
import { createScannerWorld, CHAIN, type ScannerWorld } from './scanner-harness.ts';
import { createTruthChain, type Fates, type ReorgKind } from './truth-chain.ts';
import { createNaiveScanner } from './truth-naive.ts';

/** Reorganisations have depths 1 to 6 and include every kind. */
export interface TruthPlan extends Plan {
  readonly faults?: Partial<Record<RpcFault, number>>;
  /** For controls: a scanner without one of its checks, whose events are not compared. */
  readonly crippled?: (reader: ChainReader) => ChainReader;
}

export interface TruthFindings extends Findings {
  readonly fates: Fates;
  readonly injectedFaults: readonly ByzantineRpcProxy['injected'][];
}

/** Probability per request, call or answer. The rarest do not occur in every run. */
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
const KINDS: readonly ReorgKind[] = ['mixed', 'renumbered', 'failed', 'vanished'];
const REORG_DEPTH_MAX = 6;
const TOKENS = Object.values(DEV_TOKEN_ADDRESSES).map((address) => address.toLowerCase());

export function runTruth(plan: TruthPlan): Promise<TruthFindings> {
  return runTruthOf(plan, async (_, onClose) => {
    const world = await createScannerWorld({
      slotsInAnEpoch: CONFIRMATIONS / 2,
      network: { confirmations: CONFIRMATIONS, ...plan.network },
    });
    onClose(() => world.close());
    const { rpcUrl } = world.anvil;
    const chain = await createTruthChain(rpcUrl, plan.seed);
    const openProxy = async (place: number): Promise<ByzantineRpcProxy> => {
      const proxy = await createProxy(plan, rpcUrl, place);
      onClose(() => proxy.close());
      return proxy;
    };
    const proxies: ByzantineRpcProxy[] = [];
    for (let place = 0; place < plan.sources; place += 1) proxies.push(await openProxy(place));
    const head = (): Promise<number> => headHeight(rpcUrl);
    return {
      world,
      chain,
      addresses: 60,
      newDepositAddress: () => world.newDepositAddress(),
      head,
      lagBlocksMax: 3,
      pauseMaxMs: 20_000,
      startScanner: () => startScanner(plan, world, proxies),
      begun: ['seen', 0],
      // A separate proxy with the same faults, so that its answers do not depend on the scanner's requests.
      openNaive: async (height, isOurs) =>
        createNaiveScanner({ rpcUrl: (await openProxy(0)).url, tokens: TOKENS, height, isOurs }),
      reorganise(place) {
        const kind = KINDS[place % KINDS.length]!;
        const depth = 1 + ((place - 1) % REORG_DEPTH_MAX);
        return chain.reorganise(kind, kind === 'renumbered' ? Math.max(depth, 2) : depth);
      },
      outage: {
        begin: () => proxies[1]?.setFaults({ connectionReset: 1 }),
        revive: () => proxies[1]?.setFaults({ ...FAULTS, ...plan.faults }),
        restore: () => undefined,
        verifiable: head,
      },
      async finish() {
        await world.mine(CONFIRMATIONS + 2);
        return undefined;
      },
      detectedMaxMs: plan.crippled === undefined ? 60_000 : undefined,
      extra: async () => ({
        fates: await chain.fates(),
        injectedFaults: proxies.map(({ injected }) => injected),
      }),
    };
  });
}

const lastByte = (hash: string): number => Number.parseInt(hash.slice(-2), 16);

function createProxy(plan: TruthPlan, upstreamUrl: string, place: number): Promise<ByzantineRpcProxy> {
  const caps = [
    { rangeCapBlocks: 7, resultCapLogs: 60 },
    { rangeCapBlocks: 12, lagBlocks: 3 },
  ];
  return createByzantineRpcProxy({
    upstreamUrl,
    seed: plan.seed * 1_000 + place,
    faults: { ...FAULTS, ...plan.faults },
    delayMs: 150,
    ...caps[place],
    // Two sources cannot reveal a log that both omit from a block of which they return other logs.
    ...(plan.sources === 1
      ? {}
      : {
          mayDrop: ({ transactionHash, logIndex }) =>
            (lastByte(transactionHash) + Number(logIndex)) % 2 === place,
        }),
  });
}

async function startScanner(
  plan: TruthPlan,
  world: ScannerWorld,
  proxies: readonly ByzantineRpcProxy[],
): Promise<RunningScanner> {
  const rpcUrls = proxies.map((proxy) => proxy.url);
  if (plan.crippled === undefined) return world.startReplica({ rpcUrls });
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
