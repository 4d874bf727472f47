import { GrpcTypes } from '@mysten/sui/grpc';
import type { ObjectOwner, SuiObject } from '../chain/object.ts';
import { makeFields, type FieldMask } from './field-mask.ts';

const { Owner_OwnerKind: OwnerKind } = GrpcTypes;

export const OBJECT_DEFAULTS = ['object_id', 'version', 'digest'];

export function showOwner(owner: ObjectOwner): GrpcTypes.Owner {
  switch (owner.kind) {
    case 'address':
      return { kind: OwnerKind.ADDRESS, address: owner.address };
    case 'consensus':
      return { kind: OwnerKind.CONSENSUS_ADDRESS, address: owner.address, version: owner.startVersion };
    case 'shared':
      return { kind: OwnerKind.SHARED, version: owner.initialSharedVersion };
  }
}

export function showObject(object: SuiObject, mask: FieldMask): GrpcTypes.Object {
  return makeFields<GrpcTypes.Object>(GrpcTypes.Object, mask, {
    bcs: () => ({ name: 'Object', value: object.bytes }),
    objectId: () => object.id,
    version: () => object.version,
    digest: () => object.digest,
    owner: () => showOwner(object.owner),
    objectType: () => object.type,
    hasPublicTransfer: () => object.coin !== undefined,
    contents: () => ({ name: object.type, value: object.contents }),
    previousTransaction: () => object.previousTransaction,
    storageRebate: () => object.storageRebateMist,
    balance: () => object.coin?.balance,
    json: () => json(object),
  });
}

function json(object: SuiObject): NonNullable<GrpcTypes.Object['json']> {
  const id = textValue(object.id);
  const fields = object.coin === undefined ? { id } : { id, balance: textValue(String(object.coin.balance)) };
  return { kind: { oneofKind: 'structValue', structValue: { fields } } };
}

function textValue(text: string): NonNullable<GrpcTypes.Object['json']> {
  return { kind: { oneofKind: 'stringValue', stringValue: text } };
}

/** Sorts by type, then by balance, the largest first. */
export function compareOwned(a: SuiObject, b: SuiObject): number {
  if (a.type !== b.type) return a.type < b.type ? -1 : 1;
  const balances = [a.coin?.balance ?? 0n, b.coin?.balance ?? 0n] as const;
  if (balances[0] !== balances[1]) return balances[0] > balances[1] ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}
