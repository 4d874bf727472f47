import type { AccountCreateContract, TransferContract } from '../protobuf/messages.ts';
import { hex, isAddress } from '../tron-address.ts';
import {
  accountOf,
  activate,
  balanceOf,
  burn,
  changeBalance,
  type Execution,
  type Outcome,
} from './execution.ts';
import { invalid } from './refusal.ts';

/** TransferActuator: transfers TRX. A fee activates a new receiver. */
export function transferTrx(execution: Execution, call: TransferContract): Outcome {
  const { state, parameters } = execution;
  const owner = call.owner_address ?? new Uint8Array();
  const to = call.to_address;
  const amountSun = call.amount ?? 0n;
  if (!isAddress(to)) return invalid('Invalid toAddress!');
  if (hex(to) === hex(owner)) return invalid('Cannot transfer TRX to yourself.');
  if (amountSun <= 0n) return invalid('Amount must be greater than 0.');
  const receiver = accountOf(state, to);
  const feeSun = receiver ? 0n : BigInt(parameters.createNewAccountFeeInSystemContract);
  if (receiver?.kind === 'CONTRACT') return invalid('Cannot transfer TRX to a smartContract.');
  if (balanceOf(state, owner) < amountSun + feeSun) {
    return invalid('Validate TransferContract error, balance is not sufficient.');
  }
  if (!receiver) {
    activate(state, to, execution.head.timestampMs);
    burn(state, owner, feeSun);
  }
  changeBalance(state, owner, -amountSun);
  changeBalance(state, to, amountSun);
  return { feeSun };
}

/** CreateAccountActuator: activates an account without a transfer. */
export function createAccount(execution: Execution, call: AccountCreateContract): Outcome {
  const { state, parameters } = execution;
  const owner = call.owner_address ?? new Uint8Array();
  const created = call.account_address;
  const feeSun = BigInt(parameters.createNewAccountFeeInSystemContract);
  if (balanceOf(state, owner) < feeSun) {
    return invalid('Validate CreateAccountActuator error, insufficient fee.');
  }
  if (!isAddress(created)) return invalid('Invalid account address');
  if (accountOf(state, created)) return invalid('Account has existed');
  activate(state, created, execution.head.timestampMs);
  burn(state, owner, feeSun);
  return { feeSun };
}
