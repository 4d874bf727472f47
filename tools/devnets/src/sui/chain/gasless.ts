import { canonicalType, FRAMEWORK } from '../coin-type.ts';
import type { EmptyChain } from './chain.ts';
import { LIMITS } from './parameters.ts';
import { invalidInput } from './refusal.ts';
import type { Argument, Command, ObjectChange, Program } from './transaction.ts';

/** Calls that a gasless transaction may make (validate_gasless_transaction). */
const ALLOWED_CALLS = new Set([
  'balance::send_funds',
  'balance::redeem_funds',
  'balance::split',
  'balance::zero',
  'funds_accumulator::withdrawal_split',
  'coin::into_balance',
  'coin::redeem_funds',
  'coin::send_funds',
  'coin::put',
]);

export function isGaslessProgram(chain: EmptyChain, program: Program): boolean {
  const { gaslessMinimums } = chain.parameters;
  if (gaslessMinimums.size === 0 || program.commands.length === 0) return false;
  const used = new Set(program.commands.flatMap(inputsUsed));
  const inputsFit = program.inputs.every((input, index) => {
    if (input.$kind === 'Pure') return true;
    if (!used.has(index)) return false;
    if (input.$kind === 'FundsWithdrawal')
      return gaslessMinimums.has(canonicalType(input.FundsWithdrawal.typeArg.Balance));
    const argument = input.Object;
    const id =
      argument.$kind === 'SharedObject' ? argument.SharedObject.objectId : argument[argument.$kind]?.objectId;
    const coin = id === undefined ? undefined : chain.objects.get(id)?.coin;
    return coin !== undefined && gaslessMinimums.has(coin.coinType);
  });
  return inputsFit && program.commands.every((command) => isAllowed(command, gaslessMinimums));
}

function isAllowed(command: Command, minimums: ReadonlyMap<string, bigint>): boolean {
  if (command.$kind === 'SplitCoins' || command.$kind === 'MergeCoins') return true;
  if (command.$kind !== 'MoveCall') return false;
  const call = command.MoveCall;
  if (call.package !== FRAMEWORK || !ALLOWED_CALLS.has(`${call.module}::${call.function}`)) return false;
  return call.typeArguments.every((type) =>
    minimums.has(canonicalType(type.replace(/^.*::Balance<(.*)>$/, '$1'))),
  );
}

function argumentsOf(command: Command): readonly Argument[] {
  switch (command.$kind) {
    case 'SplitCoins':
      return [command.SplitCoins.coin, ...command.SplitCoins.amounts];
    case 'MergeCoins':
      return [command.MergeCoins.destination, ...command.MergeCoins.sources];
    case 'MoveCall':
      return command.MoveCall.arguments;
    default:
      return [];
  }
}

function inputsUsed(command: Command): readonly number[] {
  return argumentsOf(command).flatMap((argument) => (argument.$kind === 'Input' ? [argument.Input] : []));
}

export function checkGaslessProgram(chain: EmptyChain, program: Program, bytes: Uint8Array): void {
  if (!isGaslessProgram(chain, program)) {
    invalidInput(`Gas price 0 under reference gas price (RGP) ${chain.parameters.referenceGasPrice}`);
  }
  if (bytes.length > LIMITS.gaslessTransactionBytes) {
    invalidInput(
      `Size limit exceeded: serialized gasless transaction size is ${LIMITS.gaslessTransactionBytes}`,
    );
  }
}

/** A withdrawal must take a whole address balance or leave at least the minimum. Throws GatewayError<RefusalCode>. */
export function checkGaslessWithdrawals(chain: EmptyChain, withdrawals: ReadonlyMap<string, bigint>): void {
  for (const [key, amount] of withdrawals) {
    const left = (chain.funds.get(key) ?? 0n) - amount;
    const least = chain.parameters.gaslessMinimums.get(key.split(' ')[1] ?? '') ?? 0n;
    if (left > 0n && left < least) {
      invalidInput(
        `Invalid withdraw reservation: Gasless withdrawals must either use the entire balance, or leave at least ${least}`,
      );
    }
  }
}

/** Checks the outcome: no object is written and each recipient gets at least the minimum. */
export function isGaslessOutcome(chain: EmptyChain, changes: readonly ObjectChange[]): boolean {
  return changes.every((change) => {
    if (change.kind !== 'funds') return change.kind === 'deleted';
    return (
      change.delta <= 0n || change.delta >= (chain.parameters.gaslessMinimums.get(change.coinType) ?? 0n)
    );
  });
}
