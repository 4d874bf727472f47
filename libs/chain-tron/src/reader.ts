import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type {
  ChainReader,
  ConfirmedTransfers,
  ConfirmOptions,
  RangeRead,
  ReadOptions,
} from '@opentill/chain/chain-reader';
import type { CandidateTransfer, TokenContract } from '@opentill/chain/transfer';
import type { WatchedAddresses } from '@opentill/chain/watched-addresses';
import type { FinalityLag } from '@opentill/chain-sources/read-finality';
import { createFinalityReader } from '@opentill/chain-sources/read-finality';
import { confirmBlockAtSources } from '@opentill/chain-sources/confirm-block';
import { createSemaphore } from '@opentill/chain-sources/semaphore';
import { createSingleSourceNotifier, type SingleSource } from '@opentill/chain-sources/single-source';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { hexOf, shortHexOf, tronAddressCodec } from './address-codec.ts';
import type { SourceDefect } from './check-network.ts';
import { checkNetwork } from './check-network.ts';
import { confirmTransfers } from './confirm-transfers.ts';
import { confirmShown, isShown, type ShownDeps } from './logs/confirm-shown.ts';
import { createHeaderChain } from './logs/header-chain.ts';
import { createLogOffers } from './logs/log-offers.ts';
import { createSeenReceipts } from './logs/seen-receipts.ts';
import type { LogsContradicted } from './logs/complete-range.ts';
import { createLogReader, type LogReader, type LogReaderOptions } from './logs/log-reader.ts';
import { plainHeader } from './decode-block.ts';
import { readBlockOf } from './read-block.ts';
import { readFates } from './read-fates.ts';
import { everyFewPolls, hasBlock, readNotedHead, readSolid, type Heads } from './read-heads.ts';
import { BLOCKS_PER_CALL, requireLinked, mapHeights, readRange } from './read-range.ts';
import { readTokenWarnings } from './read-token-warnings.ts';
import { readBlocks, readVerifiedBlocks } from './read-verified.ts';
import type { BlockRange, Reading, SourceComparison } from './reading.ts';
import { createSeenBlocks, type SeenBlocks } from './seen-blocks.ts';
import type { TronSource, TronSources, TronSourcesDeps, TronSourcesNetwork } from './tron-sources.ts';
import { createTronSources, readHeader } from './tron-sources.ts';

export type TronNetwork = TronSourcesNetwork &
  Pick<NetworkConfig, 'finality' | 'tokens'> &
  Partial<Pick<NetworkConfig, 'pollIntervalMs'>>;

export interface TronReaderDeps extends TronSourcesDeps {
  /** FORKED and CONTENTS_DIFFER stop verification: raise an alarm. */
  readonly onCompared?: (comparison: SourceComparison) => void;
  /** Raise an alarm. Called at each read that accepted a single source of several. */
  readonly onSingleSource?: (alone: SingleSource) => void;
  /** Raise an alarm: a source's solid block is far behind another's and is ignored. */
  readonly onFinalityLag?: (lag: FinalityLag) => void;
  readonly onFinding?: (finding: SourceDefect) => void;
  /** With these, nodes are asked for logs instead of whole blocks where that suffices. */
  readonly watched?: WatchedAddresses;
  /** Blocks of networks that are read by logs where these suffice. Only verified ones. */
  readonly onBlocksRead?: (by: 'logs' | 'whole', blocks: number) => void;
  /** Raise an alarm: a block of the sample has a transfer that the logs of both sources lack. */
  readonly onLogsContradicted?: (contradicted: LogsContradicted) => void;
  /** From 0 to 1. @default Math.random */
  readonly random?: () => number;
}

const FINALITY_STALE_SECONDS = 5 * 60;
const CALLS_PER_BLOCK = 2;
/** In all ranges that are being read: as many as while catching up by ranges of BLOCKS_PER_CALL. */
const WHOLE_BLOCKS_AT_ONCE = 96;

