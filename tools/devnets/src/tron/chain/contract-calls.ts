import {
  CONTRACT_RESULT,
  type CreateSmartContract,
  type TriggerSmartContract,
} from '../protobuf/messages.ts';
import { createdContractAddress } from '../protobuf/transaction-json.ts';
import { newAccount, type ContractRecord, type TronAccount } from '../state/records.ts';
import { accountKey, hex } from '../tron-address.ts';
import { energyFactor, recordEnergyUse } from './dynamic-energy.ts';
import {
  accountOf,
  balanceOf,
  burn,
  headSlot,
  putAccount,
  requireAccount,
  totalsOf,
  type Execution,
  type Outcome,
} from './execution.ts';
import { invalid, refuse } from './refusal.ts';
import { energyLeft, usageAfter } from './resources.ts';
import { runContract, type ContractRun } from './run-contract.ts';

interface CallContext {
  readonly execution: Execution;
  readonly txid: Uint8Array;
  readonly owner: Uint8Array;
  readonly feeLimitSun: bigint;
}

/** VMActuator.call: runs a decoded call and charges fee and energy. */
export async function callContract(context: CallContext, call: TriggerSmartContract): Promise<Outcome> {
  const { execution, owner } = context;
  const { state } = execution;
  const address = call.contract_address ?? new Uint8Array(21);
  const record = state.get('contract', accountKey(address));
  if (record === undefined) return invalid('No contract or not a smart contract');
  const valueSun = call.call_value ?? 0n;
  if (valueSun < 0n) return invalid('callValue must be >= 0');
  if ((call.call_token_value ?? 0n) !== 0n || (call.token_id ?? 0n) !== 0n) {
    return invalid('TRC-10 tokens are not part of this devnet');
  }
  requireFeeLimit(context);
  requireCallValue(execution, owner, valueSun);
  const share = originShare(execution, owner, record);
  const callerLimit = callerEnergyLimit(context, valueSun);
  const originLimit = originEnergyLimit(execution, share, callerLimit);
  const key = accountKey(address);
  const run = await runContract(execution, {
    owner,
    to: address,
    txid: context.txid,
    data: call.data ?? new Uint8Array(),
    valueSun,
    energyLimit: callerLimit + originLimit,
    factor: energyFactor(execution, key),
  });
  recordEnergyUse(execution, key, run.energyUsed - run.penalty);
  return chargeEnergy(context, run, { address, originUse: originUse(share, run, originLimit), share });
}

/** VMActuator.create. */
export async function createContract(context: CallContext, call: CreateSmartContract): Promise<Outcome> {
  const { execution, owner, txid } = context;
  const { state } = execution;
  const contract = call.new_contract;
  if (contract === undefined) return invalid('Cannot get CreateSmartContract from transaction');
  if (hex(contract.origin_address ?? new Uint8Array()) !== hex(owner)) {
    return invalid('OwnerAddress is not equals OriginAddress');
  }
  if (Buffer.byteLength(contract.name ?? '') > 32) {
    return invalid("contractName's length cannot be greater than 32");
  }
  const percent = Number(contract.consume_user_resource_percent ?? 0n);
  if (percent < 0 || percent > 100) return invalid('percent must be >= 0 and <= 100');
  if ((contract.origin_energy_limit ?? 0n) <= 0n) return invalid('The originEnergyLimit must be > 0');
  const valueSun = contract.call_value ?? 0n;
  requireFeeLimit(context);
  requireCallValue(execution, owner, valueSun);
  const bytecode = contract.bytecode ?? new Uint8Array();
  const run = await runContract(execution, {
    owner,
    to: undefined,
    txid,
    data: bytecode,
    valueSun,
    energyLimit: callerEnergyLimit(context, valueSun),
    factor: 0,
  });
  const address = createdContractAddress(txid, owner);
  if (run.contractResult === CONTRACT_RESULT.SUCCESS) {
    putAccount(state, address, newAccount('CONTRACT', execution.head.timestampMs));
    state.set('contract', accountKey(address), {
      originKey: accountKey(owner),
      userPercent: percent,
      originEnergyLimit: contract.origin_energy_limit ?? 0n,
      name: contract.name ?? '',
      abi: contract.abi,
      bytecode,
      createdBy: txid,
    });
  }
  return chargeEnergy(context, run, { address, originUse: 0, share: undefined });
}

