import type { BlockHash } from '@opentill/chain/block';
import type { ChainReader, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TokenContract } from '@opentill/chain/transfer';
import type { Finalized, FinalityLag } from '@opentill/chain-sources/read-finality';
import { createFinalityReader } from '@opentill/chain-sources/read-finality';
import { confirmBlockAtSources } from '@opentill/chain-sources/confirm-block';
import { createSingleSourceNotifier, type SingleSource } from '@opentill/chain-sources/single-source';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { createCheckpointsPerCall } from './checkpoints-per-call.ts';
import type { SourceDefect } from './check-network.ts';
import { checkNetwork } from './check-network.ts';
import type { CheckpointTail } from './checkpoint-tail.ts';
import { createCheckpointTail } from './checkpoint-tail.ts';
import { transfersOf } from './checkpoint-transfers.ts';
import { parseCoinType, SUI_COIN_TYPE } from './coin-type.ts';
import { confirmTransfers } from './confirm-transfers.ts';
import type { SuiHeader } from './sui-header.ts';
import { plainHeader } from './decode-checkpoint.ts';
import { createFetchMethods } from './fetch-checkpoints.ts';
import { createCommitteeReader } from './proving/read-committees.ts';
import { readCheckpoints } from './read-checkpoints.ts';
import { readHeader } from './read-header.ts';
import { readFates } from './read-fates.ts';
import { readRange } from './read-range.ts';
import { readVerifiedCheckpoints } from './read-verified.ts';
import type { BlockRange, Reading, SourceComparison } from './reading.ts';
import type { SuiSource, SuiSources, SuiSourcesDeps, SuiSourcesNetwork } from './sui-sources.ts';
import { createSuiSources } from './sui-sources.ts';
import { createDecodeOnce } from './decode-once.ts';

export type SuiNetwork = SuiSourcesNetwork & Pick<NetworkConfig, 'finality' | 'tokens'>;

export interface SuiReaderDeps extends Omit<SuiSourcesDeps, 'shownHead'> {
  /** FORKED and CONTENTS_DIFFER stop verification: raise an alarm. */
  readonly onCompared?: (comparison: SourceComparison) => void;
  /** Raise an alarm. Called at each read that accepted a single source of several. */
  readonly onSingleSource?: (alone: SingleSource) => void;
  /** Raise an alarm: a source's newest checkpoint is far behind another's and is ignored. */
  readonly onFinalityLag?: (lag: FinalityLag) => void;
  readonly onFinding?: (finding: SourceDefect) => void;
}

const FINALITY_STALE_SECONDS = 60;
/** Two sources must agree, and one is in reserve. More subscriptions only cost traffic. */
const SUBSCRIPTIONS_MAX = 3;

/**
 * A checkpoint is final as soon as it exists, so head and final height are the same. While `subscribeHeads` runs, the
 * subscriptions deliver the head without requests.
 */
export function createSuiReader(network: SuiNetwork, deps: SuiReaderDeps = {}): ChainReader {
  const tokens = network.tokens.map(({ contract, decimals }) => ({ coinType: typeOf(contract), decimals }));
  const coins = new Set<string>(tokens.map(({ coinType }) => coinType));
  const nowMs = deps.nowMs ?? (() => performance.now());
  const tails = new Map<SuiSource, CheckpointTail>();
  const sources = createSuiSources(network, {
    ...deps,
    shownHead: (source) => tails.get(source)?.newest()?.header,
  });
  for (const source of sources.all()) {
    const onFault = (error: unknown): void => sources.noteFault(source, error);
    tails.set(
      source,
      createCheckpointTail({ source, coins, blockTimeMs: network.blockTimeMs, onFault, nowMs }),
    );
  }
  const reading = readingOf(network, { coins, nowMs, tails }, sources, deps);
  const readFinalizedBlock = createFinalityReader<SuiSource>({
    sources,
    readFinalized: async (source, options): Promise<Finalized<SuiSource>> => ({
      ...(await readHead(reading, sources, source, options)),
      source,
    }),
    hasBlock: (source, block, options) => hasBlock(reading, source, block, options),
    staleSeconds: network.finality?.staleSeconds ?? FINALITY_STALE_SECONDS,
    aloneAfterSeconds: network.aloneAfterSeconds,
    nowMs,
    epochSeconds: () => (deps.epochMs ?? Date.now)() / 1_000,
    onLag: deps.onFinalityLag ?? ignore,
    onSingleSource: reading.onSingleSource,
  });
  const check = { reading, tokens, onFinding: deps.onFinding ?? ignore };

  return {
    chain: network.chain,
    get blocksPerCall() {
      return reading.perCall.now();
    },
    checkNetwork: (options = {}) => checkNetwork(sources, check, options),
    head: (options = {}) =>
      sources.run(async (source, own) => plainHeader(await readHead(reading, sources, source, own)), {
        ...options,
        hedge: true,
      }),
    finalized: (options = {}) => readFinalizedBlock(options),
    headers: async (from, to, options = {}) =>
      (await readFromOne(reading, sources, { from, to }, options)).headers,
    readSeen: (from, to, options = {}) => readFromOne(reading, sources, { from, to }, options),
    // A transfer that the balance changes of both sources do not show does not exist; there is no other evidence.
    readVerified: (from, to, _expected, options = {}) =>
      readRange(reading, { from, to }, (range) => readVerifiedCheckpoints(reading, sources, range, options)),
    confirmTransfers: (candidates, options = {}) => confirmTransfers(reading, sources, candidates, options),
    readFates: (own, options = {}) => readFates(reading, sources, own, options),
    confirmBlock: (block, options = {}) => {
      const onForked = (labels: readonly [string, string], height: number): void =>
        reading.onCompared({ outcome: 'FORKED', sources: labels, height });
      const readHash = (source: SuiSource, height: number, own: ReadOptions): Promise<BlockHash> =>
        hashAt(reading, source, height, own);
      return confirmBlockAtSources(
        { sources, readHash, onSingleSource: reading.onSingleSource, onForked },
        block,
        options,
      );
    },
    committees: createCommitteeReader(sources, reading.onSingleSource),
    subscribeHeads: (onHead, signal) => subscribeHeads(sources, tails, onHead, signal),
    sources: () => sources.health(),
  };
}

