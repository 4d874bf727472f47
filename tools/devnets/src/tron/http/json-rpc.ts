import { GatewayError } from '@opentill/domain/gateway-error';
import type { Block } from '../chain/block.ts';
import type { Chain } from '../chain/chain.ts';
import type { TransactionInfo } from '../protobuf/messages.ts';
import type { JsonObject } from '../protobuf/json.ts';
import { textOf } from '../protobuf/json-text.ts';
import { decodeMessage } from '../protobuf/wire.ts';
import { hex } from '../tron-address.ts';

/*
 * The part of java-tron's /jsonrpc that a light client needs: heads and logs. Limits and texts are those of LogFilter,
 * LogFilterWrapper, LogBlockQuery and JsonRpcServlet.
 */

const MAX_BLOCK_RANGE = 5_000;
const MAX_ALTERNATIVES = 1_000;
const MAX_TOPICS = 4;
const MAX_RESULTS = 10_000;
const MAX_BATCH = 100;
const INVALID_REQUEST = -32_600;
const INVALID_PARAMS = -32_602;
const NO_SUCH_METHOD = -32_601;
const LIMIT_EXCEEDED = -32_005;
const ADDRESS = /^[0-9a-f]{40}$/;
const TOPIC = /^[0-9a-f]{64}$/;

/**
 * Blocks whose logs the node indexed: java-tron does so only while its JSON-RPC interface is on. Of other blocks a filter
 * by address or topic finds none, without an error.
 */
export type IsIndexed = (height: number) => boolean;

interface Node {
  readonly chain: Chain;
  readonly top: number;
  readonly isIndexed: IsIndexed;
}

function rpcError(code: number, message: string): GatewayError<'RPC_ERROR'> {
  return new GatewayError('RPC_ERROR', message, { retryable: false, context: { code } });
}

export function answerJsonRpc(node: Node, body: unknown): unknown {
  if (!Array.isArray(body)) return answerOne(node, body as JsonObject);
  if (body.length === 0) return failed(null, INVALID_REQUEST, 'Invalid Request');
  if (body.length > MAX_BATCH)
    return failed(null, LIMIT_EXCEEDED, `Batch size ${body.length} exceeds the limit of ${MAX_BATCH}`);
  return body.map((one) => answerOne(node, one as JsonObject));
}

function failed(id: unknown, code: unknown, message: string): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message, data: '{}' } } as JsonObject;
}

