import type {
  CoinPayment,
  MerchantProfile,
  OpenOrderAnswer,
  OptionAnswer,
  OrderAnswer,
  OrderOptions,
  OrderStateAnswer,
  OrderStatusAnswer,
  PayinOrderAnswer,
  UnmatchedPayment,
} from '@opentill/contracts/http/answers';
import {
  priceMembers,
  pricingOf,
  shownRate,
  toNotifyOrder,
  toTransactionView,
  type TransactionContext,
  type TransferToFormat,
} from '@opentill/contracts/format-order';
import { toUnmatchedTransfers } from '@opentill/contracts/format-unmatched';
import { toPayoutTransfer, type PayoutTransaction } from '@opentill/contracts/format-payout';
import { signPaymentLink } from '@opentill/contracts/signing/verify-signature';
import type { Chain } from '@opentill/domain/chains';
import { confirmedNum } from '@opentill/domain/confirmations';
import { formatAmount, type BaseUnits } from '@opentill/domain/money';
import { inCoin } from '@opentill/domain/order-shares';
import { COLLECTION_REASONS } from '@opentill/domain/settle-collection';
import { unixSeconds } from '@opentill/runtime/clock';
import type { AssetBook } from '../asset-book.ts';
import type { Merchant } from '../merchant-book.ts';
import { feeClassOf } from '../payment-facts.ts';
import type { CreatedOrder, NewOption } from '../store/create-orders.ts';
import type { MerchantProfileRow, OrderRow, PaymentRow, StatusRow } from '../store/read-orders.ts';
import { isEnabled } from './is-enabled.ts';

/**
 * Payment URL `<checkout base>?orderId=<id>&sign=<hex>.<merchantId>`. The merchant id is part of `sign`, which every
 * checkout page passes on unchanged, including merchants' own pages. Neither id contains characters that a query
 * escapes.
 */
export function paymentUrl(
  checkoutBaseUrl: string,
  { token, merchantId }: Pick<Merchant, 'token' | 'merchantId'>,
  orderId: string,
): string {
  return `${checkoutBaseUrl}?orderId=${orderId}&sign=${signPaymentLink(token, orderId)}.${merchantId}`;
}

/** Response of both creation endpoints, from the order as first created. */
export function toOrderAnswer(
  order: CreatedOrder,
  merchant: Merchant,
  deps: { readonly assets: AssetBook; readonly checkoutBaseUrl: string },
): OrderAnswer | OpenOrderAnswer {
  const collection = order.orderType === 'COLLECTION';
  const { options } = order;
  const answer = {
    amount: formatAmount(order.amount, order.decimals, order.displayDecimals),
    ...priceMembers(pricingOf(order)),
    symbol: order.symbol,
    chain: order.chain,
    uid: order.uid,
    orderId: order.orderId,
    expiredTime: unixSeconds(order.expiresAt),
    paymentUrl: collection ? paymentUrl(deps.checkoutBaseUrl, merchant, order.orderId) : null,
  };
  if (options !== null)
    return {
      address: addressOf(order, deps.assets),
      ...answer,
      ...optionMembers({ ...order, options }, deps.assets),
    };
  const address = collection ? order.address : order.sourceAddress;
  return { address: deps.assets.formatAddress(order.family, address ?? ''), ...answer };
}

/** Null until the customer has chosen a coin. */
function addressOf({ family, address }: CreatedOrder, assets: AssetBook): string | null {
  return address === null ? null : assets.formatAddress(family, address);
}

/** Without coins that were disabled since the creation. */
function optionMembers(
  order: Pick<CreatedOrder, 'choices' | 'chain' | 'symbol'> & { readonly options: readonly NewOption[] },
  assets: AssetBook,
): OrderOptions {
  const chosen = (order.choices ?? 0) > 0;
  const isCurrent = ({ chain, symbol }: NewOption) =>
    chosen && chain === order.chain && symbol === order.symbol;
  const options = order.options.filter((option) => isCurrent(option) || isEnabled(assets, option));
  return { chosen, options: options.map((option) => toOptionAnswer(option, assets)) };
}

function toOptionAnswer(option: NewOption, assets: AssetBook): OptionAnswer {
  const { chain, family, symbol, contractAddress, confirmationsRequired, rate, chosen } = option;
  return {
    chain,
    chainName: assets.nameOf(chain),
    symbol,
    contractAddress: contractAddress === null ? null : assets.formatContract(family, contractAddress),
    amount: formatAmount(BigInt(option.amount), option.decimals, option.displayDecimals),
    rate: shownRate(rate),
    feeClass: feeClassOf(chain),
    requiredConfirmations: confirmationsRequired,
    expectedSeconds: assets.expectedSeconds(chain, confirmationsRequired),
    chainId: assets.chainIdOf(chain),
    isTestNetwork: assets.isTestNetwork(chain),
    chosen,
  };
}

export function toStatusAnswer(row: OrderRow, assets: AssetBook): OrderStateAnswer {
  const order = { ...row, pricing: pricingOf(row) };
  const unmatched = unmatchedOf(order, assets);
  const transfer = transferOf(order);
  if (transfer === undefined) return { ...toNotifyOrder(order, null), unmatched };
  const paid = { ...order, ...order.transferCoin };
  const context: TransactionContext = {
    headHeight: order.headHeight ?? transfer.blockHeight,
    nativeDecimals: assets.nativeDecimals(paid.chain),
    formatAddress: (address) => assets.formatAddress(paid.family, address),
    formatContract: (contract) => assets.formatContract(paid.family, contract),
  };
  const transaction = toTransactionView(paid, transfer, context);
  return { ...toNotifyOrder(order, null), transaction, unmatched };
}

