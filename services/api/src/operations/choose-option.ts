import type { Family } from '@opentill/domain/chains';
import { isSameCoin, type CoinName } from '../order-fields.ts';
import type { Problem } from '../problem.ts';
import type { NewOption } from '../store/create-orders.ts';
import type { OrderRow } from '../store/read-orders.ts';
import { isEnabled } from './is-enabled.ts';
import type { OrderDeps } from './order-deps.ts';
import { takeAddress } from './take-address.ts';

type ChoiceDeps = Pick<OrderDeps, 'store' | 'pool' | 'assets' | 'chains'>;

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
  const { options } = order;
  const option = options?.find((one) => isSameCoin(one, coin));
  if (options === null) return isSameCoin(order, coin) ? order : notOffered([order]);
  if (option === undefined) return notOffered(options);
  const isCurrent = (order.choices ?? 0) > 0 && isSameCoin(option, order);
  const problem = isCurrent ? undefined : await refusalOfOption(deps, order, option);
  if (problem !== undefined) return isOpen(order) ? problem : closed(order);
  const { outcome, unused } = await chooseIn(deps, order.orderPk, option);
  if (unused !== undefined) deps.pool.giveBack(unused);
  switch (outcome) {
    case 'CHOSEN':
      return (await read()) ?? order;
    case 'CLOSED':
      return closed((await read()) ?? order);
    case 'NOT_OFFERED':
      return notOffered(options);
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
  const fresh = await takeAddress(pool, option.family);
  if (fresh === undefined) return { outcome: first, unused: undefined };
  const outcome = await store.chooseOption(orderPk, option, fresh);
  // When two choices meet, the order has the address of the first one.
  const isUsed = outcome === 'CHOSEN' && (await store.isDepositAddress(fresh.family, fresh.address));
  return { outcome, unused: isUsed ? undefined : fresh };
}

/**
 * A listed coin that changed since the creation. No scanner reads a disabled one, so a payment would be missed. The rate
 * of a coin off its peg asks for too little; a coin that was chosen before keeps its address and counts in any case.
 */
async function refusalOfOption(
  { assets, chains, store }: Pick<ChoiceDeps, 'assets' | 'chains' | 'store'>,
  { currency }: Pick<OrderRow, 'currency'>,
  option: NewOption,
): Promise<Problem | undefined> {
  const { chain, symbol, chosen } = option;
  const refuse = (code: Problem['code'], why: string): Problem => ({
    code,
    detail: `chain, symbol: ${symbol} on ${chain} ${why}; choose another coin`,
  });
  if (!isEnabled(assets, option)) return refuse('CHAIN_NOT_READY', 'is not enabled now');
  if (!(await chains.isReady(chain))) return refuse('CHAIN_NOT_READY', 'is not ready');
  if (chosen || currency === null) return undefined;
  const rate = (await store.findRates([symbol], currency))(symbol);
  const isOffPeg = 'refusal' in rate && rate.refusal === 'DEPEGGED';
  return isOffPeg ? refuse('RATE_UNAVAILABLE', 'is off its peg now') : undefined;
}

function notOffered(coins: readonly CoinName[]): Problem {
  const names = coins.map(({ chain, symbol }) => `${symbol} on ${chain}`).join(', ');
  return { code: 'OPTION_NOT_OFFERED', detail: `chain, symbol: the order accepts ${names}` };
}

function isOpen({ status }: Pick<OrderRow, 'status'>): boolean {
  return status === 'INIT' || status === 'PENDING';
}

function closed(order: OrderRow): Problem {
  const why = isOpen(order) ? 'is past its expiry' : `is ${order.status}`;
  return { code: 'ORDER_CLOSED', detail: `order: ${why}; only its current coin can be asked for` };
}
