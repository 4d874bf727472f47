import type { BlockHash } from '@opentill/chain/block';
import type { ChainReader, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TokenContract } from '@opentill/chain/transfer';
import { askAgain } from '@opentill/chain-sources/ask-again';
import type { Finalized, FinalityLag } from '@opentill/chain-sources/read-finality';
import { createFinalityReader } from '@opentill/chain-sources/read-finality';
import { confirmBlockAtSources } from '@opentill/chain-sources/confirm-block';
import { createSingleSourceNotifier, type SingleSource } from '@opentill/chain-sources/single-source';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { hexOf, shortHexOf, tronAddressCodec } from './address-codec.ts';
import type { SourceDefect } from './check-network.ts';
import { checkNetwork } from './check-network.ts';
import { confirmTransfers } from './confirm-transfers.ts';
import { plainHeader } from './decode-block.ts';
import { readBlockOf } from './read-block.ts';
import { readFates } from './read-fates.ts';
import { BLOCKS_PER_CALL, requireLinked, mapHeights, readRange } from './read-range.ts';
import { readTokenWarnings } from './read-token-warnings.ts';
import { readBlocks, readVerifiedBlocks } from './read-verified.ts';
import type { BlockRange, Reading, SourceComparison } from './reading.ts';
import { createSeenBlocks, type SeenBlocks } from './seen-blocks.ts';
import type { TronSource, TronSources, TronSourcesDeps, TronSourcesNetwork } from './tron-sources.ts';
import { createTronSources, readHeader } from './tron-sources.ts';

export type TronNetwork = TronSourcesNetwork & Pick<NetworkConfig, 'finality' | 'tokens'>;

export interface TronReaderDeps extends TronSourcesDeps {
  /** FORKED and CONTENTS_DIFFER stop verification: raise an alarm. */
  readonly onCompared?: (comparison: SourceComparison) => void;
  /** Raise an alarm. Called at each read that accepted a single source of several. */
  readonly onSingleSource?: (alone: SingleSource) => void;
  /** Raise an alarm: a source's solid block is far behind another's and is ignored. */
  readonly onFinalityLag?: (lag: FinalityLag) => void;
  readonly onFinding?: (finding: SourceDefect) => void;
}

const FINALITY_STALE_SECONDS = 5 * 60;
const CALLS_PER_BLOCK = 2;
/** A source whose head is older is asked for it. */
const HEAD_KNOWN_MS = 10_000;

