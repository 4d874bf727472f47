import { Account, bytesToUnprefixedHex, type Address } from '@ethereumjs/util';
import type { AccountFields, StateManagerInterface } from '@ethereumjs/common';
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { EvmAccount } from './records.ts';
import type { State } from './state.ts';

const EMPTY_CODE_HASH = keccak_256(new Uint8Array());
export const EMPTY_EVM_ACCOUNT: EvmAccount = { nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH };
const NO_BYTES = new Uint8Array();

/** EVM state manager that works on the state of the last `use`. */
export interface EvmState extends StateManagerInterface {
  use(state: State): void;
}

const keyOf = (address: Address): string => bytesToUnprefixedHex(address.bytes);
const slotOf = (address: Address, slot: Uint8Array): string =>
  `${keyOf(address)}:${bytesToUnprefixedHex(slot)}`;

function changeAccount(state: State, address: Address, fields: AccountFields): void {
  const before = state.get('evm', keyOf(address)) ?? EMPTY_EVM_ACCOUNT;
  state.set('evm', keyOf(address), {
    nonce: fields.nonce ?? before.nonce,
    balance: fields.balance ?? before.balance,
    codeHash: fields.codeHash ?? before.codeHash,
  });
}

export function createEvmState(): EvmState {
  let state: State | undefined;
  let marks: number[] = [];
  const originals = new Map<string, Uint8Array>();
  const current = (): State => {
    if (state === undefined) throw new Error('the EVM runs without a state');
    return state;
  };
  const codeOf = (address: Address): Uint8Array => current().get('code', keyOf(address)) ?? NO_BYTES;
  const storageOf = (address: Address, slot: Uint8Array): Uint8Array =>
    current().get('storage', slotOf(address, slot)) ?? NO_BYTES;

  return {
    use(next) {
      state = next;
      marks = [];
      originals.clear();
    },
    originalStorageCache: {
      get: async (address, slot) => {
        const key = slotOf(address, slot);
        const known = originals.get(key);
        if (known !== undefined) return known;
        const value = storageOf(address, slot);
        originals.set(key, value);
        return value;
      },
      clear: () => originals.clear(),
    },
    getAccount: async (address) => {
      const found = current().get('evm', keyOf(address));
      return found && new Account(found.nonce, found.balance, undefined, found.codeHash);
    },
    putAccount: async (address, account) => {
      if (account === undefined) current().set('evm', keyOf(address), undefined);
      else changeAccount(current(), address, account);
    },
    deleteAccount: async (address) => current().set('evm', keyOf(address), undefined),
    modifyAccountFields: async (address, fields) => changeAccount(current(), address, fields),
    putCode: async (address, code) => {
      current().set('code', keyOf(address), code);
      changeAccount(current(), address, { codeHash: keccak_256(code) });
    },
    getCode: async (address) => codeOf(address),
    getCodeSize: async (address) => codeOf(address).length,
    getStorage: async (address, slot) => storageOf(address, slot),
    putStorage: async (address, slot, value) => {
      const start = value.findIndex((byte) => byte !== 0);
      current().set('storage', slotOf(address, slot), start < 0 ? undefined : value.slice(start));
    },
    // Called only for new contracts, which have no storage: their addresses derive from transaction ids.
    clearStorage: async () => {},
    checkpoint: async () => {
      marks.push(current().mark());
    },
    commit: async () => {
      marks.pop();
    },
    revert: async () => current().revertTo(marks.pop() ?? 0),
    clearCaches: () => originals.clear(),
    getStateRoot: async () => new Uint8Array(32),
    setStateRoot: async () => {},
    hasStateRoot: async () => true,
    shallowCopy: () => createEvmState(),
  };
}
