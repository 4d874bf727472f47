import type { RpcRequest } from './client.ts';
import { TRANSFER_TOPIC } from './decode.ts';

/** An integer as JSON-RPC writes it. */
export function hexQuantity(value: number): string {
  return `0x${value.toString(16)}`;
}

/** A block; without the bodies of its transactions unless they are asked for. */
export function blockRequest(block: number | 'latest' | 'finalized', withTransactions = false): RpcRequest {
  const tag = typeof block === 'number' ? hexQuantity(block) : block;
  return { method: 'eth_getBlockByNumber', params: [tag, withTransactions] };
}

export function blockByHashRequest(blockHash: string): RpcRequest {
  return { method: 'eth_getBlockByHash', params: [blockHash, false] };
}

/** All Transfer logs of the tokens, in a range of blocks. No filter by recipient: the database knows who is ours. */
export function logsRequest(tokens: ReadonlySet<string>, from: number, to: number): RpcRequest {
  const range = { fromBlock: hexQuantity(from), toBlock: hexQuantity(to) };
  return { method: 'eth_getLogs', params: [{ ...range, address: [...tokens], topics: [TRANSFER_TOPIC] }] };
}

/** The same for one block by its hash (EIP-234): the form that errs when the node does not have the block. */
export function logsOfBlockRequest(tokens: ReadonlySet<string>, blockHash: string): RpcRequest {
  return { method: 'eth_getLogs', params: [{ blockHash, address: [...tokens], topics: [TRANSFER_TOPIC] }] };
}

/** Every receipt of a block; by hash, so that a reorganisation in between shows. */
export function blockReceiptsRequest(blockHash: string): RpcRequest {
  return { method: 'eth_getBlockReceipts', params: [blockHash] };
}

export function receiptRequest(txHash: string): RpcRequest {
  return { method: 'eth_getTransactionReceipt', params: [txHash] };
}

export function transactionRequest(txHash: string): RpcRequest {
  return { method: 'eth_getTransactionByHash', params: [txHash] };
}

/** The height of the newest block, without the block. */
export function headHeightRequest(): RpcRequest {
  return { method: 'eth_blockNumber', params: [] };
}