/** Does not see TRX that contracts send during their execution. */
export function createTronReader(network: TronNetwork, deps: TronReaderDeps = {}): ChainReader {
  const nowMs = deps.nowMs ?? (() => performance.now());
  const sources = createTronSources(network, deps);
  const tokens = network.tokens.flatMap(({ contract, decimals }) =>
    contract === null ? [] : [tokenOf(contract, decimals)],
  );
  const reading = readingOf(network, tokens, sources, deps);
  const seen = createSeenBlocks({ isReadAgain: sources.all().length > 1 });
  const receipts = createSeenReceipts();
  const offers = createLogOffers(nowMs);
  const chain = createHeaderChain(sources, createLogOffers(nowMs));
  const inParts = createPartReader();
  const readWhole = (range: BlockRange, options: ReadOptions): Promise<RangeRead> =>
    inParts(range, (part) => readVerifiedBlocks({ reading, sources, seen }, part, options), options);
  const asked = { reading, sources, headers: chain, offers, readWhole, nowMs };
  const byLogs = logReaderOf(network, deps, asked);
  const readFinalizedHeight = finalityReaderOf(network, deps, { sources, seen, chain, reading });
  const logs = { genesisId: network.genesisId ?? '', offers };
  const check = { tokens, onFinding: deps.onFinding ?? ignore, logs };
  const onUnproven = (source: TronSource, error: unknown): void => {
    sources.noteFault(source, error);
    byLogs?.distrust(source);
  };
  const blocksPerCall = (): number => byLogs?.blocksPerCall() ?? BLOCKS_PER_CALL;

  return {
    chain: network.chain,
    get blocksPerCall() {
      return blocksPerCall();
    },
    checkNetwork: (options = {}) => checkNetwork(sources, check, options),
    head: (options = {}) =>
      sources.run(async (source, own) => plainHeader(await readNotedHead({ sources, chain }, source, own)), {
        ...options,
        hedge: true,
      }),
    finalizedHeight: everyFewPolls(network, nowMs, readFinalizedHeight),
    headers: async (from, to, options = {}) =>
      (await readFromOne(sources, { from, to }, BLOCKS_PER_CALL, readHeaders, options)).headers,
    readSeen: (from, to, options = {}) =>
      readFromOne(
        sources,
        { from, to },
        blocksPerCall(),
        async (source, call, own) =>
          (await byLogs?.readSeen(source, call, own)) ??
          inParts(call, (part) => readSeenBlocks({ reading, seen }, source, part, own), own),
        options,
      ),
    // A transfer that the receipts of both sources do not show does not exist; there is no other evidence.
    readVerified: (from, to, expected, { isWhole = false, ...options } = {}) =>
      readRange(
        { from, to },
        blocksPerCall(),
        async (range) =>
          (isWhole ? undefined : await byLogs?.readVerified(range, expected, options)) ??
          (await readWhole(range, options)),
      ),
    confirmTransfers: (candidates, options = {}) =>
      confirmAll({ reading, receipts, onUnproven, sources }, candidates, options),
    readFates: (own, options = {}) => readFates(reading, sources, own, options),
    confirmBlock: (block, options = {}) => confirmBlock(reading, sources, block, options),
    tokenWarnings: (options = {}) => readTokenWarnings(reading, sources, options),
    sources: () => sources.health(),
  };
}

function confirmBlock(
  { onCompared, onSingleSource }: Reading,
  sources: TronSources,
  block: Pick<BlockHeader, 'height' | 'hash'>,
  options: ReadOptions,
): Promise<void> {
  const onForked = (labels: readonly [string, string], height: number): void =>
    onCompared({ outcome: 'FORKED', sources: labels, height });
  return confirmBlockAtSources({ sources, readHash, onSingleSource, onForked }, block, options);
}

async function confirmAll(
  deps: ShownDeps & { readonly sources: TronSources },
  candidates: readonly CandidateTransfer[],
  options: ConfirmOptions,
): Promise<ConfirmedTransfers> {
  const { reading, receipts, sources } = deps;
  const shown = new Set<CandidateTransfer>(options.byOneSource === true ? candidates.filter(isShown) : []);
  const others = candidates.filter((candidate) => !shown.has(candidate));
  const [byTheirs, { confirmed, refuted }] = await Promise.all([
    confirmShown(deps, [...shown].filter(isShown), options),
    confirmTransfers(reading, sources, receipts, others, options),
  ]);
  return { confirmed: [...byTheirs, ...confirmed], refuted };
}

const ignore = (): void => undefined;

function tokenOf(
  contract: string,
  decimals: number,
): {
  readonly contract: TokenContract;
  readonly hex: string;
  readonly shortHex: string;
  readonly decimals: number;
} {
  const address = tronAddressCodec.parse(contract);
  if (address === undefined) throw new TypeError(`not a token contract address: ${contract}`);
  const named = address as unknown as TokenContract;
  return { contract: named, hex: hexOf(address), shortHex: shortHexOf(address), decimals };
}

