import type { LinkAnswer, LinkState, LinkValue } from '@opentill/contracts/http/answers';
import { unixSeconds } from '@opentill/runtime/clock';
import type { LinkRow } from '../store/links.ts';

/** Only an OPEN link opens orders. Computed like the conditions of open_link_order(). */
export function linkStateOf(link: LinkRow): LinkState {
  if (link.closedAt !== null) return 'CLOSED';
  if (link.isExpired) return 'EXPIRED';
  return link.stock !== null && link.sold + link.reserved >= link.stock ? 'SOLD_OUT' : 'OPEN';
}

/** Public address of the link's page. The code needs no escaping. */
export function linkUrl(checkoutBaseUrl: string, code: string): string {
  return `${checkoutBaseUrl.replace(/\/$/, '')}/link/${code}`;
}

export function toLinkAnswer(link: LinkRow, checkoutBaseUrl: string): LinkAnswer {
  const seconds = (date: Date | null) => (date === null ? null : unixSeconds(date));
  return {
    linkId: link.linkId,
    url: linkUrl(checkoutBaseUrl, link.code),
    state: linkStateOf(link),
    ...valueMembers(link),
    symbol: link.coin?.symbol ?? null,
    chain: link.coin?.chain ?? null,
    accept: link.accept,
    uid: link.uid,
    description: link.description,
    returnUrl: link.returnUrl,
    stock: link.stock,
    sold: link.sold,
    reserved: link.reserved,
    expiresAt: seconds(link.expiresAt),
    closedAt: seconds(link.closedAt),
    createdAt: unixSeconds(link.createdAt),
  };
}

function valueMembers({ currency, amount, minAmount, maxAmount }: LinkRow): LinkValue {
  const members = {
    [currency === null ? 'amount' : 'price']: amount,
    [currency === null ? 'minAmount' : 'minPrice']: minAmount,
    [currency === null ? 'maxAmount' : 'maxPrice']: maxAmount,
    currency,
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
