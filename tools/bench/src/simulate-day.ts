import { seededRandom } from '@opentill/testkit/seeded-random';

const DAY_MINUTES = 1_440;
const PAID_SHARE = 0.8;
/** Customers pay within these minutes of the order. */
const [PAID_FROM, PAID_TO] = [1, 5];
/** Default of a merchant. An order that is not paid is open until then. */
const TTL_MINUTES = 30;
const DAYS = 20;

/** Paid orders of a day. */
export function depositsADay(ordersADay: number): number {
  return ordersADay * PAID_SHARE;
}

/**
 * Share of a day in which at least one order of a network is open, as a mean of simulated days with orders at random
 * times. `finalMinutes`: from payment to credit.
 */
export function openShare(ordersADay: number, finalMinutes: number): number {
  const random = seededRandom(ordersADay);
  let openMinutes = 0;
  for (let day = 0; day < DAYS; day += 1) {
    const orders = Array.from({ length: Math.round(ordersADay) }, () => {
      const from = random() * DAY_MINUTES;
      const isPaid = random() < PAID_SHARE;
      const paidAfter = PAID_FROM + random() * (PAID_TO - PAID_FROM);
      return { from, to: from + (isPaid ? paidAfter : TTL_MINUTES) + finalMinutes };
    });
    let until = 0;
    for (const { from, to } of orders.toSorted((a, b) => a.from - b.from)) {
      openMinutes += Math.max(0, Math.min(to, DAY_MINUTES) - Math.max(from, until));
      until = Math.max(until, Math.min(to, DAY_MINUTES));
    }
  }
  return openMinutes / (DAYS * DAY_MINUTES);
}
