import { describe, expect, it } from '@jest/globals';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { codeOfHttpStatus, codeOfRpcError } from './translate-rpc-error.ts';

/** Errors as nodes and providers send them. */
const WORDINGS: readonly (readonly [
  who: string,
  code: number,
  message: string,
  translated: ReaderErrorCode,
])[] = [
  ['geth', -32602, 'block range extends beyond current head block', 'BLOCK_NOT_FOUND'],
  [
    'reth',
    -32000,
    'block range extends beyond current head block: requested 0x2000, head 0x1000',
    'BLOCK_NOT_FOUND',
  ],
  ['bsc', -32602, 'invalid block range params', 'BLOCK_NOT_FOUND'],
  ['coreth', -32000, 'requested to block 23734227 after last accepted block 23734226', 'BLOCK_NOT_FOUND'],
  ['besu', -32000, 'Block not found', 'BLOCK_NOT_FOUND'],
  [
    'erigon',
    -32000,
    'requested block range [4096, 8192] is beyond latest executed block 4000 (node is still syncing)',
    'BLOCK_NOT_FOUND',
  ],
  ['anvil', -32602, 'BlockOutOfRangeError: block height is 5 but requested was 20', 'BLOCK_NOT_FOUND'],
  ['geth, by hash', -32000, 'unknown block', 'BLOCK_NOT_FOUND'],
  ['geth, state', -32000, 'header not found', 'BLOCK_NOT_FOUND'],
  ['bor', -32000, 'finalized block not found', 'FINALITY_UNAVAILABLE'],
  [
    'Alchemy',
    -32602,
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x0, 0x133e71]',
    'RPC_RANGE_TOO_LARGE',
  ],
  [
    'Alchemy, free',
    -32600,
    'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.',
    'RPC_RANGE_TOO_LARGE',
  ],
  ['QuickNode', -32614, 'eth_getLogs is limited to a 10,000 range', 'RPC_RANGE_TOO_LARGE'],
  ['QuickNode, other code', -32602, 'eth_getLogs is limited to a 5 blocks range', 'RPC_RANGE_TOO_LARGE'],
  [
    'Infura',
    -32005,
    'query returned more than 10000 results. Try with this block range [0xCB3D, 0x7B737].',
    'RPC_RANGE_TOO_LARGE',
  ],
  [
    'BlockPI',
    -32602,
    'eth_getLogs is limited to 1024 block range. Please check the parameter requirements',
    'RPC_RANGE_TOO_LARGE',
  ],
  ['Ankr', -32600, 'block range is too wide', 'RPC_RANGE_TOO_LARGE'],
  ['PublicNode', -32701, 'exceed maximum block range: 50000', 'RPC_RANGE_TOO_LARGE'],
  ['Berachain', -32602, 'query exceeds max block range 100000', 'RPC_RANGE_TOO_LARGE'],
  [
    'reth, results',
    -32602,
    'query exceeds max results 20000, retry with the range 24383075-24383096',
    'RPC_RANGE_TOO_LARGE',
  ],
  ['dRPC', 35, 'ranges over 10000 blocks are not supported on freetier', 'RPC_RANGE_TOO_LARGE'],
  [
    'coreth, own limit',
    -32000,
    'requested too many blocks from 0 to 16777216, maximum is set to 2048',
    'RPC_RANGE_TOO_LARGE',
  ],
  ['SimplyVC', -32000, 'too wide blocks range, the limit is 100', 'RPC_RANGE_TOO_LARGE'],
  ['Chainstack', -32000, 'Block range limit exceeded.', 'RPC_RANGE_TOO_LARGE'],
  [
    'Cloudflare',
    -32047,
    'Invalid eth_getLogs request. "fromBlock"-"toBlock" range too large. Max range: 800',
    'RPC_RANGE_TOO_LARGE',
  ],
  ['a proxy', -32000, 'backend response too large', 'RPC_RANGE_TOO_LARGE'],
  ['geth, logs', -32000, 'logs matched by query exceeds limit of 10000', 'RPC_RANGE_TOO_LARGE'],
  ['geth, time', -32000, 'query timeout exceeded', 'RPC_RANGE_TOO_LARGE'],
  ['Alchemy, speed', 429, 'Your app has exceeded its compute units per second capacity.', 'RPC_RATE_LIMITED'],
  [
    'QuickNode, speed',
    -32007,
    '50/second request limit reached - reduce calls per second',
    'RPC_RATE_LIMITED',
  ],
  ['Infura, speed', -32005, 'daily request count exceeded, request rate limited', 'RPC_RATE_LIMITED'],
  ['EIP-1474', -32005, 'limit exceeded', 'RPC_RATE_LIMITED'],
  ['any', -32000, 'Too Many Requests', 'RPC_RATE_LIMITED'],
  [
    'geth, no method',
    -32601,
    'the method eth_getBlockReceipts does not exist/is not available',
    'RPC_METHOD_MISSING',
  ],
  ['BSC dataseed', -32005, 'method eth_getLogs in batch triggered rate limit', 'RPC_RATE_LIMITED'],
  ['a public node', -32600, 'method not allowed', 'RPC_METHOD_MISSING'],
  ['Infura, key', -32002, 'invalid project id', 'RPC_FORBIDDEN'],
  ['Alchemy, key', -32600, 'Must be authenticated!', 'RPC_FORBIDDEN'],
  ['LinkPool', -32002, 'request timed out', 'RPC_UNAVAILABLE'],
  ['any, internal', -32603, 'something', 'RPC_UNAVAILABLE'],
  ['any, revert', 3, 'execution reverted', 'RPC_REFUSED'],
  ['any, params', -32602, 'invalid argument 0: hex string without 0x prefix', 'RPC_REFUSED'],
];

describe('errors of nodes', () => {
  it.each(WORDINGS)('%s: %i %s', (_, code, message, translated) => {
    expect(codeOfRpcError({ code, message })).toBe(translated);
  });

  it.each<[number, ReaderErrorCode | undefined]>([
    [200, undefined],
    [401, 'RPC_FORBIDDEN'],
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
});
