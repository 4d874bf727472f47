import type { ResourceReceipt, InternalTransaction, Log } from '../protobuf/messages.ts';
import { newAccount, type Totals, type TronAccount } from '../state/records.ts';
import { EMPTY_EVM_ACCOUNT } from '../state/evm-state.ts';
import type { State } from '../state/state.ts';
import { accountKey, hex } from '../tron-address.ts';
import type { Tvm } from '../vm/tvm.ts';
import type { ChainParameters } from './parameters.ts';
import { invalid, refuse } from './refusal.ts';
import { slotOf } from './resources.ts';

export interface Execution {
  readonly state: State;
  readonly parameters: ChainParameters;
  readonly tvm: Tvm;
  /** Previous block, whose time determines resources and account times. */
  readonly head: { readonly number: number; readonly timestampMs: number };
  /** Block of the transaction; undefined for a trial execution in the pool. */
  readonly block: { readonly number: number; readonly timestampMs: number } | undefined;
  readonly producerKey: string;
  readonly genesisTimeMs: number;
}

/** Result of an actuator for the receipt. `feeSun` excludes bandwidth fees. */
export interface Outcome {
  readonly feeSun?: bigint;
  readonly contractResult?: number;
  readonly receipt?: ResourceReceipt;
  readonly returned?: Uint8Array;
  readonly contractAddress?: Uint8Array;
  readonly failure?: string;
  readonly logs?: readonly Log[];
  readonly internal?: readonly InternalTransaction[];
  readonly unfrozenSun?: bigint;
  readonly withdrawnSun?: bigint;
}

export const TOTALS_KEY = 'chain';

export function totalsOf(state: State): Totals {
  return state.get('totals', TOTALS_KEY) ?? { weights: [0n, 0n], burnedSun: 0n };
}

export function headSlot(execution: Execution): number {
  return slotOf(execution.head.timestampMs);
}

export function accountOf(state: State, address: Uint8Array): TronAccount | undefined {
  return state.get('account', accountKey(address));
}

/** Account of a transaction's owner. It exists, because bandwidth was already charged. */
export function requireAccount(state: State, address: Uint8Array): TronAccount {
  return accountOf(state, address) ?? invalid(`Account[${hex(address)}] not exists`);
}

export function putAccount(state: State, address: Uint8Array, account: TronAccount): void {
  state.set('account', accountKey(address), account);
}

export function activate(state: State, address: Uint8Array, atMs: number): void {
  putAccount(state, address, newAccount('NORMAL', atMs));
}

export function balanceOf(state: State, address: Uint8Array): bigint {
  return state.get('evm', accountKey(address))?.balance ?? 0n;
}

/** Callers check the balance first, to report their own error. Throws if the balance would become negative. */
export function changeBalance(state: State, address: Uint8Array, changeSun: bigint): void {
  const key = accountKey(address);
  const before = state.get('evm', key) ?? EMPTY_EVM_ACCOUNT;
  const balance = before.balance + changeSun;
  if (balance < 0n) {
    refuse('CONTRACT_EXE_ERROR', `Contract execute error : ${hex(address)} insufficient balance`);
  }
  state.set('evm', key, { ...before, balance });
}

export function burn(state: State, address: Uint8Array, amountSun: bigint): void {
  changeBalance(state, address, -amountSun);
  const totals = totalsOf(state);
  state.set('totals', TOTALS_KEY, { ...totals, burnedSun: totals.burnedSun + amountSun });
}