function requireFeeLimit({ execution, feeLimitSun }: CallContext): void {
  const { maxFeeLimit } = execution.parameters;
  if (feeLimitSun < 0n || feeLimitSun > BigInt(maxFeeLimit)) {
    invalid(`feeLimit must be >= 0 and <= ${maxFeeLimit}`);
  }
}

function requireCallValue(execution: Execution, owner: Uint8Array, valueSun: bigint): void {
  if (balanceOf(execution.state, owner) < valueSun) {
    invalid('Validate InternalTransfer error, balance is not sufficient.');
  }
}

/** Staked energy plus what the balance can buy, capped by the fee limit. The cap includes staked energy. */
function callerEnergyLimit({ execution, owner, feeLimitSun }: CallContext, valueSun: bigint): number {
  const { state, parameters } = execution;
  const price = BigInt(parameters.energyFee);
  const left = energyLeft(requireAccount(state, owner), headSlot(execution), totalsOf(state), parameters);
  const spendable = balanceOf(state, owner) - valueSun;
  return Math.min(left + Number(spendable / price), Number(feeLimitSun / price));
}

interface OriginShare {
  readonly address: Uint8Array;
  readonly account: TronAccount;
  readonly percent: number;
  readonly energyLimit: number;
}

function originShare(
  execution: Execution,
  owner: Uint8Array,
  record: ContractRecord,
): OriginShare | undefined {
  const percent = 100 - record.userPercent;
  if (record.originKey === accountKey(owner) || percent === 0) return undefined;
  const address = Buffer.from(`41${record.originKey}`, 'hex');
  const account = accountOf(execution.state, address);
  if (account === undefined) return undefined;
  return { address, account, percent, energyLimit: Number(record.originEnergyLimit) };
}

function originEnergyLimit(
  execution: Execution,
  share: OriginShare | undefined,
  callerLimit: number,
): number {
  if (share === undefined) return 0;
  const { state, parameters } = execution;
  const left = energyLeft(share.account, headSlot(execution), totalsOf(state), parameters);
  const most = Math.min(left, share.energyLimit);
  if (share.percent === 100) return most;
  return Math.min(Math.floor((callerLimit * share.percent) / (100 - share.percent)), most);
}

function originUse(share: OriginShare | undefined, run: ContractRun, originLimit: number): number {
  return share === undefined ? 0 : Math.min(Math.floor((run.energyUsed * share.percent) / 100), originLimit);
}

/** Charges the contract's owner, then the caller's stake, then the caller's TRX (ReceiptCapsule.payEnergyBill). */
function chargeEnergy(
  context: CallContext,
  run: ContractRun,
  bill: { readonly address: Uint8Array; readonly originUse: number; readonly share: OriginShare | undefined },
): Outcome {
  const { execution, owner } = context;
  const { state, parameters } = execution;
  const slot = headSlot(execution);
  if (bill.share && bill.originUse > 0) useEnergy(execution, bill.share.address, bill.originUse);
  const callerUse = run.energyUsed - bill.originUse;
  const caller = requireAccount(state, owner);
  const fromStake = Math.min(callerUse, energyLeft(caller, slot, totalsOf(state), parameters));
  useEnergy(execution, owner, fromStake);
  const burnSun = BigInt(callerUse - fromStake) * BigInt(parameters.energyFee);
  if (balanceOf(state, owner) < burnSun) {
    refuse('CONTRACT_EXE_ERROR', `Contract execute error : ${hex(owner)} insufficient balance`);
  }
  if (burnSun > 0n) burn(state, owner, burnSun);
  return {
    feeSun: burnSun,
    contractResult: run.contractResult,
    returned: run.returned,
    contractAddress: bill.address,
    ...(run.failure === undefined ? {} : { failure: run.failure }),
    logs: run.logs,
    internal: run.internal,
    receipt: {
      energy_usage: BigInt(fromStake),
      energy_fee: burnSun,
      origin_energy_usage: BigInt(bill.originUse),
      energy_usage_total: BigInt(run.energyUsed),
      energy_penalty_total: BigInt(run.penalty),
      result: run.contractResult,
    },
  };
}

function useEnergy(execution: Execution, address: Uint8Array, energy: number): void {
  const { state, head } = execution;
  const slot = headSlot(execution);
  const account = requireAccount(state, address);
  putAccount(state, address, {
    ...account,
    energyUsed: usageAfter(account.energyUsed, account.energySlot, energy, slot),
    energySlot: slot,
    lastOperationAtMs: head.timestampMs,
  });
}
