import type { Address } from '@opentill/chain/address-codec';
import { newEvent } from '@opentill/db/outbox';
import { parseAmount, type BaseUnits } from '@opentill/domain/money';
import { refusal, success, type Answer } from '../answer.ts';
import type { Asset } from '../asset-book.ts';
import type { Merchant } from '../merchant-book.ts';
import type { PayoutFields } from '../order-fields.ts';
import type { NewOrder, SpentNonce } from '../store.ts';
import { firstNotificationText, isInRange, lifetime } from './create-collection.ts';
import { toOrderAnswer } from './order-answer.ts';
import type { OrderDeps } from './order-deps.ts';
import {
  answerDuplicate,
  answerExisting,
  refuseUnlessCreated,
  type OrderRequest,
} from './settle-without-effect.ts';

export interface PayoutInput {
  readonly merchant: Merchant;
  readonly nonce: SpentNonce;
  readonly fields: PayoutFields;
  /** canonicalDataHash of the signed data: the payout's identity when it has no orderId. */
  readonly dataHash: () => string;
}

/** Accepts the payout that the fields ask for and reserves its amount, or says why not. */
export async function createPayout(deps: OrderDeps, input: PayoutInput): Promise<Answer> {
  const { merchant, nonce, fields } = input;
  const signedDataHash = fields.orderId === null ? input.dataHash() : null;
  const request: OrderRequest = { merchant, nonce, fields, orderType: 'PAYOUT', signedDataHash };
  const asset = deps.assets.find(fields.chain, fields.symbol);
  const hotWallets = deps.hotWallets.get(asset?.family ?? '') ?? [];
  const [hotWallet] = hotWallets;
  if (asset === undefined || hotWallet === undefined) {
    return refuseUnlessCreated(deps, request, 'SYMBOL_UNSUPPORTED');
  }
  const amount = parseAmount(fields.amount, asset.decimals);
  if (!amount.ok) return refuseUnlessCreated(deps, request, 'AMOUNT_TOO_MANY_DECIMALS');
  const receiver = asset.codec.parse(fields.receiveAddress);
  if (receiver === undefined || asset.isTokenContract(receiver)) {
    return refuseUnlessCreated(deps, request, 'RECEIVE_ADDRESS_WRONG');
  }
  if (!isInRange(amount.value, asset)) return refuseUnlessCreated(deps, request, 'AMOUNT_OUT_OF_RANGE');
  if (hotWallets.includes(receiver) || (await deps.store.isDepositAddress(asset.family, receiver))) {
    return refuseUnlessCreated(deps, request, 'RECEIVE_ADDRESS_WRONG');
  }
  if (!(await deps.chains.isReady(asset.chain))) return refuseUnlessCreated(deps, request, 'CHAIN_NOT_READY');
  if (!(await deps.chains.isHotWallet(asset.family, hotWallet))) {
    deps.observe.hotWalletUnknown(asset.family, hotWallet);
    return refuseUnlessCreated(deps, request, 'CHAIN_NOT_READY');
  }

  const order = newPayout(deps, input, asset, amount.value, receiver, hotWallet, signedDataHash);
  const result = await deps.store.createPayout({ order, nonce, ...firstWords(deps, order) });
  switch (result.outcome) {
    case 'NONCE_USED':
      return refusal('NONCE_USED');
    case 'INSUFFICIENT':
      return refusal('BALANCE_INSUFFICIENT');
    case 'DUPLICATE':
      return answerDuplicate(result.existing);
    case 'EXISTS':
      return answerExisting(deps, request, result.existing);
    case 'CREATED':
      deps.wakeRelay();
      deps.observe.orderCreated(order);
      return success(toOrderAnswer(order, merchant, deps));
  }
}

/** What the merchant and the signer are told of a new payout. */
function firstWords(deps: OrderDeps, order: NewOrder) {
  const notificationId = deps.newId();
  const { orderPk, family } = order;
  return {
    notificationId,
    notificationData: firstNotificationText(order),
    events: [
      newEvent('order.created', '_', { orderPk, eventId: notificationId }, deps),
      newEvent('payout.requested', family, { orderPk }, deps),
    ],
  };
}

function newPayout(
  deps: OrderDeps,
  { merchant, fields }: PayoutInput,
  asset: Asset,
  amount: BaseUnits,
  receiver: Address,
  hotWallet: string,
  signedDataHash: string | null,
): NewOrder {
  return {
    orderPk: deps.newId(),
    merchantId: merchant.merchantId,
    orderId: fields.orderId ?? deps.newId(),
    orderType: 'PAYOUT',
    uid: fields.uid,
    chain: asset.chain,
    family: asset.family,
    symbol: asset.symbol,
    contractAddress: asset.contract,
    decimals: asset.decimals,
    displayDecimals: asset.displayDecimals,
    amount,
    acceptedAmount: amount,
    address: receiver,
    sourceAddress: hotWallet,
    confirmationsRequired: asset.confirmationsFor(amount),
    lateGraceSeconds: 0,
    returnUrl: null,
    description: null,
    signedDataHash,
    ...lifetime(deps.clock.now(), merchant.orderTtlSeconds),
  };
}