function answerOne(node: Node, call: JsonObject): JsonObject {
  const { id, method } = call;
  const params = (call['params'] ?? []) as unknown[];
  try {
    return { jsonrpc: '2.0', id, result: run(node, String(method), params) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return failed(id, error.context['code'], error.message);
  }
}

function run(node: Node, method: string, params: readonly unknown[]): unknown {
  const { chain, top } = node;
  switch (method) {
    case 'eth_blockNumber':
      return quantity(top);
    case 'eth_chainId':
    case 'net_version':
      return `0x${chain.genesis.id.slice(-8)}`;
    case 'eth_gasPrice':
      return quantity(chain.parameters.energyFee);
    case 'eth_getBlockByNumber': {
      const block = chain.blocks.get(heightOf(chain, top, params[0]));
      return block === undefined || block.number > top ? null : blockSummary(block);
    }
    case 'eth_getLogs':
      return logsOf(node, (params[0] ?? {}) as JsonObject);
    default:
      throw rpcError(NO_SUCH_METHOD, `the method ${method} does not exist/is not available`);
  }
}

function quantity(value: number): string {
  return `0x${value.toString(16)}`;
}

function heightOf(chain: Chain, top: number, tag: unknown): number {
  if (tag === 'pending') throw rpcError(INVALID_PARAMS, 'TAG pending not supported');
  if (tag === undefined || tag === 'latest') return top;
  if (tag === 'earliest') return 0;
  if (tag === 'finalized') return chain.solidNumber;
  const height = Number(tag);
  if (!Number.isSafeInteger(height)) throw rpcError(INVALID_PARAMS, 'invalid block number');
  return height;
}

function blockSummary(block: Block): JsonObject {
  const { txTrieRoot, witness_address: witness } = block.header.raw_data;
  return {
    number: quantity(block.number),
    hash: `0x${block.id}`,
    parentHash: `0x${block.parentId}`,
    timestamp: quantity(Math.floor(block.timestampMs / 1000)),
    transactionsRoot: `0x${hex(txTrieRoot)}`,
    stateRoot: '0x',
    miner: `0x${hex(witness).slice(2)}`,
    transactions: block.transactions.map(({ id }) => `0x${id}`),
  };
}

function logsOf({ chain, top, isIndexed }: Node, filter: JsonObject): JsonObject[] {
  const { from, to } = rangeOf(chain, top, filter);
  const wanted = { addresses: addressesOf(filter['address']), topics: topicsOf(filter['topics']) };
  const isByIndex = wanted.addresses !== undefined || wanted.topics.some((any) => any !== undefined);
  const found: JsonObject[] = [];
  for (let number = from; number <= to; number++) {
    const block = chain.blocks.get(number);
    if (block && (!isByIndex || isIndexed(number))) found.push(...logsOfBlock(block, wanted));
    if (found.length > MAX_RESULTS)
      throw rpcError(LIMIT_EXCEEDED, `query returned more than ${MAX_RESULTS} results`);
  }
  return found;
}

/** Blocks above the node's head are cut off without an error. */
function rangeOf(
  chain: Chain,
  top: number,
  filter: JsonObject,
): { readonly from: number; readonly to: number } {
  const hash = filter['blockHash'];
  if (hash !== undefined) {
    if (filter['fromBlock'] !== undefined || filter['toBlock'] !== undefined)
      throw rpcError(
        INVALID_PARAMS,
        'cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other',
      );
    const number = chain.numbersById.get(textOf(hash).replace(/^0x/, ''));
    if (number === undefined || number > top) throw rpcError(INVALID_PARAMS, 'invalid blockHash');
    return { from: number, to: number };
  }
  const to = heightOf(chain, top, filter['toBlock']);
  const from =
    filter['fromBlock'] === undefined ? Math.min(to, top) : heightOf(chain, top, filter['fromBlock']);
  if (from > to) throw rpcError(INVALID_PARAMS, 'please verify: fromBlock <= toBlock');
  if (Math.min(to, top) - from > MAX_BLOCK_RANGE)
    throw rpcError(INVALID_PARAMS, `exceed max block range: ${MAX_BLOCK_RANGE}`);
  return { from, to: Math.min(to, top) };
}

function addressesOf(wanted: unknown): string[] | undefined {
  return alternatives(wanted)?.map((address) => {
    if (!ADDRESS.test(address)) throw rpcError(INVALID_PARAMS, `invalid address: ${address}`);
    return address;
  });
}

function topicsOf(wanted: unknown): (string[] | undefined)[] {
  const list = (wanted ?? []) as unknown[];
  if (list.length > MAX_TOPICS) throw rpcError(INVALID_PARAMS, `topics size should be <= ${MAX_TOPICS}`);
  return list.map((one) => {
    const topics = alternatives(one);
    if (Array.isArray(one) && one.length > MAX_ALTERNATIVES)
      throw rpcError(INVALID_PARAMS, `exceed max topics: ${MAX_ALTERNATIVES}`);
    const wrong = topics?.find((topic) => !TOPIC.test(topic));
    if (wrong !== undefined) throw rpcError(INVALID_PARAMS, `invalid topic(s): ${wrong}`);
    return topics;
  });
}

/** Normalises one or several values to lower case without 0x. Undefined, like an empty list, matches any. */
function alternatives(wanted: unknown): string[] | undefined {
  if (wanted === undefined || wanted === null) return undefined;
  const list = (Array.isArray(wanted) ? wanted : [wanted]) as unknown[];
  return list.length === 0 ? undefined : list.map((text) => String(text).toLowerCase().replace(/^0x/, ''));
}

function logsOfBlock(
  block: Block,
  wanted: { readonly addresses: string[] | undefined; readonly topics: (string[] | undefined)[] },
): JsonObject[] {
  let logIndex = -1;
  const found: JsonObject[] = [];
  for (const [transactionIndex, { id, info }] of block.transactions.entries()) {
    for (const log of decodeMessage<TransactionInfo>('TransactionInfo', info).log ?? []) {
      logIndex += 1;
      const address = hex(log.address);
      const topics = (log.topics as Uint8Array[] | undefined)?.map(hex) ?? [];
      if (wanted.addresses && !wanted.addresses.includes(address)) continue;
      if (!wanted.topics.every((any, index) => any === undefined || any.includes(topics[index] ?? '')))
        continue;
      found.push({
        address: `0x${address}`,
        topics: topics.map((topic) => `0x${topic}`),
        data: `0x${hex((log.data as Uint8Array | undefined) ?? new Uint8Array(0))}`,
        blockHash: `0x${block.id}`,
        blockNumber: quantity(block.number),
        transactionHash: `0x${id}`,
        transactionIndex: quantity(transactionIndex),
        logIndex: quantity(logIndex),
        removed: false,
      });
    }
  }
  return found;
}
