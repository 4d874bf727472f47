import { describe, expect, it } from '@jest/globals';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import { suggestedBlocksOf } from './suggested-blocks.ts';
import {
  batchRefusalOf,
  codeOfHttpStatus,
  codeOfRpcError,
  mayBeBetterElsewhere,
} from './translate-rpc-error.ts';

const [GONE, LARGE, SLOW, DOWN] = [
  'BLOCK_NOT_FOUND',
  'RPC_RANGE_TOO_LARGE',
  'RPC_RATE_LIMITED',
  'RPC_UNAVAILABLE',
] as const;
/** Where the wording was seen: a repository's issue or pull request, or its source. */
const PONDER = 'ponder-sh/ponder packages/utils getLogsRetryHelper';
const SURVEY = 'ethereum/execution-apis#875';

/** Errors as nodes and providers send them: who, code, message, what it means, blocks it suggests, where it was seen. */
const WORDINGS: readonly (readonly [
  who: string,
  code: number,
  message: string,
  translated: ReaderErrorCode,
  blocks: number | undefined,
  source: string,
])[] = [
  // Nodes: beyond the head.
  ['geth ≥ 1.17', -32602, 'block range extends beyond current head block', GONE, undefined, SURVEY],
  ['geth, from above head', -32602, 'invalid block range params', GONE, undefined, 'paradigmxyz/reth#26891'],
  [
    'reth',
    -32602,
    'block range extends beyond current head block: requested 21000100, head 21000000',
    GONE,
    undefined,
    'paradigmxyz/reth#23720',
  ],
  ['bsc', -32602, 'invalid block range params', GONE, undefined, 'bnb-chain/bsc v1.7 eth/filters'],
  ['besu', -32000, 'Block not found', GONE, undefined, 'ethereum/execution-apis#534'],
  [
    'erigon',
    -32000,
    'requested block range [4096, 8192] is beyond latest executed block 4000 (node is still syncing)',
    GONE,
    undefined,
    'erigontech/erigon rpc/jsonrpc eth_receipts.go',
  ],
  ['nethermind', -32001, '8633830 could not be found', GONE, undefined, 'equilibriumco/pathfinder#943'],
  [
    'coreth',
    -32000,
    'requested to block 23734227 after last accepted block 23734226',
    GONE,
    undefined,
    'ava-labs/coreth eth/filters',
  ],
  [
    'anvil',
    -32602,
    'BlockOutOfRangeError: block height is 5 but requested was 20',
    GONE,
    undefined,
    'anvil 1.7.1',
  ],
  ['geth, by hash', -32000, 'unknown block', GONE, undefined, 'ethereum/go-ethereum eth/filters'],
  ['geth, state', -32000, 'header not found', GONE, undefined, 'ethereum/execution-apis#534'],
  [
    'openethereum',
    -32000,
    'One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found',
    GONE,
    undefined,
    'openethereum/parity-ethereum#9256',
  ],
  [
    'bor',
    -32000,
    'finalized block not found',
    'FINALITY_UNAVAILABLE',
    undefined,
    '0xPolygon/bor v2.2 eth/api.go',
  ],
  [
    'bor, safe',
    -32000,
    'safe block not found',
    'FINALITY_UNAVAILABLE',
    undefined,
    '0xPolygon/bor eth/api_backend.go',
  ],
  // Nodes: too much in one answer.
  ['geth, logs', -32000, 'logs matched by query exceeds limit of 10000', LARGE, undefined, PONDER],
  ['geth, time', -32000, 'query timeout exceeded', LARGE, undefined, 'enviodev/hyperindex classify.rs'],
  ['reth, blocks', -32602, 'query exceeds max block range 5000', LARGE, 5_000, 'paradigmxyz/reth#8558'],
  [
    'reth, results',
    -32602,
    'query exceeds max results 20000, retry with the range 24383075-24383096',
    LARGE,
    22,
    'paradigmxyz/reth EthFilterError',
  ],
  [
    'erigon, blocks',
    -32602,
    'query block range exceeds server limit, narrow your filter: 1000',
    LARGE,
    1_000,
    'erigontech/erigon#20424',
  ],
  [
    'erigon, results',
    -32602,
    'query returns too many logs, narrow your filter: 20000',
    LARGE,
    undefined,
    'erigontech/erigon#19721',
  ],
  [
    'besu',
    -32005,
    'Requested range exceeds maximum RPC range limit',
    LARGE,
    undefined,
    'besu-eth/besu EXCEEDS_RPC_MAX_BLOCK_RANGE',
  ],
  [
    'nethermind, blocks',
    -32602,
    'Block range 5001 exceeds the maximum of 1000',
    LARGE,
    1_000,
    'NethermindEth/nethermind#12149 (the beginning of it)',
  ],
  [
    'coreth, own limit',
    -32000,
    'requested too many blocks from 0 to 16777216, maximum is set to 2048',
    LARGE,
    2_048,
    PONDER,
  ],
  [
    'bsc dataseed',
    -32000,
    'exceed maximum block range: 5000',
    LARGE,
    5_000,
    'AlphaWallet/alpha-wallet-android#2736',
  ],
  [
    'cdk-erigon',
    -32005,
    'block range too large, max range: 10000',
    LARGE,
    10_000,
    '0xPolygon/cdk-erigon#1706',
  ],
  [
    'scroll',
    -32000,
    'block range is bigger than maxBlockRange',
    LARGE,
    undefined,
    'scroll-tech/go-ethereum#529',
  ],
  [
    'morph',
    -32000,
    'block range is larger than max block range, block range = 5120, max block range = 5000',
    LARGE,
    5_000,
    'enviodev/hyperindex#605',
  ],
  // Providers: too much in one answer.
  [
    'Alchemy',
    -32602,
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0xc5dc00, 0xc614a7]',
    LARGE,
    14_504,
    PONDER,
  ],
  [
    'Alchemy, by plan',
    -32600,
    'You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x123c9b2, 0x123cba5]',
    LARGE,
    500,
    'BobTheBuidler/dank_mids#772',
  ],
  [
    'Alchemy, free',
    -32600,
    'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Upgrade to PAYG for expanded block range.',
    LARGE,
    10,
    'alchemy.com eth_getLogs',
  ],
  [
    'Alchemy, long ago',
    -32602,
    'Log response size exceeded. Please reduce query block range.',
    LARGE,
    undefined,
    'bancorprotocol/webapp#523',
  ],
  [
    'QuickNode',
    -32614,
    'eth_getLogs is limited to a 10,000 range',
    LARGE,
    10_000,
    'OffchainLabs/arbitrum-sdk#609 (with HTTP 413)',
  ],
  [
    'QuickNode, free',
    -32602,
    'eth_getLogs is limited to a 5 blocks range',
    LARGE,
    5,
    'quicknode.com eth_getLogs',
  ],
  [
    'Infura, results',
    -32005,
    'query returned more than 10000 results. Try with this block range [0xCB3D, 0x7B737].',
    LARGE,
    453_627,
    PONDER,
  ],
  ['Infura, blocks', -32602, 'range 1000000 exceeds limit of 10000', LARGE, 10_000, 'INFURA/infura#237'],
  [
    'BlockPI',
    -32602,
    'eth_getLogs is limited to 1024 block range. Please check the parameter requirements at  https://docs.blockpi.io/documentations/api-reference',
    LARGE,
    1_024,
    PONDER,
  ],
  ['Ankr', -32600, 'block range is too wide', LARGE, undefined, PONDER],
  [
    'Ankr, newer',
    -32602,
    'maximum [from, to] blocks distance: 10000',
    LARGE,
    10_000,
    'ponder-sh/ponder#1940',
  ],
  ['PublicNode', -32701, 'exceed maximum block range: 50000', LARGE, 50_000, PONDER],
  ['dRPC', 35, 'ranges over 10000 blocks are not supported on freetier', LARGE, 10_000, 'drpc.org errors'],
  [
    'Chainstack',
    -32000,
    'Block range limit exceeded. See more details at https://docs.chainstack.com/docs/limits#evm-range-limits',
    LARGE,
    undefined,
    PONDER,
  ],
  [
    'Cloudflare',
    -32047,
    'Invalid eth_getLogs request. "fromBlock"-"toBlock" range too large. Max range: 800',
    LARGE,
    800,
    PONDER,
  ],
  ['Coinbase', -32602, 'please limit the query to at most 1000 blocks', LARGE, 1_000, PONDER],
  [
    'Nodies',
    -32001,
    'Block range too large: maximum allowed is 20000 blocks',
    LARGE,
    20_000,
    'MASQ-Project/Node#734',
  ],
  ['Merkle', -32000, 'eth_getLogs range is too large, max is 10k blocks', LARGE, 10_000, PONDER],
  [
    'Moonbeam',
    -32000,
    'block range is too wide (maximum 1024)',
    LARGE,
    1_024,
    'moonbeam-foundation/moonbeam#3250',
  ],
  ['Candle', -32600, 'block range too high', LARGE, undefined, 'AlphaWallet/alpha-wallet-ios#5277'],
  [
    'Tenderly',
    -32602,
    'invalid params range 9009594 is bigger than range limit 2000',
    LARGE,
    2_000,
    'bobanetwork/boba_legacy#827 (message and data)',
  ],
  ['Thirdweb', -32602, 'Maximum allowed number of requested blocks is 3500', LARGE, 3_500, PONDER],
  ['Blast', -32602, 'exceeds the range allowed for your plan (5000 > 1000)', LARGE, 1_000, PONDER],
  ['1RPC', -32602, 'response size should not greater than 10000000 bytes', LARGE, undefined, PONDER],
  ['a proxy', -32000, 'backend response too large', LARGE, undefined, PONDER],
  [
    'SimplyVC',
    -32000,
    'too wide blocks range, the limit is 100',
    LARGE,
    100,
    'enviodev/hyperindex classify.rs',
  ],
  // Too often.
  [
    'Alchemy, speed',
    429,
    'Your app has exceeded its compute units per second capacity. If you have retries enabled, you can safely ignore this message.',
    SLOW,
    undefined,
    'latticexyz/mud#1522',
  ],
  ['QuickNode, credits', -32012, 'credits limited to 6000/sec', SLOW, undefined, 'latticexyz/mud#1522'],
  [
    'QuickNode, speed',
    -32007,
    '50/second request limit reached - reduce calls per second',
    SLOW,
    undefined,
    'quicknode.com errors',
  ],
  [
    'Infura, day',
    -32005,
    'daily request count exceeded, request rate limited',
    SLOW,
    undefined,
    'xclud/web3dart#24',
  ],
  ['Ankr, speed', -31999, 'rate limit exceeded', SLOW, undefined, 'Ankr-network/ankr-docs#1645'],
  [
    'BSC dataseed',
    -32005,
    'method eth_getLogs in batch triggered rate limit',
    SLOW,
    undefined,
    'bnb-chain public endpoints',
  ],
  ['dRPC, speed', 15, 'Too many request, try again later', SLOW, undefined, 'drpc.org errors'],
  ['Base', -32016, 'over rate limit', SLOW, undefined, 'base/node#368'],
  ['EIP-1474', -32005, 'limit exceeded', SLOW, undefined, 'EIP-1474'],
  ['any', -32000, 'Too Many Requests', SLOW, undefined, 'RFC 6585'],
  [
    'a proxy, load',
    -32000,
    'upstream is under too much load',
    SLOW,
    undefined,
    'erpc/erpc error_normalizer.go',
  ],
  // Not offered, not to this caller, not now, not at all.
  [
    'geth, no method',
    -32601,
    'the method eth_getBlockReceipts does not exist/is not available',
    'RPC_METHOD_MISSING',
    undefined,
    'ethereum/go-ethereum rpc/errors.go',
  ],
  [
    'a public node',
    -32600,
    'method not allowed',
    'RPC_METHOD_MISSING',
    undefined,
    'erpc/erpc error_normalizer.go',
  ],
  ['Infura, key', -32002, 'invalid project id', 'RPC_FORBIDDEN', undefined, 'docs.infura.io'],
  ['Alchemy, key', -32600, 'Must be authenticated!', 'RPC_FORBIDDEN', undefined, 'alchemy.com errors'],
  [
    'dRPC, time',
    30,
    'Request timeout on the free tier, please upgrade your tier to the paid one',
    DOWN,
    undefined,
    'enviodev/hyperindex#715',
  ],
  ['LinkPool', -32002, 'request timed out', DOWN, undefined, 'ethereum/go-ethereum rpc/errors.go'],
  ['any, internal', -32603, 'something', DOWN, undefined, 'JSON-RPC 2.0'],
  ['any, revert', 3, 'execution reverted', 'RPC_REFUSED', undefined, 'ethereum/go-ethereum'],
  [
    'any, params',
    -32602,
    'invalid argument 0: hex string without 0x prefix',
    'RPC_REFUSED',
    undefined,
    'ethereum/go-ethereum',
  ],
];