/** Does not see TRX that contracts send during their execution. */
export function createTronReader(network: TronNetwork, deps: TronReaderDeps = {}): ChainReader {
  const sources = createTronSources(network, deps);
  const tokens = network.tokens.flatMap(({ contract, decimals }) =>
    contract === null ? [] : [tokenOf(contract, decimals)],
  );
  const reading = readingOf(network, tokens, sources, deps);
  const seen = createSeenBlocks({ isReadAgain: sources.all().length > 1 });
  const readFinalizedBlock = createFinalityReader<TronSource>({
    sources,
    readFinalized: (source, options) => readSolid({ sources, seen }, source, options),
    hasBlock,
    staleSeconds: network.finality?.staleSeconds ?? FINALITY_STALE_SECONDS,
    aloneAfterSeconds: network.aloneAfterSeconds,
    nowMs: deps.nowMs ?? (() => performance.now()),
    epochSeconds: () => (deps.epochMs ?? Date.now)() / 1_000,
    onLag: deps.onFinalityLag ?? ignore,
    onSingleSource: reading.onSingleSource,
  });
  const check = { tokens, onFinding: deps.onFinding ?? ignore };

  return {
    chain: network.chain,
    blocksPerCall: BLOCKS_PER_CALL,
    checkNetwork: (options = {}) => checkNetwork(sources, check, options),
    head: (options = {}) =>
      sources.run(async (source, own) => plainHeader(await readNotedHead(sources, source, own)), {
        ...options,
        hedge: true,
      }),
    finalized: (options = {}) => readFinalizedBlock(options),
    headers: async (from, to, options = {}) =>
      (await readFromOne(sources, { from, to }, readHeaders, options)).headers,
    readSeen: (from, to, options = {}) =>
      readFromOne(sources, { from, to }, (...read) => readSeen({ reading, seen }, ...read), options),
    // A transfer that the receipts of both sources do not show does not exist; there is no other evidence.
    readVerified: (from, to, _expected, options = {}) =>
      readRange({ from, to }, (range) => readVerifiedBlocks({ reading, sources, seen }, range, options)),
    confirmTransfers: (candidates, options = {}) => confirmTransfers(reading, sources, candidates, options),
    readFates: (own, options = {}) => readFates(reading, sources, own, options),
    confirmBlock: (block, options = {}) => {
      const onForked = (labels: readonly [string, string], height: number): void =>
        reading.onCompared({ outcome: 'FORKED', sources: labels, height });
      return confirmBlockAtSources(
        { sources, readHash, onSingleSource: reading.onSingleSource, onForked },
        block,
        options,
      );
    },
    tokenWarnings: (options = {}) => readTokenWarnings(reading, sources, options),
    sources: () => sources.health(),
  };
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

function readFromOne(
  sources: TronSources,
  range: BlockRange,
  read: (source: TronSource, range: BlockRange, options: ReadOptions) => Promise<RangeRead>,
  options: ReadOptions,
): Promise<RangeRead> {
  return readRange(range, (call) =>
    sources.run((source, own) => read(source, call, own), { ...options, hedge: true }),
  );
}

async function readHeaders(source: TronSource, range: BlockRange, options: ReadOptions): Promise<RangeRead> {
  const headers = await mapHeights(range, (height, own) => readHeader(source, own, height), options);
  requireLinked(headers);
  return { headers: headers.map(plainHeader), transfers: [] };
}

async function readSeen(
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

async function readNotedHead(
  sources: TronSources,
  source: TronSource,
  options: ReadOptions,
): ReturnType<typeof readHeader> {
  const head = await readHeader(source, options);
  sources.noteHead(source, head);
  return head;
}

/**
 * Unless the block is known, the source must return it by height too: a solid block counts from then on, so an invented
 * height, or one of a node that is switching, must not pass. Also reads the source's head now and then, to detect one
 * that hangs.
 */
async function readSolid(
  { sources, seen }: { readonly sources: TronSources; readonly seen: SeenBlocks },
  source: TronSource,
  options: ReadOptions,
): Promise<Finalized<TronSource>> {
  try {
    const read = (height?: number): ReturnType<typeof readHeader> =>
      askAgain(() => readHeader(source, options, height, 'walletsolidity'), options);
    const isHeadKnown = sources.headShownMsAgo(source) <= HEAD_KNOWN_MS;
    const [solid] = await Promise.all([
      read(),
      isHeadKnown ? undefined : readNotedHead(sources, source, options),
    ]);
    if (!seen.has(solid) && (await read(solid.height)).hash !== solid.hash)
      throw readerError(
        'INCONSISTENT_ANSWER',
        'the node returns another block at the height of its solid block',
        {
          height: solid.height,
        },
      );
    seen.noteSolid(source, solid);
    return { ...plainHeader(solid), source };
  } catch (error) {
    if (!isReaderError(error, 'BLOCK_NOT_FOUND')) throw error;
    throw readerError('FINALITY_UNAVAILABLE', 'the node has no solid block', { endpoint: source.label });
  }
}

async function hasBlock(
  source: TronSource,
  { height, hash, timeSeconds }: Pick<Finalized<TronSource>, 'height' | 'hash' | 'timeSeconds'>,
  options: ReadOptions,
): Promise<boolean> {
  try {
    const own = await readHeader(source, options, height);
    return own.hash === hash && own.timeSeconds === timeSeconds;
  } catch (error) {
    if (isReaderError(error, 'BLOCK_NOT_FOUND')) return false;
    throw error;
  }
}

async function readHash(source: TronSource, height: number, options: ReadOptions): Promise<BlockHash> {
  return (await readHeader(source, options, height)).hash;
}