function readingOf(
  network: TronNetwork,
  tokens: readonly { readonly contract: TokenContract; readonly shortHex: string }[],
  sources: TronSources,
  deps: TronReaderDeps,
): Reading {
  return {
    chain: network.chain,
    tokens: new Map(tokens.map(({ contract, shortHex }) => [shortHex, contract])),
    native: network.tokens.some(({ contract }) => contract === null),
    onCompared: deps.onCompared ?? ignore,
    onSingleSource: createSingleSourceNotifier(sources, deps.onSingleSource),
  };
}

function finalityReaderOf(
  { finality, aloneAfterSeconds }: TronNetwork,
  deps: TronReaderDeps,
  { reading, ...heads }: Heads & { readonly seen: SeenBlocks; readonly reading: Reading },
): (options: ReadOptions) => Promise<number> {
  return createFinalityReader<TronSource>({
    sources: heads.sources,
    readFinalized: (source, options) => readSolid(heads, source, options),
    hasBlock,
    staleSeconds: finality?.staleSeconds ?? FINALITY_STALE_SECONDS,
    aloneAfterSeconds,
    nowMs: deps.nowMs ?? (() => performance.now()),
    epochSeconds: () => (deps.epochMs ?? Date.now)() / 1_000,
    onLag: deps.onFinalityLag ?? ignore,
    onSingleSource: reading.onSingleSource,
  });
}

/** Undefined where only whole blocks show all payments: TRX leaves no log. */
function logReaderOf(
  { genesisId = '' }: TronNetwork,
  { watched, onBlocksRead = ignore, onLogsContradicted = ignore, random = Math.random }: TronReaderDeps,
  deps: Pick<LogReaderOptions, 'reading' | 'sources' | 'headers' | 'offers' | 'readWhole' | 'nowMs'>,
): LogReader | undefined {
  const { native, tokens } = deps.reading;
  if (watched === undefined || native || tokens.size === 0) return undefined;
  return createLogReader({
    ...deps,
    watched,
    tokens,
    genesisId,
    random,
    onBlocksRead,
    onContradicted: onLogsContradicted,
  });
}

function readFromOne(
  sources: TronSources,
  range: BlockRange,
  blocks: number,
  read: (source: TronSource, range: BlockRange, options: ReadOptions) => Promise<RangeRead>,
  options: ReadOptions,
): Promise<RangeRead> {
  return readRange(range, blocks, (call) =>
    sources.run((source, own) => read(source, call, own), { ...options, hedge: true }),
  );
}

async function readHeaders(source: TronSource, range: BlockRange, options: ReadOptions): Promise<RangeRead> {
  const headers = await mapHeights(range, (height, own) => readHeader(source, own, height), options);
  requireLinked(headers);
  return { headers: headers.map(plainHeader), transfers: [] };
}

/** Reads whole blocks. A range for logs is longer, so it is read in parts. */
function createPartReader() {
  const slots = createSemaphore(WHOLE_BLOCKS_AT_ONCE);
  return async (
    range: BlockRange,
    read: (part: BlockRange) => Promise<RangeRead>,
    { signal }: ReadOptions,
  ): Promise<RangeRead> => {
    const leave = await slots.take(signal, range.to - range.from + 1);
    try {
      return await readRange(range, BLOCKS_PER_CALL, read);
    } finally {
      leave();
    }
  };
}

async function readSeenBlocks(
  { reading, seen }: { readonly reading: Reading; readonly seen: SeenBlocks },
  source: TronSource,
  range: BlockRange,
  options: ReadOptions,
): Promise<RangeRead> {
  source.beginMany(CALLS_PER_BLOCK * (range.to - range.from + 1), options);
  const accounts = await readBlocks(source, 'wallet', range, options);
  const blocks = accounts.map((account) => readBlockOf(reading, account));
  seen.note(source, blocks);
  return {
    headers: blocks.map(({ header }) => plainHeader(header)),
    transfers: blocks.flatMap(({ transfers }) => transfers),
  };
}

async function readHash(source: TronSource, height: number, options: ReadOptions): Promise<BlockHash> {
  return (await readHeader(source, options, height)).hash;
}
