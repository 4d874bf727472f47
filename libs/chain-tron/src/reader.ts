import type { BlockHash } from '@opentill/chain/block';
import type { ChainReader, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TokenContract } from '@opentill/chain/transfer';
import { askAgain } from '@opentill/chain-sources/ask-again';
import type { Finalized, FinalityLag } from '@opentill/chain-sources/read-finality';
import { createFinalityReader } from '@opentill/chain-sources/read-finality';
import { vouchForBlock } from '@opentill/chain-sources/vouch-for-block';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { createAddressBook } from './address-book.ts';
import { hexOf, shortHexOf, tronAddressCodec } from './address-codec.ts';
import type { SourceFinding } from './check-network.ts';
import { checkNetwork } from './check-network.ts';
import { confirmTransfers } from './confirm-transfers.ts';
import { plainHeader } from './decode-block.ts';
import { transfersOf } from './read-block.ts';
import { readFates } from './read-fates.ts';
import { mustBeLinked, ofEach, readRange } from './read-range.ts';
import { readBlocks, readVerifiedBlocks } from './read-verified.ts';
import type { BlockRange, Reading, SourceComparison } from './reading.ts';
import type { TronSource, TronSources, TronSourcesDeps, TronSourcesNetwork } from './tron-sources.ts';
import { createTronSources, readHeader } from './tron-sources.ts';

/** What a reader needs of a network's configuration. `genesisId` must be there. */
export type TronNetwork = TronSourcesNetwork & Pick<NetworkConfig, 'finality' | 'tokens'>;

/** What a reader tells of its work, for metrics, logs and alarms. */
export interface TronReaderDeps extends TronSourcesDeps {
  /** Two sources were compared. While they are FORKED or give different contents, nothing is verified: an alarm. */
  readonly onCompared?: (comparison: SourceComparison) => void;
  /**
   * One source of several was believed alone, in seconds since 1970 since when the others fail: an alarm. Told at each
   * such read; `sources()` says whether it is so now.
   */
  readonly onAlone?: (alone: { readonly label: string; readonly sinceSeconds: number }) => void;
  /** A source's solid block is far behind another's and is passed over: an alarm. */
  readonly onFinalityLag?: (lag: FinalityLag) => void;
  /** The check of the network found fault with a source. */
  readonly onFinding?: (finding: SourceFinding) => void;
}

const FINALITY_STALE_SECONDS = 5 * 60;

/**
 * Reads a TRON network by the HTTP API of its nodes: each block with all its receipts. What no source reveals, it does
 * not; and not TRX that contracts send while they run. Throws TypeError for a network without genesis id, or with a
 * token contract that is no address.
 */
export function createTronReader(network: TronNetwork, deps: TronReaderDeps = {}): ChainReader {
  const sources = createTronSources(network, deps);
  const tokens = network.tokens.flatMap(({ contract, decimals }) =>
    contract === null ? [] : [tokenOf(contract, decimals)],
  );
  const reading = readingOf(network, tokens, sources, deps);
  const readFinalizedHeight = createFinalityReader<TronSource>({
    sources,
    readFinalized: (source, options) => readSolid(sources, source, options),
    hasBlock,
    staleSeconds: network.finality?.staleSeconds ?? FINALITY_STALE_SECONDS,
    aloneAfterSeconds: network.aloneAfterSeconds,
    nowMs: deps.nowMs ?? (() => performance.now()),
    epochSeconds: () => (deps.epochMs ?? Date.now)() / 1_000,
    onLag: deps.onFinalityLag ?? ignore,
    onAlone: reading.onAlone,
  });
  const check = { tokens, onFinding: deps.onFinding ?? ignore };

  return {
    chain: network.chain,
    checkNetwork: (options = {}) => checkNetwork(sources, check, options),
    head: (options = {}) =>
      sources.run(async (source, own) => plainHeader(await readNotedHead(sources, source, own)), {
        ...options,
        hedge: true,
      }),
    finalizedHeight: (options = {}) => readFinalizedHeight(options),
    headers: async (from, to, options = {}) =>
      (await readFromOne(sources, { from, to }, readHeaders, options)).headers,
    readSeen: (from, to, options = {}) =>
      readFromOne(sources, { from, to }, (...read) => readSeen(reading, ...read), options),
    // What was seen and is not among the receipts of both sources is not there: they are all there is to be judged by.
    readVerified: (from, to, _expected, options = {}) =>
      readRange({ from, to }, (range) => readVerifiedBlocks(reading, sources, range, options)),
    confirmTransfers: (candidates, options = {}) => confirmTransfers(reading, sources, candidates, options),
    readFates: (own, options = {}) => readFates(reading, sources, own, options),
    vouch: (block, options = {}) => {
      const onForked = (labels: readonly [string, string], height: number): void =>
        reading.onCompared({ outcome: 'FORKED', sources: labels, height });
      return vouchForBlock({ sources, readHash, onAlone: reading.onAlone, onForked }, block, options);
    },
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
  if (address === undefined) throw new TypeError(`not the address of a token contract: ${contract}`);
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
    addressOf: createAddressBook(),
    native: network.tokens.some(({ contract }) => contract === null),
    onCompared: deps.onCompared ?? ignore,
    onAlone: ({ label }) => {
      const failing = sources.health().filter(({ isAlone }) => !isAlone);
      const since = failing.map(({ failingSinceSeconds }) => failingSinceSeconds ?? 0);
      deps.onAlone?.({ label, sinceSeconds: Math.max(...since) });
    },
  };
}

/** Reads a range call by call, each consistent call from one source; the next call may go to another. */
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
  const headers = await ofEach(range, (height, own) => readHeader(source, own, height), options);
  mustBeLinked(headers);
  return { headers: headers.map(plainHeader), transfers: [] };
}

async function readSeen(
  reading: Reading,
  source: TronSource,
  range: BlockRange,
  options: ReadOptions,
): Promise<RangeRead> {
  const accounts = await readBlocks(source, 'wallet', range, options);
  return {
    headers: accounts.map(({ header }) => plainHeader(header)),
    transfers: accounts.flatMap((account) => transfersOf(reading, account)),
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
 * The newest solid block of one source, which must have it under that height as well: what is once called solid counts from
 * then on, so a height that is made up, or of a node that is on its way, must not pass. Its head is noted besides, so that
 * one that hangs is known.
 */
async function readSolid(
  sources: TronSources,
  source: TronSource,
  options: ReadOptions,
): Promise<Finalized<TronSource>> {
  try {
    const read = (height?: number): ReturnType<typeof readHeader> =>
      askAgain(() => readHeader(source, options, height, 'walletsolidity'), options);
    const [solid] = await Promise.all([read(), readNotedHead(sources, source, options)]);
    const again = await read(solid.height);
    if (again.hash !== solid.hash)
      throw readerError('INCONSISTENT_ANSWER', 'the solid block is another one under its height', {
        height: solid.height,
      });
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
