import { broadcast } from '../chain/broadcast.ts';
import { messageToJson, type JsonObject } from '../protobuf/json.ts';
import { textOf, writeJson } from '../protobuf/json-text.ts';
import type { Transaction } from '../protobuf/messages.ts';
import { transactionFromJson, transactionId } from '../protobuf/transaction-json.ts';
import { decodeMessage } from '../protobuf/wire.ts';
import { hex, hexBytes } from '../tron-address.ts';
import type { Endpoint, NodeRequest } from './node.ts';

function sentAsHex(body: JsonObject): Transaction {
  const transaction = decodeMessage<Partial<Transaction>>(
    'Transaction',
    hexBytes(textOf(body['transaction'])),
  );
  return { ...transaction, raw_data: transaction.raw_data ?? {} };
}

/** Encodes `raw_data` again, so a transaction that was changed after signing has another id. */
const broadcastTransaction: Endpoint = async ({ chain, body, visible }) => {
  const answer = await broadcast(chain, transactionFromJson(body, visible));
  const { code, txid, message } = answer;
  if (code === 'SUCCESS') return { result: true, txid };
  return { code, txid, message: visible ? message : Buffer.from(message).toString('hex') };
};

/** Accepts signed protobuf in hex. The response has all keys, and its message is plain text. */
const broadcastHex: Endpoint = async ({ chain, body }) => {
  const sent = sentAsHex(body);
  const { code, txid, message } = await broadcast(chain, sent);
  const shown = writeJson(messageToJson('Transaction', sent, true));
  return { result: code === 'SUCCESS', code, message, transaction: shown, txid };
};

export const BROADCAST_ENDPOINTS: Record<string, Endpoint> = {
  broadcasttransaction: broadcastTransaction,
  broadcasthex: broadcastHex,
};

export function acceptWithoutSubmitting({ body, visible }: NodeRequest): JsonObject {
  const isHex = body['transaction'] !== undefined;
  const txid = hex(transactionId(isHex ? sentAsHex(body) : transactionFromJson(body, visible)));
  return isHex ? { result: true, code: 'SUCCESS', message: '', txid } : { result: true, txid };
}
