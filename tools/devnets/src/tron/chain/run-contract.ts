import { CONTRACT_RESULT, type InternalTransaction, type Log } from '../protobuf/messages.ts';
import { newAccount } from '../state/records.ts';
import { accountKey, addressOfAccountKey } from '../tron-address.ts';
import type { TvmCall, TvmResult } from '../vm/tvm.ts';
import type { Execution } from './execution.ts';
import { sha256 } from '../sha256.ts';

export interface ContractRun {
  readonly contractResult: number;
  readonly failure: string | undefined;
  readonly energyUsed: number;
  readonly penalty: number;
  readonly returned: Uint8Array;
  readonly logs: readonly Log[];
  readonly internal: readonly InternalTransaction[];
}

const FACTOR_UNIT = 10_000;

/** A failed run leaves the state unchanged. The energy penalty on the total differs from java-tron's by < 0.3 %. */
export async function runContract(
  execution: Execution,
  request: {
    readonly owner: Uint8Array;
    readonly to: Uint8Array | undefined;
    readonly txid: Uint8Array;
    readonly data: Uint8Array;
    readonly valueSun: bigint;
    readonly energyLimit: number;
    readonly factor: number;
  },
): Promise<ContractRun> {
  const { state, tvm } = execution;
  const { factor, energyLimit, txid } = request;
  const baseLimit = Math.floor((energyLimit * FACTOR_UNIT) / (FACTOR_UNIT + factor));
  const block = execution.block ?? {
    number: execution.head.number + 1,
    timestampMs: execution.head.timestampMs + 3_000,
  };
  const call: TvmCall = {
    state,
    from: accountKey(request.owner),
    to: request.to && accountKey(request.to),
    ownerAddress: request.owner,
    txid,
    data: request.data,
    valueSun: request.valueSun,
    energyLimit: BigInt(baseLimit),
    block: { ...block, producerKey: execution.producerKey },
  };
  const mark = state.mark();
  const result = await tvm.run(call);
  const judged = judge(result);
  if (judged.contractResult === CONTRACT_RESULT.SUCCESS) {
    settleAccounts(execution, mark, result);
  } else {
    state.revertTo(mark);
    if (judged.contractResult === CONTRACT_RESULT.OUT_OF_ENERGY) {
      judged.failure = await describeOutOfEnergy(execution, call, energyLimit);
    }
  }
  const energy = judged.takesAll ? baseLimit : Number(result.energyUsed);
  const penalty = Math.floor((energy * factor) / FACTOR_UNIT);
  const succeeded = judged.contractResult === CONTRACT_RESULT.SUCCESS;
  return {
    contractResult: judged.contractResult,
    failure: judged.failure,
    energyUsed: energy + penalty,
    penalty,
    returned: result.returned,
    logs: succeeded ? result.logs : [],
    internal: internalTransactions(result, txid, succeeded),
  };
}

/** Maps EVM errors to TRON's. All except REVERT and a failed transfer consume all energy. */
function judge(result: TvmResult): {
  contractResult: number;
  failure: string | undefined;
  takesAll: boolean;
} {
  const { error } = result;
  if (error === undefined)
    return { contractResult: CONTRACT_RESULT.SUCCESS, failure: undefined, takesAll: false };
  if (error === 'revert') {
    return { contractResult: CONTRACT_RESULT.REVERT, failure: 'REVERT opcode executed', takesAll: false };
  }
  if (/insufficient balance/i.test(error)) {
    const failure = 'transfer trx failed: Validate InternalTransfer error, balance is not sufficient.';
    return { contractResult: CONTRACT_RESULT.TRANSFER_FAILED, failure, takesAll: false };
  }
  if (/out of gas/i.test(error))
    return { contractResult: CONTRACT_RESULT.OUT_OF_ENERGY, failure: error, takesAll: true };
  if (/invalid opcode/i.test(error)) {
    const failure = 'Invalid operation code: opCode[fe];';
    return { contractResult: CONTRACT_RESULT.ILLEGAL_OPERATION, failure, takesAll: true };
  }
  if (/invalid JUMP/i.test(error)) {
    const failure = "Operation with pc isn't 'JUMPDEST': PC[0];";
    return { contractResult: CONTRACT_RESULT.BAD_JUMP_DESTINATION, failure, takesAll: true };
  }
  if (/stack underflow/i.test(error))
    return { contractResult: CONTRACT_RESULT.STACK_TOO_SMALL, failure: error, takesAll: true };
  if (/stack overflow/i.test(error))
    return { contractResult: CONTRACT_RESULT.STACK_TOO_LARGE, failure: error, takesAll: true };
  return { contractResult: CONTRACT_RESULT.UNKNOWN, failure: error, takesAll: true };
}

async function describeOutOfEnergy(execution: Execution, call: TvmCall, limit: number): Promise<string> {
  const last = await execution.tvm.findLastOperation(call);
  return (
    `Not enough energy for '${last?.name ?? 'STOP'}' operation executing: ` +
    `curInvokeEnergyLimit[${limit}], curOpEnergy[${last?.cost ?? 0n}], usedEnergy[${last?.usedBefore ?? 0n}]`
  );
}

/** TRX from a contract activates the receiver's account. A self-destructed contract loses its account. */
function settleAccounts(execution: Execution, mark: number, result: TvmResult): void {
  const { state, head } = execution;
  for (const { kind, key } of state.keysSince(mark)) {
    if (kind !== 'evm' || state.get('account', key) !== undefined) continue;
    const isContract = state.get('code', key) !== undefined;
    if (!isContract && (state.get('evm', key)?.balance ?? 0n) === 0n) continue;
    state.set('account', key, newAccount(isContract ? 'CONTRACT' : 'NORMAL', head.timestampMs));
  }
  for (const key of result.destroyed) {
    for (const kind of ['account', 'evm', 'code', 'contract', 'contractEnergy'] as const)
      state.set(kind, key, undefined);
  }
}

function internalTransactions(
  result: TvmResult,
  txid: Uint8Array,
  succeeded: boolean,
): readonly InternalTransaction[] {
  return result.internal.map((call, index) => ({
    hash: sha256(Buffer.concat([txid, Buffer.from([index >> 8, index & 255])])),
    caller_address: addressOfAccountKey(call.fromKey),
    ...(call.toKey === undefined ? {} : { transferTo_address: addressOfAccountKey(call.toKey) }),
    callValueInfo: [call.valueSun === 0n ? {} : { callValue: call.valueSun }],
    note: Buffer.from(call.note),
    ...(succeeded ? {} : { rejected: true }),
  }));
}
