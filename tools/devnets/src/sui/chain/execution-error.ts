import { GatewayError } from '@opentill/domain/gateway-error';
import type { BcsWriter } from '../bcs-writer.ts';
import { FRAMEWORK } from '../coin-type.ts';

/** CommandArgumentError. */
export type ArgumentProblem =
  | 'TYPE_MISMATCH'
  | 'INVALID_BCS_BYTES'
  | 'INDEX_OUT_OF_BOUNDS'
  | 'SECONDARY_INDEX_OUT_OF_BOUNDS'
  | 'INVALID_RESULT_ARITY'
  | 'INVALID_GAS_COIN_USAGE'
  | 'ARGUMENT_WITHOUT_VALUE';

/** Reason of a failure during execution. The failed transaction is on the chain and moved only its gas. */
export type FailureReason =
  | { readonly kind: 'INSUFFICIENT_GAS' }
  | { readonly kind: 'INSUFFICIENT_COIN_BALANCE' }
  | { readonly kind: 'INSUFFICIENT_FUNDS_FOR_WITHDRAW' }
  | { readonly kind: 'FUNCTION_NOT_FOUND' }
  | { readonly kind: 'FEATURE_NOT_YET_SUPPORTED' }
  | { readonly kind: 'ARITY_MISMATCH' }
  | { readonly kind: 'MOVE_ABORT'; readonly module: string; readonly function: string; readonly code: bigint }
  | {
      readonly kind: 'COMMAND_ARGUMENT_ERROR';
      readonly argument: number;
      readonly problem: ArgumentProblem;
      readonly index?: number;
      readonly secondaryIndex?: number;
    }
  | { readonly kind: 'UNUSED_VALUE_WITHOUT_DROP'; readonly result: number; readonly secondary: number }
  | { readonly kind: 'ADDRESS_DENIED_FOR_COIN'; readonly address: string; readonly coinType: string }
  | { readonly kind: 'COIN_TYPE_GLOBAL_PAUSE'; readonly coinType: string };

export interface ExecutionFailure {
  readonly reason: FailureReason;
  /** Undefined if no particular command failed. */
  readonly command: number | undefined;
}

/** Variant numbers in ExecutionFailureStatus (crates/sui-types/src/execution_status.rs). */
const VARIANTS: Readonly<Record<FailureReason['kind'], number>> = {
  INSUFFICIENT_GAS: 0,
  FEATURE_NOT_YET_SUPPORTED: 3,
  INSUFFICIENT_COIN_BALANCE: 7,
  MOVE_ABORT: 12,
  FUNCTION_NOT_FOUND: 15,
  ARITY_MISMATCH: 16,
  COMMAND_ARGUMENT_ERROR: 19,
  UNUSED_VALUE_WITHOUT_DROP: 21,
  ADDRESS_DENIED_FOR_COIN: 34,
  COIN_TYPE_GLOBAL_PAUSE: 35,
  INSUFFICIENT_FUNDS_FOR_WITHDRAW: 40,
};

const ARGUMENT_VARIANTS: Readonly<Record<ArgumentProblem, number>> = {
  TYPE_MISMATCH: 0,
  INVALID_BCS_BYTES: 1,
  INDEX_OUT_OF_BOUNDS: 4,
  SECONDARY_INDEX_OUT_OF_BOUNDS: 5,
  INVALID_RESULT_ARITY: 6,
  INVALID_GAS_COIN_USAGE: 7,
  ARGUMENT_WITHOUT_VALUE: 15,
};

/** - `PROGRAM_STOPPED`: a command failed. The interpreter turns it into a failed transaction. */
export type ProgramErrorCode = 'PROGRAM_STOPPED';

export function stop(reason: FailureReason): never {
  throw new GatewayError<ProgramErrorCode>('PROGRAM_STOPPED', reason.kind, {
    retryable: false,
    context: { reason },
  });
}

export function reasonOfStop(error: unknown): FailureReason | undefined {
  if (!(error instanceof GatewayError) || error.code !== 'PROGRAM_STOPPED') return undefined;
  return error.context['reason'] as FailureReason;
}

export function writeStatus(writer: BcsWriter, failure: ExecutionFailure | undefined): void {
  if (failure === undefined) {
    writer.u8(0);
    return;
  }
  writer.u8(1).uleb(VARIANTS[failure.reason.kind]);
  writeDetails(writer, failure.reason);
  writer.option(failure.command, (command) => writer.u64(command));
}

function writeDetails(writer: BcsWriter, reason: FailureReason): void {
  switch (reason.kind) {
    case 'MOVE_ABORT':
      writer.address(FRAMEWORK).text(reason.module).u16(0).u16(0);
      writer.option(reason.function, (name) => writer.text(name)).u64(reason.code);
      break;
    case 'COMMAND_ARGUMENT_ERROR':
      writer.u16(reason.argument).uleb(ARGUMENT_VARIANTS[reason.problem]);
      if (reason.index !== undefined) writer.u16(reason.index);
      if (reason.secondaryIndex !== undefined) writer.u16(reason.secondaryIndex);
      break;
    case 'UNUSED_VALUE_WITHOUT_DROP':
      writer.u16(reason.result).u16(reason.secondary);
      break;
    case 'ADDRESS_DENIED_FOR_COIN':
      writer.address(reason.address).text(reason.coinType);
      break;
    case 'COIN_TYPE_GLOBAL_PAUSE':
      writer.text(reason.coinType);
      break;
    default:
  }
}

/** A node's message for the failure. */
export function describeFailure({ reason, command }: ExecutionFailure): string {
  return command === undefined ? sentence(reason) : `${sentence(reason)} in command ${command}`;
}

function sentence(reason: FailureReason): string {
  switch (reason.kind) {
    case 'INSUFFICIENT_GAS':
      return 'Insufficient Gas.';
    case 'INSUFFICIENT_COIN_BALANCE':
      return 'Insufficient coin balance for operation.';
    case 'INSUFFICIENT_FUNDS_FOR_WITHDRAW':
      return 'Insufficient funds for withdraw';
    case 'FUNCTION_NOT_FOUND':
      return 'Function Not Found.';
    case 'FEATURE_NOT_YET_SUPPORTED':
      return 'Attempted to used feature that is not supported yet';
    case 'ARITY_MISMATCH':
      return 'Arity mismatch for Move function. The number of arguments does not match the number of parameters';
    case 'MOVE_ABORT':
      return `Move Runtime Abort. Location: ${FRAMEWORK}::${reason.module}::${reason.function} (function index 0) at offset 0, Abort Code: ${reason.code}`;
    case 'COMMAND_ARGUMENT_ERROR':
      return `Invalid command argument at ${reason.argument}. ${reason.problem}`;
    case 'UNUSED_VALUE_WITHOUT_DROP':
      return `Unused result without the drop ability. Command result ${reason.result}, return value ${reason.secondary}`;
    case 'ADDRESS_DENIED_FOR_COIN':
      return `Address ${reason.address} is denied for coin ${reason.coinType}`;
    case 'COIN_TYPE_GLOBAL_PAUSE':
      return `Coin type is globally paused for use: ${reason.coinType}`;
  }
}
