import { accountOf, balanceOf } from '../chain/execution.ts';
import { messageFromJson } from '../protobuf/json.ts';
import type { TransferContract } from '../protobuf/messages.ts';
import { accountKey, isAddress } from '../tron-address.ts';
import { newTransaction, newTransactionJson } from './new-transaction.ts';
import { nodeError, stateOf, type Endpoint, type NodeRequest } from './node.ts';

// These endpoints make a few of the checks that a broadcast repeats.
const VALIDATE = 'org.tron.core.exception.ContractValidateException';

function build(type: string, check: (request: NodeRequest, parameter: object) => void = () => {}): Endpoint {
  return (request) => {
    const parameter = messageFromJson<object>(type, request.body, request.visible);
    check(request, parameter);
    return newTransactionJson(newTransaction(request, type, parameter), request.visible);
  };
}

function checkTransfer(request: NodeRequest, call: TransferContract): void {
  const state = stateOf(request);
  const { owner_address: owner, to_address: to, amount = 0n } = call;
  if (!isAddress(owner)) throw nodeError(VALIDATE, 'Invalid ownerAddress!');
  if (!isAddress(to)) throw nodeError(VALIDATE, 'Invalid toAddress!');
  if (accountKey(to) === accountKey(owner)) throw nodeError(VALIDATE, 'Cannot transfer TRX to yourself.');
  if (accountOf(state, owner) === undefined) {
    throw nodeError(VALIDATE, 'Validate TransferContract error, no OwnerAccount.');
  }
  if (amount <= 0n) throw nodeError(VALIDATE, 'Amount must be greater than 0.');
  if (balanceOf(state, owner) < amount) {
    throw nodeError(VALIDATE, 'Validate TransferContract error, balance is not sufficient.');
  }
}

function checkOwner(request: NodeRequest, call: { readonly owner_address?: Uint8Array }): void {
  if (!isAddress(call.owner_address)) throw nodeError(VALIDATE, 'Invalid address');
  if (accountOf(stateOf(request), call.owner_address) === undefined) {
    throw nodeError(VALIDATE, `Account[${Buffer.from(call.owner_address).toString('hex')}] not exists`);
  }
}

export const BUILD_ENDPOINTS: Record<string, Endpoint> = {
  createtransaction: build('TransferContract', checkTransfer),
  createaccount: build('AccountCreateContract', checkOwner),
  freezebalancev2: build('FreezeBalanceV2Contract', checkOwner),
  unfreezebalancev2: build('UnfreezeBalanceV2Contract', checkOwner),
  withdrawexpireunfreeze: build('WithdrawExpireUnfreezeContract', checkOwner),
  cancelallunfreezev2: build('CancelAllUnfreezeV2Contract', checkOwner),
  delegateresource: build('DelegateResourceContract', checkOwner),
  undelegateresource: build('UnDelegateResourceContract', checkOwner),
};
