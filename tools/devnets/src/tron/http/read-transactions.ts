import type { Transaction, TransactionInfo } from '../protobuf/messages.ts';
import { messageToJson, type JsonObject } from '../protobuf/json.ts';
import { textOf } from '../protobuf/json-text.ts';
import { transactionToJson } from '../protobuf/transaction-json.ts';
import { decodeMessage } from '../protobuf/wire.ts';
import { toBase58, withPrefix } from '../tron-address.ts';
import { blockAt, type Endpoint, type NodeRequest } from './node.ts';

export const TRANSACTION_ENDPOINTS: Record<string, Endpoint> = {
  gettransactioninfobyid: (request) => {
    const found = placeOf(request);
    return found === undefined ? {} : infoToJson(found.info, request.visible);
  },
  gettransactionbyid: (request) => {
    const found = placeOf(request);
    if (found)
      return transactionToJson(decodeMessage<Transaction>('Transaction', found.transaction), request.visible);
    const waiting = request.side === 'wallet' ? request.chain.pending.get(wantedId(request)) : undefined;
    if (waiting === undefined) return {};
    // The real node also reports pool transactions as successful.
    const shown: Transaction = { ...waiting.transaction, ret: [{ contractRet: 1 }] };
    return transactionToJson(shown, request.visible);
  },
  gettransactionfrompending: (request) => {
    const waiting = request.chain.pending.get(wantedId(request));
    return waiting === undefined ? {} : transactionToJson(waiting.transaction, request.visible);
  },
  gettransactionlistfrompending: ({ chain }) => ({ txId: [...chain.pending.keys()] }),
  getpendingsize: ({ chain }) => ({ pendingSize: chain.pending.size }),
};

function wantedId({ body }: NodeRequest): string {
  return textOf(body['value']).replace(/^0x/, '').toLowerCase();
}

function placeOf(request: NodeRequest): { transaction: Uint8Array; info: Uint8Array } | undefined {
  const place = request.chain.transactionPlaces.get(wantedId(request));
  return place && blockAt(request, place.block)?.transactions[place.index];
}

/** Log addresses have 20 bytes on the wire; only `visible` adds the prefix. */
export function infoToJson(bytes: Uint8Array, visible: boolean): JsonObject {
  const info = decodeMessage<TransactionInfo>('TransactionInfo', bytes);
  const json = messageToJson('TransactionInfo', info, visible);
  if (!visible || info.log === undefined) return json;
  const logs = json['log'] as JsonObject[];
  const shown = logs.map((log, index) => {
    const address = info.log?.[index]?.address ?? new Uint8Array(20);
    return { ...log, address: toBase58(withPrefix(address)) };
  });
  return { ...json, log: shown };
}
