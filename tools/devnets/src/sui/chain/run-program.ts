import { canonicalType, FRAMEWORK } from '../coin-type.ts';
import type { CheckedTransaction } from './check-transaction.ts';
import { reasonOfStop, stop, type ExecutionFailure } from './execution-error.ts';
import {
  coinValue,
  consumeCoin,
  lookCoin,
  readAddress,
  readU64,
  sendCoin,
  takeCoin,
  wrongArgument,
  type LiveCoin,
  type Machine,
  type Operand,
  type Slot,
  type Value,
} from './machine.ts';
import { findMoveFunction } from './move-functions.ts';
import type { SuiObject } from './object.ts';
import type { Argument, Command, ProgramInput } from './transaction.ts';

export interface ProgramRun {
  readonly failure: ExecutionFailure | undefined;
  /** Final state of input coins, without the gas coin. */
  readonly inputCoins: readonly LiveCoin[];
}

interface Frame {
  readonly machine: Machine;
  readonly inputs: readonly Slot[];
  readonly results: (readonly Slot[])[];
  readonly gas: Slot;
}

/** Changes are collected in the machine; the caller discards those of a failed transaction. */
export function runProgram(
  machine: Machine,
  transaction: Pick<CheckedTransaction, 'program' | 'data' | 'inputObjects'>,
  gasCoin: LiveCoin | undefined,
): ProgramRun {
  const { program, inputObjects } = transaction;
  const inputs = program.inputs.map((input, index) => ({
    value: inputValue(transaction, input, inputObjects[index]),
  }));
  const inputCoins = inputs.flatMap(({ value }) => (value?.kind === 'coin' ? [value.coin] : []));
  const gas: Slot = { value: gasCoin === undefined ? undefined : { kind: 'coin', coin: gasCoin } };
  const frame: Frame = { machine, inputs, results: [], gas };
  let current: number | undefined;
  try {
    for (const [index, command] of program.commands.entries()) {
      current = index;
      frame.results.push(runCommand(frame, command).map((value) => ({ value })));
    }
    current = undefined;
    checkUnused(frame);
    return { failure: undefined, inputCoins };
  } catch (error) {
    const reason = reasonOfStop(error);
    if (reason === undefined) throw error;
    return { failure: { reason, command: current }, inputCoins };
  }
}

function inputValue(
  { data }: Pick<CheckedTransaction, 'data'>,
  input: ProgramInput,
  object: SuiObject | undefined,
): Value | undefined {
  if (input.$kind === 'Pure') return { kind: 'pure', bytes: Buffer.from(input.Pure.bytes, 'base64') };
  if (input.$kind === 'FundsWithdrawal') {
    const { withdrawFrom, typeArg, reservation } = input.FundsWithdrawal;
    const owner = withdrawFrom.$kind === 'Sponsor' ? data.gasData.owner : data.sender;
    const limit = BigInt(reservation.MaxAmountU64);
    return { kind: 'withdrawal', owner, coinType: canonicalType(typeArg.Balance), limit };
  }
  if (object?.coin === undefined) return undefined;
  const { coinType, balance } = object.coin;
  const coin = { id: object.id, coinType, balance, from: object, owner: undefined, isGas: false };
  return { kind: 'coin', coin: { ...coin, state: 'kept' } };
}

/** Stops if values without the drop ability remain. */
function checkUnused(frame: Frame): void {
  for (const [result, slots] of frame.results.entries()) {
    for (const [secondary, { value }] of slots.entries()) {
      const mustBeUsed = value?.kind === 'balance' || (value?.kind === 'coin' && value.coin.state === 'kept');
      if (mustBeUsed) stop({ kind: 'UNUSED_VALUE_WITHOUT_DROP', result, secondary });
    }
  }
}

function runCommand(frame: Frame, command: Command): readonly Value[] {
  const { machine } = frame;
  switch (command.$kind) {
    case 'SplitCoins': {
      const { coin, amounts } = command.SplitCoins;
      const source = lookCoin(operand(frame, coin, 0));
      return amounts.map((amount, index) => {
        const part = readU64(operand(frame, amount, index + 1));
        if (source.balance < part) stop({ kind: 'INSUFFICIENT_COIN_BALANCE' });
        source.balance -= part;
        return coinValue(machine, source.coinType, part);
      });
    }
    case 'MergeCoins': {
      const { destination, sources } = command.MergeCoins;
      const target = lookCoin(operand(frame, destination, 0));
      for (const [index, source] of sources.entries()) {
        const from = operand(frame, source, index + 1);
        if (lookCoin(from) === target) wrongArgument(index + 1, 'ARGUMENT_WITHOUT_VALUE');
        target.balance += consumeCoin(from, target.coinType);
      }
      return [];
    }
    case 'TransferObjects': {
      const { objects, address } = command.TransferObjects;
      const to = readAddress(operand(frame, address, objects.length));
      for (const [index, object] of objects.entries()) {
        const from = operand(frame, object, index);
        sendCoin(machine, takeCoin(from), { kind: 'address', address: to });
      }
      return [];
    }
    case 'MoveCall':
      return runMoveCall(frame, command.MoveCall);
    default:
      return stop({ kind: 'FEATURE_NOT_YET_SUPPORTED' });
  }
}

function runMoveCall(
  frame: Frame,
  call: Extract<Command, { $kind: 'MoveCall' }>['MoveCall'],
): readonly Value[] {
  const found = call.package === FRAMEWORK ? findMoveFunction(`${call.module}::${call.function}`) : undefined;
  if (found === undefined) return stop({ kind: 'FUNCTION_NOT_FOUND' });
  if (call.arguments.length !== found.arity) stop({ kind: 'ARITY_MISMATCH' });
  const [type] = call.typeArguments;
  const coinType =
    type === undefined ? '' : canonicalType(type.replace(/^.*::(?:Balance|Coin)<(.*)>$/, '$1'));
  return found.run({
    machine: frame.machine,
    coinType,
    argument: (index) => operand(frame, call.arguments[index], index),
  });
}

function operand(frame: Frame, argument: Argument | undefined, index: number): Operand {
  if (argument === undefined) return stop({ kind: 'ARITY_MISMATCH' });
  switch (argument.$kind) {
    case 'GasCoin':
      return { slot: frame.gas, index };
    case 'Input': {
      const slot = frame.inputs[argument.Input];
      return { slot: slot ?? outOfBounds(index, argument.Input), index };
    }
    case 'Result': {
      const slots = frame.results[argument.Result] ?? outOfBounds(index, argument.Result);
      const [slot, more] = slots;
      if (slot === undefined || more !== undefined) {
        return stop({
          kind: 'COMMAND_ARGUMENT_ERROR',
          argument: index,
          problem: 'INVALID_RESULT_ARITY',
          index: argument.Result,
        });
      }
      return { slot, index };
    }
    case 'NestedResult': {
      const [result, secondary] = argument.NestedResult;
      const slots = frame.results[result] ?? outOfBounds(index, result);
      const slot = slots[secondary];
      if (slot !== undefined) return { slot, index };
      return stop({
        kind: 'COMMAND_ARGUMENT_ERROR',
        argument: index,
        problem: 'SECONDARY_INDEX_OUT_OF_BOUNDS',
        index: result,
        secondaryIndex: secondary,
      });
    }
  }
}

function outOfBounds(argument: number, index: number): never {
  return stop({ kind: 'COMMAND_ARGUMENT_ERROR', argument, problem: 'INDEX_OUT_OF_BOUNDS', index });
}
