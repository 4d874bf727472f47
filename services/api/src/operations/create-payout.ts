import { newEvent } from '@opentill/db/outbox';
import { parseAmount } from '@opentill/domain/money';
import type { PayoutFields } from '../order-fields.ts';
import type { CreationAttempt, OrderRequest } from './create-once.ts';
import { creationOf, isInRange, newOrder } from './new-order.ts';
import type { OrderDeps } from './order-deps.ts';

export async function createPayout(
  deps: OrderDeps,
  request: OrderRequest<PayoutFields>,
): Promise<CreationAttempt> {
  const { merchant, fields } = request;
  const asset = deps.assets.find(fields.chain, fields.symbol);
  const hotWallets = deps.hotWallets.get(asset?.family ?? '') ?? [];
  const [hotWallet] = hotWallets;
  if (asset === undefined || hotWallet === undefined) return 'SYMBOL_UNSUPPORTED';
  const { family } = asset;
  const amount = parseAmount(fields.amount, asset.decimals);
  if (!amount.ok) return 'AMOUNT_TOO_MANY_DECIMALS';
  const receiver = asset.codec.parse(fields.receiveAddress);
  if (receiver === undefined || asset.isTokenContract(receiver)) return 'RECEIVE_ADDRESS_WRONG';
  if (!isInRange(amount.value, asset)) return 'AMOUNT_OUT_OF_RANGE';
  if (hotWallets.includes(receiver) || (await deps.store.isDepositAddress(family, receiver))) {
    return 'RECEIVE_ADDRESS_WRONG';
  }
  if (!(await deps.chains.isReady(asset.chain))) return 'CHAIN_NOT_READY';
  if (!(await deps.chains.isHotWallet(family, hotWallet))) {
    deps.observe.hotWalletUnknown(family, hotWallet);
    return 'CHAIN_NOT_READY';
  }

  const order = newOrder(deps, request, asset, amount.value, {
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
