import type {
  AccountCreateContract,
  ContractCall,
  CreateSmartContract,
  StakeContract,
  TransactionInfo,
  Transaction,
  TransferContract,
  TriggerSmartContract,
} from '../protobuf/messages.ts';
import { CONTRACT_RESULT } from '../protobuf/messages.ts';
import { contractParameter, contractTypeName } from '../protobuf/transaction-json.ts';
import { isAddress } from '../tron-address.ts';
import { chargeBandwidth, payBandwidthFee } from './bandwidth.ts';
import { callContract, createContract } from './contract-calls.ts';
import { accountOf, type Execution, type Outcome } from './execution.ts';
import { invalid } from './refusal.ts';
import { createAccount, transferTrx } from './transfer.ts';
import { STAKE_ACTUATORS, isStakeContract } from './stake.ts';

export interface Processed {
  /** Value of the transaction's `ret` in its block. */
  readonly contractRet: number;
  readonly info: TransactionInfo;
}

/** Expects a checked reference and signature (Manager.processTransaction). If it throws, revert the state. */
export async function processTransaction(
  execution: Execution,
  transaction: Transaction,
  txid: Uint8Array,
): Promise<Processed> {
  const call = onlyContract(transaction);
  const owner = ownerOf(call);
  const receipt = chargeBandwidth(execution, {
    transaction,
    owner,
    createsAccount: createsAccount(execution, call),
  });
  const memoFeeSun = transaction.raw_data.data?.length ? BigInt(execution.parameters.memoFee) : 0n;
  if (memoFeeSun > 0n) payBandwidthFee(execution, owner, memoFeeSun);
  const outcome = await act(execution, { transaction, txid, owner, call });
  const feeSun = (receipt.net_fee ?? 0n) + memoFeeSun + (outcome.feeSun ?? 0n);
  const { block } = execution;
  const info: TransactionInfo = {
    id: txid,
    fee: feeSun,
    ...(block && { blockNumber: BigInt(block.number), blockTimeStamp: BigInt(block.timestampMs) }),
    contractResult: [outcome.returned ?? new Uint8Array()],
    ...(outcome.contractAddress && { contract_address: outcome.contractAddress }),
    receipt: { ...outcome.receipt, ...receipt },
    ...(outcome.logs && { log: outcome.logs }),
    ...(outcome.failure === undefined ? {} : { result: 1, resMessage: Buffer.from(outcome.failure) }),
    ...(outcome.unfrozenSun === undefined ? {} : { unfreeze_amount: outcome.unfrozenSun }),
    ...(outcome.withdrawnSun === undefined ? {} : { withdraw_expire_amount: outcome.withdrawnSun }),
    ...(outcome.internal && { internal_transactions: outcome.internal }),
  };
  return { contractRet: outcome.contractResult ?? CONTRACT_RESULT.SUCCESS, info };
}

export function onlyContract(transaction: Transaction): ContractCall {
  const [call] = transaction.raw_data.contract ?? [];
  return call ?? invalid('No contract!');
}

export function ownerOf(call: ContractCall): Uint8Array {
  const { owner_address: owner } = decodeParameter<{ owner_address?: Uint8Array }>(call);
  return isAddress(owner) ? owner : invalid('Invalid ownerAddress');
}

function decodeParameter<T extends object>(call: ContractCall): T {
  try {
    return contractParameter<T>(call);
  } catch (error) {
    return invalid(error instanceof Error ? error.message : String(error));
  }
}

function createsAccount(execution: Execution, call: ContractCall): boolean {
  const type = contractTypeName(call);
  if (type === 'AccountCreateContract') return true;
  if (type !== 'TransferContract') return false;
  const to = decodeParameter<TransferContract>(call).to_address;
  return isAddress(to) && accountOf(execution.state, to) === undefined;
}

async function act(
  execution: Execution,
  request: {
    readonly transaction: Transaction;
    readonly txid: Uint8Array;
    readonly owner: Uint8Array;
    readonly call: ContractCall;
  },
): Promise<Outcome> {
  const { call, owner, transaction, txid } = request;
  const type = contractTypeName(call);
  const context = { execution, txid, owner, feeLimitSun: transaction.raw_data.fee_limit ?? 0n };
  switch (type) {
    case 'TransferContract':
      return transferTrx(execution, decodeParameter<TransferContract>(call));
    case 'AccountCreateContract':
      return createAccount(execution, decodeParameter<AccountCreateContract>(call));
    case 'TriggerSmartContract':
      return callContract(context, decodeParameter<TriggerSmartContract>(call));
    case 'CreateSmartContract':
      return createContract(context, decodeParameter<CreateSmartContract>(call));
    default:
      if (isStakeContract(type)) {
        return STAKE_ACTUATORS[type](execution, owner, decodeParameter<StakeContract>(call));
      }
      return invalid(`contracts of the type ${type} are not part of this devnet`);
  }
}
