import { textOf } from '../protobuf/json-text.ts';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { executionOn } from '../chain/chain.ts';
import { energyFactor } from '../chain/dynamic-energy.ts';
import { balanceOf, changeBalance } from '../chain/execution.ts';
import { isRefusal, refuse } from '../chain/refusal.ts';
import { runContract, type ContractRun } from '../chain/run-contract.ts';
import { messageToJson, type JsonObject } from '../protobuf/json.ts';
import { CONTRACT_RESULT, type TriggerSmartContract } from '../protobuf/messages.ts';
import { accountKey, hex, hexBytes, parseAddress } from '../tron-address.ts';
import { newTransaction, newTransactionJson } from './new-transaction.ts';
import { stateOf, type Endpoint, type NodeRequest } from './node.ts';

/** `node.maxEnergyLimitForConstant`. */
const CONSTANT_ENERGY_LIMIT = 100_000_000;

type Trigger = TriggerSmartContract & { readonly owner_address: Uint8Array; readonly data: Uint8Array };

function readTrigger({ body }: NodeRequest): Trigger {
  const { owner_address: owner, contract_address: contract, function_selector: selector } = body;
  if (typeof owner !== 'string' || owner === '') throw new Error("owner_address isn't set.");
  const parameter = textOf(body['parameter']);
  const data =
    typeof selector === 'string' && selector !== ''
      ? Buffer.concat([keccak_256(Buffer.from(selector)).subarray(0, 4), hexBytes(parameter)])
      : hexBytes(textOf(body['data']));
  const hasContract = typeof contract === 'string' && contract !== '';
  if (!hasContract && data.length === 0) {
    throw new Error('At least one of contract_address and data must be set.');
  }
  const valueSun = BigInt((body['call_value'] as string | number | bigint | undefined) ?? 0);
  return {
    owner_address: parseAddress(owner),
    ...(hasContract ? { contract_address: parseAddress(contract) } : {}),
    ...(valueSun === 0n ? {} : { call_value: valueSun }),
    data: new Uint8Array(data),
  };
}

/** These endpoints report errors in `result`, with the message in hex. */
function answering(endpoint: (request: NodeRequest, trigger: Trigger) => Promise<object> | object): Endpoint {
  return async (request) => {
    try {
      return await endpoint(request, readTrigger(request));
    } catch (error) {
      if (isRefusal(error)) return failed(error.code, error.message);
      const message = error instanceof Error ? error.message : String(error);
      return failed('OTHER_ERROR', `class java.lang.IllegalArgumentException : ${message}`);
    }
  };
}

function failed(code: string, message: string): JsonObject {
  return { result: { code, message: Buffer.from(message).toString('hex') } };
}

async function runConstant(request: NodeRequest, trigger: Trigger): Promise<ContractRun> {
  const { chain } = request;
  return chain.turns.take(async () => {
    const state = stateOf(request);
    const { owner_address: owner, contract_address: to, call_value: valueSun = 0n } = trigger;
    if (to !== undefined && state.get('contract', accountKey(to)) === undefined) {
      return refuse('CONTRACT_VALIDATE_ERROR', 'Smart contract is not exist.');
    }
    if (balanceOf(state, owner) < valueSun) changeBalance(state, owner, valueSun);
    const execution = executionOn(chain, state, undefined);
    return runContract(execution, {
      owner,
      to,
      txid: new Uint8Array(32),
      data: trigger.data,
      valueSun,
      energyLimit: CONSTANT_ENERGY_LIMIT,
      factor: to === undefined ? 0 : energyFactor(execution, accountKey(to)),
    });
  });
}

const triggerConstantContract = answering(async (request, trigger) => {
  const run = await runConstant(request, trigger);
  const { contractResult } = run;
  const reverted = contractResult === CONTRACT_RESULT.REVERT;
  if (!reverted && contractResult !== CONTRACT_RESULT.SUCCESS) throw new Error(run.failure);
  const { fee_limit: _limit, ...body } = request.body;
  const transaction = newTransaction({ ...request, body }, 'TriggerSmartContract', trigger);
  return {
    result: {
      result: true,
      ...(reverted ? { message: Buffer.from('REVERT opcode executed').toString('hex') } : {}),
    },
    ...(run.energyUsed === 0 ? {} : { energy_used: run.energyUsed }),
    ...(run.penalty === 0 ? {} : { energy_penalty: run.penalty }),
    constant_result: [hex(run.returned)],
    ...(run.logs.length === 0 ? {} : { logs: run.logs.map((log) => messageToJson('Log', log, false)) }),
    ...(run.internal.length === 0
      ? {}
      : {
          internal_transactions: run.internal.map((call) =>
            messageToJson('InternalTransaction', call, request.visible),
          ),
        }),
    transaction: {
      ret: [reverted ? { ret: 'FAILED' } : {}],
      ...newTransactionJson(transaction, request.visible),
    },
  };
});

const estimateEnergy = answering(async (request, trigger) => {
  const run = await runConstant(request, trigger);
  if (run.contractResult !== CONTRACT_RESULT.SUCCESS) {
    return failed('CONTRACT_EXE_ERROR', run.failure ?? '');
  }
  const price = request.chain.parameters.energyFee;
  return { result: { result: true }, energy_required: estimateBySearch(run.energyUsed, price) };
});

/** Wallet.estimateEnergy bisects for a sufficient fee and stops within 1 TRX, so it overestimates. */
function estimateBySearch(energyUsed: number, price: number): number {
  const enough = energyUsed * price;
  let high = enough * 2;
  while (enough + 1_000_000 < high) high = Math.floor((enough + high) / 2);
  return Math.ceil(high / price);
}

const triggerSmartContract = answering((request, trigger) => {
  const { contract_address: to } = trigger;
  if (to === undefined || stateOf(request).get('contract', accountKey(to)) === undefined) {
    return refuse('CONTRACT_VALIDATE_ERROR', 'No contract or not a valid smart contract');
  }
  const transaction = newTransaction(request, 'TriggerSmartContract', trigger);
  return { result: { result: true }, transaction: newTransactionJson(transaction, request.visible) };
});

export const CALL_ENDPOINTS: Record<string, Endpoint> = {
  triggersmartcontract: triggerSmartContract,
  triggerconstantcontract: triggerConstantContract,
  estimateenergy: estimateEnergy,
};