/** What is said of a batch: who, code, message, the whole answer?, calls allowed, for every batch of the size? */
const BATCH_WORDINGS: readonly (readonly [
  string,
  number,
  string,
  boolean,
  number | undefined,
  boolean,
  string,
])[] = [
  ['geth', -32600, 'batch too large', true, undefined, true, 'ethereum/go-ethereum rpc/errors.go'],
  [
    'geth, answers',
    -32003,
    'response too large',
    false,
    undefined,
    false,
    'ethereum/go-ethereum rpc/errors.go',
  ],
  [
    'erigon',
    -32000,
    'batch limit 100 exceeded: 142 requests given',
    true,
    100,
    true,
    'erigontech/erigon#7072',
  ],
  ['besu', -32005, 'Number of requests exceeds max batch size', true, undefined, true, 'besu-eth/besu#4951'],
  ['nethermind', -32005, 'Batch size limit exceeded', true, undefined, true, 'NethermindEth/nethermind#5122'],
  [
    'nethermind, answers',
    -32005,
    'MaxBatchResponseBodySize of 30000000 exceeded',
    true,
    undefined,
    false,
    'NethermindEth/nethermind JsonRpcProcessor',
  ],
  ['reth', -32010, 'The batch request was too large', true, undefined, true, 'paritytech/jsonrpsee#1107'],
  [
    'reth, answers',
    -32011,
    'The batch response was too large',
    true,
    undefined,
    false,
    'paritytech/jsonrpsee#1107',
  ],
  [
    'reth, none',
    -32005,
    'Batched requests are not supported by this server',
    true,
    1,
    true,
    'paritytech/jsonrpsee',
  ],
  [
    'dRPC',
    31,
    'Batch of more than 3 requests are not allowed on free tier, to use this feature register paid account at drpc.org',
    false,
    3,
    true,
    'blockscout/blockscout#14211',
  ],
  ['bodhi', -32600, 'Exceeded maximum batch size 10', true, 10, true, 'AcalaNetwork/bodhi.js#383'],
  ['no batches known', -32600, 'Invalid Request', true, 1, true, 'JSON-RPC 2.0'],
];

