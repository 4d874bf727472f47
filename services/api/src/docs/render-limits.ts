import { DEFAULT_RATE_LIMITS, type RateLimit } from '@opentill/contracts/http/rate-limits';
import { CHOICE_LIMIT, ORDER_EVENTS_LIMIT, REFUSED_SIGNATURE_LIMIT } from '../rate-limits.ts';
import { prose, table } from './markup.ts';

function shown({ requests, seconds }: RateLimit): string {
  return seconds === 1 ? `${requests} per second` : `${requests.toLocaleString('en')} per ${seconds} s`;
}

/** Default rate limits; an operator can change them per merchant. */
export function renderLimits(): string {
  const { createCollection, createPayout, link, status, pay, getOrderStatus, supportSymbols } =
    DEFAULT_RATE_LIMITS;
  const rows = [
    ['`createCollection`', shown(createCollection), 'merchant, and client address'],
    ['`createPayout`', shown(createPayout), 'merchant, and client address'],
    ['operations on payment links', shown(link), 'merchant, and client address'],
    ['`status`', shown(status), 'client address'],
    ['`pay`', shown(pay), 'order'],
    ['`getOrderStatus`', shown(getOrderStatus), 'order'],
    ['`events`', shown(ORDER_EVENTS_LIMIT), 'order'],
    ['`choose`', shown(CHOICE_LIMIT), 'order'],
    ['`supportSymbols`', shown(supportSymbols), 'client address'],
    ['refused signatures', shown(REFUSED_SIGNATURE_LIMIT), 'client address'],
  ].map((row) => row.map(prose));
  return `<section id="limits"><h2>Rate limits</h2><p>${prose('Above a limit the answer is 429, with the seconds to wait in `Retry-After`. An operator can change the limits of a merchant.')}</p>
${table('Rate limits', ['Operation', 'Default', 'Counted per'], rows)}</section>`;
}
