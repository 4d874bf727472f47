import type { OrderRow } from '@opentill/testkit/scenario';

export class Payments {
  readonly #byAccount = new Map<string, bigint[]>();

  add(account: string, amount: bigint): void {
    this.#byAccount.set(account, [...(this.#byAccount.get(account) ?? []), amount]);
  }

  compare(orders: readonly OrderRow[], accountOf: (order: OrderRow) => string) {
    const others = new Map(this.#byAccount);
    const wrong = orders.flatMap((order) => {
      const account = accountOf(order);
      const paid = others.get(account) ?? [];
      others.delete(account);
      const isRight = paid.length === 1 && paid[0] === order.amount;
      return isRight ? [] : [`${order.order_id}: ${paid.join(' and ') || 'nothing'}`];
    });
    for (const [account, amounts] of others) wrong.push(`to no order: ${account} ${amounts.join(' and ')}`);
    return { payouts: orders.length, wrong };
  }
}
