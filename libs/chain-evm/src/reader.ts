import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { evmAddressCodec } from './address.ts';
import { blockRequest } from './block-requests.ts';
import { bloomBits } from './bloom.ts';
import type { SourceDefect } from './check-network.ts';
import { checkNetwork } from './check-network.ts';
import type { RpcExchange } from './client.ts';
import { confirmTransfers } from './confirm-transfers.ts';
import { TRANSFER_TOPIC } from './decode.ts';
import { createRangeReads } from './range-reads.ts';
import { headerIn } from './read-blocks.ts';
import { readFates } from './read-fates.ts';
import { hasBlock, readFinalized, readHead } from './read-tags.ts';
import type { ReceiptDecision, Reading, SourceComparison } from './reading.ts';
import type { EvmSource, EvmSources, SourceChange } from './sources.ts';
import { sourcesOfNetwork } from './sources-of-network.ts';
import { subscribeHeads } from './subscribe-heads.ts';
import type { FinalityLag } from '@opentill/chain-sources/read-finality';
import { createFinalityReader } from '@opentill/chain-sources/read-finality';
import { confirmBlockAtSources } from '@opentill/chain-sources/confirm-block';
import { createSingleSourceNotifier, type SingleSource } from '@opentill/chain-sources/single-source';

export type EvmNetwork = Pick<
  NetworkConfig,
  | 'chain'
  | 'chainId'
  | 'rpcUrls'
  | 'wsUrl'
  | 'bloom'
  | 'maxBlockRange'
  | 'blockTimeMs'
  | 'headStaleSeconds'
  | 'aloneAfterSeconds'
  | 'finality'
  | 'dataFee'
  | 'tokens'
>;

export interface EvmReaderDeps {
  /** @default 5000 */
  readonly requestTimeoutMs?: number;
  readonly onExchange?: (exchange: RpcExchange) => void;
  /** The logs of a block were in doubt and its receipts decided. */
  readonly onDecidedByReceipts?: (block: {
    height: number;
    hash: string;
    reason: ReceiptDecision['reason'];
  }) => void;
  /** Raise an alarm while they are FORKED or return different contents: no block is verified then. */
  readonly onCompared?: (comparison: SourceComparison) => void;
  /** Raise an alarm. Called at each read that accepted a single source of several. */
  readonly onSingleSource?: (source: SingleSource) => void;
  /** Raise an alarm: a source's finalized block is far behind another's and is ignored. */
  readonly onFinalityLag?: (lag: FinalityLag) => void;
  readonly onSourceChange?: (change: SourceChange) => void;
  readonly onFinding?: (finding: SourceDefect) => void;
  /** Monotonic. @default performance.now */
  readonly nowMs?: () => number;
  /** @default Date.now */
  readonly epochMs?: () => number;
}

/** EIP-7708: the chain itself logs movements of its coin here, in the form of a token's Transfer. */
const SYSTEM_ADDRESS = '0xfffffffffffffffffffffffffffffffffffffffe';
const FINALITY_STALE_SECONDS = 20 * 60;

/**
 * Two kinds of payment stay unseen: a log that all sources omit from a block of which they return others, and native
 * coin that a contract sends.
 */
export function createEvmReader(network: EvmNetwork, deps: EvmReaderDeps = {}): ChainReader {
  const { chain, wsUrl } = network;
  const sources = sourcesOfNetwork(network, deps);
  const tokens = network.tokens.flatMap(({ contract, decimals }) =>
    contract === null ? [] : [{ contract: canonicalContract(contract), decimals }],
  );
  const reading = readingOf(network, new Set(tokens.map(({ contract }) => contract)), sources, deps);
  const readFinalizedBlock = createFinalityReader<EvmSource>({
    sources,
    readFinalized: (source, options) =>
      readFinalized(sources, source, network.finality?.tag ?? 'finalized', options),
    hasBlock,
    staleSeconds: network.finality?.staleSeconds ?? FINALITY_STALE_SECONDS,
    // The other source has the block of a higher safe height too, and the chain's batches may really stall.
    aloneAfterSeconds: network.finality?.tag === 'safe' ? 'never' : network.aloneAfterSeconds,
    nowMs: deps.nowMs ?? (() => performance.now()),
    epochSeconds: reading.epochSeconds,
    onLag: deps.onFinalityLag ?? ignore,
    onSingleSource: reading.onSingleSource,
  });

  const ranges = createRangeReads(reading, sources);

  return {
    chain,
    get blocksPerCall() {
      return ranges.blocksPerCall();
    },
    checkNetwork: (options = {}) =>
      checkNetwork(sources, { tokens, onFinding: deps.onFinding ?? ignore }, options),
    head: (options = {}) => readHead(sources, options),
    finalized: (options = {}) => readFinalizedBlock(options),
    headers: ranges.headers,
    readSeen: ranges.readSeen,
    readVerified: ranges.readVerified,
    confirmTransfers: (candidates, options = {}) => confirmTransfers(reading, sources, candidates, options),
    readFates: (own, options = {}) => readFates(reading, sources, own, options),
    confirmBlock: (block, options = {}) =>
      confirmBlockAtSources(
        {
          sources,
          readHash,
          onSingleSource: reading.onSingleSource,
          onForked: (labels, height) => reading.onCompared({ outcome: 'FORKED', sources: labels, height }),
        },
        block,
        options,
      ),
    sources: () => sources.health(),
    ...(wsUrl === undefined
      ? {}
      : {
          subscribeHeads: (onHead: () => void, signal: AbortSignal) =>
            subscribeHeads({ url: wsUrl, blockTimeMs: network.blockTimeMs }, onHead, signal),
        }),
  };
}

const ignore = (): void => undefined;

function canonicalContract(contract: string): Address {
  const address = evmAddressCodec.parse(contract);
  if (address === undefined || address === SYSTEM_ADDRESS)
    throw new TypeError(`not the address of a token contract: ${contract}`);
  return address;
}

function readingOf(
  network: EvmNetwork,
  tokens: ReadonlySet<string>,
  sources: EvmSources,
  deps: EvmReaderDeps,
): Reading {
  return {
    chain: network.chain,
    tokens,
    tokenBits: [...tokens].map(bloomBits),
    transferBits: bloomBits(TRANSFER_TOPIC),
    bloom: network.bloom === true,
    hasStateSync: network.chain === 'POLYGON' || network.chain === 'POLYGON_AMOY',
    dataFee: network.dataFee,
    epochSeconds: () => (deps.epochMs ?? Date.now)() / 1_000,
    native: network.tokens.some(({ contract }) => contract === null),
    onDecidedByReceipts: ({ header, reason }) =>
      deps.onDecidedByReceipts?.({ height: header.height, hash: header.hash, reason }),
    onCompared: deps.onCompared ?? ignore,
    onSingleSource: createSingleSourceNotifier(sources, deps.onSingleSource),
  };
}

async function readHash(source: EvmSource, height: number, options: ReadOptions): Promise<BlockHash> {
  const [raw] = await source.batch([blockRequest(height)], options);
  return headerIn(raw, height).hash;
}
