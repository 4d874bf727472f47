import { GrpcTypes } from '@mysten/sui/grpc';
import type { Argument, Command, Program, ProgramInput, TransactionData } from '../chain/transaction.ts';
import { makeFields, type FieldMask } from './field-mask.ts';
import { showTimestamp } from './timestamp.ts';

const {
  Argument_ArgumentKind: ArgumentKind,
  FundsWithdrawal_Source: Source,
  Input_InputKind: InputKind,
  Input_Mutability: Mutability,
  TransactionExpiration_TransactionExpirationKind: ExpirationKind,
  TransactionKind_Kind: Kind,
} = GrpcTypes;

export function showTransaction(
  transaction: { readonly data: TransactionData; readonly bytes: Uint8Array; readonly digest: string },
  mask: FieldMask,
): GrpcTypes.Transaction {
  const { data, bytes, digest } = transaction;
  const { gasData } = data;
  return makeFields<GrpcTypes.Transaction>(GrpcTypes.Transaction, mask, {
    bcs: () => ({ name: 'TransactionData', value: bytes }),
    digest: () => digest,
    version: () => 1,
    kind: () => showKind(data),
    sender: () => data.sender,
    gasPayment: () => ({
      owner: gasData.owner,
      price: BigInt(gasData.price),
      budget: BigInt(gasData.budget),
      objects: gasData.payment.map((reference) => ({ ...reference, version: BigInt(reference.version) })),
    }),
    expiration: () => showExpiration(data),
  });
}

function showKind({ kind }: TransactionData): GrpcTypes.TransactionKind {
  if (kind.$kind === 'ProgrammableTransaction') {
    const programmableTransaction = showProgram(kind.ProgrammableTransaction);
    return {
      kind: Kind.PROGRAMMABLE_TRANSACTION,
      data: { oneofKind: 'programmableTransaction', programmableTransaction },
    };
  }
  if (kind.$kind === 'ConsensusCommitPrologueV4') {
    const prologue = kind.ConsensusCommitPrologueV4;
    const consensusCommitPrologue: GrpcTypes.ConsensusCommitPrologue = {
      epoch: BigInt(prologue.epoch),
      round: BigInt(prologue.round),
      commitTimestamp: showTimestamp(Number(prologue.commitTimestampMs)),
      consensusCommitDigest: prologue.consensusCommitDigest,
      consensusDeterminedVersionAssignments: { version: 2, canceledTransactions: [] },
      additionalStateDigest: prologue.additionalStateDigest,
    };
    return {
      kind: Kind.CONSENSUS_COMMIT_PROLOGUE_V4,
      data: { oneofKind: 'consensusCommitPrologue', consensusCommitPrologue },
    };
  }
  return { kind: Kind.GENESIS, data: { oneofKind: 'genesis', genesis: { objects: [] } } };
}

function showProgram(program: Program): GrpcTypes.ProgrammableTransaction {
  return { inputs: program.inputs.map(showInput), commands: program.commands.map(showCommand) };
}

function showInput(input: ProgramInput): GrpcTypes.Input {
  if (input.$kind === 'Pure') {
    return { kind: InputKind.PURE, pure: new Uint8Array(Buffer.from(input.Pure.bytes, 'base64')) };
  }
  if (input.$kind === 'FundsWithdrawal') {
    const { reservation, typeArg, withdrawFrom } = input.FundsWithdrawal;
    const source = withdrawFrom.$kind === 'Sponsor' ? Source.SPONSOR : Source.SENDER;
    const amount = BigInt(reservation.MaxAmountU64);
    return {
      kind: InputKind.FUNDS_WITHDRAWAL,
      fundsWithdrawal: { amount, coinType: typeArg.Balance, source },
    };
  }
  const argument = input.Object;
  if (argument.$kind === 'SharedObject') {
    const { objectId, initialSharedVersion, mutable } = argument.SharedObject;
    const mutability = mutable ? Mutability.MUTABLE : Mutability.IMMUTABLE;
    return { kind: InputKind.SHARED, objectId, version: BigInt(initialSharedVersion), mutable, mutability };
  }
  const reference = argument.$kind === 'Receiving' ? argument.Receiving : argument.ImmOrOwnedObject;
  const kind = argument.$kind === 'Receiving' ? InputKind.RECEIVING : InputKind.IMMUTABLE_OR_OWNED;
  return { kind, ...reference, version: BigInt(reference.version) };
}

function showCommand(command: Command): GrpcTypes.Command {
  switch (command.$kind) {
    case 'MoveCall': {
      const { arguments: args, ...call } = command.MoveCall;
      const moveCall = { ...call, arguments: args.map(showArgument) };
      return { command: { oneofKind: 'moveCall', moveCall } };
    }
    case 'TransferObjects': {
      const { objects, address } = command.TransferObjects;
      const transferObjects = { objects: objects.map(showArgument), address: showArgument(address) };
      return { command: { oneofKind: 'transferObjects', transferObjects } };
    }
    case 'SplitCoins': {
      const { coin, amounts } = command.SplitCoins;
      const splitCoins = { coin: showArgument(coin), amounts: amounts.map(showArgument) };
      return { command: { oneofKind: 'splitCoins', splitCoins } };
    }
    case 'MergeCoins': {
      const { destination, sources } = command.MergeCoins;
      const mergeCoins = { coin: showArgument(destination), coinsToMerge: sources.map(showArgument) };
      return { command: { oneofKind: 'mergeCoins', mergeCoins } };
    }
    case 'MakeMoveVec': {
      const { type, elements } = command.MakeMoveVec;
      const makeMoveVector = {
        ...(type === null ? {} : { elementType: type }),
        elements: elements.map(showArgument),
      };
      return { command: { oneofKind: 'makeMoveVector', makeMoveVector } };
    }
    default:
      return { command: { oneofKind: undefined } };
  }
}

function showArgument(argument: Argument): GrpcTypes.Argument {
  switch (argument.$kind) {
    case 'GasCoin':
      return { kind: ArgumentKind.GAS };
    case 'Input':
      return { kind: ArgumentKind.INPUT, input: argument.Input };
    case 'Result':
      return { kind: ArgumentKind.RESULT, result: argument.Result };
    case 'NestedResult': {
      const [result, subresult] = argument.NestedResult;
      return { kind: ArgumentKind.RESULT, result, subresult };
    }
  }
}

function showExpiration({ expiration }: TransactionData): GrpcTypes.TransactionExpiration {
  if (expiration.$kind === 'None') return { kind: ExpirationKind.NONE };
  if (expiration.$kind === 'Epoch') return { kind: ExpirationKind.EPOCH, epoch: BigInt(expiration.Epoch) };
  const isWindow = expiration.$kind === 'ValidDuring';
  const window = isWindow ? expiration.ValidDuring : expiration.Validity;
  const proposers = isWindow ? null : expiration.Validity.allowedProposers;
  return {
    kind: isWindow ? ExpirationKind.VALID_DURING : ExpirationKind.VALIDITY,
    ...(window.minEpoch === null ? {} : { minEpoch: BigInt(window.minEpoch) }),
    ...(window.maxEpoch === null ? {} : { epoch: BigInt(window.maxEpoch) }),
    chain: window.chain,
    nonce: window.nonce,
    ...(proposers === null
      ? {}
      : { allowedProposers: { epoch: BigInt(proposers.epoch), proposers: [...proposers.proposers] } }),
  };
}
