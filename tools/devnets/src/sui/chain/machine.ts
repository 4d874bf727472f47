import { addressOfOwner, type ObjectOwner, type SuiObject } from './object.ts';
import { objectIdOf } from '../digest.ts';
import type { CoinInfo } from './chain.ts';
import { fundsKey } from './chain.ts';
import { stop, type ArgumentProblem } from './execution-error.ts';

export interface LiveCoin {
  readonly id: string;
  readonly coinType: string;
  balance: bigint;
  /** Undefined for a coin that the program created. */
  readonly from: SuiObject | undefined;
  /** `kept`: still in place; `sent`: has a new owner; `gone`: consumed. */
  state: 'kept' | 'sent' | 'gone';
  owner: ObjectOwner | undefined;
  readonly isGas: boolean;
}

export type Value =
  | { readonly kind: 'coin'; readonly coin: LiveCoin }
  | { readonly kind: 'balance'; readonly coinType: string; amount: bigint }
  | { readonly kind: 'withdrawal'; readonly owner: string; readonly coinType: string; limit: bigint }
  /** Future owner of an object that consensus orders. */
  | { readonly kind: 'party'; readonly address: string }
  | { readonly kind: 'pure'; readonly bytes: Uint8Array };

/** `undefined` after the value was moved out. */
export interface Slot {
  value: Value | undefined;
}

export interface Machine {
  readonly sender: string;
  readonly digest: string;
  readonly coinInfo: ReadonlyMap<string, CoinInfo>;
  readonly created: LiveCoin[];
  readonly funds: Map<string, { address: string; coinType: string; delta: bigint }>;
}

export function createMachine(options: Pick<Machine, 'sender' | 'digest' | 'coinInfo'>): Machine {
  return { ...options, created: [], funds: new Map() };
}

export function createCoin(machine: Machine, coinType: string, balance: bigint): LiveCoin {
  const id = objectIdOf(machine.digest, machine.created.length);
  const coin: LiveCoin = {
    id,
    coinType,
    balance,
    from: undefined,
    state: 'kept',
    owner: undefined,
    isGas: false,
  };
  machine.created.push(coin);
  return coin;
}

export function coinValue(machine: Machine, coinType: string, balance: bigint): Value {
  return { kind: 'coin', coin: createCoin(machine, coinType, balance) };
}

function checkRecipient(machine: Machine, coinType: string, address: string): void {
  const info = machine.coinInfo.get(coinType);
  if (info?.paused === true) stop({ kind: 'COIN_TYPE_GLOBAL_PAUSE', coinType });
  if (info?.deniedAddresses.has(address) === true)
    stop({ kind: 'ADDRESS_DENIED_FOR_COIN', address, coinType });
}

export function sendCoin(machine: Machine, coin: LiveCoin, owner: ObjectOwner): void {
  const address = addressOfOwner(owner);
  if (address !== undefined) checkRecipient(machine, coin.coinType, address);
  coin.state = 'sent';
  coin.owner = owner;
}

export function moveFunds(machine: Machine, address: string, coinType: string, delta: bigint): void {
  if (delta === 0n) return;
  if (delta > 0n) checkRecipient(machine, coinType, address);
  const key = fundsKey(address, coinType);
  const before = machine.funds.get(key)?.delta ?? 0n;
  machine.funds.set(key, { address, coinType, delta: before + delta });
}

export interface Operand {
  readonly slot: Slot;
  readonly index: number;
}

export function wrongArgument(index: number, problem: ArgumentProblem): never {
  return stop({ kind: 'COMMAND_ARGUMENT_ERROR', argument: index, problem });
}

function look({ slot, index }: Operand): Value {
  return slot.value ?? wrongArgument(index, 'ARGUMENT_WITHOUT_VALUE');
}

/** Moves a value out. Pure values are copied. */
export function take(operand: Operand): Value {
  const value = look(operand);
  if (value.kind !== 'pure') operand.slot.value = undefined;
  return value;
}

function asCoin(operand: Operand, value: Value, coinType?: string): LiveCoin {
  if (value.kind !== 'coin') return wrongArgument(operand.index, 'TYPE_MISMATCH');
  if (coinType !== undefined && value.coin.coinType !== coinType)
    wrongArgument(operand.index, 'TYPE_MISMATCH');
  return value.coin;
}

/** Consumes a coin and returns its balance. Rejects the gas coin. */
export function consumeCoin(operand: Operand, coinType?: string): bigint {
  const coin = asCoin(operand, look(operand), coinType);
  if (coin.isGas) wrongArgument(operand.index, 'INVALID_GAS_COIN_USAGE');
  take(operand);
  const { balance } = coin;
  coin.balance = 0n;
  coin.state = 'gone';
  return balance;
}

/** Moves a coin out for a transfer. A gas coin backed by an address balance cannot be transferred. */
export function takeCoin(operand: Operand, coinType?: string): LiveCoin {
  const coin = lookCoin(operand, coinType);
  if (coin.isGas && coin.from === undefined) wrongArgument(operand.index, 'INVALID_GAS_COIN_USAGE');
  take(operand);
  return coin;
}

export function lookCoin(operand: Operand, coinType?: string): LiveCoin {
  return asCoin(operand, look(operand), coinType);
}

export function lookBalance(operand: Operand, coinType: string): Extract<Value, { kind: 'balance' }> {
  const value = look(operand);
  if (value.kind !== 'balance' || value.coinType !== coinType)
    return wrongArgument(operand.index, 'TYPE_MISMATCH');
  return value;
}

export function takeBalance(operand: Operand, coinType: string): bigint {
  const { amount } = lookBalance(operand, coinType);
  take(operand);
  return amount;
}

export function lookWithdrawal(operand: Operand, coinType: string): Extract<Value, { kind: 'withdrawal' }> {
  const value = look(operand);
  if (value.kind !== 'withdrawal' || value.coinType !== coinType)
    return wrongArgument(operand.index, 'TYPE_MISMATCH');
  return value;
}

export function lookParty(operand: Operand): string {
  const value = look(operand);
  return value.kind === 'party' ? value.address : wrongArgument(operand.index, 'TYPE_MISMATCH');
}

function pureBytes(operand: Operand, length: number): Buffer {
  const value = look(operand);
  if (value.kind !== 'pure') return wrongArgument(operand.index, 'TYPE_MISMATCH');
  if (value.bytes.length !== length) return wrongArgument(operand.index, 'INVALID_BCS_BYTES');
  return Buffer.from(value.bytes);
}

export function readU64(operand: Operand): bigint {
  return pureBytes(operand, 8).readBigUInt64LE(0);
}

export function readAddress(operand: Operand): string {
  return `0x${pureBytes(operand, 32).toString('hex')}`;
}

export function readU256(operand: Operand): bigint {
  return BigInt(`0x${pureBytes(operand, 32).reverse().toString('hex')}`);
}
