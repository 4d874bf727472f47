import { GatewayError } from '@opentill/domain/gateway-error';
import type { Block } from '../chain/block.ts';
import type { Chain } from '../chain/chain.ts';
import type { TransactionInfo } from '../protobuf/messages.ts';
import type { JsonObject } from '../protobuf/json.ts';
import { decodeMessage } from '../protobuf/wire.ts';
import { hex } from '../tron-address.ts';

/* The part of java-tron's /jsonrpc that a light client needs: heads and logs. */

const MAX_BLOCK_RANGE = 5_000;
const MAX_ALTERNATIVES = 1_000;
const INVALID_PARAMS = -32_602;
const NO_SUCH_METHOD = -32_601;

function rpcError(code: number, message: string): GatewayError<'RPC_ERROR'> {
  return new GatewayError('RPC_ERROR', message, { retryable: false, context: { code } });
}

export function answerJsonRpc(chain: Chain, top: number, body: unknown): unknown {
  if (Array.isArray(body)) return body.map((one) => answerOne(chain, top, one as JsonObject));
  return answerOne(chain, top, body as JsonObject);
}

function answerOne(chain: Chain, top: number, call: JsonObject): JsonObject {
  const { id, method } = call;
  const params = (call['params'] ?? []) as unknown[];
  try {
    return { jsonrpc: '2.0', id, result: run(chain, top, String(method), params) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { message, context } = error;
    return { jsonrpc: '2.0', id, error: { code: context['code'], message, data: '{}' } };
  }
}

function run(chain: Chain, top: number, method: string, params: readonly unknown[]): unknown {
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
      return logsOf(chain, top, (params[0] ?? {}) as JsonObject);
    default:
      throw rpcError(NO_SUCH_METHOD, `the method ${method} does not exist/is not available`);
  }
}

function quantity(value: number): string {
  return `0x${value.toString(16)}`;
}

function heightOf(chain: Chain, top: number, tag: unknown): number {
  if (tag === undefined || tag === 'latest') return top;
  if (tag === 'earliest') return 0;
  if (tag === 'finalized') return chain.solidNumber;
  const height = Number(tag);
  if (!Number.isSafeInteger(height)) throw rpcError(INVALID_PARAMS, 'invalid block number');
  return height;
}

function blockSummary(block: Block): JsonObject {
  return {
    number: quantity(block.number),
    hash: `0x${block.id}`,
    parentHash: `0x${block.parentId}`,
    timestamp: quantity(Math.floor(block.timestampMs / 1000)),
    transactions: block.transactions.map(({ id }) => `0x${id}`),
  };
}

function logsOf(chain: Chain, top: number, filter: JsonObject): JsonObject[] {
  const from = heightOf(chain, top, filter['fromBlock']);
  const to = Math.min(heightOf(chain, top, filter['toBlock']), top);
  if (from > to) throw rpcError(INVALID_PARAMS, 'please verify: fromBlock <= toBlock');
  if (to - from > MAX_BLOCK_RANGE) {
    throw rpcError(INVALID_PARAMS, `exceed max block range: ${MAX_BLOCK_RANGE}`);
  }
  const addresses = alternatives(filter['address'])?.map((text) => text.slice(-40));
  const topics = ((filter['topics'] ?? []) as unknown[]).map(alternatives);
  const found: JsonObject[] = [];
  for (let number = from; number <= to; number++) {
    const block = chain.blocks.get(number);
    if (block) found.push(...logsOfBlock(block, { addresses, topics }));
  }
  return found;
}

/** Normalises one or several values to lower case without 0x. Undefined matches any. */
function alternatives(wanted: unknown): string[] | undefined {
  if (wanted === undefined || wanted === null) return undefined;
  const list = (Array.isArray(wanted) ? wanted : [wanted]) as unknown[];
  if (list.length > MAX_ALTERNATIVES) {
    throw rpcError(INVALID_PARAMS, `exceed max topics: ${MAX_ALTERNATIVES}`);
  }
  return list.map((text) => String(text).toLowerCase().replace(/^0x/, ''));
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
      const topics = log.topics.map(hex);
      if (wanted.addresses && !wanted.addresses.includes(address)) continue;
      if (!wanted.topics.every((any, index) => any === undefined || any.includes(topics[index] ?? '')))
        continue;
      found.push({
        address: `0x${address}`,
        topics: topics.map((topic) => `0x${topic}`),
        data: `0x${hex(log.data)}`,
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