const ignore = (): void => undefined;

function typeOf(contract: string | null): TokenContract {
  const coinType = contract === null ? SUI_COIN_TYPE : parseCoinType(contract);
  if (coinType === undefined) throw new TypeError(`not a coin type: ${contract}`);
  return coinType;
}

function readingOf(
  network: SuiNetwork,
  own: {
    readonly coins: ReadonlySet<string>;
    readonly nowMs: () => number;
    readonly tails: ReadonlyMap<SuiSource, CheckpointTail>;
  },
  sources: SuiSources,
  deps: SuiReaderDeps,
): Reading {
  return {
    chain: network.chain,
    coins: own.coins,
    fetchMethods: createFetchMethods(own.nowMs),
    perCall: createCheckpointsPerCall(),
    decodeOnce: sources.all().length > 1 ? createDecodeOnce().of : (_height, bytes, read) => read(bytes),
    totals: new WeakMap(),
    shownChanges: new WeakMap(),
    lookedBack: new WeakMap(),
    proofs: new WeakMap(),
    tailOf(source) {
      const tail = own.tails.get(source);
      if (tail === undefined) throw new TypeError('unknown source');
      return tail;
    },
    onCompared: deps.onCompared ?? ignore,
    onSingleSource: createSingleSourceNotifier(sources, deps.onSingleSource),
  };
}

function readFromOne(
  reading: Reading,
  sources: SuiSources,
  range: BlockRange,
  options: ReadOptions,
): Promise<RangeRead> {
  return readRange(reading, range, (call) =>
    sources.run(
      async (source, own) => {
        const checkpoints = await readCheckpoints(reading, source, call, own);
        return {
          headers: checkpoints.map(({ header }) => plainHeader(header)),
          transfers: checkpoints.flatMap((checkpoint) => transfersOf(reading, checkpoint, false)),
        };
      },
      { ...options, hedge: true },
    ),
  );
}

async function readHead(
  reading: Reading,
  sources: SuiSources,
  source: SuiSource,
  options: ReadOptions,
): Promise<SuiHeader> {
  if (options.signal?.aborted === true) throw readerError('READ_ABORTED', 'the read was aborted');
  const head = reading.tailOf(source).newest()?.header ?? (await readHeader(source, options));
  sources.noteHead(source, head);
  return head;
}

async function hashAt(
  reading: Reading,
  source: SuiSource,
  height: number,
  options: ReadOptions,
): Promise<BlockHash> {
  const known = await reading.tailOf(source).await(height, options.signal);
  return (known?.header ?? (await readHeader(source, options, height))).hash;
}

async function hasBlock(
  reading: Reading,
  source: SuiSource,
  { height, hash }: { readonly height: number; readonly hash: BlockHash },
  options: ReadOptions,
): Promise<boolean> {
  try {
    return (await hashAt(reading, source, height, options)) === hash;
  } catch (error) {
    if (isReaderError(error, 'BLOCK_NOT_FOUND')) return false;
    throw error;
  }
}

/** A checkpoint that several sources deliver counts as one head. */
async function subscribeHeads(
  sources: SuiSources,
  tails: ReadonlyMap<SuiSource, CheckpointTail>,
  onHead: () => void,
  signal: AbortSignal,
): Promise<void> {
  let highest = -1;
  const subscribed = sources.all().slice(0, SUBSCRIPTIONS_MAX);
  await Promise.all(
    subscribed.map(async (source) =>
      tails.get(source)?.run(({ header }) => {
        sources.noteHead(source, header);
        if (header.height === highest) return;
        highest = header.height;
        onHead();
      }, signal),
    ),
  );
}
