import { GrpcTypes } from '@mysten/sui/grpc';
import { isValidSuiAddress, normalizeSuiAddress } from '@mysten/sui/utils';
import type { Chain } from '../chain/chain.ts';
import { refuse } from '../chain/refusal.ts';
import type { transactionBytes } from '../chain/transaction.ts';

const {
  Argument_ArgumentKind: ArgumentKind,
  FundsWithdrawal_Source: Source,
  Input_InputKind: InputKind,
  TransactionExpiration_TransactionExpirationKind: ExpirationKind,
} = GrpcTypes;

export type DraftTransaction = Parameters<typeof transactionBytes>[0];
type DraftProgram = Extract<
  DraftTransaction['kind'],
  { ProgrammableTransaction: unknown }
>['ProgrammableTransaction'];
type DraftInput = DraftProgram['inputs'] extends Iterable<infer T> ? T : never;
type DraftCommand = DraftProgram['commands'] extends Iterable<infer T> ? T : never;
type DraftArgument = Extract<DraftCommand, { MergeCoins: unknown }>['MergeCoins']['destination'];

function bad(message: string): never {
  return refuse('INVALID_ARGUMENT', message);
}

/** Completes a client's draft: resolves object versions and chooses omitted values. */
export function resolveTransaction(chain: Chain, transaction: GrpcTypes.Transaction): DraftTransaction {
  const { kind, sender, gasPayment } = transaction;
  if (kind?.data.oneofKind !== 'programmableTransaction')
    return bad('only programmable transactions can be sent');
  const program = kind.data.programmableTransaction;
  const from = readAddress(sender, 'sender');
  return {
    kind: {
      ProgrammableTransaction: {
        inputs: program.inputs.map((input) => resolveInput(chain, input)),
        commands: program.commands.map(resolveCommand),
      },
    },
    sender: from,
    gasData: {
      payment: (gasPayment?.objects ?? []).map(({ objectId = '', version = 0n, digest = '' }) => ({
        objectId,
        version,
        digest,
      })),
      owner: gasPayment?.owner === undefined ? from : readAddress(gasPayment.owner, 'gas_payment.owner'),
      price: gasPayment?.price ?? chain.parameters.referenceGasPrice,
      budget: gasPayment?.budget ?? 0n,
    },
    expiration: resolveExpiration(transaction.expiration),
  };
}

function readAddress(text: string | undefined, field: string): string {
  const address = normalizeSuiAddress(text ?? '');
  return isValidSuiAddress(address) ? address : bad(`invalid ${field}: ${text ?? ''}`);
}

function resolveInput(chain: Chain, input: GrpcTypes.Input): DraftInput {
  if (input.fundsWithdrawal !== undefined) {
    const { amount = 0n, coinType = '', source } = input.fundsWithdrawal;
    const withdrawFrom = source === Source.SPONSOR ? { Sponsor: true as const } : { Sender: true as const };
    return {
      FundsWithdrawal: {
        reservation: { MaxAmountU64: amount },
        typeArg: { Balance: coinType },
        withdrawFrom,
      },
    };
  }
  if (input.pure !== undefined) return { Pure: { bytes: input.pure } };
  if (input.objectId === undefined) return bad('unsupported input');
  const objectId = readAddress(input.objectId, 'object_id');
  const object = chain.objects.get(objectId);
  if (
    input.kind === InputKind.IMMUTABLE_OR_OWNED &&
    input.version !== undefined &&
    input.digest !== undefined
  ) {
    const { version, digest } = input;
    return { Object: { ImmOrOwnedObject: { objectId, version, digest } } };
  }
  if (object === undefined) return refuse('NOT_FOUND', `Object ${objectId} not found`);
  if (object.owner.kind === 'address') {
    const { version, digest } = object;
    return { Object: { ImmOrOwnedObject: { objectId, version, digest } } };
  }
  const initialSharedVersion =
    object.owner.kind === 'shared' ? object.owner.initialSharedVersion : object.owner.startVersion;
  return { Object: { SharedObject: { objectId, initialSharedVersion, mutable: input.mutable ?? true } } };
}

function resolveArgument(argument: GrpcTypes.Argument | undefined): DraftArgument {
  switch (argument?.kind) {
    case ArgumentKind.GAS:
      return { GasCoin: true };
    case ArgumentKind.INPUT:
      return { Input: argument.input ?? 0 };
    case ArgumentKind.RESULT: {
      const { result = 0, subresult } = argument;
      return subresult === undefined ? { Result: result } : { NestedResult: [result, subresult] };
    }
    default:
      return bad('an argument is missing');
  }
}

function resolveCommand({ command }: GrpcTypes.Command): DraftCommand {
  switch (command.oneofKind) {
    case 'moveCall': {
      const {
        package: id,
        module = '',
        function: name = '',
        typeArguments,
        arguments: args,
      } = command.moveCall;
      const target = { package: readAddress(id, 'package'), module, function: name };
      return { MoveCall: { ...target, typeArguments, arguments: args.map(resolveArgument) } };
    }
    case 'transferObjects': {
      const { objects, address } = command.transferObjects;
      return {
        TransferObjects: { objects: objects.map(resolveArgument), address: resolveArgument(address) },
      };
    }
    case 'splitCoins': {
      const { coin, amounts } = command.splitCoins;
      return { SplitCoins: { coin: resolveArgument(coin), amounts: amounts.map(resolveArgument) } };
    }
    case 'mergeCoins': {
      const { coin, coinsToMerge } = command.mergeCoins;
      return {
        MergeCoins: { destination: resolveArgument(coin), sources: coinsToMerge.map(resolveArgument) },
      };
    }
    default:
      return bad(`unsupported command ${command.oneofKind ?? ''}`);
  }
}

function resolveExpiration(
  expiration: GrpcTypes.TransactionExpiration | undefined,
): DraftTransaction['expiration'] {
  switch (expiration?.kind) {
    case ExpirationKind.EPOCH:
      return { Epoch: Number(expiration.epoch ?? 0n) };
    case ExpirationKind.VALID_DURING:
      return { ValidDuring: readWindow(expiration) };
    case ExpirationKind.VALIDITY: {
      const { allowedProposers } = expiration;
      const { epoch = 0n, proposers = [] } = allowedProposers ?? {};
      return {
        Validity: {
          ...readWindow(expiration),
          allowedProposers: allowedProposers === undefined ? null : { epoch, proposers },
        },
      };
    }
    default:
      return { None: true };
  }
}

interface DraftWindow {
  minEpoch: bigint | null;
  maxEpoch: bigint | null;
  minTimestamp: null;
  maxTimestamp: null;
  chain: string;
  nonce: number;
}

function readWindow({
  minEpoch,
  epoch,
  chain = '',
  nonce = 0,
}: GrpcTypes.TransactionExpiration): DraftWindow {
  return {
    minEpoch: minEpoch ?? null,
    maxEpoch: epoch ?? null,
    minTimestamp: null,
    maxTimestamp: null,
    chain,
    nonce,
  };
}
