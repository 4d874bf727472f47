import { hash } from 'node:crypto';
import { bytesField, concat, takeFields, varintField } from './wire.ts';

/*
 * The transactions that the gateway signs, as java-tron's core/Tron.proto and core/contract/*.proto have them: one contract,
 * of one of four kinds, and nothing besides. Field numbers stand beside the fields.
 */

/** Addresses are 21 bytes that begin with 0x41. */
export interface TransferContract {
  readonly type: 'TransferContract';
  readonly owner: Uint8Array; // 1
  readonly to: Uint8Array; // 2
  /** In sun. */
  readonly amount: bigint; // 3
}

/** A call of a contract that carries no coin and no TRC-10 token. */
export interface TriggerSmartContract {
  readonly type: 'TriggerSmartContract';
  readonly owner: Uint8Array; // 1
  readonly contract: Uint8Array; // 2
  readonly data: Uint8Array; // 4
}

/** Lends the energy of so much own stake to another address, without a lock: it can be taken back at any time. */
export interface DelegateResourceContract {
  readonly type: 'DelegateResourceContract';
  readonly owner: Uint8Array; // 1; field 2 is the resource: ENERGY
  /** Of stake, in sun. */
  readonly balance: bigint; // 3
  readonly receiver: Uint8Array; // 4
}

/** Takes lent energy back. */
export interface UnDelegateResourceContract {
  readonly type: 'UnDelegateResourceContract';
  readonly owner: Uint8Array; // 1; field 2 is the resource: ENERGY
  /** Of stake, in sun. */
  readonly balance: bigint; // 3
  readonly receiver: Uint8Array; // 4
}

export type LendingContract = DelegateResourceContract | UnDelegateResourceContract;
export type PayingContract = TransferContract | TriggerSmartContract | LendingContract;

/** `raw_data` of a transaction: all that is signed. */
export interface RawTransaction {
  /** The low two bytes of the reference block's height. */
  readonly refBlockBytes: Uint8Array; // 1
  /** Bytes 8 to 15 of the reference block's id. */
  readonly refBlockHash: Uint8Array; // 4
  readonly expirationMs: bigint; // 8
  readonly contract: PayingContract; // 11
  readonly timestampMs: bigint; // 14
  /** In sun; 0n: none. */
  readonly feeLimit: bigint; // 18
}

export interface SignedTransaction {
  readonly raw: RawTransaction;
  /** The bytes whose SHA-256 is the transaction's id. */
  readonly rawBytes: Uint8Array;
  /** r, s and v. */
  readonly signature: Uint8Array;
}

/** `Transaction.Contract.ContractType`. */
const CONTRACT_TYPES = {
  TransferContract: 1n,
  TriggerSmartContract: 31n,
  DelegateResourceContract: 57n,
  UnDelegateResourceContract: 58n,
} as const;
/** `ResourceCode` ENERGY; BANDWIDTH is 0. */
const ENERGY = 1n;
const TYPE_URL = 'type.googleapis.com/protocol.';

export function encodeRaw(raw: RawTransaction): Uint8Array {
  return concat([
    bytesField(1, raw.refBlockBytes),
    bytesField(4, raw.refBlockHash),
    varintField(8, raw.expirationMs),
    bytesField(11, encodeContract(raw.contract)),
    varintField(14, raw.timestampMs),
    varintField(18, raw.feeLimit),
  ]);
}

/** Throws RangeError for what `encodeRaw` does not write just so: another kind, a memo, a permission, a field more. */
export function decodeRaw(bytes: Uint8Array): RawTransaction {
  const fields = takeFields(bytes);
  const contracts = fields.list(11);
  const [contract] = contracts;
  if (contract === undefined || contracts.length > 1) throw new RangeError('not one contract');
  const raw = {
    refBlockBytes: fields.bytes(1),
    refBlockHash: fields.bytes(4),
    expirationMs: fields.varint(8),
    contract: decodeContract(contract),
    timestampMs: fields.varint(14),
    feeLimit: fields.varint(18),
  };
  fields.end();
  if (!Buffer.from(encodeRaw(raw)).equals(bytes)) throw new RangeError('written otherwise than here');
  return raw;
}

