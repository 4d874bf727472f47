import type { FinalityTag } from '@opentill/contracts/network-config';
import type { RpcRequest } from './client.ts';
import { TRANSFER_TOPIC } from './decode.ts';

export function hexQuantity(value: number): string {
  return `0x${value.toString(16)}`;
}

export function blockRequest(block: number | 'latest' | FinalityTag, withTransactions = false): RpcRequest {
  const tag = typeof block === 'number' ? hexQuantity(block) : block;
  return { method: 'eth_getBlockByNumber', params: [tag, withTransactions] };
}

export function blockByHashRequest(blockHash: string): RpcRequest {
  return { method: 'eth_getBlockByHash', params: [blockHash, false] };
}

/** No filter by recipient: the database decides which recipients matter. */
export function logsRequest(tokens: ReadonlySet<string>, from: number, to: number): RpcRequest {
  const range = { fromBlock: hexQuantity(from), toBlock: hexQuantity(to) };
  return { method: 'eth_getLogs', params: [{ ...range, address: [...tokens], topics: [TRANSFER_TOPIC] }] };
}

/** Asks by hash, so that a reorganisation in between is detected. */
export function blockReceiptsRequest(blockHash: string): RpcRequest {
  return { method: 'eth_getBlockReceipts', params: [blockHash] };
}

export function receiptRequest(txHash: string): RpcRequest {
  return { method: 'eth_getTransactionReceipt', params: [txHash] };
}

export function transactionRequest(txHash: string): RpcRequest {
  return { method: 'eth_getTransactionByHash', params: [txHash] };
}

export function headHeightRequest(): RpcRequest {
  return { method: 'eth_blockNumber', params: [] };
}