describe('errors of nodes', () => {
  it.each(WORDINGS)('%s: %i %s', (_, code, message, translated, blocks) => {
    expect(codeOfRpcError({ code, message })).toBe(translated);
    if (translated === LARGE) expect(suggestedBlocksOf(message)).toBe(blocks);
    // None of it is about how many calls there were, not even as the only answer to a batch.
    if (translated !== 'RPC_REFUSED') expect(batchRefusalOf({ code, message }, true)).toBeUndefined();
  });

  it.each(BATCH_WORDINGS)('of a batch, %s: %i %s', (_, code, message, isWhole, callsMax, lasting) => {
    expect(batchRefusalOf({ code, message }, isWhole)).toEqual({ callsMax, lasting });
  });

  it('does not take a refusal of one call for one of the batch', () => {
    expect(batchRefusalOf({ code: -32600, message: 'Invalid Request' }, false)).toBeUndefined();
  });

  it.each<[number, ReaderErrorCode | undefined]>([
    [200, undefined],
    [302, 'RPC_UNAVAILABLE'],
    [401, 'RPC_FORBIDDEN'],
    [402, 'RPC_FORBIDDEN'],
    [403, 'RPC_FORBIDDEN'],
    [404, 'RPC_REFUSED'],
    [408, 'RPC_UNAVAILABLE'],
    [413, 'RPC_RANGE_TOO_LARGE'],
    [429, 'RPC_RATE_LIMITED'],
    [500, 'RPC_UNAVAILABLE'],
    [503, 'RPC_UNAVAILABLE'],
  ])('HTTP %i', (status, translated) => {
    expect(codeOfHttpStatus(status)).toBe(translated);
  });

  it('move on to another URL unless any node would say the same', () => {
    const stays = ['RPC_RANGE_TOO_LARGE', 'TOKEN_MISMATCH', 'READ_ABORTED'] as const;
    for (const code of stays) expect(mayBeBetterElsewhere(readerError(code, 'x'))).toBe(false);
    expect(mayBeBetterElsewhere(new TypeError('a bug'))).toBe(false);
    const moves = [GONE, SLOW, DOWN, 'FINALITY_UNAVAILABLE', 'WRONG_CHAIN', 'INCONSISTENT_ANSWER'] as const;
    for (const code of moves) expect(mayBeBetterElsewhere(readerError(code, 'x'))).toBe(true);
  });
});
