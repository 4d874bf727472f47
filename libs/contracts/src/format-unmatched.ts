import type { Chain } from '@opentill/domain/chains';
import { formatAmount } from '@opentill/domain/money';
import type { UnmatchedReason } from '@opentill/domain/settle-transfer';
import { notifyOrderMembers } from './format-order.ts';
import type { NotifyUnmatched, UnmatchedTransfer } from './notify-order.ts';
import { serializeCallbackData } from './signing/callback.ts';

/** The api and ORDER_UNMATCHED list at most so many, newest first. */
export const UNMATCHED_SHOWN = 20;

/** GET pay counts at most so many, since anyone can send payments to an address. */
export const UNMATCHED_COUNTED = 1_000;

export interface UnmatchedToFormat {
  readonly chain: Chain;
  readonly symbol: string;
  /** Base units. */
  readonly amount: bigint;
  readonly txHash: string;
  readonly reason: UnmatchedReason;
}

export interface TokenDisplay {
  readonly decimals: number;
  readonly displayDecimals: number;
}

export type TokenId = Pick<UnmatchedToFormat, 'chain' | 'symbol'>;
/** An order and the tokens that it accepts, with its own decimals. */
export interface OrderTokens extends TokenId, TokenDisplay {
  /** Null: only the order's own. */
  readonly options: readonly (TokenId & TokenDisplay)[] | null;
}

type TokenOf = (chain: Chain, symbol: string) => TokenDisplay | undefined;

/** Also of disabled chains. */
export function configuredTokens(
  networks: readonly { readonly chain: Chain; readonly tokens: readonly { readonly symbol: string }[] }[],
): TokenId[] {
  return networks.flatMap(({ chain, tokens }) => tokens.map(({ symbol }) => ({ chain, symbol })));
}

/** Undefined for a token that is no longer configured. The order keeps the decimals of the tokens that it accepts. */
export function unmatchedTokenOf(
  order: OrderTokens,
  { chain, symbol }: TokenId,
  tokenOf: TokenOf,
): TokenDisplay | undefined {
  const isIt = (token: TokenId) => chain === token.chain && symbol === token.symbol;
  return tokenOf(chain, symbol) ?? (order.options ?? [order]).find(isIt);
}

/** Omits transfers of tokens that are no longer configured, whose decimals are unknown. */
export function toUnmatchedTransfers(
  order: OrderTokens,
  transfers: readonly UnmatchedToFormat[],
  tokenOf: TokenOf,
): UnmatchedTransfer[] {
  return transfers.flatMap((transfer) => {
    const token = unmatchedTokenOf(order, transfer, tokenOf);
    if (token === undefined) return [];
    const { chain, symbol, amount, txHash, reason } = transfer;
    const shown = formatAmount(amount, token.decimals, token.displayDecimals);
    return [{ chain, symbol, amount: shown, txid: txHash, reason }];
  });
}

/** `data` of ORDER_UNMATCHED, fixed when the notification is written. @throws GatewayError CALLBACK_DATA_NOT_PORTABLE */
export function notifyUnmatchedText({ unmatched, ...order }: NotifyUnmatched): string {
  return serializeCallbackData({
    ...notifyOrderMembers(order),
    unmatched: unmatched.map((transfer) => ({ ...transfer })),
  });
}
