import { broadcast } from '../chain/broadcast.ts';
import { messageToJson } from '../protobuf/json.ts';
import { textOf, writeJson } from '../protobuf/json-text.ts';
import type { Transaction } from '../protobuf/messages.ts';
import { transactionFromJson } from '../protobuf/transaction-json.ts';
import { decodeMessage } from '../protobuf/wire.ts';
import { hexBytes } from '../tron-address.ts';
import type { Endpoint } from './node.ts';

/** `raw_data` counts, encoded anew: one that was changed after signing has another id. */
const broadcastTransaction: Endpoint = async ({ chain, body, visible }) => {
  const answer = await broadcast(chain, transactionFromJson(body, visible));
  const { code, txid, message } = answer;
  if (code === 'SUCCESS') return { result: true, txid };
  return { code, txid, message: visible ? message : Buffer.from(message).toString('hex') };
};

/** The signed protobuf in hex. Its answer always has all its keys, and the message is text. */
const broadcastHex: Endpoint = async ({ chain, body }) => {
  const transaction = decodeMessage<Partial<Transaction>>(
    'Transaction',
    hexBytes(textOf(body['transaction'])),
  );
  const sent: Transaction = { ...transaction, raw_data: transaction.raw_data ?? {} };
  const { code, txid, message } = await broadcast(chain, sent);
  const shown = writeJson(messageToJson('Transaction', sent, true));
  return { result: code === 'SUCCESS', code, message, transaction: shown, txid };
};

export const BROADCAST_ENDPOINTS: Record<string, Endpoint> = {
  broadcasttransaction: broadcastTransaction,
  broadcasthex: broadcastHex,
};
