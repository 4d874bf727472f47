import { keccak_256 } from '@noble/hashes/sha3.js';
import { hex, hexBytes, withPrefix } from '../tron-address.ts';
import { sha256 } from '../sha256.ts';
import { messageFromJson, messageNameOf, messageToJson, type JsonObject } from './json.ts';
import type { ContractCall, RawData, Transaction } from './messages.ts';
import { enumSchema } from './schema.ts';
import { decodeMessage, encodeMessage, fieldBytes } from './wire.ts';

/** Bytes whose SHA-256 is the transaction id. */
export function rawDataBytes(transaction: Transaction): Uint8Array {
  return encodeMessage('RawData', transaction.raw_data);
}

export function transactionId(transaction: Transaction): Uint8Array {
  return sha256(rawDataBytes(transaction));
}

/** Name such as `TransferContract`, or the number in digits if PROTOCOL does not define the type. */
export function contractTypeName(call: ContractCall): string {
  return enumSchema('ContractType').names.get(call.type ?? 0) ?? String(call.type);
}

export function contractTypeNumber(name: string): number {
  const number = enumSchema('ContractType').numbers.get(name);
  if (number === undefined) throw new Error(`no contract type ${name}`);
  return number;
}

/** Decodes the parameter. Throws an Error if it is missing or its type differs from the call's. */
export function contractParameter<T extends object>(call: ContractCall): T {
  const type = contractTypeName(call);
  if (messageNameOf(call.parameter?.type_url) !== type) {
    throw new Error(`contract type error, expected type [${type}], real type [${call.parameter?.type_url}]`);
  }
  return decodeMessage<T>(type, call.parameter?.value ?? new Uint8Array());
}

/** TRON derives a contract's address from the transaction id instead of a nonce. */
export function createdContractAddress(txid: Uint8Array, owner: Uint8Array): Uint8Array {
  return withPrefix(keccak_256(Buffer.concat([txid, owner])).subarray(12));
}

/** Transaction format of java-tron's Util.printTransactionToJSON. */
export function transactionToJson(transaction: Transaction, visible: boolean): JsonObject {
  const bytes = rawDataBytes(transaction);
  return describe(transaction, { bytes, id: sha256(bytes), visible });
}

export function encodedTransactionToJson(encoded: Uint8Array, id: string, visible: boolean): JsonObject {
  const transaction = decodeMessage<Transaction>('Transaction', encoded);
  return describe(transaction, { bytes: fieldBytes(encoded, RAW_DATA_FIELD), id: hexBytes(id), visible });
}

const RAW_DATA_FIELD = 1;

function describe(
  transaction: Transaction,
  known: { readonly bytes: Uint8Array; readonly id: Uint8Array; readonly visible: boolean },
): JsonObject {
  const { bytes, id, visible } = known;
  const [call] = transaction.raw_data.contract ?? [];
  const created =
    call !== undefined && contractTypeName(call) === 'CreateSmartContract'
      ? contractParameter<{ owner_address?: Uint8Array }>(call).owner_address
      : undefined;
  const { raw_data, ret, signature } = messageToJson('Transaction', transaction, visible);
  return {
    ...(ret === undefined ? {} : { ret }),
    ...(signature === undefined ? {} : { signature }),
    txID: hex(id),
    ...(created === undefined ? {} : { contract_address: hex(createdContractAddress(id, created)) }),
    raw_data: rawDataToJson(transaction.raw_data, raw_data as JsonObject),
    raw_data_hex: hex(bytes),
  };
}

/** A contract call always shows its type, although proto3 omits the default. */
function rawDataToJson(raw: RawData, json: JsonObject): JsonObject {
  const calls = (json['contract'] ?? []) as JsonObject[];
  const contract = calls.map((call, index) => {
    const type = contractTypeName(raw.contract?.[index] ?? {});
    const permission = call['Permission_id'];
    return {
      parameter: call['parameter'],
      type,
      ...(permission === undefined ? {} : { Permission_id: permission }),
    };
  });
  return { ...json, contract };
}

/** Uses only `raw_data` and encodes it again; ignores `raw_data_hex` and `txID`. */
export function transactionFromJson(json: JsonObject, visible: boolean): Transaction {
  const { ret: _ret, ...rest } = json;
  const transaction = messageFromJson<Partial<Transaction>>('Transaction', rest, visible);
  return { ...transaction, raw_data: transaction.raw_data ?? {} };
}