export function toOrderStatusAnswer(order: StatusRow, assets: AssetBook): OrderStatusAnswer {
  return { status: order.status, unmatched: unmatchedOf(order, assets) };
}

function unmatchedOf(order: StatusRow, assets: AssetBook): UnmatchedPayment[] {
  const transfers = order.unmatched.map((one) => ({ ...one, amount: BigInt(one.amount) }));
  const tokenOf = (chain: Chain, symbol: string) => assets.tokenOf(chain, symbol);
  return toUnmatchedTransfers(order, transfers, tokenOf).map(({ reason, ...shown }) => ({
    ...shown,
    chainName: assets.nameOf(shown.chain),
    explorerUrl: assets.explorerUrl(shown.chain, shown.txid),
    reason,
  }));
}

/** Digits of the hash in the URL of a logo. A changed logo has another URL. */
export const LOGO_VERSION_LENGTH = 16;

export function profileOf({ merchantId, logoHash, ...profile }: MerchantProfileRow): MerchantProfile {
  const version = logoHash?.slice(0, LOGO_VERSION_LENGTH);
  const { name, accentColor, supportUrl, supportEmail, shopUrl } = profile;
  return {
    name,
    logoUrl: version === undefined ? null : `/m/${merchantId}/logo?v=${version}`,
    accentColor,
    supportUrl,
    supportEmail,
    shopUrl,
  };
}

export function toPayinAnswer(order: OrderRow, assets: AssetBook, now: Date): PayinOrderAnswer {
  const show = (amount: bigint) => formatAmount(amount, order.decimals, order.displayDecimals);
  const paid = { ...order, ...order.transferCoin };
  return {
    orderId: order.orderId,
    chain: order.chain,
    chainName: assets.nameOf(order.chain),
    symbol: order.symbol,
    contractAddress:
      order.contractAddress === null ? null : assets.formatContract(order.family, order.contractAddress),
    decimals: order.decimals,
    address: addressOf(order, assets),
    amount: show(order.amount),
    ...priceMembers(pricingOf(order)),
    actualAmount: order.actualAmount === null ? null : show(inCoin(order.actualAmount, order)),
    expiredTime: unixSeconds(order.expiresAt),
    status: order.status,
    reason: reasonForCustomer(order.reason),
    receivedAmount: show(inCoin(order.detectedAmount, order)),
    txid: order.txHash,
    explorerUrl: order.txHash === null ? null : assets.explorerUrl(paid.chain, order.txHash),
    explorerTxUrl: assets.explorerTxUrl(order.chain),
    transactionTime: order.txHash === null || order.blockTime === null ? null : unixSeconds(order.blockTime),
    confirmedNum:
      order.blockHeight === null || order.headHeight === null
        ? 0
        : confirmedNum(order.headHeight, order.blockHeight),
    requiredConfirmations: paid.confirmationsRequired,
    returnUrl: order.returnUrl,
    description: order.description,
    serverTime: unixSeconds(now),
    merchant: profileOf(order.merchant),
    isTestNetwork: assets.isTestNetwork(order.chain),
    chainId: assets.chainIdOf(order.chain),
    unmatched: unmatchedOf(order, assets),
    unmatchedCount: order.unmatchedCount,
    ...(order.options !== null && optionMembers({ ...order, options: order.options }, assets)),
    ...(order.payments !== null && { payments: order.payments.map(toCoinPayment) }),
  };
}

function toCoinPayment({ chain, symbol, amount, decimals, displayDecimals }: PaymentRow): CoinPayment {
  return { chain, symbol, amount: formatAmount(BigInt(amount), decimals, displayDecimals) };
}

const RULES_REASONS: ReadonlySet<string> = new Set(Object.values(COLLECTION_REASONS));

/** Anyone with the payment link can read it. Reasons that an operator wrote are only for the merchant. */
function reasonForCustomer(reason: string | null): string | null {
  return reason === null || RULES_REASONS.has(reason) ? reason : 'Refused by operator';
}

function transferOf(order: OrderRow): TransferToFormat | undefined {
  const { txHash, fromAddress, toAddress, transferAmount, blockHeight, blockTime, transferState } = order;
  if (txHash === null || fromAddress === null || toAddress === null) return undefined;
  if (transferAmount === null || blockHeight === null || blockTime === null) return undefined;
  if (transferState === null)
    return payoutTransferOf(order, { txHash, transferAmount, blockHeight, blockTime });
  return {
    txHash,
    fromAddress,
    toAddress,
    amount: transferAmount,
    networkFee: order.networkFee,
    blockHeight,
    blockTimeSeconds: unixSeconds(blockTime),
    state: transferState,
  };
}

function payoutTransferOf(
  order: OrderRow,
  mined: Pick<PayoutTransaction, 'txHash' | 'blockHeight'> & {
    readonly transferAmount: BaseUnits;
    readonly blockTime: Date;
  },
): TransferToFormat | undefined {
  const { fateState, succeeded, delivered, networkFee, fromAddress, toAddress } = order;
  if (fateState === null || succeeded === null || delivered === null) return undefined;
  return toPayoutTransfer({
    txHash: mined.txHash,
    wallet: fromAddress ?? '',
    receiver: toAddress ?? '',
    amount: mined.transferAmount,
    state: fateState,
    succeeded,
    delivered,
    networkFee: networkFee ?? 0n,
    blockHeight: mined.blockHeight,
    blockTimeSeconds: unixSeconds(mined.blockTime),
  });
}
