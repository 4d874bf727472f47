import { GrpcTypes } from '@mysten/sui/grpc';
import { balanceType, FRAMEWORK } from '../coin-type.ts';
import { describeFailure, type ExecutionFailure, type FailureReason } from '../chain/execution-error.ts';
import type { GasSummary, ObjectChange, Outcome } from '../chain/transaction.ts';
import { makeFields, type FieldMask } from './field-mask.ts';
import { showOwner } from './show-object.ts';

const {
  AccumulatorWrite_AccumulatorOperation: Operation,
  AccumulatorWrite_AccumulatorValue: ValueKind,
  ChangedObject_IdOperation: IdOperation,
  ChangedObject_InputObjectState: InputState,
  ChangedObject_OutputObjectState: OutputState,
  CommandArgumentError_CommandArgumentErrorKind: ArgumentErrorKind,
  ExecutionError_ExecutionErrorKind: ErrorKind,
} = GrpcTypes;

const EFFECTS_VERSION = 2;

export function showEffects(outcome: Outcome, digest: string, mask: FieldMask): GrpcTypes.TransactionEffects {
  return makeFields<GrpcTypes.TransactionEffects>(GrpcTypes.TransactionEffects, mask, {
    bcs: () => ({ name: 'TransactionEffects', value: outcome.effectsBytes }),
    digest: () => outcome.effectsDigest,
    version: () => EFFECTS_VERSION,
    status: () =>
      outcome.failure === undefined
        ? { success: true }
        : { success: false, error: showFailure(outcome.failure) },
    epoch: () => outcome.epoch,
    gasUsed: () => showGas(outcome.gas),
    transactionDigest: () => digest,
    gasObject() {
      const change = outcome.changes.find(({ id }) => id === outcome.gasObjectId);
      return change && showChange(change);
    },
    dependencies: () => [...outcome.dependencies],
    lamportVersion: () => outcome.lamportVersion,
    changedObjects: () => outcome.changes.map(showChange),
  });
}

export function showGas(gas: GasSummary): GrpcTypes.GasCostSummary {
  return { ...gas };
}

function showChange(change: ObjectChange): GrpcTypes.ChangedObject {
  const objectId = change.id;
  if (change.kind === 'funds') {
    const { address, coinType, delta } = change;
    return {
      objectId,
      inputState: InputState.DOES_NOT_EXIST,
      outputState: OutputState.ACCUMULATOR_WRITE,
      idOperation: IdOperation.NONE,
      accumulatorWrite: {
        address,
        accumulatorType: balanceType(coinType),
        operation: delta < 0n ? Operation.SPLIT : Operation.MERGE,
        valueKind: ValueKind.INTEGER,
        integerValue: delta < 0n ? -delta : delta,
        integerTuple: [],
        eventDigestValue: [],
      },
    };
  }
  return {
    objectId,
    ...showInput(change),
    ...showOutput(change),
    objectType: (change.kind === 'created' ? change.after : change.before).type,
  };
}

type WrittenChange = Exclude<ObjectChange, { kind: 'funds' }>;

function showInput(change: WrittenChange): Partial<GrpcTypes.ChangedObject> {
  if (change.kind === 'created') return { inputState: InputState.DOES_NOT_EXIST };
  const { version, digest, owner } = change.before;
  return {
    inputState: InputState.EXISTS,
    inputVersion: version,
    inputDigest: digest,
    inputOwner: showOwner(owner),
  };
}

function showOutput(change: WrittenChange): Partial<GrpcTypes.ChangedObject> {
  if (change.kind === 'deleted') {
    return { outputState: OutputState.DOES_NOT_EXIST, idOperation: IdOperation.DELETED };
  }
  const { version, digest, owner } = change.after;
  return {
    outputState: OutputState.OBJECT_WRITE,
    outputVersion: version,
    outputDigest: digest,
    outputOwner: showOwner(owner),
    idOperation: change.kind === 'created' ? IdOperation.CREATED : IdOperation.NONE,
  };
}

function showFailure(failure: ExecutionFailure): GrpcTypes.ExecutionError {
  const { reason, command } = failure;
  return {
    description: describeFailure(failure),
    kind: ErrorKind[reason.kind],
    ...(command === undefined ? {} : { command: BigInt(command) }),
    errorDetails: showDetails(reason),
  };
}

function showDetails(reason: FailureReason): GrpcTypes.ExecutionError['errorDetails'] {
  switch (reason.kind) {
    case 'MOVE_ABORT': {
      const { module, function: functionName, code } = reason;
      const location = { package: FRAMEWORK, module, function: 0, instruction: 0, functionName };
      return { oneofKind: 'abort', abort: { abortCode: code, location } };
    }
    case 'COMMAND_ARGUMENT_ERROR': {
      const { index, secondaryIndex } = reason;
      const commandArgumentError: GrpcTypes.CommandArgumentError = {
        argument: reason.argument,
        kind: ArgumentErrorKind[reason.problem],
        ...(index === undefined
          ? {}
          : {
              indexError: { index, ...(secondaryIndex === undefined ? {} : { subresult: secondaryIndex }) },
            }),
      };
      return { oneofKind: 'commandArgumentError', commandArgumentError };
    }
    case 'UNUSED_VALUE_WITHOUT_DROP':
      return { oneofKind: 'indexError', indexError: { index: reason.result, subresult: reason.secondary } };
    case 'ADDRESS_DENIED_FOR_COIN': {
      const { address, coinType } = reason;
      return { oneofKind: 'coinDenyListError', coinDenyListError: { address, coinType } };
    }
    case 'COIN_TYPE_GLOBAL_PAUSE':
      return { oneofKind: 'coinDenyListError', coinDenyListError: { coinType: reason.coinType } };
    default:
      return { oneofKind: undefined };
  }
}
