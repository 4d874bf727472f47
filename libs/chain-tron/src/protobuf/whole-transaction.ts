import { listIn, malformed, objectIn, type Raw } from '../node-value.ts';
import { bytesField, concat, tag, varint } from './wire.ts';

export interface WholeTransaction {
  readonly rawBytes: Buffer;
  readonly bytes: Buffer;
}

const HEX = /^(?:[0-9a-f]{2})*$/;
const UNKNOWN_FIELD = /^[1-9]\d{0,8}$/;
const FIXED = /^0x(?:[0-9a-f]{8}|[0-9a-f]{16})$/;
/** Name that java-tron writes for an unknown enum value. */
const UNNAMED = /^UNKNOWN_ENUM_VALUE_\w+_(-?\d+)$/;
const [VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32] = [0, 1, 2, 3, 4, 5];
const [RAW_DATA, SIGNATURE, RET] = [1, 2, 5];

type Kind = 'int64' | 'bytes' | 'text' | 'details' | 'amounts' | readonly string[];
type Fields = Readonly<Record<string, readonly [number: number, kind: Kind]>>;

const CODES = ['SUCESS', 'FAILED'];
const CONTRACT_RESULTS = [
  'DEFAULT',
  'SUCCESS',
  'REVERT',
  'BAD_JUMP_DESTINATION',
  'OUT_OF_MEMORY',
  'PRECOMPILED_CONTRACT',
  'STACK_TOO_SMALL',
  'STACK_TOO_LARGE',
  'ILLEGAL_OPERATION',
  'STACK_OVERFLOW',
  'OUT_OF_ENERGY',
  'OUT_OF_TIME',
  'JVM_STACK_OVER_FLOW',
  'UNKNOWN',
  'TRANSFER_FAILED',
  'INVALID_CODE',
];
/** `Transaction.Result`, ascending by field number. */
const RESULT: Fields = {
  fee: [1, 'int64'],
  ret: [2, CODES],
  contractRet: [3, CONTRACT_RESULTS],
  assetIssueID: [14, 'text'],
  withdraw_amount: [15, 'int64'],
  unfreeze_amount: [16, 'int64'],
  exchange_received_amount: [18, 'int64'],
  exchange_inject_another_amount: [19, 'int64'],
  exchange_withdraw_another_amount: [20, 'int64'],
  exchange_id: [21, 'int64'],
  shielded_transaction_fee: [22, 'int64'],
  orderId: [25, 'bytes'],
  orderDetails: [26, 'details'],
  withdraw_expire_amount: [27, 'int64'],
  cancel_unfreezeV2_amount: [28, 'amounts'],
};
const DETAIL: Fields = {
  makerOrderId: [1, 'bytes'],
  takerOrderId: [2, 'bytes'],
  fillSellQuantity: [3, 'int64'],
  fillBuyQuantity: [4, 'int64'],
};

const USUAL_RESULTS: ReadonlyMap<unknown, Uint8Array> = new Map(
  CONTRACT_RESULTS.map((name) => [name, bytesField(RET, encodeFields({ contractRet: name }, RESULT))]),
);
/** A tag and the longest length that an answer can have. */
const FIELD_START_BYTES = 6;

class Unwritable extends Error {}

/**
 * From a transaction's JSON (java-tron core/Tron.proto, Transaction; http/JsonFormat). A sender may add unknown fields:
 * nodes keep and hash them, and show them under their numbers. The block producer adds its result to a result that the
 * sender wrote. Undefined if a result has a field that is newer than java-tron 4.8. INCONSISTENT_ANSWER for malformed
 * values. TronWeb encodes neither results nor unknown fields.
 */
export function encodeWhole(transaction: Raw): WholeTransaction | undefined {
  const raw = hexIn(transaction['raw_data_hex'], 'raw_data_hex');
  const signatures = listIn(transaction['signature'], 'signature').map((one) => hexIn(one, 'signature'));
  const rest = encodeRest(transaction);
  if (rest === undefined) return undefined;
  // One buffer per transaction: all transactions of a full block are encoded.
  let size = FIELD_START_BYTES + raw.length / 2 + rest.length;
  for (const signature of signatures) size += FIELD_START_BYTES + signature.length / 2;
  const bytes = Buffer.allocUnsafe(size);
  const rawAt = writeStart(bytes, 0, RAW_DATA, raw);
  let at = writeHex(bytes, rawAt, raw, 'raw_data_hex');
  const rawBytes = bytes.subarray(rawAt, at);
  for (const signature of signatures)
    at = writeHex(bytes, writeStart(bytes, at, SIGNATURE, signature), signature, 'signature');
  bytes.set(rest, at);
  return { rawBytes, bytes: bytes.subarray(0, at + rest.length) };
}

