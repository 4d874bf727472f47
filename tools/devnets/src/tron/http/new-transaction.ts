import type { Transaction } from '../protobuf/messages.ts';
import { transactionToJson, contractTypeNumber } from '../protobuf/transaction-json.ts';
import { encodeMessage } from '../protobuf/wire.ts';
import type { JsonObject } from '../protobuf/json.ts';
import { hexBytes } from '../tron-address.ts';
import type { NodeRequest } from './node.ts';

const LIFETIME_MS = 60_000;

/** Unsigned transaction as a node builds it: refers to the solidified block and expires after a minute. */
export function newTransaction(request: NodeRequest, type: string, parameter: object): Transaction {
  const { chain, body } = request;
  const reference = chain.blocks.get(chain.solidNumber) ?? chain.genesis;
  const low = new Uint8Array([(reference.number >> 8) & 255, reference.number & 255]);
  const permission = Number(body['Permission_id'] ?? 0);
  const feeLimit = BigInt((body['fee_limit'] as string | number | bigint | undefined) ?? 0);
  const memo = body['extra_data'];
  return {
    raw_data: {
      ref_block_bytes: low,
      ref_block_hash: hexBytes(reference.id.slice(16, 32)),
      expiration: BigInt(chain.head.timestampMs + LIFETIME_MS),
      ...(typeof memo === 'string' && memo !== '' ? { data: hexBytes(memo) } : {}),
      contract: [
        {
          type: contractTypeNumber(type),
          parameter: {
            type_url: `type.googleapis.com/protocol.${type}`,
            value: encodeMessage(type, parameter),
          },
          ...(permission === 0 ? {} : { Permission_id: permission }),
        },
      ],
      timestamp: BigInt(chain.now()),
      ...(feeLimit === 0n ? {} : { fee_limit: feeLimit }),
    },
  };
}

/** Node's JSON form. `visible` defines how to parse its addresses. */
export function newTransactionJson(transaction: Transaction, visible: boolean): JsonObject {
  return { visible, ...transactionToJson(transaction, visible) };
}
