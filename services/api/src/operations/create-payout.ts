import { newEvent } from '@opentill/db/outbox';
import { parseAmount } from '@opentill/domain/money';
import { explainReceiver } from '../explain/explain-order.ts';
import type { PayoutFields } from '../order-fields.ts';
import type { Problem } from '../problem.ts';
import type { CreationAttempt, OrderRequest } from './create-once.ts';
import { creationOf, newOrder, ONE_COIN } from './new-order.ts';
import { rangeProblem, tooManyDecimals, unsupported } from './reject-fields.ts';
import type { OrderDeps } from './order-deps.ts';

const TOKEN_CONTRACT: Problem = {
  code: 'RECEIVE_ADDRESS_WRONG',
  detail: 'receiveAddress: is the contract of a token; money sent to it is lost',
};
const OWN_ADDRESS: Problem = {
  code: 'RECEIVE_ADDRESS_WRONG',
  detail: 'receiveAddress: is an address of this gateway',
};

export async function createPayout(
  deps: OrderDeps,
  request: OrderRequest<PayoutFields>,
): Promise<CreationAttempt> {
  const { merchant, fields } = request;
  const asset = deps.assets.find(fields.coin.chain, fields.coin.symbol);
  const hotWallets = deps.hotWallets.get(asset?.family ?? '') ?? [];
  const [hotWallet] = hotWallets;
  if (asset === undefined) return unsupported(deps, fields.coin);
  if (hotWallet === undefined) {
    const detail = `chain: this gateway has no hot wallet on ${fields.coin.chain}`;
    return { code: 'SYMBOL_UNSUPPORTED', detail };
  }
  const { family } = asset;
  const amount = parseAmount(fields.amount, asset.decimals);
  if (!amount.ok) return tooManyDecimals(fields.amount, asset);
  const receiver = asset.codec.parse(fields.receiveAddress);
  if (receiver === undefined) {
    const detail = explainReceiver(fields.receiveAddress, asset, deps.assets);
    return { code: 'RECEIVE_ADDRESS_WRONG', detail };
  }
  if (asset.isTokenContract(receiver)) return TOKEN_CONTRACT;
  const problem = rangeProblem(amount.value, asset, fields.amount);
  if (problem !== undefined) return problem;
  if (hotWallets.includes(receiver) || (await deps.store.isDepositAddress(family, receiver))) {
    return OWN_ADDRESS;
  }
  if (!(await deps.chains.isReady(asset.chain))) return { code: 'CHAIN_NOT_READY' };
  if (!(await deps.chains.isHotWallet(family, hotWallet))) {
    deps.observe.hotWalletUnknown(family, hotWallet);
    return { code: 'CHAIN_NOT_READY' };
  }

  const order = newOrder(deps, request, asset, amount.value, {
    ...ONE_COIN,
    acceptedAmount: amount.value,
    address: receiver,
    sourceAddress: hotWallet,
    lateGraceSeconds: 0,
    returnUrl: null,
    description: null,
    ttlSeconds: merchant.orderTtlSeconds,
  });
  const requested = newEvent('payout.requested', family, { orderPk: order.orderPk }, deps);
  const result = await deps.store.createPayout(creationOf(deps, order, request.nonce, [requested]));
  return { order, result };
}