export function encodeSigned(rawBytes: Uint8Array, signature: Uint8Array): Uint8Array {
  return concat([bytesField(1, rawBytes), bytesField(2, signature)]);
}

/** Throws RangeError for what `encodeSigned` does not write just so. */
export function decodeSigned(bytes: Uint8Array): SignedTransaction {
  const fields = takeFields(bytes);
  const rawBytes = fields.bytes(1);
  const signatures = fields.list(2);
  fields.end();
  const [signature] = signatures;
  if (signature === undefined || signatures.length > 1) throw new RangeError('not one signature');
  if (!Buffer.from(encodeSigned(rawBytes, signature)).equals(bytes))
    throw new RangeError('written otherwise than here');
  return { raw: decodeRaw(rawBytes), rawBytes, signature };
}

/** What is signed, and the transaction's id: SHA-256 of `raw_data`. */
export function digestOf(rawBytes: Uint8Array): Uint8Array {
  return hash('sha256', rawBytes, 'buffer');
}

function encodeContract(contract: PayingContract): Uint8Array {
  const value = concat(writeContract(contract));
  const any = [bytesField(1, Buffer.from(`${TYPE_URL}${contract.type}`)), bytesField(2, value)];
  return concat([varintField(1, CONTRACT_TYPES[contract.type]), bytesField(2, concat(any))]);
}

function writeContract(contract: PayingContract): readonly Uint8Array[] {
  const owner = bytesField(1, contract.owner);
  switch (contract.type) {
    case 'TransferContract':
      return [owner, bytesField(2, contract.to), varintField(3, contract.amount)];
    case 'TriggerSmartContract':
      return [owner, bytesField(2, contract.contract), bytesField(4, contract.data)];
    case 'DelegateResourceContract':
    case 'UnDelegateResourceContract':
      return [
        owner,
        varintField(2, ENERGY),
        varintField(3, contract.balance),
        bytesField(4, contract.receiver),
      ];
  }
}

function decodeContract(bytes: Uint8Array): PayingContract {
  const fields = takeFields(bytes);
  const type = fields.varint(1);
  const any = takeFields(fields.bytes(2));
  fields.end();
  const url = Buffer.from(any.bytes(1)).toString();
  const value = takeFields(any.bytes(2));
  any.end();
  const contract = readContract(type, value);
  value.end();
  if (url !== `${TYPE_URL}${contract.type}`) throw new RangeError('the contract is said to be of two kinds');
  return contract;
}

function readContract(type: bigint, value: ReturnType<typeof takeFields>): PayingContract {
  switch (type) {
    case CONTRACT_TYPES.TransferContract:
      return {
        type: 'TransferContract',
        owner: value.bytes(1),
        to: value.bytes(2),
        amount: value.varint(3),
      };
    case CONTRACT_TYPES.TriggerSmartContract:
      return {
        type: 'TriggerSmartContract',
        owner: value.bytes(1),
        contract: value.bytes(2),
        data: value.bytes(4),
      };
    case CONTRACT_TYPES.DelegateResourceContract:
      return { type: 'DelegateResourceContract', ...readLending(value) };
    case CONTRACT_TYPES.UnDelegateResourceContract:
      return { type: 'UnDelegateResourceContract', ...readLending(value) };
    default:
      throw new RangeError(`a contract of kind ${type} pays nobody`);
  }
}

/** A lock, and its period, are fields that stay over: what could not be taken back is not lent here. */
function readLending(value: ReturnType<typeof takeFields>): Omit<LendingContract, 'type'> {
  const owner = value.bytes(1);
  if (value.varint(2) !== ENERGY) throw new RangeError('another resource than energy');
  return { owner, balance: value.varint(3), receiver: value.bytes(4) };
}
