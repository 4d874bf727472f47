import type { Address } from '@opentill/chain/address-codec';
import type { ChainReader, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { evmAddressCodec } from './address.ts';
import { blockRequest } from './block-requests.ts';
import { bloomBits } from './bloom.ts';
import { checkTokens } from './check-tokens.ts';
import type { EvmClient, RpcExchange } from './client.ts';
import { decodeHeader, plainHeader, TRANSFER_TOPIC } from './decode.ts';
import { confirmTransfers } from './confirm-transfers.ts';
import type { JudgedBlock } from './judge-by-receipts.ts';
import type { ReadPurpose } from './read-blocks.ts';
import { linkedHeaders, readBlocks } from './read-blocks.ts';
import { createEvmSources } from './sources.ts';
import { subscribeHeads } from './subscribe-heads.ts';

/**
 * What a reader needs of a network's configuration. `chainId` must be there; tokens without a contract (the native
 * coin) are not read here.
 */
export type EvmNetwork = Pick<
  NetworkConfig,
  'chain' | 'chainId' | 'rpcUrls' | 'blockTimeMs' | 'wsUrl' | 'bloom' | 'maxBlockRange' | 'tokens'
>;

/** What a reader tells of its work, for metrics and logs. */
export interface EvmReaderDeps {
  /** @default 5000 */
  readonly requestTimeoutMs?: number;
  readonly onExchange?: (exchange: RpcExchange) => void;
  /** The logs of a block were not believed and its receipts decided. */
  readonly onJudged?: (block: { height: number; hash: string; reason: JudgedBlock['reason'] }) => void;
}

/** More per HTTP call gain nothing (measured), and each block is a request of a batch. */
const BLOCKS_PER_CALL = 20;
/** After so many calls without complaint, one block more is tried again. */
const CALLS_PER_GROWTH = 100;

/**
 * Reads an EVM network by JSON-RPC. What one source cannot reveal, it does not: a log dropped from a block of which
 * other logs are answered, or left out by logs and receipts alike. Throws TypeError for a network without chain id,
 * or with a token contract that is not an address.
 */
export function createEvmReader(network: EvmNetwork, deps: EvmReaderDeps = {}): ChainReader {
  const { chain, chainId, wsUrl } = network;
  if (chainId === undefined) throw new TypeError(`the network ${chain} has no chain id`);
  const sources = createEvmSources({
    endpoints: rpcEndpointsOf(network),
    chainId,
    maxBlockRange: network.maxBlockRange,
    blockTimeMs: network.blockTimeMs,
    ...(deps.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: deps.requestTimeoutMs }),
    ...(deps.onExchange === undefined ? {} : { onExchange: deps.onExchange }),
  });
  const client: EvmClient = {
    batch: (requests, options) => sources.run((source, own) => source.batch(requests, own), options),
  };
  const contracts = network.tokens.flatMap(({ contract, decimals }) =>
    contract === null ? [] : [{ contract: canonicalContract(contract), decimals }],
  );
  const tokens = new Set<string>(contracts.map(({ contract }) => contract));
  const reading = {
    client,
    chain,
    tokens,
    tokenBits: [...tokens].map(bloomBits),
    transferBits: bloomBits(TRANSFER_TOPIC),
    bloom: network.bloom,
    onJudged: ({ header, reason }: JudgedBlock) =>
      deps.onJudged?.({ height: header.height, hash: header.hash, reason }),
  };
  const size = createCallSize(Math.min(network.maxBlockRange, BLOCKS_PER_CALL));
  const readRange = (
    from: number,
    to: number,
    purpose: ReadPurpose,
    options: ReadOptions,
  ): Promise<RangeRead> =>
    readInCalls(from, to, size, (first, last) => readBlocks(reading, first, last, purpose, options));

  return {
    chain,
    checkNetwork: (options = {}) => checkTokens(client, contracts, options),
    head: (options = {}) => readTag(client, 'latest', options),
    finalizedHeight: async (options = {}) => (await readTag(client, 'finalized', options)).height,
    headers: async (from, to, options = {}) =>
      (await readInCalls(from, to, size, (first, last) => readHeaders(client, first, last, options))).headers,
    readSeen: (from, to, options = {}) => readRange(from, to, { pass: 'seen' }, options),
    readVerified: (from, to, expected, options = {}) =>
      readRange(from, to, { pass: 'verified', expected }, options),
    confirmTransfers: (candidates, options = {}) => confirmTransfers(reading, candidates, options),
    ...(wsUrl === undefined
      ? {}
      : {
          subscribeHeads: (onHead: () => void, signal: AbortSignal) =>
            subscribeHeads({ url: wsUrl }, onHead, signal),
        }),
  };
}

function canonicalContract(contract: string): Address {
  const address = evmAddressCodec.parse(contract);
  if (address === undefined) throw new TypeError(`not the address of a token contract: ${contract}`);
  return address;
}

async function readTag(
  client: EvmClient,
  tag: 'latest' | 'finalized',
  options: ReadOptions,
): Promise<RangeRead['headers'][number]> {
  const [raw] = await client.batch([blockRequest(tag)], options);
  if (raw === null) {
    throw readerError(
      tag === 'latest' ? 'BLOCK_NOT_FOUND' : 'FINALITY_UNAVAILABLE',
      `the node has no ${tag} block`,
    );
  }
  return plainHeader(decodeHeader(raw));
}

async function readHeaders(
  client: EvmClient,
  from: number,
  to: number,
  options: ReadOptions,
): Promise<RangeRead> {
  const requests = Array.from({ length: to - from + 1 }, (_, place) => blockRequest(from + place));
  return {
    headers: linkedHeaders(await client.batch(requests, options), from).map(plainHeader),
    transfers: [],
  };
}

/** How many blocks to ask for in one call: halved by a refusal, growing back slowly. */
interface CallSize {
  blocks(): number;
  refused(): void;
  accepted(): void;
}

function createCallSize(blocksMax: number): CallSize {
  let blocks = blocksMax;
  let accepted = 0;
  return {
    blocks: () => blocks,
    refused() {
      blocks = Math.max(1, Math.floor(blocks / 2));
      accepted = 0;
    },
    accepted() {
      accepted += 1;
      if (accepted % CALLS_PER_GROWTH === 0) blocks = Math.min(blocks + 1, blocksMax);
    },
  };
}

/** Reads a range call by call, each linked to the one before. */
async function readInCalls(
  from: number,
  to: number,
  size: CallSize,
  readCall: (first: number, last: number) => Promise<RangeRead>,
): Promise<RangeRead> {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || to < from) {
    throw new RangeError(`not a range of blocks: ${from} to ${to}`);
  }
  const headers: RangeRead['headers'][number][] = [];
  const transfers: RangeRead['transfers'][number][] = [];
  while (headers.length < to - from + 1) {
    const first = from + headers.length;
    const last = Math.min(to, first + size.blocks() - 1);
    try {
      const read = await readCall(first, last);
      const parent = headers.at(-1);
      if (parent !== undefined && read.headers[0]?.parentHash !== parent.hash) {
        throw readerError('INCONSISTENT_ANSWER', 'the chain changed while the range was read', {
          height: first,
        });
      }
      headers.push(...read.headers);
      transfers.push(...read.transfers);
      size.accepted();
    } catch (error) {
      if (first === last || !isReaderError(error, 'RPC_RANGE_TOO_LARGE')) throw error;
      size.refused();
    }
  }
  return { headers, transfers };
}
