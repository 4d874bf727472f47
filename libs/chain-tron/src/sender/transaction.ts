import { deserializeTransaction, txJsonToPb } from 'tronweb/utils';
import { BYTES, fieldsOf, readSignedContract } from '../protobuf/signed-contract.ts';
import { bytesField, concat } from '../protobuf/wire.ts';

// TronWeb encodes and decodes the transactions that the gateway signs. Each has exactly one contract, of one of four
// types. Only the payout signer and the restore commands load this file: it adds 0.2 s and 12 MB to the signer. The
// functions of `tronweb/utils` never call a node. The class TronWeb may, so this file does not use it.
// Addresses are 42 hex digits that begin with 41. Amounts are numbers, as TronWeb takes them; encode-payment.ts rejects
// those that would be rounded.

export interface TransferContract {
  readonly type: 'TransferContract';
  readonly value: {
    readonly owner_address: string;
    readonly to_address: string;
    /** Sun. */
    readonly amount: number;
  };
}

export interface TriggerSmartContract {
  readonly type: 'TriggerSmartContract';
  readonly value: {
    readonly owner_address: string;
    readonly contract_address: string;
    readonly data: string;
  };
}

/** Delegates energy of own stake without a lock, or takes it back. */
export interface DelegationContract {
  readonly type: 'DelegateResourceContract' | 'UnDelegateResourceContract';
  readonly value: {
    readonly owner_address: string;
    readonly receiver_address: string;
    /** Stake in sun. */
    readonly balance: number;
    readonly resource: 'ENERGY';
  };
}

export type PayingContract = TransferContract | TriggerSmartContract | DelegationContract;

export interface RawTransaction {
  /** The low two bytes of the reference block's height, as hex. */
  readonly refBlockBytes: string;
  /** Bytes 8 to 15 of the reference block's id, as hex. */
  readonly refBlockHash: string;
  readonly expirationMs: number;
  readonly contract: PayingContract;
  readonly timestampMs: number;
  /** Sun; 0 means none. */
  readonly feeLimit: number;
}

export interface SignedTransaction {
  readonly raw: RawTransaction;
  /** Their SHA-256 is the transaction's id. */
  readonly rawBytes: Uint8Array;
  readonly signature: Uint8Array;
}

const INT64_END = 2 ** 63;
const CONTRACT_TYPES: ReadonlyMap<number, PayingContract['type']> = new Map([
  [1, 'TransferContract'],
  [31, 'TriggerSmartContract'],
  [57, 'DelegateResourceContract'],
  [58, 'UnDelegateResourceContract'],
]);

/** Throws RangeError unless each number is an integer from 0 to below 2^63. */
export function encodeRaw(raw: RawTransaction): Uint8Array {
  const { contract, expirationMs, timestampMs, feeLimit } = raw;
  for (const number of [amountIn(contract), expirationMs, timestampMs, feeLimit])
    if (!Number.isInteger(number) || number < 0 || number >= INT64_END)
      throw new RangeError(`an amount or time is not an integer from 0 to below 2^63: ${number}`);
  const { type, value } = contract;
  const message = txJsonToPb({
    raw_data: {
      ref_block_bytes: raw.refBlockBytes,
      ref_block_hash: raw.refBlockHash,
      expiration: expirationMs,
      contract: [{ type, parameter: { value } }],
      timestamp: timestampMs,
      fee_limit: feeLimit,
    },
  }) as TransactionMessage;
  return message.getRawData().serializeBinary();
}

/** Throws RangeError for another contract type, a memo, a permission or extra fields. */
export function decodeRaw(bytes: Uint8Array): RawTransaction {
  const number = readSignedContract(Buffer.from(bytes))?.type;
  const type = number === undefined ? undefined : CONTRACT_TYPES.get(number);
  if (type === undefined) throw new RangeError(`contract type ${number} is not a payment`);
  const decoded = deserialize(type, bytes);
  const raw = {
    refBlockBytes: decoded.ref_block_bytes.toLowerCase(),
    refBlockHash: decoded.ref_block_hash.toLowerCase(),
    expirationMs: decoded.expiration,
    contract: contractOf(type, decoded.contract[0].parameter.value),
    timestampMs: decoded.timestamp,
    feeLimit: decoded.fee_limit,
  };
  // TronWeb skips unknown fields and rounds numbers. Encoding the transaction again reveals both.
  if (!Buffer.from(encodeRaw(raw)).equals(bytes)) throw new RangeError('not the encoding of this gateway');
  return raw;
}

/** Keeps `rawBytes`: TronWeb would encode them again, and another wallet may have encoded them differently. */
export function encodeSigned(rawBytes: Uint8Array, signature: Uint8Array): Uint8Array {
  return concat([bytesField(1, rawBytes), bytesField(2, signature)]);
}

/** Throws RangeError unless `encodeSigned` made the bytes. */
export function decodeSigned(bytes: Uint8Array): SignedTransaction {
  const message = Buffer.from(bytes);
  const [rawBytes] = fieldsOf(message, 1, BYTES) ?? [];
  const [signature] = fieldsOf(message, 2, BYTES) ?? [];
  if (rawBytes === undefined || signature === undefined) throw new RangeError('not a signed transaction');
  if (!message.equals(encodeSigned(rawBytes, signature)))
    throw new RangeError('not the encoding of this gateway');
  return { raw: decodeRaw(rawBytes), rawBytes, signature };
}

interface TransactionMessage {
  getRawData(): { serializeBinary(): Uint8Array };
}
interface TronWebTransaction {
  readonly ref_block_bytes: string;
  readonly ref_block_hash: string;
  readonly expiration: number;
  readonly timestamp: number;
  readonly fee_limit: number;
  readonly contract: readonly [{ readonly parameter: { readonly value: TronWebValue } }];
}
/** The fields of all four types. Hex digits are upper-case. */
interface TronWebValue {
  readonly owner_address: string;
  readonly to_address: string;
  readonly contract_address: string;
  readonly receiver_address: string;
  readonly data: string;
  readonly amount: number;
  readonly balance: number;
}

function deserialize(type: string, bytes: Uint8Array): TronWebTransaction {
  try {
    return deserializeTransaction(type, Buffer.from(bytes).toString('hex')) as TronWebTransaction;
  } catch (error) {
    throw new RangeError('not a transaction', { cause: error });
  }
}

/** Takes only the fields of a payment, so that `decodeRaw` rejects any other field. */
function contractOf(type: PayingContract['type'], decoded: TronWebValue): PayingContract {
  const owner_address = decoded.owner_address.toLowerCase();
  switch (type) {
    case 'TransferContract':
      return {
        type,
        value: { owner_address, to_address: decoded.to_address.toLowerCase(), amount: decoded.amount },
      };
    case 'TriggerSmartContract': {
      const contract_address = decoded.contract_address.toLowerCase();
      return { type, value: { owner_address, contract_address, data: decoded.data.toLowerCase() } };
    }
    case 'DelegateResourceContract':
    case 'UnDelegateResourceContract': {
      const receiver_address = decoded.receiver_address.toLowerCase();
      return {
        type,
        value: { owner_address, receiver_address, balance: decoded.balance, resource: 'ENERGY' },
      };
    }
  }
}

function amountIn(contract: PayingContract): number {
  if (contract.type === 'TransferContract') return contract.value.amount;
  return contract.type === 'TriggerSmartContract' ? 0 : contract.value.balance;
}