function encodeRest(transaction: Raw): Uint8Array | undefined {
  const results = listIn(transaction['ret'], 'ret');
  const usual = usualRest(transaction, results);
  if (usual !== undefined) return usual;
  try {
    const encoded = results.map((one) => bytesField(RET, encodeFields(objectIn(one, 'ret'), RESULT)));
    return concat([...encoded, encodeUnknown(transaction)]);
  } catch (error) {
    if (error instanceof Unwritable) return undefined;
    throw error;
  }
}

/** Fast path: one result with only `contractRet`. Numeric keys, the unknown fields, come first. */
function usualRest(transaction: Raw, results: readonly unknown[]): Uint8Array | undefined {
  const [first] = Object.keys(transaction);
  const [only] = results;
  if (results.length !== 1 || first === undefined || UNKNOWN_FIELD.test(first)) return undefined;
  if (typeof only !== 'object' || only === null || Object.keys(only).length !== 1) return undefined;
  return USUAL_RESULTS.get((only as Raw)['contractRet']);
}

function writeStart(bytes: Buffer, at: number, number: number, hex: string): number {
  let [rest, end] = [hex.length / 2, at + 1];
  bytes[at] = number * 8 + BYTES;
  for (; rest > 0x7f; rest >>>= 7, end += 1) bytes[end] = (rest & 0x7f) | 0x80;
  bytes[end] = rest;
  return end + 1;
}

function writeHex(bytes: Buffer, at: number, hex: string, what: string): number {
  const length = bytes.write(hex, at, 'hex'); // stops at the first invalid digit
  return length === hex.length / 2 ? at + length : malformed(what, hex);
}

function hexIn(value: unknown, what: string): string {
  return typeof value === 'string' && value.length % 2 === 0 ? value : malformed(what, value);
}

/** Known fields ascending, then unknown ones. Default values are absent in JSON and in bytes. */
function encodeFields(message: Raw, fields: Fields): Uint8Array {
  for (const name of Object.keys(message))
    if (fields[name] === undefined && !UNKNOWN_FIELD.test(name)) throw new Unwritable(name);
  const known = Object.entries(fields).flatMap(([name, [number, kind]]) =>
    message[name] === undefined ? [] : [encodeField(number, kind, message[name], name)],
  );
  return concat([...known, encodeUnknown(message)]);
}

function encodeField(number: number, kind: Kind, value: unknown, name: string): Uint8Array {
  switch (kind) {
    case 'int64':
      return concat([tag(number, VARINT), varint(integerIn(value, name))]);
    case 'bytes':
      return bytesField(number, bytesIn(value, name));
    case 'text':
      return bytesField(number, Buffer.from(typeof value === 'string' ? value : malformed(name, value)));
    case 'details':
      return concat(
        listIn(value, name).map((one) => bytesField(number, encodeFields(objectIn(one, name), DETAIL))),
      );
    case 'amounts':
      return concat(listIn(value, name).map((one) => bytesField(number, encodeAmount(objectIn(one, name)))));
    default:
      return concat([tag(number, VARINT), varint(enumIn(kind, value, name))]);
  }
}

/** Entry of a map from text to int64: unlike in other messages, both fields are always encoded. */
function encodeAmount({ key = '', value = 0 }: Raw): Uint8Array {
  return concat([encodeField(1, 'text', key, 'key'), encodeField(2, 'int64', value, 'value')]);
}

/** Fields by number, each with varints first, then fixed-length values, bytes and groups (UnknownFieldSet). */
function encodeUnknown(message: Raw): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const name of Object.keys(message)) {
    if (!UNKNOWN_FIELD.test(name)) continue;
    for (const value of listIn(message[name], name)) parts.push(encodeUnknownValue(Number(name), value));
  }
  return concat(parts);
}

function encodeUnknownValue(number: number, value: unknown): Uint8Array {
  if (typeof value === 'object' && value !== null)
    return concat([tag(number, GROUP), encodeUnknown(objectIn(value, 'group')), tag(number, GROUP_END)]);
  if (typeof value !== 'string') return concat([tag(number, VARINT), varint(integerIn(value, 'field'))]);
  if (!FIXED.test(value)) return bytesField(number, bytesIn(value, 'field'));
  const bytes = Buffer.from(value.slice(2), 'hex').reverse();
  return concat([tag(number, bytes.length === 4 ? FIXED32 : FIXED64), bytes]);
}

function bytesIn(value: unknown, what: string): Uint8Array {
  if (typeof value !== 'string' || !HEX.test(value)) return malformed(what, value);
  return Buffer.from(value, 'hex');
}

/** Rejects a number that JavaScript would have rounded, so that the answer is parsed again exactly. */
function integerIn(value: unknown, what: string): bigint {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : malformed(what, value);
}

function enumIn(names: readonly string[], value: unknown, what: string): bigint {
  if (typeof value !== 'string') return malformed(what, value);
  const place = names.indexOf(value);
  if (place >= 0) return BigInt(place);
  const unnamed = UNNAMED.exec(value)?.[1];
  if (unnamed === undefined) throw new Unwritable(value);
  return BigInt(unnamed);
}
