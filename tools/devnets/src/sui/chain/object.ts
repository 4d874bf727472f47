import { createBcsWriter } from '../bcs-writer.ts';
import { coinObjectType, FRAMEWORK, SUI_TYPE, typeTagBytes } from '../coin-type.ts';
import { digestOf } from '../digest.ts';

export type ObjectOwner =
  | { readonly kind: 'address'; readonly address: string }
  /** Owned by one address, but ordered by consensus like a shared object. */
  | { readonly kind: 'consensus'; readonly address: string; readonly startVersion: bigint }
  | { readonly kind: 'shared'; readonly initialSharedVersion: bigint };

export interface SuiObject {
  readonly id: string;
  readonly version: bigint;
  readonly digest: string;
  readonly type: string;
  readonly owner: ObjectOwner;
  readonly contents: Uint8Array;
  readonly previousTransaction: string;
  readonly storageRebateMist: bigint;
  readonly bytes: Uint8Array;
  readonly coin: { readonly coinType: string; readonly balance: bigint } | undefined;
}

export type NewObject = Pick<SuiObject, 'id' | 'version' | 'owner' | 'previousTransaction'> & {
  readonly storageRebateMist?: bigint;
};

/** Size of owner, previous transaction and rebate in a node's memory (object_size_for_gas_metering). */
const METADATA_BYTES = 80n;
/** Version and the public-transfer flag. */
const HEADER_BYTES = 9n;
/** 100 units per byte at 76 MIST. */
const STORAGE_MIST_PER_BYTE = 7_600n;

const CLOCK_TYPE = `${FRAMEWORK}::clock::Clock`;
export const CLOCK_ID = `0x${'0'.repeat(63)}6`;

/** BCS of MoveObjectType, with short forms for coins. */
function objectTypeBytes(type: string, coinType: string | undefined): Uint8Array {
  const writer = createBcsWriter();
  if (coinType === undefined) return writer.u8(0).fixed(typeTagBytes(type).subarray(1)).finish();
  return coinType === SUI_TYPE ? writer.u8(1).finish() : writer.u8(3).fixed(typeTagBytes(coinType)).finish();
}

export function coinObject(object: NewObject, coinType: string, balance: bigint): SuiObject {
  const contents = createBcsWriter().address(object.id).u64(balance).finish();
  return store(object, { type: coinObjectType(coinType), contents, coin: { coinType, balance } });
}

/** Clock object, which every consensus commit writes. It is free. */
export function clockObject(object: Omit<NewObject, 'id' | 'owner'>, timestampMs: number): SuiObject {
  const contents = createBcsWriter().address(CLOCK_ID).u64(timestampMs).finish();
  const owner = { kind: 'shared', initialSharedVersion: 1n } as const;
  const clock = { ...object, id: CLOCK_ID, owner, storageRebateMist: 0n };
  return store(clock, { type: CLOCK_TYPE, contents, coin: undefined });
}

function store(object: NewObject, move: Pick<SuiObject, 'type' | 'contents' | 'coin'>): SuiObject {
  const { id, version, owner, previousTransaction } = object;
  const typeBytes = objectTypeBytes(move.type, move.coin?.coinType);
  const sizeBytes = METADATA_BYTES + HEADER_BYTES + BigInt(typeBytes.length + move.contents.length);
  const storageRebateMist = object.storageRebateMist ?? sizeBytes * STORAGE_MIST_PER_BYTE;
  const bytes = createBcsWriter()
    .u8(0)
    .fixed(typeBytes)
    .u8(move.coin === undefined ? 0 : 1)
    .u64(version)
    .bytes(move.contents)
    .fixed(ownerBytes(owner))
    .digest(previousTransaction)
    .u64(storageRebateMist)
    .finish();
  const digest = digestOf('Object', bytes);
  return { id, version, owner, previousTransaction, storageRebateMist, bytes, digest, ...move };
}

export function ownerBytes(owner: ObjectOwner): Uint8Array {
  const writer = createBcsWriter();
  if (owner.kind === 'address') return writer.u8(0).address(owner.address).finish();
  if (owner.kind === 'shared') return writer.u8(2).u64(owner.initialSharedVersion).finish();
  return writer.u8(4).u64(owner.startVersion).address(owner.address).finish();
}

/** Undefined for shared objects. */
export function addressOfOwner(owner: ObjectOwner): string | undefined {
  return owner.kind === 'shared' ? undefined : owner.address;
}
