import type { Family } from '@opentill/domain/chains';
import { refusalOf } from '../answer.ts';
import type { FreshAddress } from '../deposit-address-pool.ts';
import type { CoinName } from '../order-fields.ts';
import type { Problem } from '../problem.ts';
import type { OrderRow } from '../store/read-orders.ts';
import type { OrderDeps } from './order-deps.ts';

type ChoiceDeps = Pick<OrderDeps, 'store' | 'pool'>;

/**
 * Chooses a coin of an order with options, or another one. The order keeps each address that it ever had: what arrives
 * there counts at the amount of its coin. All chains of a family share one address. Idempotent.
 * @param read the order, read again after the choice
 */
export async function chooseOption(
  deps: ChoiceDeps,
  order: OrderRow,
  coin: CoinName,
  read: () => Promise<OrderRow | undefined>,
): Promise<OrderRow | Problem> {
  const coins = order.options ?? [order];
  const option = coins.find((one) => isNamed(one, coin));
  if (option === undefined) return notOffered(coins);
  if (order.options === null) return order;
  const { outcome, unused } = await chooseIn(deps, order.orderPk, option);
  if (unused !== undefined) deps.pool.giveBack(unused);
  switch (outcome) {
    case 'CHOSEN':
      return (await read()) ?? order;
    case 'CLOSED':
      return closed((await read()) ?? order);
    case 'NOT_OFFERED':
      return notOffered(coins);
    case 'NEEDS_ADDRESS':
      return { code: 'SERVICE_UNAVAILABLE' };
  }
}

/**
 * Asks without an address first: only the first choice of a family takes one from the pool. An address is given back
 * only after an answer that it is not used. After an error the order may have it.
 */
async function chooseIn(
  { store, pool }: ChoiceDeps,
  orderPk: string,
  option: CoinName & { readonly family: Family },
) {
  const first = await store.chooseOption(orderPk, option, undefined);
  if (first !== 'NEEDS_ADDRESS') return { outcome: first, unused: undefined };
  const fresh = await pool.take(option.family).catch((error: unknown): FreshAddress | undefined => {
    if (refusalOf(error) === 'SERVICE_UNAVAILABLE') return undefined; // the pool has logged the cause
    throw error;
  });
  if (fresh === undefined) return { outcome: first, unused: undefined };
  const outcome = await store.chooseOption(orderPk, option, fresh);
  // When two choices meet, the order has the address of the first one.
  const isUsed = outcome === 'CHOSEN' && (await store.isDepositAddress(fresh.family, fresh.address));
  return { outcome, unused: isUsed ? undefined : fresh };
}

function isNamed(one: CoinName, coin: CoinName): boolean {
  return one.chain === coin.chain && one.symbol.toUpperCase() === coin.symbol.toUpperCase();
}

function notOffered(coins: readonly CoinName[]): Problem {
  const names = coins.map(({ chain, symbol }) => `${symbol} on ${chain}`).join(', ');
  return { code: 'OPTION_NOT_OFFERED', detail: `chain, symbol: the order accepts ${names}` };
}

function closed({ status }: OrderRow): Problem {
  const isOpen = status === 'INIT' || status === 'PENDING';
  const why = isOpen ? 'its time is over' : `it is ${status}`;
  return { code: 'ORDER_CLOSED', detail: `order: ${why}; only its present coin can be asked for` };
}
